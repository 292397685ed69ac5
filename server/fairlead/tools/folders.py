"""What becomes of folders that the agent creates, empties or removes. Only files are proposed, never folders."""

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from fairlead.display import escape_to_one_line
from fairlead.edits.changeset import Changeset
from fairlead.shell.layer import FolderChanges
from fairlead.workspace.emptied_folders import emptied_folders
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots

NOT_PROPOSED = "Empty folders are not proposed, and only later commands see them"
STAY_EMPTY = "These folders are empty now, and stay"
REMOVED_ON_ACCEPT = "These folders are gone, and are removed from disk when the user accepts all changes in them"
NOT_REMOVED = (
    "These folders are still there, because they were empty before, or contain files that are ignored or not deleted"
)
MAX_NAMED = 5


def names_of(folders: Iterable[str], roots: Roots) -> frozenset[str]:
    """The names of folders, given by their absolute paths. Leaves out those that are not in `roots`."""
    paths = map(Path, folders)
    return frozenset(roots.relative(path) for path in paths if roots.contains(path))


def empty_folders(files: Files, changes: Changeset | None, roots: Roots) -> frozenset[str]:
    """The empty folders that a command sees, by name.

    Args:
        changes: the proposals that the command sees; None: all. With only some of them, the folders that are not on
            disk are left out, because an accept does not create them.
        roots: the folders to include, to which the names are relative.
    """
    folders = (files.changes if changes is None else changes).empty_folders
    return names_of((each for each in folders if changes is None or os.path.isdir(each)), roots)


def propose_folders(files: Files, found: FolderChanges, roots: Roots, emptied_before: Collection[str]) -> list[str]:
    """Records the folders that a command left empty. Returns lines for the model about what becomes of its folders.

    Call it after the command's changes to files are proposed.

    Args:
        roots: the folders to which the names in `found` are relative.
        emptied_before: what `emptied_folders` returned before.
    """
    known = files.changes.empty_folders
    gone, empty = ({str(roots.path_of(name)) for name in names} for names in (found.not_empty, found.empty))
    files.set_empty_folders((known - gone) | empty)
    emptied = emptied_folders(files)
    new, left = _split_by_disk(empty - known)
    removed = {str(roots.path_of(name)) for name in found.removed}
    lines = {
        NOT_PROPOSED: new,
        STAY_EMPTY: left,
        REMOVED_ON_ACCEPT: _outermost(emptied.difference(emptied_before)),
        NOT_REMOVED: removed - emptied,
    }
    return [f"{text}: {_listed(names_of(folders, roots))}." for text, folders in lines.items() if folders]


def removed_with(files: Files, path: Path) -> str:
    """A sentence, with a leading space, about the folder that goes with a deleted or moved file; empty if none does."""
    emptied = emptied_folders(files)
    folder = next((each for each in reversed(path.parents) if str(each) in emptied), None)
    if folder is None:
        return ""
    return f" {REMOVED_ON_ACCEPT}: {_listed([files.roots.relative(folder)])}."


def _split_by_disk(folders: Iterable[str]) -> tuple[set[str], set[str]]:
    """The folders that are not on disk, and those that are."""
    on_disk = {folder for folder in folders if os.path.isdir(folder)}
    return {*folders} - on_disk, on_disk


def _outermost(folders: Collection[str]) -> set[str]:
    """The folders that are in none of the others."""
    return {folder for folder in folders if not any(str(parent) in folders for parent in Path(folder).parents)}


def _listed(names: Collection[str]) -> str:
    more = len(names) - MAX_NAMED
    shown = ", ".join(f"{escape_to_one_line(name)}/" for name in sorted(names)[:MAX_NAMED])
    return shown + (f" and {more:,} more" if more > 0 else "")
