"""`python scripts/wire.py [--check]`: generates what is derived from the shapes of the wire (`server/fairlead/wire/`).

Writes the client's TypeScript and the tables of docs/protocol.md that follow a line `<!-- wire: NAME -->`. With
`--check`, it writes nothing, and the exit code is 1 if something differs.
"""

import ast
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parents[1]
SERVER = ROOT / "server" / "fairlead" / "wire"
CLIENT = ROOT / "client" / "src" / "wire"
PAGE = ROOT / "docs" / "protocol.md"
WIDTH = 120
"""The longest line of TypeScript, as in .prettierrc."""
PAGE_WIDTH = 140
"""The longest line of the page's prose."""

FILES = {"protocolStates": ("states",), "protocol": ("protocol", "params", "events")}
"""The modules that each TypeScript file is generated from. A file may use the shapes of those before it."""
PLAIN = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "None": "null"}
GROUPS = {"method": "agent/", "serverCommand": "fairlead.server.", "scheme": "fairlead-"}
"""The constants of the TypeScript, with the beginning of their values."""
MARKER = re.compile(r"(?<=^<!-- wire: )(\w+)( -->\n)(?:(?:.+\n|\n(?!#))*?(?:\|.*\n)+)?", re.M)
"""A line before a table, with the table that it had; a new line has none."""


@dataclass(frozen=True)
class Field:
    name: str
    type: ast.expr
    optional: bool
    doc: str


@dataclass(frozen=True)
class Shape:
    """A TypedDict."""

    name: str
    bases: Sequence[str]
    fields: Sequence[Field]
    doc: str


@dataclass(frozen=True)
class Alias:
    """A name for another type."""

    name: str
    type: ast.expr
    doc: str


@dataclass(frozen=True)
class Constant:
    name: str
    value: str
    doc: str


class Wire:
    """The definitions of the modules, by name and without the suffix `Wire`."""

    def __init__(self) -> None:
        self.types: dict[str, dict[str, Shape | Alias]] = {}
        """By module."""
        self.constants: dict[str, Constant] = {}
        for module in chain.from_iterable(FILES.values()):
            tree = ast.parse((SERVER / f"{module}.py").read_text("utf-8"))
            self.types[module] = {}
            for node, after in pairwise([*tree.body, None]):
                self._read(self.types[module], node, _text(after))
        tables = ast.parse((SERVER / "messages.py").read_text("utf-8"))
        self.methods = {
            _target(node): [(self.constants[_name(key)], value) for key, value in zip(keys, values, strict=True)]
            for node in tables.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict)
            for keys, values in [(node.value.keys, node.value.values)]
        }
        """The tables of methods, each with the params, or the params and the result."""
        self.all = {name: found for module in self.types.values() for name, found in module.items()}

    def _read(self, types: dict[str, Shape | Alias], node: ast.stmt | None, doc: str) -> None:
        match node:
            case ast.ClassDef(name=name, bases=[*bases]) if all(isinstance(base, ast.Name) for base in bases):
                if name != "RequestError":
                    fields = [
                        _field(_target(one), one.annotation, _text(after))
                        for one, after in pairwise([*node.body, None])
                        if isinstance(one, ast.AnnAssign)
                    ]
                    found = [_name(base) for base in bases if _name(base) != "TypedDict"]
                    types[_plain(name)] = Shape(_plain(name), found, fields, _text(node.body[0]))
            case ast.Assign(
                targets=[ast.Name(name)], value=ast.Call(func=ast.Name("TypedDict"), args=[_, ast.Dict() as d])
            ):
                fields = [
                    _field(ast.literal_eval(key), hint, "") for key, hint in zip(d.keys, d.values, strict=True) if key
                ]
                types[name] = Shape(name, [], fields, doc)
            case ast.Assign(targets=[ast.Name(name)], value=ast.Constant(str(value))):
                self.constants[name] = Constant(name, value, doc)
            case ast.Assign(targets=[ast.Name(name)], value=ast.Subscript() | ast.BinOp() as hint):
                types[_plain(name)] = Alias(_plain(name), hint, doc)
            case _:
                pass

    def fields(self, shape: Shape) -> list[Field]:
        """The fields of a shape and of its bases."""
        return [*chain.from_iterable(self.fields(self.shape(base)) for base in shape.bases), *shape.fields]

    def shape(self, name: str) -> Shape:
        found = self.all[name]
        assert isinstance(found, Shape), f"{name} is not a TypedDict"
        return found

    def members(self, hint: ast.expr) -> list[str]:
        """The names of the shapes of a union, in which unions may be named."""
        found: list[str] = []
        for name in map(_name, _options(hint)):
            named = self.all[name]
            found += self.members(named.type) if isinstance(named, Alias) else [name]
        return found


