"""Reads and writes recordings: the model's half of a conversation as a YAML file (docs/replay.md). For example:

replay: 1
turns:
  - text: I'll look at the file first.
    calls:
      - read_file: {path: hello.py}
  - text: Done.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# PyYAML's stubs leave the types of many results open

import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import yaml
from yaml.reader import ReaderError

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Stop, Usage
from fairlead.models.common.fields import MAX_COUNT
from fairlead.workspace.replace_file import replace_file

MAX_DEPTH = 120  # levels
MAX_SIZE = 1_000_000  # values, counted again for each alias
YAML_LINE_ENDS = "\x85\u2028\u2029\ufeff"
"""Characters that a block of YAML would change: Unicode's line ends, and the byte order mark."""
TURN_FIELDS = ("text", "thinking", "calls", "stop", "usage", "when")
FILE_FIELDS = ("replay", "about", "pace", "turns")
USAGE_FIELDS = {
    "input": "input_tokens",
    "cacheRead": "cache_read_tokens",
    "cacheWrite": "cache_write_tokens",
    "output": "output_tokens",
}


@dataclass(frozen=True)
class Turn:
    """One answer of the model."""

    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    """Tool names with their inputs."""
    stop: Stop | None = None
    """The stop reason; None if it follows from the calls."""
    usage: Usage = field(default_factory=lambda: Usage(requests=1))
    when: str = ""
    """The turn is played only if the results of the last calls contain this text, otherwise it is skipped.

    Empty: it is always played.
    """


@dataclass(frozen=True)
class Recording:
    """The content of a file."""

    turns: tuple[Turn, ...]
    about: str = ""
    pace: float = 0.0
    """The pause after each word, in seconds."""


if TYPE_CHECKING:
    _FastLoader = yaml.SafeLoader
else:
    _FastLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_FastLoader):
    """Reads only JSON's numbers, true, false and null as such; the rest is text, even `yes` and dates.

    `~` and an empty value are null, too.
    """


