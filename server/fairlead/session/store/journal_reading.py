"""What a journal's file says: its first line, its entries, and its row. Nothing is written here.

Whatever is wrong with a file is an error of one kind, so that a damaged journal is one session that cannot be read.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlead.session.store.codec import Json, read_time
from fairlead.session.store.entries import Folded, fold
from fairlead.session.store.type_check import fits

FORMAT = 1
TAIL = 4096  # bytes in which the last line of a session at rest is looked for
LONGEST_HEAD = 1 << 16  # bytes; a path has at most some thousand


@dataclass(frozen=True, slots=True)
class AtRest:
    """A session with nothing left to decide, as the list shows it."""

    title: str
    updated: float
    completed: int
    total: int


@dataclass(frozen=True, slots=True)
class Found:
    """A journal that is there: of which workspace, when it was written last (seconds since the epoch), and the
    session's row if it is at rest."""

    id: str
    root: str
    written: float
    at_rest: AtRest | None


def read(path: Path) -> tuple[Folded, int]:
    """What a file says, and how many of its bytes that are: a last line that was not written whole does not count.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no journal, or one of another format, or damaged.
    """
    _check_file(path)
    whole, newline, _ = path.read_bytes().rpartition(b"\n")
    return fold(entry for entry in _entries(whole) if "row" not in entry), len(whole) + len(newline)


def look(path: Path) -> Found:
    """What the first and the last line say.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no journal.
    """
    _check_file(path)
    with path.open("rb") as file:
        root = _root(_json(file.readline(LONGEST_HEAD)))
        now = os.fstat(file.fileno())
        file.seek(max(0, now.st_size - TAIL))
        last, _, torn = file.read().rpartition(b"\n")
    return Found(path.stem, root, now.st_mtime, _at_rest(last.rpartition(b"\n")[2]) if not torn else None)


def title(path: Path) -> str:
    """The last title in a file that is damaged; "" where none can be found."""
    found = ""
    try:
        _check_file(path)
        for line in path.read_bytes().split(b"\n"):
            if b'"title":' in line:
                entry = _json(line)
                given = entry.get("title") if isinstance(entry, dict) else None
                found = given if isinstance(given, str) else found
    except (OSError, ValueError):
        pass
    return found


def _check_file(path: Path) -> None:
    """A pipe would never come to an end.

    Raises:
        ValueError: it is something else than a file.
    """
    if path.exists() and not path.is_file():
        raise ValueError("it is not a file")


def _entries(data: bytes) -> Iterator[Json]:
    """The lines after the first, which is checked.

    Raises:
        ValueError: this is no journal of this format.
    """
    head, *lines = data.split(b"\n")
    _root(_json(head))
    for number, line in enumerate(lines, 2):
        entry = _json(line)
        if not isinstance(entry, dict):
            raise ValueError(f"line {number} is not an entry")
        yield entry


def _json(line: bytes) -> Any:
    """A line's value.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return json.loads(line)
    except RecursionError as error:
        raise ValueError("a line is nested too deeply") from error


def _root(head: object) -> str:
    if not isinstance(head, dict) or head.get("format") != FORMAT or not isinstance(head.get("root"), str):
        raise ValueError(f"its format is not {FORMAT}")
    return head["root"]


def _at_rest(line: bytes) -> AtRest | None:
    try:
        name, updated, completed, total = _json(line)["row"]
        row = AtRest(name, read_time(updated), completed, total)
    except (ValueError, KeyError, TypeError):  # another entry, or the end of a long one
        return None
    return row if fits(AtRest, row) else None
