"""Finds Git's own data in a workspace: its hooks and settings can run programs.

It is not always in a folder named `.git`: Git accepts any folder that looks like a repository, and `.git` may be a file
or a link that leads to one. This module reads names and plain text; it does not run git.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from fairlead.workspace.paths import real_path
from fairlead.workspace.safe_open import read_regular

# the parts of a repository that make Git run programs
EXECUTABLE_PARTS = ("hooks", "config", "config.worktree", "info")
_MAX_BYTES = 1_000_000
_HEAD = re.compile(r"ref: refs/heads/([^\n]+)|([0-9a-f]{40}|[0-9a-f]{64})")
# no repetition is tried again with less text: a hostile file must not take long
_SECTION = re.compile(r"\s*+\[\s*+([\w.-]++)\s*+(\"[^\"]*+\")?+\s*+\](.*)")
_HOOKS_PATH = re.compile(r"(?i)\s*+hooksPath\s*+=\s*+(\"[^\"]*+\"|[^#;]*+)")


def is_git_folder(has: Callable[[str], bool]) -> bool:
    """Whether Git takes a folder for a repository, or for a worktree's part of one.

    Args:
        has: returns whether the folder contains a name.
    """
    return has("HEAD") and (has("commondir") or (has("objects") and has("refs")))


def in_git_folder(root: Path, path: Path) -> bool:
    """Whether a file is in a folder below the root that Git takes for a repository."""
    return any(
        is_git_folder(lambda name, folder=folder: os.path.lexists(folder / name))
        for folder in path.parents
        if folder != root and folder.is_relative_to(root)
    )


def git_folder(link: Path) -> Path:
    """The folder that a `.git` refers to: the one that it leads to if it is a link or a file, else itself."""
    text = read_start(link)
    if text.startswith("gitdir: "):
        return named_path(link.parent, text.removeprefix("gitdir: "))
    return real_path(link) if os.path.islink(link) else link


def named_path(folder: Path, text: str) -> Path:
    """The path that a text in a repository names, with links resolved. The text ends at a NUL, as for Git.

    A relative path is relative to `folder`.
    """
    return real_path(folder / text.partition("\0")[0].strip())


def enclosing_repository(root: Path) -> Path | None:
    """The folder above the workspace that is the top of the repository around it.

    None if the workspace is the top of a repository, or there is none.

    Searches within one file system, as Git does. Does not search the home folder or the folders above it: a repository
    of the whole home says nothing about one project.
    """
    home = real_path(os.path.expanduser("~"))
    if os.path.lexists(root / ".git"):
        return None
    for folder in root.parents:
        if home.is_relative_to(folder) or _is_on_other_file_system(folder, root):
            return None
        found = git_folder(folder / ".git")
        if is_git_folder(lambda name, found=found: os.path.lexists(found / name)):
            return folder
    return None


def _is_on_other_file_system(folder: Path, root: Path) -> bool:
    try:
        return folder.stat().st_dev != root.stat().st_dev
    except OSError:
        return True


def executable_parts(folder: Path) -> Iterator[Path]:
    """The existing parts of a repository that could make Git run programs if they were written to."""
    for name in EXECUTABLE_PARTS:
        if os.path.exists(folder / name):
            yield folder / name


def settings_files(top: Path) -> tuple[Path, Path]:
    """The files of a repository's settings: that of the work tree, and that of all work trees."""
    own = git_folder(top / ".git")
    shared = named_path(own, read_start(own / "commondir"))
    return own / "config.worktree", shared / "config"


def hooks_folder(root: Path) -> Path | None:
    """The folder below the root that the repository's settings name for hooks; None if they name none there.

    Reads only the repository's own files (`git_programs.py` asks Git).
    """
    top = enclosing_repository(root) or root
    of_work_tree, shared = settings_files(top)
    named = _hooks_path(read_start(of_work_tree)) or _hooks_path(read_start(shared))
    folder = named_path(top, named)
    return folder if named and folder.is_relative_to(root) and folder != root else None


def _hooks_path(settings: str) -> str:
    """The last `core.hooksPath` in Git settings; empty if there is none."""
    found = section = ""
    for line in settings.splitlines():
        head, rest = _SECTION.match(line), line
        if head is not None:
            section, rest = "" if head[2] else head[1].lower(), head[3]
        value = _HOOKS_PATH.match(rest)
        if section == "core" and value is not None:
            found = value[1].strip().strip('"')
    return found


def current_branch(root: Path) -> str:
    """The checked-out branch, or words with the start of the commit's id if no branch is checked out.

    Empty without a repository, or if `HEAD` does not show it. Does not run git, because that could run the repository's
    own programs, such as its filters.
    """
    head = read_start(git_folder((enclosing_repository(root) or root) / ".git") / "HEAD").strip()
    found = _HEAD.fullmatch(head)
    if found is None or found[1] == ".invalid":  # Git's placeholder if the branches are not in files
        return ""
    return found[1] or f"no branch, at commit {found[2][:8]}"


def read_start(path: Path) -> str:
    """The text of a file, at most its first `_MAX_BYTES` bytes; empty if it cannot be read or is not a regular file."""
    return read_regular(path, _MAX_BYTES).decode("utf-8", "surrogateescape")