class _Dumper(yaml.SafeDumper):
    """Writes multi-line text as a readable block, and quotes text that would be read as another type."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Loader.yaml_implicit_resolvers = {}
_Dumper.yaml_implicit_resolvers = {}
for _kind, _form, _first in (
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|false", ["t", "f"]),
    ("int", r"-?(?:0|[1-9][0-9]*)", list("-0123456789")),
    ("float", r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", list("-0123456789")),
):
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(f"^(?:{_form})$"), _first)


def read_recording(path: Path) -> Recording:
    """Reads a recording.

    Raises:
        ModelError: the file cannot be read, or has a mistake, whose line the message names. The kind is `replay`.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would never end
            raise OSError("it is not a file")
        data = path.read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        raise ModelError("replay", f"The replay file {path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise ModelError("replay", f"The replay file {path} is not UTF-8 text.") from error
    except ValueError as error:
        raise ModelError("replay", f"The replay file {str(path)!r} cannot be read: the path is invalid.") from error
    try:
        _check_shape(text)
        return _recording(yaml.compose(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ModelError("replay", f"{path}, line {line}: {error.problem or error.context}.") from error
    except ReaderError as error:
        line = data.count(b"\n", 0, error.position) + 1
        raise ModelError("replay", f"{path}, line {line}: {error.reason}; write an escape in double quotes.") from error
    except _Mistake as error:
        reason = ": ".join([*reversed(error.places), str(error)])
        raise ModelError("replay", f"{path}, line {error.line}: {reason}.") from error


class _Mistake(Exception):
    """A mistake in a recording."""

    def __init__(self, location: yaml.Node | yaml.Event | None, message: str) -> None:
        super().__init__(message)
        self.line = location.start_mark.line + 1 if location is not None and location.start_mark is not None else 1
        self.places: list[str] = []
        """Where it is, from the inside out, such as `“path”`, `the input of “read_file”`, `turn 2`."""


@contextmanager
def _inside(place: str) -> Generator[None]:
    """Adds a place to a mistake that the block raises."""
    try:
        yield
    except _Mistake as mistake:
        mistake.places.append(place)
        raise


def _check_shape(text: str) -> None:
    """Refuses content of unlimited cost: deep nesting, many values, and aliases that contain themselves or multiply."""
    size = 0
    open_collections: list[tuple[str | None, int]] = []
    sizes: dict[str | None, int] = {}
    for event in yaml.parse(text, Loader=_Loader):
        match event:
            case yaml.AliasEvent():
                if event.anchor not in sizes:
                    raise _Mistake(event, f"“*{event.anchor}” refers to a value that is missing or not complete yet")
                size += sizes[event.anchor]
            case yaml.CollectionStartEvent():
                open_collections.append((event.anchor, size))
                size += 1
            case yaml.CollectionEndEvent():
                anchor, before = open_collections.pop()
                sizes[anchor] = size - before
            case yaml.ScalarEvent():
                size += 1
                sizes[event.anchor] = 1
            case _:
                pass
        if size > MAX_SIZE or len(open_collections) > MAX_DEPTH:
            raise _Mistake(event, f"the file is too large: more than {MAX_SIZE:,} values or {MAX_DEPTH} levels")


def _recording(root: yaml.Node | None) -> Recording:
    if root is None:
        raise _Mistake(None, "the file is empty; it must contain “replay: 1” and a list “turns”")
    fields = dict(_fields(root, FILE_FIELDS, "a recording"))
    version = fields.get("replay")
    if version is None:
        raise _Mistake(root, "“replay: 1” is missing; that is the format's version")
    number = _value(version, "“replay”")
    if isinstance(number, bool) or number != 1:
        raise _Mistake(version, "“replay” must be 1, the format's version")
    if "turns" not in fields:
        raise _Mistake(root, "“turns” is missing, the list of the model's answers")
    pace = _value(fields["pace"], "“pace”") if "pace" in fields else 0.0
    if not isinstance(pace, int | float) or isinstance(pace, bool) or not 0 <= pace <= 5:
        raise _Mistake(fields["pace"], "“pace” must be the pause after each word in seconds, 0 to 5")
    turns = [_turn(node, number) for number, node in enumerate(_items(fields["turns"], "turns"), 1)]
    return Recording(tuple(turns), _text(fields, "about"), float(pace))


def _turn(node: yaml.Node, number: int) -> Turn:
    with _inside(f"turn {number}"):
        fields = dict(_fields(node, TURN_FIELDS, "a turn"))
        calls = tuple(map(_call, _items(fields["calls"], "calls"))) if "calls" in fields else ()
        usage = _usage(fields["usage"]) if "usage" in fields else Usage(requests=1)
        text, thinking, when = (_text(fields, name) for name in ("text", "thinking", "when"))
        return Turn(text, thinking, calls, _stop(fields["stop"]) if "stop" in fields else None, usage, when)


def _stop(node: yaml.Node) -> Stop | None:
    value = _value(node, "“stop”")
    if value is not None and value not in get_args(Stop):
        raise _Mistake(node, f"“stop” must be one of {', '.join(get_args(Stop))}")
    return value


def _usage(node: yaml.Node) -> Usage:
    usage = {"requests": 1}
    for name, value in _fields(node, tuple(USAGE_FIELDS), "usage"):
        count = _value(value, f"“{name}”")
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MAX_COUNT:
            raise _Mistake(value, f"“{name}” must be a number of tokens")
        usage[USAGE_FIELDS[name]] = count
    return Usage(**usage)


def _call(node: yaml.Node) -> tuple[str, dict[str, Any]]:
    pairs = list(_pairs(node, "a call"))
    if len(pairs) != 1:
        raise _Mistake(node, "a call must be one tool's name with its input: “- read_file: {path: a.py}”")
    name, given = pairs[0]
    if not isinstance(given, yaml.MappingNode):
        raise _Mistake(given, f"the input of “{name.value}” must be an object (name: value)")
    with _inside(f"the input of “{name.value}”"):
        return name.value, _json(given)


def _json(node: yaml.Node, depth: int = 0) -> Any:
    """Converts a node to JSON values. Names are always text."""
    if depth > MAX_DEPTH:
        raise _Mistake(node, f"more than {MAX_DEPTH} levels deep")
    match node:
        case yaml.MappingNode(tag="tag:yaml.org,2002:map"):
            return {key.value: _named(key.value, value, depth) for key, value in _pairs(node, "an object")}
        case yaml.SequenceNode(tag="tag:yaml.org,2002:seq"):
            return [_json(value, depth + 1) for value in node.value]
        case yaml.ScalarNode():
            value = _value(node)
            if value is None or isinstance(value, str | int) or (isinstance(value, float) and isfinite(value)):
                return value
        case _:
            _value(node)  # raises for an unknown tag
    raise _Mistake(node, "JSON has no such value; remove the tag or quote the text")


def _named(name: str, node: yaml.Node, depth: int) -> Any:
    with _inside(f"“{name}”"):
        return _json(node, depth + 1)


def _fields(node: yaml.Node, allowed: Sequence[str], what: str) -> Iterator[tuple[str, yaml.Node]]:
    seen: set[str] = set()
    for key, value in _pairs(node, what):
        name = key.value
        if name not in allowed:
            raise _Mistake(key, f"unknown field “{name}”; {what} has {', '.join(allowed)}")
        if name in seen:
            raise _Mistake(key, f"“{name}” is given twice")
        seen.add(name)
        yield name, value


def _pairs(node: yaml.Node, what: str) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    if not isinstance(node, yaml.MappingNode):
        raise _Mistake(node, f"{what} must be an object (name: value)")
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _Mistake(key, "a name must be text")
        yield key, value


def _items(node: yaml.Node, what: str) -> list[yaml.Node]:
    if not isinstance(node, yaml.SequenceNode):
        raise _Mistake(node, f"“{what}” must be a list (each entry begins with “-”)")
    return node.value


def _text(fields: dict[str, yaml.Node], name: str) -> str:
    node = fields.get(name)
    if node is None:
        return ""
    value = _value(node, f"“{name}”")
    if not isinstance(value, str):
        raise _Mistake(node, f"“{name}” must be text; put it in quotes")
    is_block = isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")
    return value.strip("\n") if is_block else value


def _value(node: yaml.Node, name: str = "the value") -> Any:
    loader = _Loader("")
    try:
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise _Mistake(node, error.problem or str(error)) from error
    except (ValueError, LookupError, AttributeError) as error:  # from YAML's constructors, as for `!!int abc`
        kind = node.tag.rpartition(":")[2]
        raise _Mistake(node, f"{name} is not valid for the type {kind}; put it in quotes") from error
    finally:
        loader.dispose()


class _Exact(str):
    """Text that begins or ends with line breaks, which a block would lose."""

    __slots__ = ()


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_exact = isinstance(text, _Exact) or any(character in text for character in YAML_LINE_ENDS)
    style = '"' if is_exact else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style=style)


_Dumper.add_representer(_Exact, _represent_text)
_Dumper.add_representer(str, _represent_text)


def write_recording(path: Path, recording: Recording) -> None:
    """Writes a recording so that `read_recording` returns the same turns. The file is replaced atomically.

    The number of requests of a turn is not written: `read_recording` sets it to 1.

    Raises:
        OSError: the file cannot be written. Its previous content is unchanged.
    """
    fields: dict[str, Any] = {"replay": 1}
    if recording.about:
        fields["about"] = _exact(recording.about)
    if recording.pace:
        fields["pace"] = recording.pace
    fields["turns"] = [_turn_fields(turn) for turn in recording.turns]
    text = yaml.dump(fields, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)
    replace_file(path, text.encode())


def _exact(text: str) -> str:
    return text if text == text.strip("\n") else _Exact(text)


def _turn_fields(turn: Turn) -> dict[str, Any]:
    fields: dict[str, Any] = {"when": _exact(turn.when), "thinking": _exact(turn.thinking), "text": _exact(turn.text)}
    fields["calls"] = [{name: given} for name, given in turn.calls]
    fields["stop"] = turn.stop
    fields["usage"] = {
        name: getattr(turn.usage, attribute)
        for name, attribute in USAGE_FIELDS.items()
        if getattr(turn.usage, attribute)
    }
    return {name: value for name, value in fields.items() if value} or {"text": ""}
