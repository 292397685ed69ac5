"""Writes to the person's files: all of them or none, each at once, and only over the bytes that are expected there."""

import contextlib
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.workspace.safe_open import Folder


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's bytes before and after; None means that there is no file. `mode` is for a new file."""

    path: Path
    before: bytes | None
    after: bytes | None
    mode: int | None = None


def write_files(changes: Sequence[FileChange], root: Path | None = None) -> None:
    """Makes all changes. Each file is written beside its place first and moved there; a failure undoes what was done.

    Args:
        root: nothing is written but beneath it, whatever link is put in the way meanwhile.

    Raises:
        ToolError: a file does not say what it should before, or a link stands in the way; nothing was changed.
        OSError: something could not be written; nothing was changed.
    """
    writing = _Writing(root)
    try:
        for change in changes:
            if change.after is None:  # first, for a folder may take its place; kept beside it until all is done
                writing.take_away(change)
        writes = [change for change in changes if change.after is not None]
        staged = [writing.stage(change) for change in writes]
        for change, temporary in zip(writes, staged, strict=True):
            writing.put(change, temporary)
    except BaseException:
        writing.undo()
        raise
    finally:
        writing.end()


class _Writing:
    """What is under way: the folders that are held open, the temporary files, and what was done."""

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self._folders: dict[Path, Folder] = {}
        self._made: list[Path] = []
        self._temporaries: list[tuple[Folder, str]] = []
        self._done: list[tuple[FileChange, str]] = []

    def take_away(self, change: FileChange) -> None:
        folder = self._folder(change.path.parent)
        temporary = self._temporary(change)
        folder.write(temporary, b"", 0o600)
        self._move(change, change.path.name, temporary)

    def stage(self, change: FileChange) -> str:
        """Writes the new bytes beside the place; returns the name there."""
        self._make_folders(change.path.parent)
        folder = self._folder(change.path.parent)
        temporary = self._temporary(change)
        mode = change.mode if change.mode is not None else _new_file_mode()
        if change.before is not None:
            mode = folder.status(change.path.name).st_mode & 0o7777
        folder.write(temporary, change.after or b"", mode)
        return temporary

    def put(self, change: FileChange, temporary: str) -> None:
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
        for path in reversed(self._made):
            with contextlib.suppress(OSError, ToolError):
                self._folder(path.parent).unmake(path.name)

    def end(self) -> None:
        self._remove_temporaries()
        for folder in self._folders.values():
            folder.close()

    def _folder(self, path: Path) -> Folder:
        if path not in self._folders:
            self._folders[path] = Folder(path, self._root)
        return self._folders[path]

    def _temporary(self, change: FileChange) -> str:
        name = f".{change.path.name[:40]}.{secrets.token_hex(4)}"
        self._temporaries.append((self._folder(change.path.parent), name))
        return name

    def _move(self, change: FileChange, name: str, to: str) -> None:
        folder = self._folder(change.path.parent)
        if folder.read(change.path.name) != change.before:
            raise ToolError(f"{change.path.name} changed at the same time.")
        folder.move(name, to)
        self._done.append((change, to))

    def _make_folders(self, path: Path) -> None:
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            with contextlib.suppress(FileExistsError):
                self._folder(folder.parent).make(folder.name)
                self._made.append(folder)

    def _remove_temporaries(self) -> None:
        for folder, name in self._temporaries:
            with contextlib.suppress(OSError):
                folder.remove(name)
        self._temporaries.clear()


def _new_file_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
