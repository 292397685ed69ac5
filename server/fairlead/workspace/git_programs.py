"""The files in a workspace through which Git runs programs because of its settings: hooks, filters, aliases and so on.

Git itself is asked for the settings, because it reads those of the system and of the user, and files that these include
under conditions. Reading settings runs no program. A hostile repository can name endless files in its settings, so Git
runs with limits, and what the repository's own files name is read without it.
"""

import os
import re
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from fairlead.workspace.limited import output_of
from fairlead.workspace.paths import real_path
from fairlead.workspace.repositories import enclosing_repository, git_folder, hooks_folder, settings_files

_SECONDS = 2.0
_MAX_BYTES = 2_000_000
_MAX_SETTINGS = 5_000
_MAX_VALUE = 10_000  # characters
_MAX_WORDS = 100  # of one command line
# variables that lead Git to another repository than that of the folder
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG")

# settings that name a file or a folder whose content makes Git run programs (git-config(1))
_PATH_KEYS = frozenset(("core.attributesfile", "init.templatedir"))
# settings that are command lines, by section and name; the names of most end with one of the words below
_COMMAND_KEYS = frozenset(
    (
        *("core.fsmonitor", "core.askpass", "core.gitproxy", "diff.external", "diff.textconv", "filter.clean"),
        *("filter.smudge", "filter.process", "lfs.clean", "lfs.smudge", "lfs.path", "mergetool.path", "difftool.path"),
        *("browser.path", "man.path", "web.browser", "interactive.difffilter", "imap.tunnel", "remote.uploadpack"),
        *("remote.receivepack", "remote.vcs", "submodule.update", "sendemail.smtpserver", "instaweb.httpd"),
        *("svn.authorsprog"),
    )
)
_COMMAND_ENDS = ("cmd", "command", "commands", "program", "hook", "driver", "helper", "editor", "pager")
_WORD = re.compile(r"[^\s\"'`;|&()<>=$!:,]+")
# the programs in the folder of hooks (githooks(5)), for a folder that contains other files too
_HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update"),
    *("proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc"),
    *("post-rewrite", "sendemail-validate", "fsmonitor-watchman", "p4-changelist", "p4-prepare-changelist"),
    *("p4-post-changelist", "p4-pre-submit", "post-index-change"),
)

_Signature = tuple[tuple[str, tuple[int, int, int] | None], ...]


class _Setting(NamedTuple):
    file: Path | None
    """None: it is in no file, but in a variable of the environment, for example."""
    key: str
    """The section and the name in lower case, without the subsection."""
    value: str


@dataclass(frozen=True, slots=True)
class _Answer:
    signature: _Signature
    """The files of settings when Git was asked, with those that did not exist."""
    paths: frozenset[str]


_answers: dict[Path, _Answer] = {}
_asking: set[Path] = set()


def ask_git(root: Path) -> frozenset[str]:
    """The paths relative to a root, with `/`, through which Git runs programs. They need not exist.

    Git is asked again only if a file of its settings has changed. Blocks: call it in a thread.
    """
    answer = _current(root)
    if answer is None:
        answer = _answers[root] = _ask(root)
    return answer.paths


def ask_git_in(roots: Iterable[Path]) -> None:
    """Makes `known_programs` return what Git says now. Blocks: call it in a thread."""
    for root in roots:
        ask_git(root)


def known_programs(root: Path) -> frozenset[str]:
    """Like `ask_git`, but does not block: if the settings have changed, Git is asked in a thread.

    Until it has answered, the paths are those of its last answer and what the repository's own files name.
    """
    answer = _current(root)
    if answer is not None:
        return answer.paths
    if root not in _asking:
        _asking.add(root)
        threading.Thread(target=_ask_in_thread, args=(root,), name=f"ask git: {root}", daemon=True).start()
    last = _answers.get(root)
    return _named_by_files(root) | (last.paths if last is not None else frozenset[str]())


def _ask_in_thread(root: Path) -> None:
    try:
        ask_git(root)
    finally:
        _asking.discard(root)


def _current(root: Path) -> _Answer | None:
    answer = _answers.get(root)
    if answer is None or answer.signature != _signature(Path(path) for path, _ in answer.signature):
        return None
    return answer


