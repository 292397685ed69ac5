"""Git's settings as a command may see them: without what gives access, and of the person's own only harmless ones."""

import re
from collections.abc import Iterator
from pathlib import Path

from fairlead.workspace.repositories import git_folder, text_of

_OF_PERSON = (".gitconfig", ".config/git/config")
_SECTIONS = {"user", "core", "init", "diff", "merge", "pull", "push", "fetch", "rebase", "safe", "color", "column"}
_PROGRAMS = {"hookspath", "fsmonitor", "sshcommand", "askpass", "gitproxy", "editor", "pager", "external", "worktree"}
_SECRET = re.compile(r"(?i)extraheader|token|passw|smtppass|passphrase|secret|cookie")
# of addresses in the web the whole user (it may be a token), of others the password
_IN_WEB = re.compile(r"(?i)\b(https?|ftps?)://[^/\s]*@")
_IN_OTHERS = re.compile(r"(://[^/\s:@]+):[^/\s]*@")
_HEAD = re.compile(r'\s*\[\s*([\w.-]+)\s*("(?:\\.|[^"\\])*")?\s*\]')


def of_person(home: Path) -> Iterator[tuple[Path, str]]:
    """The person's own settings, by the files that hold them: those of known sections that run no program."""
    for name in _OF_PERSON:
        text = text_of(home / name)
        if text:
            yield home / name, harmless(text)


def of_repository(folder: Path) -> Iterator[tuple[Path, str]]:
    """The settings of a repository that hold what gives access, without it; a `.git` that leads to one is followed."""
    found = git_folder(folder)
    for path in (found / "config", found / "config.worktree", *sorted(found.glob("modules/*/config"))):
        text = text_of(path)
        shown = without_secrets(text)
        if shown != text:
            yield path, shown


def harmless(text: str) -> str:
    """Of settings only those that are known to give nothing away and to run nothing."""
    kept: list[str] = []
    shown = False
    for line in _lines(without_secrets(text)):
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


def without_secrets(text: str) -> str:
    """Settings without the users and passwords in addresses, and without those that hold a password themselves."""
    text = _IN_OTHERS.sub(r"\1@", _IN_WEB.sub(r"\1://", text))
    if not _SECRET.search(text):
        return text
    return "".join(f"{line}\n" for line in _lines(text) if not _SECRET.search(line))


def _lines(text: str) -> list[str]:
    """The lines, with those that go on on the next one taken together."""
    return re.sub(r"\\\r?\n", "", text).splitlines()
