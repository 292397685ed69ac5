"""The values in files of settings, each with its keys and its line."""

import configparser
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from fairlead.text_lines import split_lines

MAX_VALUES = 20_000
MAX_DEPTH = 30
_COMMENT = re.compile(r"(\"(?:\\.|[^\"\\])*\")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])", re.DOTALL)
_NAMES = ("name", "id", "run", "uses", "task", "script", "repo", "path")

Scalar = str | float | bool | None
Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A value, or the values of a list."""

    keys: Keys
    """Those that lead to it. An entry of a list is named by its own name or command, else by its index."""
    value: Scalar
    line: int
    """From 0; for formats that are parsed without lines, where its key is."""


def read_values(path: str, text: str) -> list[Value]:
    """The values of a text; empty if it cannot be read."""
    name = PurePosixPath(path).name.lower()
    try:
        if name.endswith((".json", ".jsonc", ".json5")) or name in (".eslintrc", ".nycrc", ".swcrc", ".mocharc"):
            plain = _COMMENT.sub(lambda match: match[1] or "", text)
            return _with_lines(text, _flatten(json.loads(plain), (), 0))
        if name.endswith(".toml"):
            return _with_lines(text, _flatten(tomllib.loads(text), (), 0))
        if name.endswith((".ini", ".cfg")) or name in (".coveragerc", ".flake8", ".pylintrc", "pylintrc"):
            return _with_lines(text, _ini(text))
        if name.endswith((".yml", ".yaml")):
            return list(_yaml(text))
    except (ValueError, configparser.Error, RecursionError):
        return []
    return []


def _flatten(value: Any, keys: Keys, depth: int) -> Iterator[tuple[Keys, Scalar]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _flatten(inner, (*keys, str(key)), depth + 1)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        for index, inner in enumerate(value):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            yield from _flatten(inner, (*keys, f"[{index}]"), depth + 1)
    else:
        yield keys, value if isinstance(value, str | float | int | bool) else None


def _with_lines(text: str, pairs: Iterator[tuple[Keys, Scalar]]) -> list[Value]:
    """The values with the line of their last key, or of the value in a list, after that of the key around it."""
    lines = split_lines(text)
    found: list[Value] = []
    starts: dict[Keys, int] = {(): 0}
    for keys, value in pairs:
        if len(found) >= MAX_VALUES:
            break
        at = 0
        for depth in range(1, len(keys) + 1):
            known = starts.get(keys[:depth])
            if known is None:
                key = keys[depth - 1]
                wanted = str(value) if key.startswith("[") else key
                known = next((n for n in range(at, len(lines)) if wanted in lines[n]), at)
                starts[keys[:depth]] = known
            at = known
        found.append(Value(keys, value, at))
    return found


def _ini(text: str) -> Iterator[tuple[Keys, Scalar]]:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(text)
    for section in parser.sections():
        for key, value in parser.items(section):
            parts = [part for part in re.split(r"[\n]+", value or "") if part.strip()]
            if len(parts) > 1:
                yield from (((section, key, f"[{n}]"), part.strip()) for n, part in enumerate(parts))
            else:
                yield (section, key), _scalar((value or "").strip())


def _scalar(text: str) -> Scalar:
    if text.lower() in ("true", "yes", "on", "false", "no", "off"):
        return text.lower() in ("true", "yes", "on")
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text


def _yaml(text: str) -> Iterator[Value]:
    import yaml  # noqa: PLC0415 - takes 20 ms, and most sessions change no such file

    try:
        root: Any = yaml.compose(text, Loader=yaml.SafeLoader)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    except yaml.YAMLError:
        return
    waiting: list[tuple[Keys, Any, int]] = [((), root, 0)] if root is not None else []
    count = 0
    while waiting and count < MAX_VALUES:
        keys, node, depth = waiting.pop()
        count += 1
        if depth > MAX_DEPTH:
            continue
        if isinstance(node, yaml.MappingNode):
            pairs = [(str(key.value), inner) for key, inner in node.value]
            waiting += [((*keys, key), inner, depth + 1) for key, inner in reversed(pairs)]
        elif isinstance(node, yaml.SequenceNode):
            named = [(_name_of(inner) or f"[{index}]", inner) for index, inner in enumerate(node.value)]
            waiting += [((*keys, name), inner, depth + 1) for name, inner in reversed(named)]
        elif isinstance(node, yaml.ScalarNode):
            value = node.value if node.style else _scalar(node.value)
            # the first line of a block is the one after its `|`
            yield Value(keys, value, node.start_mark.line + (node.style in ("|", ">")))


def _name_of(node: Any) -> str:
    """What an entry of a list says that it is; empty if it does not."""
    import yaml  # noqa: PLC0415 - as above

    if not isinstance(node, yaml.MappingNode):
        return ""
    own = {str(key.value): inner.value for key, inner in node.value if isinstance(inner, yaml.ScalarNode)}
    return next((str(own[name]) for name in _NAMES if own.get(name)), "")
