"""Tells which files git ignores: by the `.gitignore` files in and above a tree, `info/exclude` and the user's rules.

Built-in rules also ignore the caches and environments that common tools create in every project.

Git is not run, because a repository's settings can make it run programs (docs/faults.md 42). So a tracked file that
matches a rule counts as ignored here.

Rules are hostile input: a pattern that takes more than linear time would block the server.
"""

import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import pathspec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from fairlead.workspace.repositories import enclosing_repository, read_start
from fairlead.workspace.safe_open import read_regular

RULES = ".gitignore"

TOOL_CACHES = (
    *("__pycache__/", "*.py[co]", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", ".hypothesis/", ".tox/", ".nox/"),
    *(".gradle/", ".DS_Store"),
)
CACHES = (*TOOL_CACHES, ".venv/", "node_modules/")
"""Rules for the files and folders that common tools create in every project. The project's own rules override them."""
_ALWAYS = "\n".join(CACHES).encode()

# limits for one ignore file, in bytes and lines; the rest is not read
MAX_TEXT = 100_000
MAX_RULES = 2_000
# limits for one rule, in characters and in `**`; rules over a limit are skipped
_MAX_RULE = 500
_MAX_DOUBLE_STARS = 2
# what pathspec makes of `*`, `?` and `**`
_STAR, _NO_SLASH, _DOUBLE_STAR = "[^/]*", "[^/]", ".+"
_CLASS_WITH_SLASH = re.compile(r"\[[^\]]*/")

# reads a file of the tree by its relative path; None: there is no file
Read = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class OuterRules:
    """The rules from outside of a tree that apply to it."""

    everywhere: list[bytes] = field(default_factory=list[bytes])
    """The rules for the whole repository, as texts, the weakest first."""
    within: str = ""
    """The tree's path in its repository. Empty if it is the whole work tree."""
    above: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """The texts of the `.gitignore` files above the tree, by the folder's path in the repository."""


class IgnoreRules:
    """The rules for one tree. Each ignore file is read once, when it is first needed."""

    def __init__(self, read: Read, outer: OuterRules) -> None:
        self._read = read
        self._start = f"{outer.within}/" if outer.within else ""
        self._everywhere = [_spec(text) for text in outer.everywhere]
        self._caches = _spec(_ALWAYS)
        # the rules in each folder, by its path in the repository
        self._specs = {folder: _spec(outer.above.get(folder, b"")) for folder in _folders_above(outer.within)}
        # whether a folder is ignored, by its path in the repository
        self._folders: dict[str, bool] = {outer.within: False}

    def ignores_file(self, path: str) -> bool:
        """Whether a file is ignored. The path is relative to the tree."""
        full_path = self._start + path
        return self._folder_is_ignored(full_path.rpartition("/")[0]) or self._matches(full_path, full_path)

    def ignores_folder(self, path: str) -> bool:
        """Whether a folder is ignored with everything in it. The path is relative to the tree."""
        return self._folder_is_ignored((self._start + path).rstrip("/"))

    def _folder_is_ignored(self, path: str) -> bool:
        known = self._folders.get(path)
        if known is None:
            known = self._folder_is_ignored(path.rpartition("/")[0]) or self._matches(path, f"{path}/")
            self._folders[path] = known
        return known

    def is_cache(self, path: str) -> bool:
        """Whether a built-in rule (`_ALWAYS`) matches a file, such as a cache that a tool creates in every project."""
        return self._caches.match_file(path)

    def _matches(self, path: str, subject: str) -> bool:
        """Whether the strongest rule that matches a path ignores it. False if no rule matches.

        A rule is stronger the nearer its folder is. `subject` is the path, with a `/` at the end if it is a folder.
        """
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            decided = self._rules_of(folder).check_file(subject[len(folder) + 1 :] if folder else subject).include
            if decided is not None:
                return decided
        for spec in reversed(self._everywhere):
            decided = spec.check_file(subject).include
            if decided is not None:
                return decided
        return False

    def _rules_of(self, folder: str) -> pathspec.GitIgnoreSpec:
        if folder not in self._specs:
            text = self._read(f"{folder}/{RULES}"[len(self._start) :] if folder else RULES)
            self._specs[folder] = _spec(text or b"")
        return self._specs[folder]


def _folders_above(path: str) -> list[str]:
    """The parent folders of a path, including `""`."""
    return [path[:at] for at, letter in enumerate(path) if letter == "/"] + [""] if path else []


def outer_rules(root: Path, repository: Path) -> OuterRules:
    """The outer rules for a workspace. `repository` is the git folder of the repository that the workspace belongs to.

    If the repository ignores the whole workspace, the repository's rules do not count: otherwise every file would be
    ignored.
    """
    top = enclosing_repository(root)
    if top is None:
        return OuterRules(user_rules(repository))
    within = root.relative_to(top).as_posix()
    folders = _folders_above(within)
    texts = {folder: read_start(top / folder / RULES).encode("utf-8", "surrogateescape") for folder in folders}
    outer = OuterRules(user_rules(repository), within, texts)
    whole = IgnoreRules(lambda path: texts.get(path.rpartition("/")[0]), OuterRules(outer.everywhere))
    return OuterRules(user_rules(root / ".git")) if whole.ignores_folder(within) else outer


def user_rules(git_folder: Path) -> list[bytes]:
    """The rules for a whole repository, as texts: the built-in ones, the user's own, and `info/exclude`.

    The weakest come first. The user's own are those in git's default file (`~/.config/git/ignore`), not those in the
    file that `core.excludesFile` names.
    """
    configuration = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    paths = Path(configuration) / "git" / "ignore", git_folder / "info" / "exclude"
    return [_ALWAYS, *filter(None, (read_regular(path, MAX_TEXT) for path in paths))]


def is_environment(folder: int) -> bool:
    """Whether the folder of a descriptor is a Python virtual environment, whatever its name."""
    try:
        return stat.S_ISREG(os.stat("pyvenv.cfg", dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _spec(text: bytes) -> pathspec.GitIgnoreSpec:
    # for git, only a newline ends a line, with or without a carriage return
    lines = text[:MAX_TEXT].decode("utf-8", "surrogateescape").replace("\r\n", "\n").split("\n")[:MAX_RULES]
    return pathspec.GitIgnoreSpec([pattern for line in lines if (pattern := _pattern(line)) is not None])


@lru_cache(maxsize=1024)  # most rules are the same for each command
def _pattern(line: str) -> GitIgnoreSpecPattern | None:
    """The pattern in a line of rules; None if there is none, or if it is not used.

    Patterns are not used if they are invalid, exceed a limit, or have a `/` in brackets.
    """
    if len(line) > _MAX_RULE or _CLASS_WITH_SLASH.search(line):
        return None
    try:
        regex, include = GitIgnoreSpecPattern.pattern_to_regex(line)
    except ValueError:
        return None
    if regex is None:
        return None
    expression = _linear(regex)
    if expression.count(_DOUBLE_STAR) > _MAX_DOUBLE_STARS:
        return None
    return GitIgnoreSpecPattern(re.compile(expression), include)


def _linear(expression: str) -> str:
    """The same pattern without needless backtracking.

    Within one part of a path, the first match of the text between two stars is as good as any later one.
    """
    done, *pieces = expression.split(_STAR)
    for piece in pieces[:-1]:
        within = "/" not in piece.replace(_NO_SLASH, "")
        done += f"(?>{_STAR}?{piece})" if within else _STAR + piece
    return done + "".join(_STAR + piece for piece in pieces[-1:])
