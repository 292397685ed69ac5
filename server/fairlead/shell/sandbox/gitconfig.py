"""Git's settings as commands may see them: without credentials, and of the user's own settings only harmless ones.

Filters count as harmless: the user chose their programs, which run in the box too. Without them, git would take the
files of Git LFS for changed ones.

Covers every file that git would read: the settings of the system, of the user and of each repository, and all files
that these include, under whatever condition (git-config(1), "Includes"). Works on text; git is not run.
"""

import glob
import os
import re
import shlex
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from fairlead.shell.token_forms import contains_token, looks_random, without_tokens
from fairlead.workspace.paths import real_path
from fairlead.workspace.repositories import git_folder, read_start

_USER_FILES = (".gitconfig", ".config/git/config")
_SYSTEM_FILES = ("/etc/gitconfig", "/usr/local/etc/gitconfig")
_SECTIONS = {"user", "core", "init", "diff", "merge", "pull", "push", "fetch", "rebase", "safe", "color", "column"}
_PROGRAMS = {"hookspath", "fsmonitor", "sshcommand", "askpass", "gitproxy", "editor", "pager", "external", "worktree"}
_FILTER_PROGRAMS = ("clean", "smudge", "process")
_SECRET = re.compile(
    r"(?i)extraheader|token|passw|passphrase|secret|cookie|api[_-]?key|(?:private|access)[_-]?key|authorization|bearer|oauth"
    # options with which programs take a password: sshpass, curl, openssl, and those that are called so
    r"|sshpass\s|(?:\s-u|\s--user[\s=])\s*[^\s:/@]+:[^\s/]|\bopenssl\s.*\s-k\s|[\s-]-pass(?:\s|=)|\bpass=|\bbasic\s+\S"
)
# keys whose values are secret, and the ends of such keys, without separators
_SECRET_KEYS = {"auth", "credential", "credentials", "creds", "dsn", "jwt", "key", "otp", "pat", "pw", "sas"}
_SECRET_KEY_ENDS = ("pass", "pwd", "passcode", "creds", "sessionid", "accountkey", "licensekey", "connectionstring")
_PUBLIC_KEYS = {"signingkey"}  # identifies a key, with which it may begin
_QUERY = re.compile(r'(?i)([?&][\w-]*(?:auth|key|pass|pw|sig|secret|token)[\w-]*=)[^&\s"\]]+')
_MAX_LINE = 10_000  # characters of a line that is not secret
# what is removed: the user part of a web address, which may be a token, and the password of any other address (a quote
# in a user part stays if the matching quote is outside of it)
_WEB_USER = re.compile(r"(?i)\b(https?|ftps?)://[^/\s]*@")
_PASSWORD = re.compile(r"(://[^/\s:@]+):[^/\s]*@")
# no repetition is tried again with less text: a hostile file must not take long
_HEAD = re.compile(r'\s*+\[\s*+([\w.-]++)\s*+("(?:\\.|[^"\\])*+")?+\s*+\]')
_KEY = re.compile(r"\s*+(?:[#;]\s*+)?+([A-Za-z][\w-]*+)")
_PATH = re.compile(r"(?i)\s*+path\s*+=(.*)")
# the parts of a value: quoted text, an escaped character, a comment, anything else
_VALUE = re.compile(r'"((?:\\.|[^"\\])*)"|\\(.)|([#;].*)|([^"\\#;]+)')
_TOKEN = re.compile(r'\\\r?$|\\.|["#;]')
_MAX_DEPTH = 10  # of nested submodules; each `/` in a submodule's name counts as a level too
_MAX_FILES = 1000
_MAX_PATHS = 10_000  # including those of files that do not exist
_MAX_CHARACTERS = 5_000_000  # of all files together


class TooManyFiles(Exception):
    """There are more settings files than we read."""


def user_settings(home: Path, can_run: Callable[[str], bool]) -> tuple[list[tuple[Path, str]], list[str]]:
    """The user's own settings files that exist, each with its harmless settings, and the names of the omitted filters.

    A filter is omitted if the box cannot run all of its programs: git fails if a required one cannot be run.

    Args:
        can_run: whether the box shows what a command line needs.
    """
    texts = {home / name: text for name in _USER_FILES if (text := read_start(home / name))}
    omitted = sorted({name for text in texts.values() for name, line in _filters(text) if not can_run(line)})
    return [(path, harmless_settings(text, omitted)) for path, text in texts.items()], [name[1:-1] for name in omitted]


