"""Writes to the person's files: all of them or none, each at once, and only over the bytes that are expected there."""

import contextlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.agent.errors import ToolError


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's bytes before and after; None means that there is no file. `mode` is for a new file."""

    path: Path
    before: bytes | None
    after: bytes | None
    mode: int | None = None


def write_files(changes: Sequence[FileChange]) -> None:
    """Makes all changes. Each file is written beside its place first and moved there; a failure undoes what was done.

    Raises:
        ToolError: a file does not say what it should before; nothing was changed.
        OSError: something could not be written; nothing was changed.
    """
    writes = [change for change in changes if change.after is not None]
    folders: list[Path] = []
    temporaries: list[Path] = []
    done: list[tuple[FileChange, Path]] = []

    def move(change: FileChange, source: Path, target: Path) -> None:
        if _bytes(change.path) != change.before:
            raise ToolError(f"{change.path.name} changed at the same moment.")
        os.replace(source, target)
        done.append((change, target))

    try:
        for change in changes:
            if change.after is None:  # first, for a folder may take its place; kept beside it until all is done
                temporaries.append(_beside(change.path, b""))
                move(change, change.path, temporaries[-1])
        staged: list[Path] = []
        for change in writes:
            _make_folders(change.path.parent, folders)
            staged.append(_beside(change.path, change.after or b""))
            temporaries.append(staged[-1])
            staged[-1].chmod(_mode(change))
        for change, temporary in zip(writes, staged, strict=True):
            move(change, temporary, change.path)
    except BaseException:
        for change, moved_to in reversed(done):
            _put_back(change, moved_to)
        _remove(temporaries)
        for folder in reversed(folders):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    _remove(temporaries)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _remove(temporaries: Sequence[Path]) -> None:
    for temporary in temporaries:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _make_folders(folder: Path, made: list[Path]) -> None:
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir(exist_ok=True)
        made.append(parent)


def _beside(path: Path, content: bytes) -> Path:
    """A temporary file in the same folder."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _mode(change: FileChange) -> int:
    if change.before is not None:
        return change.path.stat().st_mode & 0o7777
    return change.mode if change.mode is not None else _new_file_mode()


def _put_back(change: FileChange, moved_to: Path) -> None:
    with contextlib.suppress(OSError):
        if change.after is None:
            os.replace(moved_to, change.path)
        elif change.before is None:
            change.path.unlink()
        else:
            change.path.write_bytes(change.before)


def _new_file_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
