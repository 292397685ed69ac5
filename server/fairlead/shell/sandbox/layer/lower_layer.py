"""The lower layer of an overlay: the user's files, read without following links in any part of the path.

A command may replace a link with a folder. Files that it writes there have no counterpart among the user's files,
wherever the link leads (docs/faults.md 34).
"""

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

from fairlead.shell.sandbox.layer import trees
from fairlead.workspace.paths import PathEscape
from fairlead.workspace.safe_open import closing, open_beneath

# (inode, size in bytes, time of the last modification in ns, mode); None: there is nothing at the path
Fingerprint = tuple[int, int, int, int] | None

FileStatus = tuple[int, int, int, int]
"""The inode, the size in bytes, and the times of the last modification and of the last change, in ns."""


class LowerLayer:
    """The files below `root`. Paths are relative to it, with `/` between their parts."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def status(self, path: str) -> os.stat_result | None:
        """The status of a file, folder or link itself; None if it is missing, or a parent is a link or inaccessible."""
        with contextlib.suppress(OSError, PathEscape), self._opened(path, os.O_PATH | os.O_NOFOLLOW) as descriptor:
            return os.stat(descriptor)
        return None

    def fingerprint(self, path: str) -> Fingerprint:
        """A value that changes when the file, folder or link changes, or when a parent is replaced by a file.

        None if there is nothing at the path. The value of a folder changes with the names in it, but not with the
        content of its files.
        """
        found = self.status(path)
        if found is None:
            found = next((each for each in map(self.status, parents(path)) if _is_no_folder(each)), None)
        return None if found is None else (found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode)

    def is_folder(self, path: str) -> bool:
        """Whether a path is a folder, and not a link to one."""
        found = self.status(path)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def names(self, path: str) -> list[str]:
        """The names in a folder; empty if it is not a folder or cannot be read."""
        with contextlib.suppress(OSError, PathEscape), self._opened(path, trees.FOLDER) as descriptor:
            return os.listdir(descriptor)
        return []

    def link(self, path: str) -> str | None:
        """The target of a link; None for anything else."""
        with contextlib.suppress(OSError, PathEscape), self._opened(path, os.O_PATH | os.O_NOFOLLOW) as descriptor:
            return os.readlink("", dir_fd=descriptor)
        return None

    def open_file(self, path: str) -> BinaryIO:
        """Opens a regular file for reading.

        Raises:
            PathEscape: it or a parent is a link.
            OSError: as `trees.open_regular_file`.
        """
        return trees.as_regular_file(open_beneath(self._root / path, self._root, trees.FILE), path)

    def read(self, path: str, max_bytes: int) -> bytes | None:
        """At most the first `max_bytes` of a file; None if it cannot be read."""
        with contextlib.suppress(OSError, PathEscape), self.open_file(path) as file:
            return file.read(max_bytes)
        return None

    def files(self, path: str, into: Callable[[str], bool]) -> Iterator[str]:
        """The paths of everything below a folder that is not a folder itself. `into` decides which folders are entered.

        Instead of the content of a folder that cannot be read, its own path is included.
        """
        pending = [path]
        while pending:
            folder = pending.pop()
            try:
                descriptor = open_beneath(self._root / folder, self._root, trees.FOLDER)
            except (FileNotFoundError, NotADirectoryError):  # it was removed or replaced in the meantime
                continue
            except (OSError, PathEscape):
                yield folder
                continue
            with closing(descriptor), os.scandir(descriptor) as entries:
                for entry in entries:
                    inner = f"{folder}/{entry.name}"
                    if not entry.is_dir(follow_symlinks=False):
                        yield inner
                    elif into(inner):
                        pending.append(inner)

    def _opened(self, path: str, flags: int) -> AbstractContextManager[int]:
        return closing(open_beneath(self._root / path, self._root, flags))


def file_status(found: os.stat_result) -> FileStatus:
    """What shows whether a file has changed."""
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def parents(path: str) -> list[str]:
    """The folders that contain a relative path, the outermost first."""
    return [path[:at] for at, letter in enumerate(path) if letter == "/"]


def _is_no_folder(found: os.stat_result | None) -> bool:
    return found is not None and not stat.S_ISDIR(found.st_mode)
