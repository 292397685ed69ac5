"""Finds the repositories around the workspace's folders that commands see too (docs/sandbox.md).

A package of a monorepo needs the dependencies, manifests and sibling packages above it. Only a repository that is
certainly a project of the user is shown: everything in it except secrets becomes readable.
"""

import os
import pwd
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from fairlead.shell.sandbox.box import mounts
from fairlead.shell.sandbox.layer.ignored import outer_rules
from fairlead.shell.sandbox.layer.index import has_entry_below
from fairlead.shell.sandbox.layer.lower_layer import Fingerprint, LowerLayer
from fairlead.shell.sandbox.layer.upper_layer import owner_of
from fairlead.shell.sandbox.repository import find_outside
from fairlead.workspace.paths import Roots, real_path
from fairlead.workspace.repositories import enclosing_repository, git_folder

_HOMES = Path("/home")


def shown_repositories(roots: Roots) -> list[Path]:
    """The tops of the work trees around the workspace's folders that commands may see, the outer ones first."""
    reals = [root.real for root in roots.folders]
    if not reals:
        return []
    try:
        owner = owner_of(reals[0]).uid
    except OSError:  # the workspace was removed
        return []
    tops = {top for real in reals if (top := _trusted_repository(real)) is not None}
    tops = {top for top in tops if not any(top.is_relative_to(real) for real in reals)}
    return sorted(top for top in tops if _is_private_project(top, owner))


def _trusted_repository(root: Path) -> Path | None:
    """The top of the work tree around a folder.

    None if the repository is not trusted, ignores the folder, or tracks no file in it. For example, a repository that
    was created by accident in the folder of all projects tracks none.
    """
    top, repository = enclosing_repository(root), find_outside(root)
    if top is None or repository is None or outer_rules(root, repository).within == "":
        return None
    index = git_folder(top / ".git") / "index"
    state = LowerLayer(index.parent).fingerprint("index")
    return top if state is not None and _has_files(index, state, root.relative_to(top)) else None


@lru_cache(maxsize=16)
def _has_files(index: Path, state: Fingerprint, folder: Path) -> bool:
    """Whether an index has an entry below a folder. `state` only makes a changed index miss the cache."""
    return has_entry_below(os.fsencode(folder), index)


def _is_private_project(top: Path, owner: int) -> bool:
    """Whether a repository belongs to `owner`, is not writable by everyone, and is in a place for projects."""
    try:
        found = [os.lstat(top), os.lstat(top / ".git")]
    except OSError:
        return False
    private = [folder.path for folder in mounts.private_folders()]
    return (
        all(each.st_uid == owner and not each.st_mode & 0o002 for each in found)
        and not _contains_any(top, [*private, *(point for point in mounts.mount_points() if point != top)])
        and not any(_is_home_or_hidden(top, home) for home in _homes(owner))
        # outside of the private folders, root's commands see only what every user may read; a layer would show more
        and (owner != 0 or any(top.is_relative_to(folder) for folder in private))
    )


def _contains_any(top: Path, paths: Iterable[Path]) -> bool:
    return any(path.is_relative_to(top) for path in paths)


def _homes(owner: int) -> Sequence[Path]:
    """The homes of the user and of the account that commands run as."""
    try:
        return [mounts.home(), real_path(pwd.getpwuid(owner).pw_dir)]
    except KeyError:
        return [mounts.home()]


def _is_home_or_hidden(top: Path, home: Path) -> bool:
    """Whether a folder is or contains a home, or is in a hidden folder of it, where programs store their settings."""
    if home.is_relative_to(top) or top.parent == _HOMES:
        return True
    return top.is_relative_to(home) and any(part.startswith(".") for part in top.relative_to(home).parts)
