"""What the processes of a command opened, looked at, listed or missed, as the sandbox recorded it. Pure values."""

import marshal
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

AccessKind = Literal["open", "look", "execute", "write", "change"]
"""`look`: only asked about it. `write`: created or replaced it. `change`: opened or created it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was there, before the command could change it."""

    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    program: str = ""
    """The name of the program that listed the folder, or asked about the file. Empty for any other access."""

    @property
    def is_folder(self) -> bool:
        """Whether it was a folder."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        """Whether it was a regular file."""
        return stat.S_ISREG(self.mode)


@dataclass(frozen=True, slots=True)
class Access:
    """The first access of a kind to a path."""

    kind: AccessKind
    path: str
    """Absolute, as the command wrote it, so that it may contain links and `..`."""
    seen: Seen | None
    """None: there was nothing, or it could not be seen."""


@dataclass(frozen=True, slots=True)
class Reads:
    """What a command read."""

    accesses: Sequence[Access]
    """In the order in which they were first made."""
    is_complete: bool
    """Whether nothing is missing."""
    doubt: Literal["none", "failure", "any"] = "none"
    """What the recording may have caused: that the command failed (it interrupted a call, or was in the place of
    another), or any result (it ended before the command, whose calls failed then)."""


FAILED = Reads((), is_complete=False, doubt="any")
"""The recording ended before the command."""


def _seen(mode: int, size: int, mtime_ns: int, ctime_ns: int, program: bytes) -> Seen:
    return Seen(mode, size, mtime_ns, ctime_ns, os.fsdecode(program))


def parse_reads(data: bytes) -> Reads:
    """Reads what the supervisor of a box wrote (`shell/sandbox/box/reads.py`): None if the kernel refused the filter.

    Returns `FAILED` if it wrote nothing.
    """
    if not data:
        return FAILED
    found: Any = marshal.loads(data)
    if found is None:
        return Reads((), is_complete=False)
    accesses = [
        Access(kind, os.fsdecode(path), None if seen is None else _seen(*seen))
        for kind, path, seen in found["accesses"]
    ]
    is_disturbed = found["interrupted"] or found["supervises"]
    return Reads(accesses, not found["incomplete"], "failure" if is_disturbed else "none")
