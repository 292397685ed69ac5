"""Writes several files: all or none, each atomically, and only over the expected bytes.

A file that is itself a mount (one that a container gets from its host) is written in place, so not atomically, because
it cannot be replaced. A file with other hard links is replaced, so that the other names, such as those in a package
manager's store, keep their bytes.

A process that is killed while it writes leaves temporary files. Those with new bytes are removed when the same file is
written again at least an hour later. A deleted file that was set aside stays, because it may be the only copy. So does
one that cannot be restored when a group fails.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path

from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import PathEscape, Roots
from fairlead.workspace.safe_open import Attributes, Folder

_LEFTOVER_AGE = 3600.0  # seconds; no process still writes a temporary file that is older
_NEW, _SET_ASIDE = "fairlead-new", "fairlead-old"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change to one file."""

    path: Path
    before: bytes | None
    """The bytes that the file must have; None: it must not exist."""
    after: bytes | None
    """The new bytes; None deletes the file."""
    mode: int | None = None
    """The permission bits afterwards. None: the system's default for a new file; an existing one keeps its own."""
    owner: tuple[int, int] | None = None
    """The ids of the user and the group of a new file (`Attributes.owner`). An existing file keeps its own."""


class FileWriter:
    """Writes groups of files. It lists each folder only once, because a folder may have thousands of files."""

    def __init__(self, roots: Roots | None = None) -> None:
        """`roots` are the only folders that are written to, even if a link is created in the meantime. None: any."""
        self._roots = roots
        self._leftovers = _Leftovers()

    def write(self, changes: Sequence[FileChange]) -> None:
        """Makes all changes. Each file is written under a temporary name and then moved.

        A file that cannot be replaced, because it is a mount, is written in place instead.

        A failure undoes all changes, as far as the system allows.

        Raises:
            WorkspaceError: a file has other bytes than expected, is outside of the roots, or is reached through a link.
                After any failure: a deleted file could not be restored; the message says where it is.
            OSError: a file could not be written.
        """
        transaction = _Transaction(self._roots, self._leftovers)
        try:
            for change in changes:
                # deletions first, because a new folder may need the name; the bytes stay until the end
                if change.after is None:
                    transaction.set_aside(change)
            writes = [change for change in changes if change.after is not None]
            staged = [transaction.stage(change) for change in writes]
            for change, temporary in zip(writes, staged, strict=True):
                transaction.commit(change, temporary)
        except BaseException as error:
            unrestored = transaction.undo()
            if unrestored and isinstance(error, OSError | WorkspaceError):
                raise WorkspaceError(_with_unrestored(error, unrestored)) from error
            raise
        else:
            transaction.remove_deleted_files()
        finally:
            transaction.close()


def _with_unrestored(error: OSError | WorkspaceError, unrestored: Sequence[tuple[str, Path]]) -> str:
    """The text of an error, and how the user gets back the files that `_Transaction.undo` returned."""
    text = f"The files could not be written: {error.strerror or error}." if isinstance(error, OSError) else str(error)
    hints = [f"{name} could not be restored. To get it back, rename {path}." for name, path in unrestored]
    return " ".join([text, *hints])