def redacted_settings(
    repositories: Iterable[Path], home: Path, text_at: Callable[[Path], str]
) -> Iterator[tuple[Path, str]]:
    """The settings files that contain credentials, each with its text without them.

    `repositories` are git folders, or `.git` files that name one; `text_at` reads a file. All files of a repository
    come before those of the next one.

    Raises:
        TooManyFiles: _MAX_FILES, _MAX_PATHS or _MAX_CHARACTERS is reached, and there are more.
    """
    pending = [*_system_files(), *_user_files(home)]
    pending += [path for folder in repositories for path in _repository_files(folder)]
    pending.reverse()
    seen: set[Path] = set()
    read = size = 0
    while pending:
        path = real_path(pending.pop())
        if path in seen:
            continue
        if read >= _MAX_FILES or len(seen) >= _MAX_PATHS or size >= _MAX_CHARACTERS:
            raise TooManyFiles
        seen.add(path)
        text = text_at(path)
        read += text != ""
        size += len(text)
        pending += [_included(path, name, home) for name in _includes(text) if "\0" not in name]
        shown = redact(text)
        if shown != text:
            yield path, shown


def harmless_settings(text: str, omitted_filters: Collection[str] = ()) -> str:
    """Only the settings in known sections that contain no secret and run no program, and the filters.

    Args:
        omitted_filters: names of filters to leave out, in quotes.
    """
    return "".join(f"{line}\n" for head, key, line in _settings(redact(text)) if _is_shown(head, key, omitted_filters))


def _is_shown(head: re.Match[str], key: str, omitted_filters: Collection[str]) -> bool:
    section, name = head[1].lower(), head[2]
    if section == "filter":
        return name is not None and name not in omitted_filters and key in ("", "required", *_FILTER_PROGRAMS)
    return section in _SECTIONS and (name is None or section == "color") and key not in _PROGRAMS


def named_files(line: str, home: Path) -> list[Path]:
    """The files that a command line names, with links resolved too: its program, and the absolute paths in it.

    A relative path with a folder is one in the work tree, and is left out.

    Raises:
        ValueError: it cannot be split into words, or its program is not found.
    """
    words = [re.sub(r"^(~|\$HOME|\$\{HOME\})(?=/)", str(home), word) for word in shlex.split(line)]
    program = next((word for word in words if not re.match(r"\w+=", word)), "")
    found = program if "/" in program else shutil.which(program)
    if not found:
        raise ValueError(f"no program: {line}")
    paths = [Path(path) for path in (found, *words) if os.path.isabs(path)]
    return [*paths, *map(real_path, paths)]


def _filters(text: str) -> Iterator[tuple[str, str]]:
    """The name of each filter, in quotes, with each of its command lines; with "" for one that contains a secret."""
    for head, key, line in _settings(text):
        if head[1].lower() == "filter" and head[2] is not None and key in _FILTER_PROGRAMS:
            yield head[2], "" if _SECRET.search(line) else _value(line.partition("=")[2])


def _settings(text: str) -> Iterator[tuple[re.Match[str], str, str]]:
    """The lines with settings, stripped, each with the head of its section and its key in lower case.

    A head is a line of its own, with the key "".
    """
    head = None
    for line in _lines(text):
        heads, rest = _split(line)
        for head in heads:
            yield head, "", head[0].strip()
        key = _KEY.match(rest)
        if head is not None and key is not None and rest.lstrip()[:1] not in "#;":
            yield head, key[1].lower(), rest.strip()


def redact(text: str) -> str:
    """The settings without the users in web addresses, without passwords in other addresses, and without secret lines.

    A line is secret if it may contain a token or a password (`_is_secret`).
    """
    lines = list(_lines(text))
    shown = [redacted for line in lines for redacted in _redact_line(line)]
    return text if shown == lines else "\n".join(shown)


def _split(line: str) -> tuple[Sequence[re.Match[str]], str]:
    """The heads of sections at the beginning of a line, and the rest of it, which is a setting or a comment."""
    heads: list[re.Match[str]] = []
    end = 0
    while found := _HEAD.match(line, end):
        heads.append(found)
        end = found.end()
    return heads, line[end:]


def _redact_line(line: str) -> Iterator[str]:
    if not line.strip():
        yield line
        return
    line = _PASSWORD.sub(r"\1@", _WEB_USER.sub(_without_user, line))
    heads, rest = _split(line)
    shown = _QUERY.sub(r"\1", without_tokens("".join(head[0] for head in heads)))
    if not _is_secret(rest):
        yield shown + rest if heads else line
    elif heads:  # without them, the next lines would belong to the section before
        yield shown