def _field(name: str, hint: ast.expr, doc: str) -> Field:
    optional = isinstance(hint, ast.Subscript) and _name(hint.value) == "NotRequired"
    return Field(name, hint.slice if isinstance(hint, ast.Subscript) and optional else hint, optional, doc)


def _text(node: ast.stmt | None) -> str:
    """The docstring that a statement is; "" if it is none."""
    match node:
        case ast.Expr(ast.Constant(str(text))):
            return " ".join(text.split())
        case _:
            return ""


def _target(node: ast.AnnAssign) -> str:
    assert isinstance(node.target, ast.Name)
    return node.target.id


def _name(node: ast.expr | None) -> str:
    """The name of a type or constant, without its module and the suffix `Wire`."""
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            return _plain(name)
        case ast.Constant(None):
            return "None"
        case _:
            raise TypeError(f"not a name: {ast.dump(node) if node else node}")


def _plain(name: str) -> str:
    return name.removesuffix("Wire")


def _options(hint: ast.expr) -> list[ast.expr]:
    """The types of a union; the type itself if it is none."""
    return [*_options(hint.left), *_options(hint.right)] if isinstance(hint, ast.BinOp) else [hint]


def _written(hint: ast.expr, named: Callable[[str], str], collection: dict[str, str]) -> list[str]:
    """A type as in TypeScript: the options of a union, or the type itself.

    Args:
        named: returns how a name is written.
        collection: how `list` and `dict` are written, with `{}` for the inner type.
    """
    found: list[str] = []
    for option in _options(hint):
        if not isinstance(option, ast.Subscript):
            found.append(named(_name(option)))
            continue
        kind, items = _name(option.value), option.slice.elts if isinstance(option.slice, ast.Tuple) else [option.slice]
        if kind == "Literal":
            found += [json.dumps(ast.literal_eval(item)) for item in items]
        else:
            inner = " | ".join(_written(items[-1], named, collection))
            found.append(collection[kind].format(f"({inner})" if kind == "list" and " | " in inner else inner))
    return found


# TypeScript


def typescript(wire: Wire, file: str) -> str:
    """The content of a TypeScript file."""
    modules = FILES[file]
    own = {name: found for module in modules for name, found in wire.types[module].items()}
    body = "\n".join(_declaration(found) for found in own.values())
    if file == "protocol":
        constants = (_constants(wire, name) for name in GROUPS)
        body = "\n".join([*constants, body, *(_method_map(name, rows) for name, rows in wire.methods.items())])
    code = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    used = [name for name in wire.types["states"] if name not in own and re.search(rf"\b{name}\b", code)]
    names = "".join(f"  {name},\n" for name in used)
    imports = f'import type {{\n{names}}} from "./protocolStates";\n\n' if used else ""
    sources = ", ".join(f"{module}.py" for module in modules)
    head = f"// Generated by `npm run wire` from {sources} in server/fairlead/wire/. Do not edit.\n\n"
    return head + imports + body


def _constants(wire: Wire, group: str) -> str:
    found = [one for one in wire.constants.values() if one.value.startswith(GROUPS[group])]
    prefix = r"^COMMAND_" if group == "serverCommand" else r"_SCHEME$" if group == "scheme" else "^$"
    lines = "".join(f'  {_camel(re.sub(prefix, "", one.name))}: "{one.value}",\n' for one in found)
    return f"export const {group} = {{\n{lines}}} as const;\n"


def _method_map(table: str, rows: Sequence[tuple[Constant, ast.expr]]) -> str:
    """The types of a table of methods: the params of notifications, or the params and the result of requests."""
    lines = "".join(f'  readonly "{method.value}": {_shapes(shapes)};\n' for method, shapes in rows)
    return f"export interface {''.join(map(str.capitalize, table.split('_')))} {{\n{lines}}}\n"


