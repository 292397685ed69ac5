"""Files that make something run or steer tools by themselves: never accepted without a confirmation of their own.

By name alone, whether they are there or not (docs/faults.md 35). What may be proposed, and who confirms, is not here.
"""

import os
import re
from functools import lru_cache
from pathlib import Path

from fairlead.workspace.names import plain_parts
from fairlead.workspace.repositories import closed_parts, git_folder, hooks_of, is_git_folder

_GIT = "It belongs to Git, which runs its hooks and filters by itself."
_REASONS = {
    "It configures the editor, which may run what it says.": (
        *(".vscode/", ".idea/", ".devcontainer/", ".fleet/", ".zed/", ".vs/", ".devcontainer.json", ".exrc", ".nvimrc"),
        *(".nvim.lua", ".vimrc", ".dir-locals.el", ".sublime-project", "*.code-workspace", "*.sublime-project"),
    ),
    _GIT: (
        *(".git/", ".husky/", ".githooks/", ".gitmodules", ".gitattributes", ".gitconfig", ".lefthook/"),
        *("lefthook.yml", ".lefthook.yml", "lefthook.yaml", ".pre-commit-config.yaml", ".lintstagedrc"),
    ),
    "It says what your builds on the server run.": (
        *(".github/workflows/", ".github/actions/", ".gitlab-ci.yml", ".gitlab/ci/", ".circleci/", ".buildkite/"),
        *(".travis.yml", "azure-pipelines.yml", ".azure-pipelines/", "jenkinsfile", ".drone.yml", ".woodpecker.yml"),
        *(".woodpecker/", "appveyor.yml", "bitbucket-pipelines.yml", ".forgejo/workflows/", ".gitea/workflows/"),
    ),
    "Your shell or your package manager reads it by itself.": (
        *(".envrc", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc"),
        *(".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".inputrc", ".mise.toml"),
        *("mise.toml", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pypirc", "pip.conf", ".cargo/"),
    ),
    "It tells coding agents what to do, or what they may do.": (
        *("agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", ".claude/", ".cursor/"),
        *(".cursorrules", ".windsurf/", ".windsurfrules", ".clinerules", ".clinerules/", ".roo/", ".codex/"),
        *(".aider.conf.yml", ".continue/", ".junie/", ".kiro/", ".mcp.json", ".gemini/", ".fairleadignore"),
        *(".github/copilot-instructions.md", ".github/instructions/", ".github/prompts/", ".github/agents/"),
    ),
}
_BY_NAME = {name.rstrip("/"): reason for reason, names in _REASONS.items() for name in names if "*" not in name}
_BY_END = {name[1:]: reason for reason, names in _REASONS.items() for name in names if name.startswith("*")}
_ENDS = tuple(_BY_END)
_MAX_FOLDERS = 1000
_NAMES = sorted({part for name in _BY_NAME for part in name.split("/")})
_DEEPEST = max(name.count("/") for name in _BY_NAME) + 1
_PASSED_OVER = {".git", "node_modules", ".venv", "venv", "site-packages", "__pycache__", "vendor", "target"}
# as old Windows names files with long names: GIT~1, AGENTS~1.MD
_SHORT = re.compile(r"([^~.]{1,6})~\d+(?:\.(.{0,3}))?")


@lru_cache(maxsize=4096)
def is_protected(relative: str) -> str | None:
    """Why a file must be confirmed by itself, for people; None for an ordinary one.

    The path is relative to the workspace. Whatever a file system may take for the same name counts: other letters in
    case, dots and blanks at the end, a stream's name behind a colon, short names, characters that are not seen.
    """
    parts = _parts(relative)
    for start in range(len(parts)):
        for size in range(1, _DEEPEST + 1):
            reason = _BY_NAME.get("/".join(parts[start : start + size]))
            if reason is not None:
                return reason
    return next((reason for end, reason in _BY_END.items() if parts[-1].endswith(end)), None)


def is_repository(relative: str) -> bool:
    """Whether a file is the version control's own data."""
    return ".git" in _parts(relative)


def protected_files(root: Path) -> list[str]:
    """The protected files and folders that are there, at the root and one or two levels below it; links' ends too.

    Relative to the root, with `/`; a folder stands for all that is in it. Of repositories that are not in a `.git` only
    that by which git runs programs. Only names are looked at, in 1,000 folders at most, not in those of dependencies.
    """
    found = _of_git(root)
    level, left = [root], _MAX_FOLDERS
    for _ in range(3):
        below: list[Path] = []
        for folder in level[:left]:
            above, entries = folder.name.casefold(), _entries(folder)
            if folder != root and is_git_folder({entry.name for entry in entries}.__contains__):
                found |= {part.relative_to(root).as_posix() for part in closed_parts(folder)}
                continue
            for entry in entries:
                name = entry.name.casefold()
                if name in _BY_NAME or f"{above}/{name}" in _BY_NAME or name.endswith(_ENDS):
                    found |= {Path(entry.path).relative_to(root).as_posix()}
                    found |= _end_of_link(entry, root) if name != ".git" else set()
                elif name not in _PASSED_OVER and _is_folder(entry):
                    below.append(Path(entry.path))
        level, left = below, max(0, left - len(level))
    return sorted(found)


def protected_links(root: Path) -> dict[str, str]:
    """The files and folders that a protected name at the root leads to, by a link or as git says, with the reason."""
    links = [entry for folder in (root, root / ".github") for entry in _entries(folder) if entry.is_symlink()]
    reasons = {
        end: is_protected(Path(link.path).relative_to(root).as_posix())
        for link in links
        for end in _end_of_link(link, root)
    }
    return {**dict.fromkeys(_of_git(root), _GIT), **{end: why for end, why in reasons.items() if why is not None}}


def _of_git(root: Path) -> set[str]:
    """What git runs programs by where that is not below a `.git`: where this leads to, or what its settings name."""
    folder, hooks = git_folder(root / ".git"), hooks_of(root)
    elsewhere = folder != root / ".git" and folder != root and folder.is_relative_to(root)
    closed = [*(closed_parts(folder) if elsewhere else ()), *([hooks] if hooks is not None else [])]
    return {path.relative_to(root).as_posix() for path in closed}


def _parts(relative: str) -> list[str]:
    return [_long(part) for part in plain_parts(relative)]


def _long(part: str) -> str:
    """A protected name for its short form."""
    short = _SHORT.fullmatch(part)
    if short is None:
        return part
    stem, end = short.groups()
    return next((name for name in _NAMES if _shortened(name) == (stem, end or "")), part)


def _shortened(name: str) -> tuple[str, str]:
    stem, _, end = name.lstrip(".").rpartition(".")
    return ((stem or end).replace(".", "")[:6], end[:3] if stem else "")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _end_of_link(entry: os.DirEntry[str], root: Path) -> set[str]:
    """Where a link inside the workspace leads: a change there is a change of the protected file."""
    if not entry.is_symlink():
        return set()
    real, end = Path(os.path.realpath(root)), Path(os.path.realpath(entry.path))
    return {end.relative_to(real).as_posix()} if end != real and end.is_relative_to(real) else set()
