"""Reads the YAML at the beginning of a Markdown file, as leniently as other agents do."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# PyYAML's stubs leave the types of many results open

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.composer import ComposerError

from fairlead.json_values import is_list, is_object

MAX_HEADER = 20_000
"""Characters. Reading YAML is slow, and a workspace may have many files."""
_FENCE = re.compile(r"---[ \t]*")
_PLAIN = re.compile(r"([A-Za-z_][\w-]*):[ \t]+([^\s\"'{|>&*!#%@`].*?)[ \t]*")
"""A line with a key and a value that YAML might not take as one text."""


class _Loader(yaml.SafeLoader):
    """Reads numbers and dates as the texts that they are written as, so that none is invalid or changed.

    An alias is an error: a few of them can stand for gigabytes of text.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise ComposerError(None, None, "aliases, such as *name, are not read", self.peek_event().start_mark)
        return super().compose_node(parent, index)


def _as_written(loader: Any, node: Any) -> Any:
    return loader.construct_scalar(node)


for _tag in ("int", "float", "timestamp"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _as_written)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields of a file, and the text that follows."""

    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: str = ""
    problem: str = ""
    """Why the fields cannot be read; empty if they can."""
    problem_line: int = 1
    """Where, from 1."""
    lines: Mapping[str, int] = field(default_factory=dict[str, int])
    """Where each field begins, from 1."""

    def text(self, name: str) -> str:
        """The text of a field on one line; empty if it has none."""
        value = self.fields.get(name)
        if is_list(value):  # `argument-hint: [file]` is a list for YAML
            value = f"[{', '.join(map(str, value))}]"
        return " ".join(str(value).split()) if isinstance(value, str | bool) else ""

    def flag(self, name: str, default: bool) -> bool:
        """Whether a field is true."""
        value = self.fields.get(name)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        return value if isinstance(value, bool) else default


def read_front_matter(text: str) -> FrontMatter:
    """The fields and the text of a file. A file that does not begin with `---` has no fields."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or not _FENCE.fullmatch(lines[0]):
        return FrontMatter(body="\n".join(lines).strip())
    end = next((number for number, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), None)
    if end is None:
        return FrontMatter(body="\n".join(lines).strip(), problem="the --- at its beginning has no end")
    header, body = lines[1:end], "\n".join(lines[end + 1 :]).strip()
    if sum(map(len, header)) > MAX_HEADER:
        return FrontMatter(body=body, problem=f"its header is longer than {MAX_HEADER:,} characters")
    try:
        given, lines_of_fields = _load(header)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem, line = _reason(error)
        return FrontMatter(body=body, problem=problem, problem_line=line)
    if given is None:
        return FrontMatter(body=body)
    if not is_object(given):
        return FrontMatter(body=body, problem="the text between the --- has no fields", problem_line=2)
    return FrontMatter({str(name): value for name, value in given.items()}, body, lines=lines_of_fields)


def _load(header: list[str]) -> tuple[Any, dict[str, int]]:
    """What YAML says, and where its fields begin."""
    try:
        return _load_yaml("\n".join(header))
    except yaml.YAMLError as error:
        try:
            # such as `description: Use it when: ...`, which others write and YAML does not allow
            return _load_yaml("\n".join(map(_quoted, header)))
        except yaml.YAMLError:
            raise error from None  # about what the user wrote


def _load_yaml(text: str) -> tuple[Any, dict[str, int]]:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None, {}
        names = [name for name, _ in node.value] if isinstance(node, yaml.MappingNode) else []
        lines = {str(name.value): _line(name.start_mark) for name in names}
        return loader.construct_document(node), lines
    finally:
        loader.dispose()


def _line(mark: Any) -> int:
    """The line in the file of a place in its fields, which begin in the second line."""
    return mark.line + 2


def _quoted(line: str) -> str:
    found = _PLAIN.fullmatch(line)
    return f"{found[1]}: {json.dumps(found[2])}" if found else line


def _reason(error: Exception) -> tuple[str, int]:
    """Why the fields cannot be read, and the line."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    return " ".join(str(problem).split()), 2 if mark is None else _line(mark)
