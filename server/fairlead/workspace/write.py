"""Writes several files: all or none, each atomically, and only over the expected bytes.

A process that is killed in between leaves temporary files. Those with new bytes are removed when the same file is
written again. A deleted file that was set aside stays, because nothing else may contain its bytes.
"""

import contextlib
import os
import re
import secrets
import stat
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import PathEscape, Roots
from fairlead.workspace.safe_open import Folder

# seconds after which no other process still writes a temporary file
_LEFTOVER_AGE = 3600.0
_NEW, _SET_ASIDE = "fairlead-new", "fairlead-old"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's bytes before and after; None means no file. `mode` is for a new file."""

    path: Path
    before: bytes | None
    after: bytes | None
    mode: int | None = None


class FileWriter:
    """Writes groups of files. It lists each folder only once, because a folder may have thousands of files."""

    def __init__(self, roots: Roots | None = None) -> None:
        """Nothing outside of the roots is written, even if a link is created in the meantime."""
        self._roots = roots
        self._leftovers = _Leftovers()

    def write(self, changes: Sequence[FileChange]) -> None:
        """Writes all changes. Each file is written under a temporary name and then moved; a failure undoes all.

        Raises:
            WorkspaceError: a file has other bytes than expected, or its path contains a link; nothing was changed.
            OSError: a file could not be written; nothing was changed.
        """
        transaction = _Transaction(self._roots, self._leftovers)
        try:
            for change in changes:
                # first, because a new folder may need its name; its bytes are kept until the end
                if change.after is None:
                    transaction.set_aside(change)
            writes = [change for change in changes if change.after is not None]
            staged = [transaction.stage(change) for change in writes]
            for change, temporary in zip(writes, staged, strict=True):
                transaction.commit(change, temporary)
        except BaseException:
            transaction.undo()
            raise
        finally:
            transaction.close()


def write_files(changes: Sequence[FileChange], roots: Roots | None = None) -> None:
    """Writes one group of files, as `FileWriter.write`."""
    FileWriter(roots).write(changes)


class _Transaction:
    """The open folders, the temporary files and the changes made so far."""

    def __init__(self, roots: Roots | None, leftovers: "_Leftovers") -> None:
        self._roots = roots
        self._leftovers = leftovers
        self._folders: dict[Path, Folder] = {}
        self._created: list[Path] = []
        self._temporaries: set[tuple[Folder, str]] = set()
        self._done: list[tuple[FileChange, str]] = []

    def set_aside(self, change: FileChange) -> None:
        folder = self._folder(change.path.parent)
        temporary = self._temporary(change, _SET_ASIDE)
        folder.write(temporary, b"", 0o600)
        self._move(change, change.path.name, temporary)

    def stage(self, change: FileChange) -> str:
        """Writes the new bytes under a temporary name, which it returns."""
        self._make_folders(change.path.parent)
        folder = self._folder(change.path.parent)
        self._leftovers.remove(folder, change.path)
        temporary = self._temporary(change, _NEW)
        mode = change.mode if change.mode is not None else _new_file_mode()
        if change.before is not None:
            mode = folder.status(change.path.name).st_mode & 0o7777
        folder.write(temporary, change.after or b"", mode)
        return temporary

    def commit(self, change: FileChange, temporary: str) -> None:
        self._move(change, temporary, change.path.name)

    def undo(self) -> None:
        for change, moved_to in reversed(self._done):
            folder, name = self._folder(change.path.parent), change.path.name
            with contextlib.suppress(OSError):
                if change.after is None:
                    folder.move(moved_to, name)
                elif change.before is None:
                    folder.remove(name)
                else:
                    folder.write(name, change.before)
        self._remove_temporaries()
        for path in reversed(self._created):
            with contextlib.suppress(OSError, WorkspaceError):
                self._folder(path.parent).rmdir(path.name)

    def close(self) -> None:
        self._remove_temporaries()
        for folder in self._folders.values():
            folder.close()

    def _folder(self, path: Path) -> Folder:
        if path not in self._folders:
            root = self._roots.folder_of(path) if self._roots is not None else None
            if self._roots is not None and root is None:
                raise PathEscape(f"Path escapes workspace: {path}")
            self._folders[path] = Folder(path, root.path if root is not None else None)
        return self._folders[path]

    def _temporary(self, change: FileChange, kind: str) -> str:
        name = f"{_beginning(change.path.name)}.{kind}-{secrets.token_hex(4)}"
        self._temporaries.add((self._folder(change.path.parent), name))
        return name

    def _move(self, change: FileChange, name: str, to: str) -> None:
        folder = self._folder(change.path.parent)
        if folder.read(change.path.name) != change.before:
            raise WorkspaceError(f"{change.path.name} changed at the same time.")
        folder.move(name, to)
        self._temporaries.discard((folder, name))
        self._done.append((change, to))

    def _make_folders(self, path: Path) -> None:
        for folder in reversed(missing_folders(path)):
            with contextlib.suppress(FileExistsError):
                self._folder(folder.parent).mkdir(folder.name)
                self._created.append(folder)

    def _remove_temporaries(self) -> None:
        for folder, name in self._temporaries:
            with contextlib.suppress(OSError):
                folder.remove(name)
        self._temporaries.clear()


def missing_folders(path: Path) -> list[Path]:
    """The folders that do not exist, of this one and those that contain it, the innermost first."""
    return list(takewhile(lambda folder: not folder.exists(), (path, *path.parents)))


class _Leftovers:
    """The new bytes that killed processes did not move. Each folder is listed once."""

    def __init__(self) -> None:
        self._found: dict[Path, dict[str, list[str]]] = {}

    def remove(self, folder: Folder, path: Path) -> None:
        """Removes those for a file in this folder."""
        if path.parent not in self._found:
            self._found[path.parent] = _leftovers(folder)
        for name in self._found[path.parent].pop(_beginning(path.name), ()):
            with contextlib.suppress(OSError):
                folder.remove(name)


def _beginning(name: str) -> str:
    """The beginning of the temporary names of a file; its name may be as long as the system allows."""
    return f".{name[:40]}"


def _leftovers(folder: Folder) -> dict[str, list[str]]:
    """The temporary files of killed processes in a folder, by the beginning of their names."""
    found = defaultdict[str, list[str]](list)
    # the folder may be writable but not readable, or a file may be removed meanwhile
    with contextlib.suppress(OSError):
        for name in [name for name in folder.names() if _NEW in name]:  # quick, as a folder may have thousands
            beginning, _, random = name.rpartition(f".{_NEW}-")
            if re.fullmatch(r"[0-9a-f]{8}", random) and _is_leftover(folder.status(name)):
                found[beginning].append(name)
    return found


def _is_leftover(found: os.stat_result) -> bool:
    is_own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return stat.S_ISREG(found.st_mode) and is_own and time.time() - found.st_mtime > _LEFTOVER_AGE


def _new_file_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
