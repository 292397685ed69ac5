"""Notes about the folders of a workspace, updated only where names have changed.

Adding or removing a name changes the times of its folder, so checking an unchanged folder costs only one `stat`.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")

SETTLED_NS = 2_000_000_000
"""How long ago a folder must have changed for its times to be trusted.

File systems record times in steps of up to 2 s, so a second change soon after the first may not change them.
"""

Entries = Mapping[str, os.DirEntry[str]]
_Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Known(Generic[T]):
    stamp: _Stamp | None
    """None: the folder must be read again."""
    below: Sequence[str]
    """The paths of the folders in it that are examined too."""
    noted: T | None


class FolderIndex(Generic[T]):
    """Notes about a root and the folders below it. Skips unreadable folders, and follows no links below the root.

    Args:
        examine: gets a folder's path relative to the root ("" for the root itself) and its entries; returns what to
            note about it (None: nothing) and the names of the folders in it that are examined too.
        now_ns: returns the time in nanoseconds since the epoch.
    """

    def __init__(
        self,
        root: Path,
        examine: Callable[[str, Entries], tuple[T | None, Sequence[str]]],
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._root, self._examine, self._now_ns = root, examine, now_ns
        self._known: dict[str, _Known[T]] = {}

    def current_notes(self) -> dict[str, T]:
        """The notes about all folders as they are now, by path relative to the root. Not thread-safe."""
        before, known = self._known, dict[str, _Known[T]]()
        folders = [""]
        while folders:
            folder = folders.pop()
            try:
                found = known[folder] = self._examined(folder, before.get(folder))
            except OSError:
                continue
            folders += found.below
        self._known = known
        return {folder: found.noted for folder, found in known.items() if found.noted is not None}

    def _examined(self, folder: str, known: _Known[T] | None) -> _Known[T]:
        path = f"{self._root}/{folder}"
        found = os.stat(path, follow_symlinks=not folder)
        stamp = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)
        if known is not None and known.stamp == stamp:
            return known
        settled = max(found.st_mtime_ns, found.st_ctime_ns) + SETTLED_NS < self._now_ns()
        with os.scandir(path) as entries:
            noted, names = self._examine(folder, {entry.name: entry for entry in entries})
        below = [f"{folder}/{name}" if folder else name for name in names]
        return _Known(stamp if settled else None, below, noted)
