"""What commands may see of a repository's own folder: what Git needs (gitrepository-layout(5)), and nothing else.

Other files there are copies of settings (`config~`), credentials and keys (git-crypt), or data of other programs.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairlead.workspace.repositories import git_folder, is_git_folder
from fairlead.workspace.safe_open import entries_of
from fairlead.workspace.secret_names import looks_secret

_SHOWN = frozenset(
    (
        *("HEAD", "config", "config.worktree", "commondir", "gitdir", "locked", "description", "index", "packed-refs"),
        *("shallow", "objects", "refs", "logs", "reftable", "lost-found", "rr-cache", "sequencer", "rebase-merge"),
        *("rebase-apply", "AUTO_MERGE", "MERGE_MODE", "MERGE_RR", "MERGE_AUTOSTASH", "gc.pid", "gc.log", "common"),
        *("fsmonitor--daemon", "fsmonitor--daemon.ipc", "git-daemon-export-ok", "addp-hunk-edit.diff"),
        *("ADD_EDIT.patch", "NOTES_MERGE_REF", "NOTES_MERGE_PARTIAL", "NOTES_MERGE_WORKTREE"),
    )
)
_SHOWN_NAME = re.compile(r"[A-Z_]+_(?:HEAD|MSG|EDITMSG)|BISECT_[A-Z_]+|sharedindex\.[0-9a-f]+")
_LOCKABLE = ("HEAD", "index", "packed-refs", "shallow")
# what is shown in a folder that is shown in part; None: what does not look like a secret
_PARTS: dict[str, frozenset[str] | None] = {
    "info": frozenset(("exclude", "attributes", "sparse-checkout", "grafts", "refs", "packs", "alternates")),
    "hooks": None,
    "lfs": None,
    "annex": frozenset(
        ("objects", "index", "journal", "mapping", "misctmp", "othertmp", "keysdb", "smudge.log", "ssh")
    ),
    "branches": frozenset(),  # of old versions of Git: addresses, perhaps with passwords
    "remotes": frozenset(),
}
_MAX_HIDDEN = 300  # each needs a mount, which takes time
_MAX_DEPTH = 10  # of folders and repositories in `modules`


def hidden_in(repositories: Iterable[Path]) -> list[Path]:
    """The files and folders in repositories that commands must not see.

    If there are more than _MAX_HIDDEN, all other repositories with any are hidden as a whole.

    Args:
        repositories: their folders, and files and links that lead to one.
    """
    hidden: dict[Path, None] = {}
    for folder in dict.fromkeys(map(git_folder, repositories)):
        if is_git_folder(lambda name, folder=folder: os.path.lexists(folder / name)):
            found = list(_limited(_hidden(folder, _MAX_DEPTH), _MAX_HIDDEN - len(hidden)))
            hidden |= dict.fromkeys(found if len(hidden) + len(found) <= _MAX_HIDDEN else [folder])
    return list(hidden)


def _limited(paths: Iterator[Path], most: int) -> Iterator[Path]:
    """The first paths, and one more if there are more than `most`."""
    return (path for path, _ in zip(paths, range(max(most, 0) + 1), strict=False))


def _hidden(folder: Path, depth: int) -> Iterator[Path]:
    for entry in entries_of(folder):
        if entry.name in _PARTS and entry.is_dir(follow_symlinks=False):
            yield from _hidden_part(entry)
        elif entry.name in ("modules", "worktrees") and entry.is_dir(follow_symlinks=False):
            yield from _hidden_repositories(Path(entry.path), depth)
        elif not _is_shown(entry.name):
            yield Path(entry.path)


def _hidden_repositories(folder: Path, depth: int) -> Iterator[Path]:
    """As `_hidden`, for a folder with repositories. A submodule's name may contain `/`."""
    for entry in entries_of(folder):
        path = Path(entry.path)
        if depth == 0 or not entry.is_dir(follow_symlinks=False):
            yield path
        elif os.path.lexists(path / "HEAD"):
            yield from _hidden(path, depth - 1)
        else:
            yield from _hidden_repositories(path, depth - 1)


def _hidden_part(part: os.DirEntry[str]) -> Iterator[Path]:
    shown = _PARTS[part.name]
    for entry in entries_of(Path(part.path)):
        if looks_secret(entry.name) if shown is None else entry.name not in shown:
            yield Path(entry.path)


def _is_shown(name: str) -> bool:
    return name in _SHOWN or _SHOWN_NAME.fullmatch(name) is not None or name.removesuffix(".lock") in _LOCKABLE
