"""Which files git's rules ignore: `.gitignore` at every level of a tree and above it in its repository, `info/exclude`,
and the user's own.

Git itself is not asked: a repository's own settings can make it run programs (docs/faults.md 42). So a file that is
tracked although a rule names it counts as ignored here.

Rules are hostile: a pattern that takes more than linear time would hold the whole server.
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

from fairlead.workspace.repositories import enclosing, text_of

RULES = ".gitignore"

# what tools leave behind in every project, whether its rules name it or not; the project's own rules go before these
_ALWAYS = b"""
__pycache__/
*.py[co]
.pytest_cache/
.mypy_cache/
.ruff_cache/
.hypothesis/
.tox/
.nox/
.venv/
node_modules/
.gradle/
.DS_Store
"""

# of one file of rules; what is beyond is passed over
MAX_TEXT = 100_000
MAX_RULES = 2_000
_MAX_RULE = 500
_STAR, _NO_SLASH, _FOLDERS = "[^/]*", "[^/]", ".+"
_MAX_FOLDERS = 2
_CLASS_WITH_SLASH = re.compile(r"\[[^\]]*/")

# the text of a file of the tree, relative to it with `/`; None where there is none
Read = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class OuterRules:
    """The rules that hold for a tree from outside of it.

    `everywhere`: the texts of those of its whole repository, the weakest first. `within`: the tree's place in that, and
    `above` the texts of the rules in the folders on the way there, by folder.
    """

    everywhere: list[bytes] = field(default_factory=list[bytes])
    within: str = ""
    above: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


class IgnoreRules:
    """The rules of one tree, each file of them read when it is needed first."""

    def __init__(self, read: Read, outer: OuterRules) -> None:
        self._read = read
        self._start = f"{outer.within}/" if outer.within else ""
        self._everywhere = [_spec(text) for text in outer.everywhere]
        self._caches = _spec(_ALWAYS)
        # both by the place in the repository; the tree itself is not asked about
        self._specs = {folder: _spec(outer.above.get(folder, b"")) for folder in _folders_above(outer.within)}
        self._folders: dict[str, bool] = {outer.within: False}

    def ignores_file(self, path: str) -> bool:
        """Paths are relative to the tree."""
        whole = self._start + path
        return self._folder(whole.rpartition("/")[0]) or self._named(whole, whole)

    def ignores_folder(self, path: str) -> bool:
        """Whether a folder is ignored, and with it all that is in it."""
        return self._folder((self._start + path).rstrip("/"))

    def _folder(self, path: str) -> bool:
        known = self._folders.get(path)
        if known is None:
            known = self._folder(path.rpartition("/")[0]) or self._named(path, f"{path}/")
            self._folders[path] = known
        return known

    def is_cache(self, path: str) -> bool:
        """Whether a tool made a file for itself, in any project."""
        return self._caches.match_file(path)

    def _named(self, path: str, subject: str) -> bool:
        """The last rule that names it counts, and those of the nearest folder come last."""
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
    """The folders on the way to one, the outermost (`""`) too, without itself."""
    return [path[:at] for at, letter in enumerate(path) if letter == "/"] + [""] if path else []


def outer_rules(root: Path, repository: Path) -> OuterRules:
    """What holds for a workspace from outside; `repository` is where its repository's data is.

    Those of a repository that ignores the whole workspace say nothing of what is in it.
    """
    top = enclosing(root)
    if top is None:
        return OuterRules(user_rules(repository))
    within = root.relative_to(top).as_posix()
    folders = _folders_above(within)
    texts = {folder: text_of(top / folder / RULES).encode("utf-8", "surrogateescape") for folder in folders}
    outer = OuterRules(user_rules(repository), within, texts)
    whole = IgnoreRules(lambda path: texts.get(path.rpartition("/")[0]), OuterRules(outer.everywhere))
    return OuterRules(user_rules(root / ".git")) if whole.ignores_folder(within) else outer


def user_rules(git_folder: Path) -> list[bytes]:
    """What holds for a whole repository: what is ignored everywhere, the user's own rules, then its `info/exclude`."""
    configuration = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    texts = [_ALWAYS]
    for path in (Path(configuration) / "git" / "ignore", git_folder / "info" / "exclude"):
        try:
            with path.open("rb") as file:
                texts.append(file.read(MAX_TEXT))
        except OSError:
            continue
    return texts


def is_environment(folder: int) -> bool:
    """Whether a folder is a virtual environment of Python, whatever it is called; by its descriptor."""
    try:
        return stat.S_ISREG(os.stat("pyvenv.cfg", dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _spec(text: bytes) -> pathspec.GitIgnoreSpec:
    lines = text[:MAX_TEXT].decode("utf-8", "surrogateescape").splitlines()[:MAX_RULES]
    return pathspec.GitIgnoreSpec([pattern for line in lines if (pattern := _pattern(line)) is not None])


@lru_cache(maxsize=1024)  # what each command left is read with much the same rules
def _pattern(line: str) -> GitIgnoreSpecPattern | None:
    """None for a line that is no pattern, as git passes over it, and for one that could take long."""
    if len(line) > _MAX_RULE or _CLASS_WITH_SLASH.search(line):
        return None
    try:
        (pattern,) = pathspec.GitIgnoreSpec.from_lines([line]).patterns
    except ValueError:
        return None
    if pattern.regex is None:
        return None
    expression = _linear(pattern.regex.pattern)
    if expression.count(_FOLDERS) > _MAX_FOLDERS:
        return None
    return GitIgnoreSpecPattern(re.compile(expression), pattern.include)


def _linear(expression: str) -> str:
    """The same pattern without trying in vain: within a part of a path the first match of what stands between two
    stars is as good as any later one, so it is not gone back on."""
    done, *pieces = expression.split(_STAR)
    for piece in pieces[:-1]:
        within = "/" not in piece.replace(_NO_SLASH, "")
        done += f"(?>{_STAR}?{piece})" if within else _STAR + piece
    return done + "".join(_STAR + piece for piece in pieces[-1:])
