"""Reads the YAML at the beginning of a Markdown file, as leniently as other agents do."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from fairlead.json_values import is_list, is_object

_FENCE = re.compile(r"---[ \t]*")
_PLAIN = re.compile(r"([A-Za-z_][\w-]*):[ \t]+([^\s\"'{|>&*!#%@`].*?)[ \t]*")
"""A line with a key and a value that YAML might not take as one text."""


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields of a file, and the text that follows."""

    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: str = ""
    problem: str = ""
    """Why the fields cannot be read, with the line; empty if they can."""

    def text(self, name: str) -> str:
        """The text of a field on one line; empty if it has none."""
        value = self.fields.get(name)
        if is_list(value):  # `argument-hint: [file]` is a list for YAML
            value = f"[{', '.join(map(str, value))}]"
        return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""

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
        return FrontMatter(body="\n".join(lines).strip(), problem="line 1: the --- at its beginning has no end")
    header, body = lines[1:end], "\n".join(lines[end + 1 :]).strip()
    try:
        given = _load(header)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return FrontMatter(body=body, problem=_reason(error))
    if given is None:
        return FrontMatter(body=body)
    if not is_object(given):
        return FrontMatter(body=body, problem="line 2: the text between the --- has no fields")
    return FrontMatter({str(name): value for name, value in given.items()}, body)


def _load(header: list[str]) -> Any:
    try:
        return yaml.safe_load("\n".join(header))
    except yaml.YAMLError:
        # such as `description: Use it when: ...`, which others write and YAML does not allow
        return yaml.safe_load("\n".join(map(_quoted, header)))


def _quoted(line: str) -> str:
    found = _PLAIN.fullmatch(line)
    return f"{found[1]}: {json.dumps(found[2])}" if found else line


def _reason(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    return f"line {mark.line + 2 if mark is not None else 2}: {' '.join(str(problem).split())}"