def _is_secret(setting: str) -> bool:
    """Whether a setting or a comment may contain a token or a password: by its words, its key, or the value's form."""
    if len(setting) > _MAX_LINE or _SECRET.search(setting) or contains_token(setting):
        return True
    found, value = _KEY.match(setting), _value(setting.partition("=")[2])
    key = found[1].lower().replace("-", "").replace("_", "") if found is not None else ""
    if key in _SECRET_KEYS or key.endswith(_SECRET_KEY_ENDS) or contains_token(value):
        return True
    return key not in _PUBLIC_KEYS and any(map(looks_random, (value, *value.split()[:100])))


def _without_user(found: re.Match[str]) -> str:
    return f"{found[1]}://" + '"' * (found[0].count('"') % 2)


def _system_files() -> Iterator[Path]:
    yield from map(Path, _SYSTEM_FILES)
    git = shutil.which("git")
    if git is not None:
        yield Path(git).parent.parent / "etc/gitconfig"


def _user_files(home: Path) -> Iterator[Path]:
    yield from (home / name for name in _USER_FILES)
    for variable in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    if os.environ.get("XDG_CONFIG_HOME"):
        yield Path(os.environ["XDG_CONFIG_HOME"], "git/config")


def _repository_files(folder: Path) -> Iterator[Path]:
    """The settings files of a repository, of its worktrees, and of the submodules' repositories in it."""
    found = git_folder(folder)
    yield from (found / "config", found / "config.worktree", *_matching(found, "worktrees/*/config.worktree"))
    yield from _submodule_files(found / "modules", _MAX_DEPTH)


def _submodule_files(folder: Path, depth: int) -> Iterator[Path]:
    """The settings files of the submodules' repositories below a folder.

    A submodule's name may contain `/`, so any folder may be a repository or contain some.
    """
    for inner in _matching(folder, "*/") if depth else ():
        if os.path.isfile(inner / "HEAD") or os.path.isfile(inner / "config"):
            yield from (inner / "config", inner / "config.worktree", *_matching(inner, "worktrees/*/config.worktree"))
            yield from _submodule_files(inner / "modules", depth - 1)
        else:
            yield from _submodule_files(inner, depth - 1)


def _matching(folder: Path, pattern: str) -> Iterator[Path]:
    """The paths below a folder that match. Unlike `Path.glob`, ignores those that cannot be read."""
    return (folder / name for name in glob.iglob(pattern, root_dir=folder, include_hidden=True))


def _includes(text: str) -> Iterator[str]:
    """The values of `path` in `include` and `includeIf` sections, whether or not the condition holds."""
    includes = False
    for line in _lines(text):
        heads, rest = _split(line)
        if heads:
            includes = heads[-1][1].lower() == ("include" if heads[-1][2] is None else "includeif")
        path = _PATH.match(rest) if includes else None
        if path is not None:
            yield _value(path[1])


def _value(text: str) -> str:
    """A value without its quotes and its comment."""
    value = ""
    for quoted, escaped, comment, plain in _VALUE.findall(text.strip()):
        if comment:
            return value.rstrip()
        value += re.sub(r"\\(.)", r"\1", quoted) + escaped + plain
    return value


def _included(file: Path, name: str, home: Path) -> Path:
    if name.startswith("~/"):
        return home / name[2:]
    return file.parent / os.path.expanduser(name)


def _lines(text: str) -> list[str]:
    """The lines, with continued lines joined. Comments are never continued."""
    lines, parts, in_quotes = list[str](), list[str](), False
    for line in text.removeprefix("\ufeff").split("\n"):
        if line.rstrip("\r").endswith("\\"):
            is_continued, in_quotes = _scan(line, in_quotes)
            if is_continued:
                parts.append(line.rstrip("\r")[:-1])
                continue
        lines.append("".join((*parts, line)) if parts else line)
        parts, in_quotes = [], False
    return [*lines, "".join(parts)] if parts else lines


def _scan(line: str, in_quotes: bool) -> tuple[bool, bool]:
    """Whether a line is continued by the next one, and whether that one then begins in quotes."""
    for token in _TOKEN.findall(line):
        if token == '"':
            in_quotes = not in_quotes
        elif not in_quotes and token in ("#", ";"):
            return False, False
        elif token.rstrip("\r") == "\\":
            return True, in_quotes
    return False, False
