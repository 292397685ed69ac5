"""The person's files that lie under a layer, looked at without following any link, on the way to them or at their end.

A command may put a folder in a link's place: what it writes there has no file of the person under it, wherever that
link leads (docs/faults.md 34).
"""

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from fairlead.shell.sandbox import trees
from fairlead.workspace.paths import PathEscape
from fairlead.workspace.safe_open import open_beneath

# what tells that a file was changed (inode, size, time, mode); None: there is none
Fingerprint = tuple[int, int, int, int] | None


class LowerLayer:
    """The files below `root`. Paths are relative to it, with `/`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def status(self, path: str) -> os.stat_result | None:
        """Of what is there, a link as such; None where there is nothing, or only behind a link."""
        with contextlib.suppress(OSError, PathEscape), self._held(path, os.O_PATH | os.O_NOFOLLOW) as descriptor:
            return os.stat(descriptor)
        return None

    def fingerprint(self, path: str) -> Fingerprint:
        found = self.status(path)
        return None if found is None else (found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode)

    def is_folder(self, path: str) -> bool:
        found = self.status(path)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def link(self, path: str) -> str | None:
        """What a link says; None for anything else."""
        with contextlib.suppress(OSError, PathEscape), self._held(path, os.O_PATH | os.O_NOFOLLOW) as descriptor:
            return os.readlink("", dir_fd=descriptor)
        return None

    def open_file(self, path: str) -> BinaryIO:
        """An ordinary file, for reading.

        Raises:
            PathEscape: it is a link, or behind one.
            OSError: as `trees.open_regular_file`.
        """
        return trees.as_regular_file(open_beneath(self._root / path, self._root, trees.FILE), path)

    def read(self, path: str, most: int) -> bytes | None:
        """The beginning of a file; None where there is none that can be read."""
        with contextlib.suppress(OSError, PathEscape), self.open_file(path) as file:
            return file.read(most)
        return None

    def files(self, path: str, into: Callable[[str], bool]) -> Iterator[str]:
        """What is no folder below a folder; of the folders in it only those that `into` says are looked into.

        Raises:
            OSError, PathEscape: a folder cannot be read.
        """
        with self._held(path, trees.FOLDER) as top:
            for name in trees.walk_files(top, lambda inner: into(f"{path}/{inner}")):
                yield f"{path}/{name}"

    @contextlib.contextmanager
    def _held(self, path: str, flags: int) -> Iterator[int]:
        descriptor = open_beneath(self._root / path, self._root, flags)
        try:
            yield descriptor
        finally:
            os.close(descriptor)