def _ask(root: Path) -> _Answer:
    top = enclosing_repository(root) or root
    # before Git reads them, so that a change meanwhile is noticed later
    usual = _signature(dict.fromkeys(_usual_files(root, top)))
    settings = _settings(top)
    files = dict.fromkeys(each.file for each in settings if each.file is not None)
    files |= dict.fromkeys(_path(each.value, each.file.parent) for each in settings if each.file and _includes(each))
    paths = {path for each in _programs(top, settings) for path in _within(root, each)}
    return _Answer((*usual, *_signature(files)), _named_by_files(root) | paths)


def _includes(setting: _Setting) -> bool:
    return setting.key in ("include.path", "includeif.path")


def _named_by_files(root: Path) -> frozenset[str]:
    folder = hooks_folder(root)
    return frozenset(_within(root, folder) if folder is not None else ())


def _usual_files(root: Path, top: Path) -> Iterator[Path]:
    """The files of settings that Git may read first, and `HEAD`, on which conditions of includes depend."""
    yield from (*settings_files(top), *settings_files(root), git_folder(top / ".git") / "HEAD", Path("/etc/gitconfig"))
    home = Path(os.path.expanduser("~"))
    yield from (home / ".gitconfig", Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config", "git/config"))
    for variable in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])


def _signature(files: Iterable[Path]) -> _Signature:
    return tuple((str(path), _state(path)) for path in files)


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _settings(top: Path) -> list[_Setting]:
    """Git's settings for a folder, as Git applies them; none if there is no git, or it fails or exceeds a limit."""
    git = shutil.which("git")
    if git is None:
        return []
    environment = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    environment |= {"GIT_CEILING_DIRECTORIES": str(top.parent), "GIT_OPTIONAL_LOCKS": "0"}
    command = [os.path.abspath(git), "config", "--show-origin", "--includes", "--list", "-z"]
    output = output_of(command, top, environment, seconds=_SECONDS, max_bytes=_MAX_BYTES) or b""
    fields = output.decode("utf-8", "surrogateescape").split("\0")
    return [_setting(top, *pair) for pair in islice(zip(fields[::2], fields[1::2], strict=False), _MAX_SETTINGS)]


def _setting(top: Path, origin: str, text: str) -> _Setting:
    kind, _, name = origin.partition(":")
    key, _, value = text.partition("\n")
    section, name_of_key = key.partition(".")[0], key.rpartition(".")[2]
    file = top / name if kind == "file" and name else None
    return _Setting(file, f"{section}.{name_of_key}".lower(), value[:_MAX_VALUE])


def _programs(top: Path, settings: Sequence[_Setting]) -> Iterator[Path]:
    """The files and folders that settings name, and the files of the settings themselves."""
    hooks = ""
    for setting in settings:
        if setting.file is not None:
            yield setting.file
        if _includes(setting) and setting.file is not None:
            yield _path(setting.value, setting.file.parent)
        elif setting.key == "core.hookspath":
            hooks = setting.value  # the last one counts
        elif setting.key in _PATH_KEYS:
            yield _path(setting.value, top)
        elif _is_command(setting):
            yield from _named_in_command(setting.value, top)
    if hooks:
        folder = _path(hooks, top)
        is_around = real_path(top).is_relative_to(real_path(folder))
        yield from (folder / hook for hook in _HOOKS) if is_around else (folder,)


def _is_command(setting: _Setting) -> bool:
    section, _, name = setting.key.partition(".")
    is_named = setting.key in _COMMAND_KEYS or name.endswith(_COMMAND_ENDS) or section == "pager"
    return is_named or (section == "alias" and setting.value.startswith("!"))


def _named_in_command(line: str, top: Path) -> Iterator[Path]:
    """The files that the words of a command line may name: those with a folder, and those that exist."""
    for word in islice(_WORD.findall(line), _MAX_WORDS):
        path = _path(word, top)
        if "/" in word or os.path.isfile(path):
            yield path


def _path(value: str, folder: Path) -> Path:
    """The path that a setting names. The text ends at a NUL, as for Git."""
    return folder / os.path.expanduser(value.partition("\0")[0].strip())


def _within(root: Path, path: Path) -> set[str]:
    """A path relative to a root, as it is written and with links resolved. Empty if it is outside of the root."""
    real = real_path(root)
    ends = ((root, Path(os.path.normpath(path))), (real, real_path(path)))
    inner = {end.relative_to(start).as_posix() for start, end in ends if end != start and end.is_relative_to(start)}
    return {name for name in inner if name.partition("/")[0] != ".git"}
