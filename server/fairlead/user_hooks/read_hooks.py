"""Reads the hooks in a file, in the forms of Claude Code, of VS Code and of Copilot's command line. Pure."""

import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from fairlead.display import shorten
from fairlead.json_values import fields_of, is_list, is_object
from fairlead.messages.history import clean_text
from fairlead.user_hooks.definition import MAX_SECONDS, SECONDS, UnsupportedHook, UserHook
from fairlead.user_hooks.events import event_of
from fairlead.user_hooks.located_json import line_of
from fairlead.user_hooks.matcher import check_matcher
from fairlead.workspace.file_problem import FileProblem

MAX_HOOKS = 100
"""How many hooks of a file are used."""
MAX_COMMAND = 20_000
"""Characters."""
_PLATFORM = {"win32": "windows", "darwin": "osx"}.get(sys.platform, "linux")
_IGNORED = ("async", "asyncRewake", "once", "onFailure")
"""Fields that change what a hook does, and that Fairlead does not know."""


@dataclass
class FileHooks:
    """What a file defines."""

    hooks: list[UserHook] = field(default_factory=list[UserHook])
    unsupported: list[UnsupportedHook] = field(default_factory=list[UnsupportedHook])
    problems: list[FileProblem] = field(default_factory=list[FileProblem])
    """What is wrong with it."""


def read_hooks(value: Any, file: Path, folder: Path | None, *, is_of_other_program: bool = False) -> FileHooks:
    """The hooks in a JSON value that `read_located` has read. Whatever is wrong is left out and reported.

    Args:
        folder, is_of_other_program: see `UserHook`.
    """
    reader = _Reader(file, folder, is_of_other_program)
    given = fields_of(value).get("hooks")
    if given is not None and not is_object(given):
        reader.warn(line_of(value), "hooks must be an object")
    for name, entries in fields_of(given).items():
        reader.read_event(name, entries, line_of(given))
    return reader.found


@dataclass
class _Reader:
    file: Path
    folder: Path | None
    is_of_other_program: bool
    found: FileHooks = field(default_factory=FileHooks)

    def warn(self, line: int, problem: str) -> None:
        self.found.problems.append(FileProblem(self.file, problem, line))

    def read_event(self, name: str, entries: Any, line: int) -> None:
        """Reads what is defined for an event: groups with a matcher and hooks, or hooks."""
        if not is_list(entries):
            self.warn(line, f"{shorten(name)} must be a list")
            return
        for entry in entries:
            here = line_of(entry, line)
            fields = fields_of(entry)
            if not is_object(entry):
                self.warn(here, f"{shorten(name)} must contain objects")
                continue
            matcher, grouped = fields.get("matcher", ""), fields.get("hooks", [entry])
            if matcher is None or not is_list(grouped):
                matcher, grouped = "" if matcher is None else matcher, grouped if is_list(grouped) else []
            if not isinstance(matcher, str):
                self.warn(here, "matcher must be a text")
                continue
            for hook in grouped:
                self._read_hook(name, matcher.strip(), hook, line_of(hook, here))

    def _read_hook(self, name: str, matcher: str, given: Any, line: int) -> None:
        if len(self.found.hooks) + len(self.found.unsupported) >= MAX_HOOKS:
            self.warn(line, f"the file has more than {MAX_HOOKS} hooks; the others are left out")
            return
        if not is_object(given):
            self.warn(line, "a hook must be an object")
            return
        command = _command(given)
        event, reason = event_of(name), next(_why_unsupported(name, matcher, given, command), "")
        if event is None or reason:
            what = command or str(given.get("type", ""))
            self.found.unsupported.append(UnsupportedHook(shorten(name), shorten(what), self.file, line, reason))
            return
        for ignored in _IGNORED:
            if given.get(ignored):
                self.warn(line, f"{ignored} has no effect")
        self.found.hooks.append(
            UserHook(
                event,
                matcher,
                command,
                self.file,
                line,
                self.folder,
                self.is_of_other_program,
                self._seconds(given, line),
                self._variables(given, line),
                given.get("cwd") or "",
            )
        )

    def _seconds(self, given: dict[str, Any], line: int) -> float:
        seconds = given.get("timeout", given.get("timeoutSec"))
        if seconds is None:
            return SECONDS
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
            self.warn(line, f"timeout must be a positive number of seconds; {SECONDS:g} s count")
            return SECONDS
        return float(min(seconds, MAX_SECONDS))

    def _variables(self, given: dict[str, Any], line: int) -> tuple[tuple[str, str], ...]:
        env = given.get("env", {})
        if not is_object(env) or not all(_is_variable(name) and _is_for_program(value) for name, value in env.items()):
            self.warn(line, "env must be an object of names and texts; it is ignored")
            return ()
        return tuple(env.items())


def _is_variable(name: str) -> bool:
    return name.isidentifier() and name.isascii()


def _is_for_program(value: Any) -> bool:
    """Whether a program can get a value: a text without NUL characters and halves of surrogate pairs."""
    return isinstance(value, str) and "\0" not in value and clean_text(value) == value


def _command(given: dict[str, Any]) -> str:
    """The command line of a hook on this platform; empty if it has none."""
    of_shell = "" if _PLATFORM == "windows" else given.get("bash")
    command = given.get(_PLATFORM) or given.get("command") or of_shell or ""
    args = given.get("args")
    if not isinstance(command, str):
        return ""
    if is_list(args) and all(isinstance(each, str) for each in args):
        return shlex.join([command, *args])
    return command.strip()


def _why_unsupported(event: str, matcher: str, given: dict[str, Any], command: str) -> Iterator[str]:
    kind, cwd = given.get("type", "command"), given.get("cwd") or ""
    if event_of(event) is None:
        yield "there is no such event"
    if kind != "command":
        yield f"its type is not command but {shorten(str(kind))}"
    if "if" in given:
        yield "its condition (if) is not supported"
    if given.get("shell", "bash") != "bash":
        yield f"its shell is not bash but {shorten(str(given['shell']))}"
    if not command:
        yield "it has no command for bash"
    if len(command) > MAX_COMMAND or not _is_for_program(command):
        yield f"its command has characters that bash cannot get, or more than {MAX_COMMAND:,}"
    if not _is_for_program(cwd) or PurePosixPath(cwd).is_absolute() or ".." in PurePosixPath(cwd).parts or "\\" in cwd:
        yield "its cwd is not a path below the workspace's folder"
    try:
        check_matcher(matcher)
    except ValueError as error:
        yield f"its matcher {shorten(matcher)} is not used: {error}"
