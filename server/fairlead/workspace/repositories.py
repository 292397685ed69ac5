"""Where git keeps a repository's own data in a workspace: not only in a folder that is called `.git`.

Git believes any folder that looks like a repository, and a `.git` may be a file or a link that leads to one. What runs
programs there (hooks, settings) is as good as a program. Names and plain text only; git is not run.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

# what git runs programs by, in each repository
CLOSED = ("hooks", "config", "config.worktree", "info")
_MAX = 1_000_000
_HOOKS = re.compile(r"(?i)^\s*hooksPath\s*=\s*(.+?)\s*$", re.M)


def is_git_folder(has: Callable[[str], bool]) -> bool:
    """Whether git takes a folder for a repository's, or for a worktree's part of one, by the names in it."""
    return has("HEAD") and (has("commondir") or (has("objects") and has("refs")))


def in_git_folder(root: Path, path: Path) -> bool:
    """Whether a file is in a folder below the root that git takes for a repository's, as the disk is now."""
    return any(
        is_git_folder(lambda name, folder=folder: os.path.lexists(folder / name))
        for folder in path.parents
        if folder != root and folder.is_relative_to(root)
    )


def git_folder(link: Path) -> Path:
    """The folder that a `.git` means: itself, or where it leads as a link or by what it says as a file."""
    if link.is_file():
        text = text_of(link)
        if text.startswith("gitdir: "):
            return (link.parent / text.removeprefix("gitdir: ").strip()).resolve()
    return link.resolve() if link.is_symlink() else link


def enclosing(root: Path) -> Path | None:
    """The folder above a workspace whose repository it is a part of; None where it has one of its own, or is in none.

    As git finds it, within one file system. But not the home's, nor one above that: a repository of all that the person
    has says nothing about one folder.
    """
    home = Path(os.path.expanduser("~")).resolve()
    if os.path.lexists(root / ".git"):
        return None
    for folder in root.parents:
        if home.is_relative_to(folder) or _is_border(folder, root):
            return None
        found = git_folder(folder / ".git")
        if is_git_folder(lambda name, found=found: os.path.lexists(found / name)):
            return folder
    return None


def _is_border(folder: Path, root: Path) -> bool:
    try:
        return folder.stat().st_dev != root.stat().st_dev
    except OSError:
        return True


def closed_parts(folder: Path) -> Iterator[Path]:
    """What of a repository must not be written by those who may not run programs."""
    for name in CLOSED:
        if (folder / name).exists():
            yield folder / name


def hooks_of(root: Path) -> Path | None:
    """The folder in the workspace in which the repository's settings have git look for hooks, if they name one."""
    top = enclosing(root) or root
    own = git_folder(top / ".git")
    shared = text_of(own / "commondir").strip()
    named = _HOOKS.findall(text_of((own / shared) / "config"))
    if not named:
        return None
    folder = Path(os.path.realpath(top / named[-1].strip('"')))
    return folder if folder.is_relative_to(root) and folder != root else None


def text_of(path: Path) -> str:
    """The beginning of a file; nothing where there is none that can be read."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_MAX).decode("utf-8", "surrogateescape")
    except OSError:
        return ""
