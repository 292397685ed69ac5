"""Refuses paths for which nothing can be proposed."""

import os
from pathlib import Path

from fairlead.edits.bad_bytes import has_bad_bytes
from fairlead.edits.changeset import Changeset
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import Roots
from fairlead.workspace.protected import is_repository
from fairlead.workspace.repositories import in_git_folder

NOT_OPEN = "{name} is not in a folder of the workspace."


def check_place(roots: Roots, path: Path) -> None:
    """Raises WorkspaceError if nothing can be proposed at a path, whatever is there.

    Such a path is outside of the workspace, is part of a repository's own data, or is not UTF-8: for that, an editor
    would open a file of another name.
    """
    enclosing = roots.enclosing(path)
    if not enclosing:
        raise WorkspaceError(NOT_OPEN.format(name=path))
    if any(is_repository(name) or in_git_folder(root.path, path) for root, name in enclosing):
        raise WorkspaceError(
            f"{roots.relative(path)} belongs to the repository itself (.git) and cannot be edited. "
            "If it must change, tell the user how."
        )
    if has_bad_bytes(str(path)):
        raise WorkspaceError(
            f"The name of {roots.relative(path)} is not UTF-8, so it can be read but not edited, renamed or deleted. "
            "If it must change, ask the user to give it another name first."
        )


def check_parents(roots: Roots, changes: Changeset, path: Path) -> None:
    """Raises WorkspaceError if a file would be below another file or replace a folder with proposed files.

    A file that is proposed to be deleted or moved away does not count. Does not notice a folder that exists at `path`.
    """
    for folder in path.parents:
        proposal = changes.for_target(str(folder))
        is_file = proposal.proposed is not None if proposal else folder.is_file() and not changes.get(str(folder))
        if is_file:
            raise WorkspaceError(f"{roots.relative(folder)} is a file, so no file can be created below it.")
        if folder.is_dir():
            break
    below = changes.proposed_below(f"{path}{os.sep}")
    if below is not None:
        name = roots.relative(Path(below))
        raise WorkspaceError(f"{roots.relative(path)} is a folder: {name} is proposed in it. Choose another path.")
