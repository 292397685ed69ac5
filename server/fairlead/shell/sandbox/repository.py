"""The workspace's repository: where it is when it is not in the workspace, and what a command did to it.

In git worktrees and submodules a `.git` names that place, a file that anyone may have written. So it is believed only
where the place names the folder of that file too. A workspace may be a folder within any of these.
"""

import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from fairlead.shell.sandbox import trees
from fairlead.shell.sandbox.upper_layer import is_whiteout
from fairlead.workspace.repositories import closed_parts, enclosing, git_folder, text_of

DISCARDED = (
    "Changes of the repository itself (.git) are not kept. A command that shall commit, stage or stash for good must "
    "run with `unsandboxed`."
)
MOVED = (
    "Nothing of this command was taken over: it moved HEAD or the stash (git stash, switch, checkout, rebase), which "
    "the sandbox does not keep, so what git did to the files cannot be told from other changes. The proposals are as "
    "they were before. Work without stash and branches, or run the command with `unsandboxed`."
)
_DEEPEST = 20
_MOST = 1 << 20


def find_outside(root: Path) -> Path | None:
    """The folder with the repository of a workspace at `root`, be this a worktree, a submodule, or a folder within a
    repository's work tree; None where it is in the workspace."""
    above = enclosing(root)
    top = above or root
    link = top / ".git"
    if above is not None and link.is_dir() and not link.is_symlink():
        return link
    if link.is_symlink() or not link.is_file():
        return None
    own = git_folder(link)
    if own == link:
        return None
    common = own
    if (own / "commondir").is_file():
        common = (own / text_of(own / "commondir").strip()).resolve()
        named = (own / text_of(own / "gitdir").strip()).parent.resolve() == top
        believed = named and own.parent == common / "worktrees"
    else:
        worktree = re.search(r"^\s*worktree\s*=\s*(.+?)\s*$", text_of(own / "config"), re.M)
        believed = worktree is not None and (own / worktree[1].strip('"')).resolve() == top
    is_repository = (common / "HEAD").is_file() and (common / "objects").is_dir()
    return common if believed and is_repository and not common.is_relative_to(root) else None


def files_above(root: Path) -> list[Path]:
    """What git reads on the way from the top of its work tree to a workspace, and the home may have to show."""
    above = enclosing(root)
    if above is None:
        return []
    folders = [folder for folder in root.parents if folder.is_relative_to(above)]
    files = [above / ".git", *(folder / name for folder in folders for name in (".gitignore", ".gitattributes"))]
    return [path for path in files if path.is_file() and not path.is_symlink()]


def git_environment(root: Path) -> dict[str, str]:
    """What makes git look for the repository above the workspace, which is a mount of its own in a box."""
    return {} if enclosing(root) is None else {"GIT_DISCOVERY_ACROSS_FILESYSTEM": "1"}


def read_only_parts(folder: Path) -> list[Path]:
    """What of a repository must not be written, not even in a layer; one that a `.git` leads to counts if it is beside
    or below that."""
    found = git_folder(folder)
    return list(closed_parts(found)) if found.is_relative_to(folder.parent) else []


def inspect_changes(folder: int, before: Callable[[str], bytes | None]) -> tuple[bool, bool]:
    """What the upper layer over a repository says: whether more was changed than what git remembers of the files'
    times, and whether HEAD or the stash is another than `before`."""
    changed = moved = False
    for path in trees.walk_files(folder, lambda path: path.count("/") < _DEEPEST):
        changed |= not (path == "index" or path.endswith(("/index", ".lock")))
        moved |= _is_moved(path, folder, before)
    return changed, moved


def _is_moved(path: str, folder: int, before: Callable[[str], bytes | None]) -> bool:
    """By one changed file; a repository that was not there before was not moved."""
    above, _, name = path.rpartition("/")
    if path.startswith(("logs/", "refs/remotes/")) or "/logs/" in path:
        return False
    if name == "HEAD" and not above.startswith("refs/"):
        old, new = before(path), _now(path, folder)
        return old is not None and new is not None and old.strip() != new.strip()
    if path.startswith("reftable/") or name == "packed-refs" or f"/{path}".endswith("/refs/stash"):
        old, new = before(path), _now(path, folder)
        return before("HEAD") is not None and _stash(name, old) != _stash(name, new)
    return False


def _stash(name: str, data: bytes | None) -> bytes:
    """What a file says of the stash."""
    if name != "packed-refs":
        return (data or b"").strip()
    return b"".join(line for line in (data or b"").splitlines() if line.endswith(b" refs/stash"))


def _now(path: str, folder: int) -> bytes | None:
    above, _, name = path.rpartition("/")
    with contextlib.suppress(OSError), trees.opened_below(folder, above) as at:
        if not is_whiteout(name, at, os.stat(name, dir_fd=at, follow_symlinks=False)):
            with trees.open_regular_file(name, at) as file:
                return file.read(_MOST)
    return None