def _shapes(shapes: ast.expr) -> str:
    if isinstance(shapes, ast.Tuple):
        params, result = map(_shapes, shapes.elts)
        return f"{{ params: {params}; result: {result} }}"
    return " | ".join(_script(shapes))


def _camel(name: str) -> str:
    first, *more = name.lower().split("_")
    return first + "".join(word.capitalize() for word in more)


def _declaration(found: Shape | Alias) -> str:
    comment = _comment(found.doc, "")
    if isinstance(found, Alias):
        return comment + _union(f"export type {found.name} =", _script(found.type), "")
    if not found.fields:
        return f"{comment}export type {found.name} = Record<string, never>;\n"
    extends = f" extends {', '.join(found.bases)}" if found.bases else ""
    fields = "".join(
        _comment(field.doc, "  ") + _union(f"  readonly {field.name}{'?' * field.optional}:", _script(field.type), "  ")
        for field in found.fields
    )
    return f"{comment}export interface {found.name}{extends} {{\n{fields}}}\n"


def _script(hint: ast.expr) -> list[str]:
    """The options of a type in TypeScript."""
    collection = {"list": "readonly {}[]", "dict": "Readonly<Record<string, {}>>"}
    return _written(hint, lambda name: {**PLAIN, "Any": "unknown"}.get(name, name), collection)


def _union(start: str, options: list[str], indent: str) -> str:
    """A declaration that ends with a union, formatted as Prettier formats it."""
    line = f"{start} {' | '.join(options)};\n"
    if len(line) <= WIDTH + 1:
        return line
    line = f"{indent}  {' | '.join(options)};\n"
    if len(line) <= WIDTH + 1:
        return f"{start}\n{line}"
    return f"{start}\n" + "".join(f"{indent}  | {option}\n" for option in options)[:-1] + ";\n"


def _comment(text: str, indent: str) -> str:
    if not text:
        return ""
    line = f"{indent}/** {text} */\n"
    if len(line) <= WIDTH + 1:
        return line
    lines = wrap(text, WIDTH - len(indent) - 3, break_long_words=False, break_on_hyphens=False)
    return "\n".join([f"{indent}/**", *(f"{indent} * {line}" for line in lines), f"{indent} */", ""])


# docs/protocol.md


