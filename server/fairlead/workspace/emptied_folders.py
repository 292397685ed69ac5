"""The folders that go with their last file: Git tracks no empty folders, so nobody could review one that stays.

A folder stays if it contains anything else, such as a file that Git ignores or a folder that was empty before, or if a
command left it empty on purpose (`Changeset.empty_folders`).
"""

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from fairlead.edits.changeset import Changeset
from fairlead.edits.undo import RemovedFolder
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots
from fairlead.workspace.safe_open import Folder


def emptied_folders(files: Files, changes: Changeset | None = None) -> set[str]:
    """The absolute paths of the user's folders in which the proposals leave nothing.

    Args:
        changes: the proposals to include; None: all.
    """
    changes = files.changes if changes is None else changes
    if all(proposal.new_path is None and proposal.proposed is not None for proposal in changes):
        return set()
    texts = list(files.texts_not_on_disk(changes))
    deleted = {str(path) for path, text in texts if text is None}
    occupied = _with_parents(files.roots, changes.empty_folders)
    present = [str(path) for path, text in texts if text is not None]
    present += [proposal.target for proposal in changes if proposal.raw.data is not None]
    occupied.update(folder for path in present for folder in _parents(files.roots, path))
    folders = {folder for path in deleted for folder in _parents(files.roots, path)} - occupied
    emptied: set[str] = set()
    for folder in sorted(folders, key=len, reverse=True):  # the inner ones first
        names = _names(folder)
        if names and all(each in emptied if is_folder else each in deleted for each, is_folder in names):
            emptied.add(folder)
    return emptied


def _with_parents(roots: Roots, folders: Iterable[str]) -> set[str]:
    return {each for folder in folders for each in (folder, *_parents(roots, folder))}


def _parents(roots: Roots, path: str) -> Iterator[str]:
    """The folders that contain a path, the innermost first, without the folders of the workspace and those above."""
    root = roots.folder_of(Path(path))
    inner = takewhile(lambda folder: folder != root.path, Path(path).parents) if root is not None else ()
    return map(str, inner)


def _names(folder: str) -> list[tuple[str, bool]]:
    """The paths in a folder, each with whether it is a folder. Empty if the folder is a link or cannot be read."""
    if os.path.islink(folder):
        return []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
    return []


def remove_emptied_folders(roots: Roots, paths: Iterable[Path], empty_folders: frozenset[str]) -> list[RemovedFolder]:
    """Removes the folders of files that were deleted or moved away, as far as nothing is in them anymore.

    Args:
        paths: the former paths of the files.
        empty_folders: the folders that stay although they are empty (`Changeset.empty_folders`).
    """
    folders = {folder for path in paths for folder in _parents(roots, str(path))}
    folders -= _with_parents(roots, empty_folders)
    inner_first = sorted(folders, key=len, reverse=True)
    return [RemovedFolder(each, mode) for each in inner_first if (mode := _remove(roots, each)) is not None]


def _remove(roots: Roots, folder: str) -> int | None:
    """Removes an empty folder. Returns its permission bits; None if it is not empty or cannot be removed."""
    parent, name = os.path.split(folder)
    root = roots.folder_of(Path(folder))
    try:
        with contextlib.closing(Folder(Path(parent), root and root.path)) as opened:
            mode = stat.S_IMODE(opened.status(name).st_mode)
            opened.rmdir(name)
            return mode
    except (OSError, WorkspaceError):
        return None


def missing_folders(removed: Sequence[RemovedFolder]) -> list[RemovedFolder]:
    """Those of the folders that do not exist."""
    return [folder for folder in removed if not os.path.lexists(folder.path)]


def restore_permissions(folders: Sequence[RemovedFolder]) -> None:
    """Gives folders that exist again the permissions that they had, as far as the system allows."""
    for folder in folders:
        with contextlib.suppress(OSError):
            os.chmod(folder.path, folder.mode)
