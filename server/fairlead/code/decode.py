"""Converts a provider's answers from JSON to values. With `read_answer`, a malformed answer raises `NoAnswer`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from fairlead.code.provider import ADVICE, NoAnswer
from fairlead.json_values import fields_of, is_list, is_object
from fairlead.positions import offset_at, read_count
from fairlead.text_lines import split_lines
from fairlead.uris import file_path
from fairlead.workspace.editor import SEVERITIES, Severity

MAX_DEPTH = 20
"""The greatest `Symbol.depth` that is read. Symbols that are nested more deeply are omitted."""
KINDS = (
    "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum",
    "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null",
    "enum member", "struct", "event", "operator", "type parameter",
)  # fmt: skip
"""The names of LSP 3.18's `SymbolKind`s, which count from 1."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of a file, counted from 1."""

    path: Path
    line: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named part of the code, such as a function."""

    name: str
    kind: str
    """One of `KINDS`, or "symbol"."""
    place: Place
    """Line 1 if the provider sent only the file."""
    container: str = ""
    """The name of the enclosing symbol, if the provider sent one; else empty."""
    depth: int = 0
    """The number of symbols that enclose it; 0 if the provider sent a flat list."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A diagnostic."""

    start: tuple[int, int]
    """The line and the column in characters, both from 0; the same for `end`."""
    end: tuple[int, int]
    severity: Severity
    """`error` if the provider sent none."""
    message: str
    source: str
    """Empty if the provider sent none; the same for `code`."""
    code: str
    json: Mapping[str, Any] = field(compare=False, repr=False)
    """The diagnostic as the provider sent it, which a request for fixes must contain."""

    @property
    def line(self) -> int:
        """The line where it starts, counted from 1."""
        return self.start[0] + 1


def read_answer(decode: Callable[[Any], T], answer: Any, name: str) -> T:
    """Returns `decode(answer)`.

    Args:
        name: the provider's name, for the error.

    Raises:
        NoAnswer: the answer does not have LSP's shape.
    """
    try:
        return decode(answer)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise NoAnswer(f"The answer from {name} is malformed. {ADVICE}") from error


def places(answer: Any) -> list[Place]:
    """The places in a `Location`, or in a list of `Location`s or `LocationLink`s; none if the answer is None.

    Each line appears once. Locations without a usable `file:` URI are omitted.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the answer is something else.
    """
    return list({Place(path, position["line"] + 1): None for path, position in positions(answer)})


def positions(answer: Any) -> list[tuple[Path, dict[str, int]]]:
    """Like `places`, but the start of each location as LSP's `Position`, in the order of the answer."""
    found: list[tuple[Path, dict[str, int]]] = []
    for item in answer if is_list(answer) else [answer] if answer is not None else []:
        is_link = "targetUri" in item
        path = _path(item["targetUri"] if is_link else item["uri"])
        start = (item["targetSelectionRange"] if is_link else item["range"])["start"]
        if path is not None:
            found.append((path, {name: read_count(start[name]) for name in ("line", "character")}))
    return found


def hover_text(answer: Any) -> str:
    """The text of a `Hover`, in Markdown; empty if the answer contains none."""
    contents = fields_of(answer).get("contents")
    parts = contents if is_list(contents) else [contents]
    texts = [part if isinstance(part, str) else str(fields_of(part).get("value") or "") for part in parts]
    return "\n\n".join(text.strip() for text in texts if text.strip())


def symbols(answer: Any, path: Path | None = None) -> list[Symbol]:
    """The symbols of a file (`DocumentSymbol` or `SymbolInformation`) or of the workspace (`WorkspaceSymbol`).

    Args:
        path: the file that was asked about, because a `DocumentSymbol` does not name its file. None: `DocumentSymbol`s
            are omitted.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the answer is something else.
    """
    return list(_symbols(answer or [], path, 0))


def _symbols(items: Any, path: Path | None, depth: int) -> Iterator[Symbol]:
    for item in items:
        location = item.get("location")
        file = _path(location["uri"]) if location is not None else path
        span = location.get("range") if location is not None else item.get("selectionRange") or item["range"]
        line = read_count(span["start"]["line"]) if span is not None else 0
        kind = int(item.get("kind") or 0)
        if file is not None:
            name, container = str(item["name"]), str(item.get("containerName") or "")
            kind_name = KINDS[kind - 1] if 1 <= kind <= len(KINDS) else "symbol"
            yield Symbol(name, kind_name, Place(file, line + 1), container, depth)
        if depth < MAX_DEPTH:
            yield from _symbols(item.get("children") or [], path, depth + 1)


def problems(answer: Any, text: str, encoding: str) -> list[Problem]:
    """The diagnostics of a file.

    Args:
        text: the text of the file that was checked.
        encoding: the unit of the answer's columns.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the answer is something else.
    """
    lines = split_lines(text)
    return [_problem(item, lines, encoding) for item in answer]


def _problem(item: Any, lines: list[str], encoding: str) -> Problem:
    given = item.get("severity")
    severity = SEVERITIES[min(max(int(given), 1), 4) - 1] if given is not None else "error"
    code = item.get("code")
    return Problem(
        _characters(item["range"]["start"], lines, encoding),
        _characters(item["range"]["end"], lines, encoding),
        severity,
        str(item["message"]),
        str(item.get("source") or ""),
        str(code) if isinstance(code, str | int) else "",
        item,
    )


def _characters(position: Any, lines: list[str], encoding: str) -> tuple[int, int]:
    """A position with its column in characters, limited to the text."""
    row, column = read_count(position["line"]), read_count(position["character"])
    if row >= len(lines):
        return len(lines), 0
    return row, offset_at([lines[row]], {"line": 0, "character": column}, encoding)


@lru_cache(maxsize=1024)
def _path(uri: Any) -> Path | None:
    if not isinstance(uri, str):
        raise TypeError("a URI is not a string")
    return file_path(uri)


def actions(answer: Any) -> list[dict[str, Any]]:
    """The enabled `CodeAction`s of an answer. Omits plain `Command`s, which only the provider could run.

    Omits malformed items instead of raising.
    """
    objects: list[dict[str, Any]] = [action for action in (answer if is_list(answer) else []) if is_object(action)]
    named = [action for action in objects if isinstance(action.get("title"), str)]
    return [action for action in named if not action.get("disabled") and not isinstance(action.get("command"), str)]
