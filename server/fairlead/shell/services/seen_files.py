"""Tracks the files that a running process sees: those on disk, and the proposed ones."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairlead.shell.layer import Entry
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.errors import WorkspaceError

MAX_FILES = 20_000
"""While this many files in a process's folder matter to it, changes on disk are not reported to it."""
REST = 10
"""The minimum time between the starts of two searches for changed files, as a multiple of how long the first took."""
_SKIPPED = {"node_modules", "venv", "__pycache__", "target", "dist", "build"}
_Stamp = tuple[int, int, int]
"""The modification time in nanoseconds, the size and the inode of a file."""


@dataclass(frozen=True, slots=True)
class SeenChange:
    """A file that has changed for the process."""

    name: str
    """Its path relative to the process's folder, with `/`."""
    kind: Literal["created", "changed", "deleted"]
    data: bytes | None
    """The new content, or b"" if the process reads the disk itself (`on_disk`); None: there is no file."""


def _change(name: str, existed: bool, data: bytes | None) -> SeenChange:
    return SeenChange(name, "deleted" if data is None else "changed" if existed else "created", data)


class SeenFiles:
    """The files that a process sees."""

    def __init__(
        self,
        root: Path,
        suffixes: tuple[str, ...],
        proposed: Mapping[str, Entry | None],
        is_hidden: Callable[[str], bool],
    ) -> None:
        """
        Args:
            root: the process's folder. All names are relative to it, with `/`.
            suffixes: the ends of the names of the files on disk that matter to the process.
            proposed: the proposed files in the process's box at its start; None: there is no file.
            is_hidden: whether the process must not see the content of a file on disk, such as a secret.
        """
        self._root, self._suffixes, self._is_hidden = root, suffixes, is_hidden
        self._proposed = dict(proposed)
        self._stamps: dict[str, _Stamp] | None = None
        """The files on disk at the last search; None before the first one."""
        self._stamps_before: dict[str, _Stamp] = {}
        """The value of `_stamps` at the start of the latest call of `changes`; empty if it was None."""
        self._next_search = 0.0

    def changes(self, proposed: Mapping[str, Entry | None] | None, *, on_disk: bool) -> list[SeenChange]:
        """The files that have changed for the process since the last call. Blocks: call it in a thread.

        The first call reports no changes on disk. Later ones may report them late, because searches pause (`REST`).

        Args:
            proposed: the files that are proposed now; None: the same as before.
            on_disk: whether the process sees only the files on disk, and not the proposed ones.
        """
        before, changed = self._proposed, self._changed_on_disk()
        if on_disk:
            return [
                _change(name, name in self._stamps_before, b"" if exists else None) for name, exists in changed.items()
            ]
        now = before if proposed is None else proposed
        found: dict[str, bytes | None] = {}
        for name in changed.keys() | before.keys():
            if name in now or (name not in before and self._is_hidden(name)):
                continue
            found[name] = None if self._is_hidden(name) else self._read(name)
        for name, entry in now.items():
            if name not in before or before[name] != entry:
                found[name] = entry.data if entry is not None else None
        self._proposed = dict(now)
        existed = {name: before[name] is not None if name in before else self._was_on_disk(name) for name in found}
        return [_change(name, existed[name], data) for name, data in found.items()]

    def now(self, names: Iterable[str]) -> dict[str, bytes | None]:
        """What the process must see of these files, as they were at the last call of `changes`. Blocks."""
        return {name: self._data(name) for name in names if name in self._proposed or not self._is_hidden(name)}

    def _data(self, name: str) -> bytes | None:
        if name not in self._proposed:
            return self._read(name)
        entry = self._proposed[name]
        return entry.data if entry is not None else None

    def _was_on_disk(self, name: str) -> bool:
        known = self._stamps is not None and name.endswith(self._suffixes)
        return name in self._stamps_before if known else os.path.lexists(self._root / name)

    def _read(self, name: str) -> bytes | None:
        try:
            return read_bytes(self._root / name, self._root)
        except (OSError, WorkspaceError):
            return None

    def _changed_on_disk(self) -> dict[str, bool]:
        """The files that changed on disk since the last search, and whether they exist.

        Empty at the first search, while searches pause (`REST`), and if there are too many files.
        """
        started = time.monotonic()
        self._stamps_before = self._stamps or {}
        if started < self._next_search:
            return {}
        now = dict(self._search())
        is_first, self._stamps = self._stamps is None, now
        self._next_search = started + (time.monotonic() - started) * REST
        if is_first or len(now) >= MAX_FILES:
            return {}
        before = self._stamps_before
        return {name: name in now for name in before.keys() | now.keys() if before.get(name) != now.get(name)}

    def _search(self) -> Iterator[tuple[str, _Stamp]]:
        """The files on disk that matter to the process, with their stamps; at most `MAX_FILES`."""
        folders, count = [""], 0
        while folders:
            folder = folders.pop()
            try:
                entries = list(os.scandir(self._root / folder))
            except OSError:
                continue
            for entry in entries:
                name = f"{folder}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED and not entry.name.startswith("."):
                        folders.append(f"{name}/")
                elif name.endswith(self._suffixes) and entry.is_file(follow_symlinks=False):
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:  # it was removed in the meantime
                        continue
                    yield name, (status.st_mtime_ns, status.st_size, status.st_ino)
                    count += 1
                    if count >= MAX_FILES:
                        return
