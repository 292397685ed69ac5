"""Reads the definitions of the wire (`server/fairlead/wire/`) from their source, with the texts under them."""

import ast
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SERVER = ROOT / "server" / "fairlead" / "wire"
MODULES = ("states", "protocol", "params", "events", "run_lines")
"""A module uses the shapes of those before it."""


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
        for module in MODULES:
            tree = ast.parse((SERVER / f"{module}.py").read_text("utf-8"))
            self.types[module] = {}
            for node, after in pairwise([*tree.body, None]):
                self._read(self.types[module], node, _text(after))
        tables = ast.parse((SERVER / "messages.py").read_text("utf-8"))
        self.methods = {
            _target(node): [(self.constants[name_of(key)], value) for key, value in zip(keys, values, strict=True)]
            for node in tables.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict)
            for keys, values in [(node.value.keys, node.value.values)]
        }
        """The tables of methods, each with the params, or the params and the result."""
        self.all = {name: found for module in self.types.values() for name, found in module.items()}
        assert len(self.all) == sum(map(len, self.types.values())), "two shapes have the same name"

    def _read(self, types: dict[str, Shape | Alias], node: ast.stmt | None, doc: str) -> None:
        match node:
            case ast.ClassDef(name=name, bases=[*bases]) if all(isinstance(base, ast.Name) for base in bases):
                if name != "RequestError":
                    fields = [
                        _field(_target(one), one.annotation, _text(after))
                        for one, after in pairwise([*node.body, None])
                        if isinstance(one, ast.AnnAssign)
                    ]
                    found = [name_of(base) for base in bases if name_of(base) != "TypedDict"]
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
        for name in map(name_of, options_of(hint)):
            named = self.all[name]
            found += self.members(named.type) if isinstance(named, Alias) else [name]
        return found


def _field(name: str, hint: ast.expr, doc: str) -> Field:
    optional = isinstance(hint, ast.Subscript) and name_of(hint.value) == "NotRequired"
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


def name_of(node: ast.expr | None) -> str:
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


def options_of(hint: ast.expr) -> list[ast.expr]:
    """The types of a union; the type itself if it is none."""
    return [*options_of(hint.left), *options_of(hint.right)] if isinstance(hint, ast.BinOp) else [hint]


def write_type(hint: ast.expr, named: Callable[[str], str], collection: dict[str, str]) -> list[str]:
    """A type as in TypeScript: the options of a union, or the type itself.

    Args:
        named: returns how a name is written.
        collection: how `list` and `dict` are written, with `{}` for the inner type.
    """
    found: list[str] = []
    for option in options_of(hint):
        if not isinstance(option, ast.Subscript):
            found.append(named(name_of(option)))
            continue
        kind, items = (
            name_of(option.value),
            option.slice.elts if isinstance(option.slice, ast.Tuple) else [option.slice],
        )
        if kind == "Literal":
            found += [json.dumps(ast.literal_eval(item)) for item in items]
        else:
            inner = " | ".join(write_type(items[-1], named, collection))
            found.append(collection[kind].format(f"({inner})" if kind == "list" and " | " in inner else inner))
    return found
