"""Reads a journal file: its first line, its entries, and the summary in its last line. Writes nothing.

A damaged file raises `ValueError`, so that it affects only its own session. An incomplete last line and an invalid
summary do not count as damage.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlead.agent.events import StopReason
from fairlead.json_reader import read
from fairlead.json_values import fields_of, is_list, is_object
from fairlead.session.evidence.spending import SpentByDay
from fairlead.session.model_selection import ModelSelection
from fairlead.session.store.codec import Json
from fairlead.session.store.entries import LATEST_TIME, JournalContent, read_entries

FORMAT = 2
TAIL_BYTES = 4096  # how much is read from the end of the file, where a settled session has its summary
MAX_HEAD_BYTES = 1 << 20  # the first line contains the paths of all folders; a path has at most a few thousand bytes


@dataclass(frozen=True, slots=True)
class Summary:
    """A settled session as the list shows it. In such a session, no run is unfinished and no proposal is undecided."""

    title: str
    updated: float
    """As `SessionState.updated`."""
    completed: int
    """The number of completed plan items."""
    total: int
    """The number of plan items."""
    selection: ModelSelection
    """As `SessionState.selection`."""
    ended: StopReason | None
    """As `SessionState.ended`."""
    spent: SpentByDay
    """As `SessionState.spent`."""


@dataclass(frozen=True, slots=True)
class JournalInfo:
    """A session, as far as it is known from its journal's name, time, first line and last line."""

    id: str
    folders: tuple[str, ...]
    """The paths of the workspace's folders when the session began."""
    written: float
    """When the file was last written, in seconds since the epoch."""
    summary: Summary | None
    """None: the session is not settled, or the summary cannot be read."""


def load(path: Path) -> tuple[JournalContent, int]:
    """The content of a file, and its size in bytes without an incomplete last line, which is ignored.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not a journal, has another format, or is damaged.
    """
    _check_file(path)
    lines, newline, _ = path.read_bytes().rpartition(b"\n")
    return read_entries(entry for entry in _entries(lines) if "row" not in entry), len(lines) + len(newline)


def inspect(path: Path) -> JournalInfo:
    """Reads the first and the last line.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not a journal, or has another format.
    """
    _check_file(path)
    with path.open("rb") as file:
        folders = _folders(_json(file.readline(MAX_HEAD_BYTES)))
        status = os.fstat(file.fileno())
        file.seek(max(0, status.st_size - TAIL_BYTES))
        lines, _, incomplete = file.read().rpartition(b"\n")
    summary = _summary(lines.rpartition(b"\n")[2]) if not incomplete else None
    return JournalInfo(path.stem, folders, status.st_mtime, summary)


def last_title(path: Path) -> str:
    """The last title in a damaged file; "" if none can be found."""
    found = ""
    try:
        _check_file(path)
        lines = path.read_bytes().split(b"\n")
    except (OSError, ValueError):
        return found
    for line in lines:
        if b'"/title"' in line:
            with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):
                titles = [each[1] for each in _json(line)["patch"] if each[0] == "/title"]
                found = next((title for title in titles if isinstance(title, str)), found)
    return found


def _check_file(path: Path) -> None:
    """Refuses anything but a file, because reading a pipe, for example, may never end.

    Raises:
        ValueError: the path exists and is not a file.
    """
    if path.exists() and not path.is_file():
        raise ValueError("it is not a file")


def _entries(data: bytes) -> Iterator[Json]:
    """The entries after the first line. Checks the first line too.

    Raises:
        ValueError: the data is not a journal of this format.
    """
    head, *lines = data.split(b"\n")
    _folders(_json(head))
    for number, line in enumerate(lines, 2):
        entry = _json(line)
        if not is_object(entry):
            raise ValueError(f"line {number} is not an entry")
        yield entry


def _json(line: bytes) -> Any:
    """The value of a line.

    Raises:
        ValueError: the line is not JSON, or is nested too deeply.
    """
    try:
        return json.loads(line)
    except RecursionError as error:
        raise ValueError("a line is nested too deeply") from error


def _folders(head: Any) -> tuple[str, ...]:
    fields = fields_of(head)
    folders = [fields.get("root"), *(others if is_list(others := fields.get("others", [])) else [None])]
    if fields.get("format") != FORMAT or not all(isinstance(folder, str) for folder in folders):
        raise ValueError(f"its format is not {FORMAT}")
    return tuple(map(str, folders))


def _summary(line: bytes) -> Summary | None:
    try:
        summary = read(Summary, fields_of(_json(line)).get("row"), "row")
    except ValueError:  # an entry, or the end of a long one
        return None
    return summary if summary.updated <= LATEST_TIME else None
