"""The states of what a command read besides the workspace's files (`Inputs.others`), to tell whether it has changed.

A state is a text that begins with its kind, such as `sha256:`. Its path tells where to look again:

    absent      there is nothing; otherwise `present`
    present     there is something; otherwise `absent`
    sha256      the content of a file of up to `MAX_HASHED` bytes
    stamp       the size and the times of a larger file, or of a program outside of the workspace
    link        where a symbolic link leads
    folder      there is a folder
    packages    what is installed in a folder of Python packages
    commit      the commit that a repository's HEAD names
"""

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from fairlead.plan.inputs import FOLDER, PRESENT
from fairlead.workspace.repositories import read_start
from fairlead.workspace.safe_open import read_regular

MAX_HASHED = 4_000_000
ABSENT = "absent"
_INSTALLED = (".dist-info", ".egg-info", ".egg-link", ".pth")
_REF = re.compile(r"ref: (refs/[^\n\0]+)")

Kind = str


def kind_of(state: str) -> Kind:
    """The kind of a state."""
    return state.partition(":")[0]


class OtherInputs:
    """Remembers the states of paths. A file is read again only if its stamp has changed."""

    def __init__(self) -> None:
        self._hashed: dict[str, tuple[str, str]] = {}  # by path: the stamp and the state of a file
        self._states: dict[tuple[str, Kind], str] = {}

    def state(self, path: str, kind: Kind) -> str | None:
        """The state of a path at the last `look`; None if it was not looked at."""
        return self._states.get((path, kind))

    def look(self, others: Iterable[Mapping[str, str]]) -> bool:
        """Looks at all these paths. Returns whether a state differs from that of the last time.

        Blocks for about as long as a `stat` of each path. Call it in a thread.
        """
        wanted = {(path, kind_of(state)) for each in others for path, state in each.items()}
        found = {key: self.now(*key) for key in wanted}
        has_changed = any(self._states.get(key, state) != state for key, state in found.items())
        self._states |= found
        return has_changed

    def now(self, path: str, kind: Kind) -> str:
        """The state of a path on disk, as one of this kind."""
        try:
            if kind == "link":
                return f"link:{os.readlink(path)}"
            if kind == "packages":
                return _packages(path)
            if kind == "commit":
                return _commit(path)
            status = os.lstat(path)
        except OSError:
            return ABSENT
        if kind in (ABSENT, PRESENT):
            return PRESENT
        if kind == FOLDER:
            return FOLDER if stat.S_ISDIR(status.st_mode) else PRESENT
        return _stamp(status) if kind == "stamp" else self._hash(path, status)

    def _hash(self, path: str, status: os.stat_result) -> str:
        stamp = _stamp(status)
        known = self._hashed.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        state = stamp
        if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_HASHED:
            data, executable = read_regular(Path(path), MAX_HASHED), "+x" if status.st_mode & 0o100 else ""
            state = f"sha256:{hashlib.sha256(data).hexdigest()}{executable}"
        self._hashed[path] = stamp, state
        return state


def _stamp(status: os.stat_result) -> str:
    return f"stamp:{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_mode:o}"


def _packages(folder: str) -> str:
    """The names and versions of what is installed in a folder, and when each was installed."""
    rows: list[str] = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(_INSTALLED):
            stamp = ""
            with contextlib.suppress(OSError):
                record = os.path.join(folder, name, "RECORD")
                status = os.stat(record if os.path.exists(record) else os.path.join(folder, name))
                stamp = f"{status.st_size} {status.st_mtime_ns}"
            rows.append(f"{name} {stamp}")
    return f"packages:{hashlib.sha256(os.fsencode(chr(10).join(rows))).hexdigest()}"


def _commit(head: str) -> str:
    """The commit of a HEAD file; the name of its branch if that has no commit in a file of its own."""
    text = read_start(Path(head)).strip()
    ref = _REF.fullmatch(text)
    if ref is None:
        return f"commit:{text}"
    folder = Path(head).parent
    with contextlib.suppress(OSError):
        folder = (folder / (folder / "commondir").read_text().strip()).resolve()
    for line in read_start(folder / "packed-refs").splitlines():
        commit, _, name = line.partition(" ")
        if name == ref[1]:
            text = commit
    return f"commit:{read_start(folder / ref[1]).strip() or text}"
