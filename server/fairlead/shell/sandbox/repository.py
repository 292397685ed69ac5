"""The workspace's repository: where it is when it is not in the workspace, and what a command did to it.

In git worktrees and submodules the workspace names that place itself, in a file that anyone may have written. So it is
believed only where the place names the workspace too.
"""

import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from fairlead.shell.sandbox import trees
from fairlead.shell.sandbox.upper import is_whiteout
from fairlead.workspace.repositories import closed_parts, git_folder, text_of

NOT_KEPT = (
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


def outside(root: Path) -> Path | None:
    """The folder with the repository of a worktree or a submodule at `root`; None where it is in the workspace."""
    link = root / ".git"
    if link.is_symlink() or not link.is_file():
        return None
    own = git_folder(link)
    if own == link:
        return None
    common = own
    if (own / "commondir").is_file():
        common = (own / text_of(own / "commondir").strip()).resolve()
        named = (own / text_of(own / "gitdir").strip()).parent.resolve() == root
        believed = named and own.parent == common / "worktrees"
    else:
        worktree = re.search(r"^\s*worktree\s*=\s*(.+?)\s*$", text_of(own / "config"), re.M)
        believed = worktree is not None and (own / worktree[1].strip('"')).resolve() == root
    is_repository = (common / "HEAD").is_file() and (common / "objects").is_dir()
    return common if believed and is_repository and not common.is_relative_to(root) else None


def closed(folder: Path) -> list[Path]:
    """What of a repository must not be written, not even in a layer; one that a `.git` leads to counts if it is beside
    or below that."""
    found = git_folder(folder)
    return list(closed_parts(found)) if found.is_relative_to(folder.parent) else []


def touched(folder: int, before: Callable[[str], bytes | None]) -> tuple[bool, bool]:
    """What the upper layer over a repository says: whether more was changed than what git remembers of the files'
    times, and whether HEAD or the stash is another than `before`."""
    changed = moved = False
    for path in trees.files(folder, lambda path: path.count("/") < _DEEPEST):
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
    with contextlib.suppress(OSError), trees.beneath(folder, above) as at:
        if not is_whiteout(name, at, os.stat(name, dir_fd=at, follow_symlinks=False)):
            with trees.open_file(name, at) as file:
                return file.read(_MOST)
    return None
