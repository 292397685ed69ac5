"""The workspace's Git repository: where it is if it is outside of the workspace, and what a command did to it.

In worktrees and submodules, `.git` is a file with the path of the repository. Anyone may have written it, so it is
trusted only if the repository names the file's folder too. The workspace may be a subfolder of any work tree.
"""

import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from fairlead.shell.sandbox.layer import trees
from fairlead.shell.sandbox.layer.upper_layer import is_whiteout
from fairlead.workspace.paths import real_path
from fairlead.workspace.repositories import enclosing_repository, executable_parts, git_folder, named_path, read_start

_LFS = re.compile(r"(modules/.+/)?lfs/")
_MAX_DEPTH = 20
_MAX_BYTES = 1 << 20


def find_outside(root: Path) -> Path | None:
    """The repository's folder if the workspace is a worktree, a submodule, or a subfolder of a work tree.

    For a worktree, this is the folder that all worktrees of the repository share. None if the repository is in the
    workspace, is not trusted, or does not exist.
    """
    above = enclosing_repository(root)
    top = above or root
    dot_git = top / ".git"
    if above is not None and os.path.isdir(dot_git) and not os.path.islink(dot_git):
        return dot_git
    if os.path.islink(dot_git) or not os.path.isfile(dot_git):
        return None
    git_dir = git_folder(dot_git)
    if git_dir == dot_git:
        return None
    common = git_dir
    if os.path.isfile(git_dir / "commondir"):
        common = named_path(git_dir, read_start(git_dir / "commondir"))
        names_top = real_path((git_dir / read_start(git_dir / "gitdir").strip()).parent) == top
        is_trusted = names_top and git_dir.parent == common / "worktrees"
    else:
        worktree = _worktree(read_start(git_dir / "config"))
        is_trusted = worktree != "" and named_path(git_dir, worktree) == top
    is_repository = os.path.isfile(common / "HEAD") and os.path.isdir(common / "objects")
    return common if is_trusted and is_repository and not common.is_relative_to(root) else None


def _worktree(settings: str) -> str:
    """The first `worktree` in Git settings; empty if there is none."""
    pairs = (line.partition("=") for line in settings.split("\n"))
    return next((value.strip().strip('"') for key, _, value in pairs if key.strip() == "worktree"), "")


def files_above(root: Path) -> list[Path]:
    """The files that git reads above the workspace, up to the top of its work tree.

    They are a `.git` file, `.gitignore` and `.gitattributes`, if they exist and are not links. Empty if the workspace
    is not a subfolder of a work tree.
    """
    above = enclosing_repository(root)
    if above is None:
        return []
    folders = [folder for folder in root.parents if folder.is_relative_to(above)]
    files = [above / ".git", *(folder / name for folder in folders for name in (".gitignore", ".gitattributes"))]
    return [path for path in files if os.path.isfile(path) and not os.path.islink(path)]


def git_environment(root: Path) -> dict[str, str]:
    """Variables with which git finds a repository above the workspace; empty if there is none.

    Git needs them because the workspace is a separate mount in a box.
    """
    return {} if enclosing_repository(root) is None else {"GIT_DISCOVERY_ACROSS_FILESYSTEM": "1"}


def read_only_parts(folder: Path) -> list[Path]:
    """The parts of a repository that commands must not write, not even in a layer.

    Empty if `folder` is a `.git` file that names a repository outside of the file's folder.
    """
    found = git_folder(folder)
    return list(executable_parts(found)) if found.is_relative_to(folder.parent) else []


def inspect_changes(folder: int, before: Callable[[str], bytes | None]) -> tuple[int, bool]:
    """Inspects the upper layer over a repository, down to `_MAX_DEPTH` levels of folders.

    Returns when anything except an index, lock files and the files of Git LFS last changed, in ns by the file system's
    clock (0: never), and whether HEAD or the stash moved. The exceptions do not count, because commands that only read,
    such as `git status`, may write them.

    Args:
        folder: a descriptor of the upper layer's folder.
        before: reads a file of the lower layer.
    """
    changed, moved = 0, False
    for path in trees.walk_files(folder, lambda path: path.count("/") < _MAX_DEPTH):
        if not (path == "index" or path.endswith(("/index", ".lock")) or _LFS.match(path)):
            with contextlib.suppress(FileNotFoundError):  # the command has just removed it
                changed = max(changed, os.stat(path, dir_fd=folder, follow_symlinks=False).st_ctime_ns)
        moved |= _is_moved(path, folder, before)
    return changed, moved


def _is_moved(path: str, folder: int, before: Callable[[str], bytes | None]) -> bool:
    """Whether this changed file means that HEAD or the stash moved. In a new repository, neither counts as moved."""
    above, _, name = path.rpartition("/")
    if path.startswith(("logs/", "refs/remotes/")) or "/logs/" in path:
        return False
    if name == "HEAD" and not above.startswith("refs/"):
        old, new = before(path), _read(path, folder)
        return old is not None and new is not None and old.strip() != new.strip()
    if path.startswith("reftable/") or name == "packed-refs" or f"/{path}".endswith("/refs/stash"):
        old, new = before(path), _read(path, folder)
        return before("HEAD") is not None and _stash(name, old) != _stash(name, new)
    return False


def _stash(name: str, data: bytes | None) -> bytes:
    """The part of a file that describes the stash."""
    if name != "packed-refs":
        return (data or b"").strip()
    return b"".join(line for line in (data or b"").splitlines() if line.endswith(b" refs/stash"))


def _read(path: str, folder: int) -> bytes | None:
    above, _, name = path.rpartition("/")
    with contextlib.suppress(OSError), trees.opened_below(folder, above) as at:
        if not is_whiteout(name, at, os.stat(name, dir_fd=at, follow_symlinks=False)):
            with trees.open_regular_file(name, at) as file:
                return file.read(_MAX_BYTES)
    return None