class Page:
    """The tables of docs/protocol.md. A shape or union without a table is written out where it is used."""

    def __init__(self, wire: Wire, text: str) -> None:
        self._wire = wire
        self._text = text
        self._sections = {match[1] for match in MARKER.finditer(text)}

    def generated(self) -> str:
        return MARKER.sub(lambda match: f"{match[1]}{match[2]}{self._content(match[1])}", self._text)

    def _content(self, name: str) -> str:
        if name in self._wire.methods:
            return _table(*self._method_rows(name))
        found = self._wire.all[name]
        if isinstance(found, Shape):
            rows = (
                (f"`{field.name}{'?' * field.optional}`", self._type(field.type), self._doc(field.doc, name))
                for field in found.fields
            )
            return self._paragraph(found) + _table(("field", "type", ""), rows)
        if name == "RunMark":
            return self._paragraph(found) + _table(("kind", "further fields", "when"), self._event_rows(found.type))
        if name == "AgentEvent":
            return _table(("kind", "further fields", "when"), self._event_rows(found.type))
        members = map(self._wire.shape, self._wire.members(found.type))
        rows = ((_code(self._inline(one.name)), self._docs(one, one.fields)) for one in members)
        return self._paragraph(found) + _table(("one of", ""), rows)

    def _paragraph(self, found: Shape | Alias) -> str:
        text = self._links(found.doc, found.name)
        return (
            "\n".join(["", *wrap(text, PAGE_WIDTH, break_long_words=False, break_on_hyphens=False), "", ""])
            if text
            else ""
        )

    def _method_rows(self, name: str) -> tuple[Sequence[str], Iterator[Sequence[str]]]:
        methods = self._wire.methods[name]
        if isinstance(methods[0][1], ast.Tuple):
            rows = (
                (f"`{method.value}`", *(self._part(part) for part in value.elts))
                for method, value in methods
                if isinstance(value, ast.Tuple)
            )
            return ("method", "params", "result"), rows
        notifications = ((f"`{one.value}`", self._part(params), self._doc(one.doc, "")) for one, params in methods)
        return ("method", "params", ""), notifications

    def _part(self, hint: ast.expr) -> str:
        return "the events below" if _name(hint) == "AgentEvent" else self._type(hint)

    def _event_rows(self, hint: ast.expr) -> Iterator[Sequence[str]]:
        for event in map(self._wire.shape, self._wire.members(hint)):
            kind, *own = event.fields
            shapes = [f"those of [`{base}`](#{base.lower()})" for base in event.bases if base in self._sections]
            fields = [_code(self._inline_field(field)) for field in own]
            yield _code(self._written(kind.type).strip('"')), ", ".join([*shapes, *fields]), self._docs(event, own)

    def _docs(self, shape: Shape, fields: Sequence[Field]) -> str:
        """The text about a shape and about its fields, in one cell."""
        about = [f"`{field.name}`: {_lower(field.doc)}" for field in fields if field.doc]
        return self._doc(" ".join([shape.doc, *about]), shape.name)

    def _doc(self, text: str, within: str) -> str:
        """A text as a cell, without the period of its last sentence."""
        return self._links(text, within).replace("|", "\\|").removesuffix(".")

    def _links(self, text: str, within: str) -> str:
        text = re.sub(r"docs/protocol\.md, `?([^)`.]+)`?", lambda match: f"[{match[1]}](#{_anchor(match[1])})", text)
        text = re.sub(r"docs/(\w+\.md)", r"[\1](\1)", text)
        names = "|".join(sorted(self._sections - {within}))
        return re.sub(rf"(?<!\[)`({names})`", lambda match: f"[`{match[1]}`](#{match[1].lower()})", text)

    def _type(self, hint: ast.expr) -> str:
        """A type as a cell, with links to the tables of shapes."""
        parts = re.split(r"«(\w+)»", self._written(hint))
        cell = "".join(f"[`{part}`](#{part.lower()})" if index % 2 else _code(part) for index, part in enumerate(parts))
        return cell or "``"

    def _written(self, hint: ast.expr) -> str:
        """A type with the names of shapes that have tables in guillemets."""
        return " | ".join(_written(hint, self._named, {"list": "{}[]", "dict": "object"}))

    def _named(self, name: str) -> str:
        if name == "AgentEvent":
            return "event"
        if name in self._sections:
            return f"«{name}»"
        found = self._wire.all.get(name)
        if found is None:
            return {**PLAIN, "Any": "any"}.get(name, name)
        return self._written(found.type) if isinstance(found, Alias) else self._inline(name)

    def _inline(self, name: str) -> str:
        return f"{{{', '.join(self._inline_field(field) for field in self._wire.fields(self._wire.shape(name)))}}}"

    def _inline_field(self, field: Field) -> str:
        return f"{field.name}{'?' * field.optional}: {re.sub('[«»]', '', self._written(field.type))}"


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`" if text else ""


def _lower(text: str) -> str:
    """A sentence that continues another one."""
    return text[0].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


def _table(header: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(header)} |".replace("  ", " "), f"|{'---|' * len(header)}"]
    return "".join(f"{line}\n" for line in [*lines, *(f"| {' | '.join(row)} |".replace("  ", " ") for row in rows)])


def main(arguments: Sequence[str]) -> int:
    wire = Wire()
    page = PAGE.read_text("utf-8")
    made = {CLIENT / f"{file}.ts": typescript(wire, file) for file in FILES} | {PAGE: Page(wire, page).generated()}
    old = [path for path, text in made.items() if path.read_text("utf-8") != text]
    for path in old:
        if "--check" in arguments:
            print(f"{path.relative_to(ROOT)} differs from server/fairlead/wire/. Run `npm run wire`.")  # noqa: T201
        else:
            path.write_text(made[path], "utf-8", newline="\n")
    return 1 if old and "--check" in arguments else 0


sys.exit(main(sys.argv[1:]))
