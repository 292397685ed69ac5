"""Git's settings as a command may see them: without what gives access, and of the user's own only harmless ones.

What git would read counts: the settings of the system, of the user and of each repository, and all files that these
include, under whatever condition (git-config(1), "Includes"). Plain text only; git is not run.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fairlead.workspace.repositories import git_folder, text_of

_OF_PERSON = (".gitconfig", ".config/git/config")
_OF_SYSTEM = ("/etc/gitconfig", "/usr/local/etc/gitconfig")
_SECTIONS = {"user", "core", "init", "diff", "merge", "pull", "push", "fetch", "rebase", "safe", "color", "column"}
_PROGRAMS = {"hookspath", "fsmonitor", "sshcommand", "askpass", "gitproxy", "editor", "pager", "external", "worktree"}
_SECRET = re.compile(r"(?i)extraheader|token|passw|passphrase|secret|cookie|api-?key|authorization|bearer|oauth")
# of addresses in the web the whole user (it may be a token), of others the password; a quote in it stays, for its pair
_IN_WEB = re.compile(r"(?i)\b(https?|ftps?)://[^/\s]*@")
_IN_OTHERS = re.compile(r"(://[^/\s:@]+):[^/\s]*@")
_HEAD = re.compile(r'\s*\[\s*([\w.-]+)\s*("(?:\\.|[^"\\])*")?\s*\]')
_PATH = re.compile(r"(?i)\s*path\s*=(.*)")
# of a value: what is quoted, an escaped character, a comment, anything else
_VALUE = re.compile(r'"((?:\\.|[^"\\])*)"|\\(.)|([#;].*)|([^"\\#;]+)')
_GOES_ON = re.compile(r"(?<!\\)(?:\\\\)*\\\r?$")
_COMMENT = re.compile(r'(?:[^"\\#;]|\\.|"(?:\\.|[^"\\])*+"?+)*+[#;]')
_DEEPEST = 10  # folders of submodules within each other; git allows as many includes
_MOST = 1000


def user_settings(home: Path) -> Iterator[tuple[Path, str]]:
    """The user's own settings, by the files that hold them: those of known sections that run no program."""
    for name in _OF_PERSON:
        text = text_of(home / name)
        if text:
            yield home / name, harmless_settings(text)


def redacted_settings(
    repositories: Iterable[Path], home: Path, text_at: Callable[[Path], str]
) -> Iterator[tuple[Path, str]]:
    """The files with settings that hold what gives access, and their text without it.

    `repositories` are folders of git, or a `.git` that leads to one; `text_at` says what a file holds.
    """
    left = [*_of_system(), *_of_person(home), *(path for folder in repositories for path in _of_repository(folder))]
    seen: set[Path] = set()
    while left and len(seen) < _MOST:
        path = Path(os.path.realpath(left.pop()))
        if path in seen:
            continue
        seen.add(path)
        text = text_at(path)
        left += [_included(path, name, home) for name in _includes(text) if "\0" not in name]
        shown = redact(text)
        if shown != text:
            yield path, shown


def harmless_settings(text: str) -> str:
    """Of settings only those that are known to give nothing away and to run nothing."""
    kept: list[str] = []
    shown = False
    for line in _lines(redact(text)):
        head = _HEAD.match(line)
        if head is not None:
            section, _, _ = head[1].lower().partition(".")
            shown = section in _SECTIONS and (head[2] is None or section == "color") and head[1].lower() == section
            line = line[head.end() :]
            kept += [head[0].strip()] if shown else []
        key = re.match(r"\s*([A-Za-z][\w-]*)", line)
        if shown and key is not None and key[1].lower() not in _PROGRAMS:
            kept.append(line.strip())
    return "".join(f"{line}\n" for line in kept)


def redact(text: str) -> str:
    """Settings without the users and passwords in addresses, and without those that hold a password themselves."""
    lines = list(_lines(text))
    shown = [kept for line in lines for kept in _without_secret(line)]
    return text if shown == lines else "\n".join(shown)


def _without_secret(line: str) -> Iterator[str]:
    line = _IN_OTHERS.sub(r"\1@", _IN_WEB.sub(_without_user, line))
    if not _SECRET.search(line):
        yield line
    elif head := _HEAD.match(line):  # what follows would else belong to the section before
        yield head[0] if _SECRET.search(line[head.end() :]) else line


def _without_user(found: re.Match[str]) -> str:
    return f"{found[1]}://" + '"' * (found[0].count('"') % 2)


def _of_system() -> Iterator[Path]:
    yield from map(Path, _OF_SYSTEM)
    git = shutil.which("git")
    if git is not None:
        yield Path(git).parent.parent / "etc/gitconfig"


def _of_person(home: Path) -> Iterator[Path]:
    yield from (home / name for name in _OF_PERSON)
    for variable in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    if os.environ.get("XDG_CONFIG_HOME"):
        yield Path(os.environ["XDG_CONFIG_HOME"], "git/config")


def _of_repository(folder: Path) -> Iterator[Path]:
    """The settings of a repository, of its worktrees, and of the submodules whose repositories are in it."""
    found = git_folder(folder)
    yield from (found / "config", found / "config.worktree", *found.glob("worktrees/*/config.worktree"))
    yield from _of_submodules(found / "modules", _DEEPEST)


def _of_submodules(folder: Path, depth: int) -> Iterator[Path]:
    """A submodule's name may hold `/`, so any folder may be a repository or have some in it."""
    for inner in folder.glob("*/") if depth else ():
        if (inner / "HEAD").is_file() or (inner / "config").is_file():
            yield from (inner / "config", inner / "config.worktree", *inner.glob("worktrees/*/config.worktree"))
            yield from _of_submodules(inner / "modules", depth - 1)
        else:
            yield from _of_submodules(inner, depth - 1)


def _includes(text: str) -> Iterator[str]:
    """The values of `path` in sections that include; whether a condition holds is not asked."""
    includes = False
    for line in _lines(text):
        head = _HEAD.match(line)
        if head is not None:
            includes = head[1].lower() == ("include" if head[2] is None else "includeif")
            line = line[head.end() :]
        path = _PATH.match(line) if includes else None
        if path is not None:
            yield _value(path[1])


def _value(text: str) -> str:
    """What a value says, without its quotes and its comment."""
    said = ""
    for quoted, escaped, comment, plain in _VALUE.findall(text.strip()):
        if comment:
            return said.rstrip()
        said += re.sub(r"\\(.)", r"\1", quoted) + escaped + plain
    return said


def _included(file: Path, name: str, home: Path) -> Path:
    if name.startswith("~/"):
        return home / name[2:]
    return file.parent / os.path.expanduser(name)


def _lines(text: str) -> list[str]:
    """The lines, with those that go on on the next one taken together; a comment does not go on."""
    lines: list[str] = []
    goes_on = False
    for line in text.removeprefix("\ufeff").split("\n"):
        if goes_on:
            lines[-1] = lines[-1].rstrip("\r")[:-1] + line
        else:
            lines.append(line)
        goes_on = _GOES_ON.search(lines[-1]) is not None and _COMMENT.match(lines[-1]) is None
    return lines