class _Transaction:
    """One call of `FileWriter.write`: its open folders, its temporary files, and the changes that it has made."""

    def __init__(self, roots: Roots | None, leftovers: "_Leftovers") -> None:
        self._roots = roots
        self._leftovers = leftovers
        self._folders: dict[str, Folder] = {}
        self._undo_steps: list[Callable[[], None]] = []
        """One for each step that was begun or made, in their order. Each raises OSError if it cannot undo the step."""
        self._set_aside: list[tuple[Folder, str, str]] = []
        """The deleted files: the folder, the name and the temporary name."""

    def set_aside(self, change: FileChange) -> None:
        """Deletes a file by moving it to a temporary name."""
        folder, name = self._place(change.path)
        temporary = _temporary_name(name, _SET_ASIDE)
        self._check_bytes(change)
        self._set_aside.append((folder, name, temporary))
        self._undo_steps.append(partial(_move_back, folder, temporary, name))
        folder.move(name, temporary)

    def stage(self, change: FileChange) -> str:
        """Writes the new bytes under a temporary name, which it returns."""
        if change.before is None:
            self._make_folders(change.path.parent)
        folder, name = self._place(change.path)
        self._leftovers.remove(folder, name)
        temporary = _temporary_name(name, _NEW)
        if change.before is not None:
            attributes = folder.attributes(name)
            attributes = replace(attributes, mode=attributes.mode if change.mode is None else change.mode)
        else:
            attributes = Attributes(change.mode if change.mode is not None else _new_file_mode(), change.owner)
        self._undo_steps.append(partial(folder.remove, temporary))
        folder.write(temporary, change.after or b"", attributes)
        return temporary

    def commit(self, change: FileChange, temporary: str) -> None:
        """Moves the new bytes to the file, or writes them in place."""
        folder, name = self._place(change.path)
        before = change.before
        if before is None:
            undo_step = partial(folder.remove, name)
        else:
            undo_step = partial(folder.write, name, before, mode=folder.attributes(name).mode)
        self._check_bytes(change)
        try:
            folder.move(temporary, name)
        except OSError as error:
            if before is None or error.errno not in (errno.EBUSY, errno.EXDEV):
                raise
        else:
            self._undo_steps.append(undo_step)
            return
        self._check_bytes(change)
        self._undo_steps.append(undo_step)  # first, because a failure may leave half of the bytes
        folder.write(name, change.after or b"", mode=change.mode)
        with contextlib.suppress(OSError):
            folder.remove(temporary)

    def undo(self) -> list[tuple[str, Path]]:
        """Undoes all steps, the last one first, as far as the system allows.

        Returns the deleted files that could not be restored: the name of each, and the path where it is now.
        """
        for undo_step in reversed(self._undo_steps):
            with contextlib.suppress(OSError):
                undo_step()
        return [
            (name, folder.path / temporary)
            for folder, name, temporary in self._set_aside
            if _may_have(folder, temporary)
        ]

    def remove_deleted_files(self) -> None:
        """Removes the files that were set aside. Call it only after all changes were made."""
        for folder, _, temporary in self._set_aside:
            with contextlib.suppress(OSError):
                folder.remove(temporary)

    def close(self) -> None:
        for folder in self._folders.values():
            folder.close()

    def _place(self, path: Path) -> tuple[Folder, str]:
        """The open folder of a file, and the file's name in it."""
        parent, name = os.path.split(path)
        folder = self._folders.get(parent)
        if folder is None:
            root = self._roots.folder_of(path) if self._roots is not None else None
            if self._roots is not None and root is None:
                raise PathEscape(f"Path escapes workspace: {path}")
            folder = self._folders[parent] = Folder(Path(parent), root.path if root is not None else None)
        return folder, name

    def _check_bytes(self, change: FileChange) -> None:
        folder, name = self._place(change.path)
        if folder.read(name) != change.before:
            raise WorkspaceError(f"{name} changed at the same time.")

    def _make_folders(self, path: Path) -> None:
        for folder in reversed(missing_folders(path)):
            with contextlib.suppress(FileExistsError):
                parent, name = self._place(folder)
                parent.mkdir(name)
                self._undo_steps.append(partial(parent.rmdir, name))


def _move_back(folder: Folder, temporary: str, name: str) -> None:
    """Restores a file that was set aside, but never over something that has its name by now."""
    if not folder.has(name):
        folder.move(temporary, name)


def _may_have(folder: Folder, name: str) -> bool:
    """Whether there is an entry of this name, or the system cannot say."""
    try:
        return folder.has(name)
    except OSError:
        return True


def missing_folders(path: Path) -> list[Path]:
    """The folders on a path that do not exist as such, the innermost first. The path itself counts as a folder."""
    return list(takewhile(lambda folder: not folder.is_dir(), (path, *path.parents)))


class _Leftovers:
    """Finds the temporary files that killed processes left. Lists each folder only once."""

    def __init__(self) -> None:
        self._found: dict[Path, dict[str, list[str]]] = {}

    def remove(self, folder: Folder, name: str) -> None:
        """Removes the temporary files for one file in a folder."""
        if folder.path not in self._found:
            self._found[folder.path] = _leftovers(folder)
        for leftover in self._found[folder.path].pop(_temporary_prefix(name), ()):
            with contextlib.suppress(OSError):
                folder.remove(leftover)


def _temporary_name(name: str, kind: str) -> str:
    return f"{_temporary_prefix(name)}.{kind}-{secrets.token_hex(8)}"


def _temporary_prefix(name: str) -> str:
    """The beginning of a file's temporary names. Shortened, because the name may be as long as the system allows."""
    return f".{name[:40]}"


def _leftovers(folder: Folder) -> dict[str, list[str]]:
    """The temporary files of killed processes in a folder, by `_temporary_prefix`."""
    found = defaultdict[str, list[str]](list)
    names: list[str] = []
    with contextlib.suppress(OSError):  # the folder may be writable but not readable
        names = [name for name in folder.names() if _NEW in name]  # fast, because a folder may have thousands
    for name in names:
        prefix, _, random = name.rpartition(f".{_NEW}-")
        with contextlib.suppress(OSError):  # the file may be removed in the meantime
            if re.fullmatch(r"[0-9a-f]{16}", random) and _is_leftover(folder.status(name)):
                found[prefix].append(name)
    return found


def _is_leftover(status: os.stat_result) -> bool:
    # for root, any owner counts: its temporary files get the owner of the file that they are for
    is_own = not hasattr(os, "geteuid") or os.geteuid() in (0, status.st_uid)
    return stat.S_ISREG(status.st_mode) and is_own and time.time() - status.st_mtime > _LEFTOVER_AGE


def _new_file_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
