"""Finds the verifications in a command line, and whether its exit code shows their result (docs/plan.md P16)."""

import posixpath
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import dropwhile, takewhile

from fairlead.plan.evidence import Verification
from fairlead.shell.parse import parse
from fairlead.shell.verifiers import (
    ALIASES,
    NEUTRAL,
    NEVER_WITH,
    RUNNERS,
    SCRIPT_RUNNERS,
    SHELLS,
    TABLE,
    TRANSPARENT,
    Verifier,
)

MAX_NESTING = 4  # of shells, and of programs that start another one
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_TEST_FILE = re.compile(r"(test_.*|.*_test|tests|runtests|run_tests)\.py")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_DURATION = re.compile(r"[\d.]+[smhd]?")


@dataclass(frozen=True, slots=True)
class Found:
    """The verifications of a command line."""

    verified: tuple[Verification, ...] = ()
    """Exit code 0 means that all of these passed, if `pipefail` is set."""
    hidden: tuple[str, ...] = ()
    """The programs of the verifications whose result the exit code does not show."""
    piped: bool = False
    """Whether a pipe may hide an exit code without `pipefail`."""

    def line(self, command: str) -> str:
        """The command as it must run, so that `pytest | tail` fails if the tests fail."""
        return f"set -o pipefail\n{command}" if self.verified and self.piped else command


NO_VERIFICATIONS = Found()


def find_verifications(command: str, folder: str = "", depth: int = 0) -> Found:
    """The verifications of a command line that runs in `folder`, relative to the workspace.

    `depth` counts the shells around it (`bash -c '...'`).
    """
    parsed = parse(command)
    verified: list[Verification] = []
    hidden: list[str] = []
    for simple in parsed.commands:
        words = [word.text if word.value is None else word.value for word in simple.words]
        if words[:1] == ["cd"] and len(words) == 2:
            folder = _folder(folder, words[1])
            continue
        inner = _of_command(words, folder, depth)
        if simple.decides:
            verified += inner.verified
        hidden += inner.hidden if simple.decides else [*inner.hidden, *(each.program for each in inner.verified)]
    return Found(tuple(dict.fromkeys(verified)), tuple(dict.fromkeys(hidden)), "|" in command)


def _of_command(words: Sequence[str], folder: str, depth: int) -> Found:
    words = _unwrapped(words)
    if depth < MAX_NESTING and words and _name(words) in SHELLS:
        line = _shell_line(words)
        found = find_verifications(line, folder, depth + 1) if line is not None else Found()
        if not found.piped:
            return found
        # the inner shell does not set `pipefail`
        return Found(hidden=(*found.hidden, *(each.program for each in found.verified)))
    rows = (row for row in TABLE if words and _name(words) in row.programs.split())
    found = next(filter(None, (_verification(row, words, folder) for row in rows)), None)
    return Found((found,) if found is not None else ())


def _name(words: Sequence[str]) -> str:
    return words[0].rpartition("/")[2]


def _unwrapped(words: Sequence[str]) -> Sequence[str]:
    """The words of the program that verifies, without those that only start it: `env A=1 uv run python -m pytest`."""
    for _ in range(MAX_NESTING):
        if not words:
            break
        name, rest = _name(words), words[1:]
        if name in TRANSPARENT:
            words = _after(rest, lambda word: word[:1] == "-" or _ASSIGNMENT.match(word) or _DURATION.fullmatch(word))
        elif _PYTHON.fullmatch(name):
            words = _python(rest)
        elif name == "node" and "--test" in rest:
            return ["node-test", *(word for word in rest if word != "--test")]
        elif name in SCRIPT_RUNNERS and rest[:1] and rest[0] in ("run", "run-script", "task"):
            words = [name, *rest[1:]]
        elif name in RUNNERS and (not RUNNERS[name] or (rest[:1] and rest[0] in RUNNERS[name])):
            words = _after(rest[1:] if RUNNERS[name] else rest, lambda word: word[:1] == "-")
        else:
            break
    return words


def _after(words: Sequence[str], is_skipped: Callable[[str], object]) -> Sequence[str]:
    return list(dropwhile(is_skipped, words))


def _python(arguments: Sequence[str]) -> Sequence[str]:
    """The module or test file that Python runs, as a command."""
    if "-m" in arguments:
        return arguments[arguments.index("-m") + 1 :]
    file, *rest = [*_after(arguments, lambda word: word[:1] == "-"), ""]
    if file.rpartition("/")[2] == "manage.py" and rest[:1] == ["test"]:
        return ["django", *rest[1:-1]]
    return ["python-tests", file, *rest[:-1]] if _TEST_FILE.fullmatch(file.rpartition("/")[2]) else ()


def _shell_line(words: Sequence[str]) -> str | None:
    """The command line that a shell gets with `-c`; None if there is none."""
    options = list(takewhile(lambda word: word[:1] == "-", words[1:]))
    is_line = any(option[1:2] != "-" and "c" in option for option in options)
    return words[1 + len(options)] if is_line and len(words) > 1 + len(options) else None


def _verification(row: Verifier, words: Sequence[str], folder: str) -> Verification | None:
    """What a program verifies with these arguments; None if nothing, or if the row does not apply."""
    options, targets = _split(words[1:], row.values.split())
    program = _name(words)
    if row.subcommands:
        if not targets or not any(fnmatchcase(targets[0], pattern) for pattern in row.subcommands.split()):
            return None
        program = f"{program} {targets.pop(0)}"
    given = {*targets, *(option.partition("=")[0] for option in options)}
    if given & {*row.not_with.split(), *NEVER_WITH.split()} or (row.requires and not given & {*row.requires.split()}):
        return None
    remaining = [target for target in targets if target not in row.beside.split()]
    if targets and not remaining:
        return None
    narrowing = [option for option in options if option.partition("=")[0] in row.narrowing.split()]
    neutral = {*row.neutral.split(), *NEUTRAL.split()}
    others = [option for option in options if option not in narrowing and not _is_neutral(option, neutral)]
    remaining = [target for target in remaining if target not in neutral]
    found = Verification(
        ALIASES.get(program, program), folder, tuple(remaining), tuple(sorted(others)), tuple(sorted(narrowing))
    )
    return _by_path(found, folder) if row.by_path else found


def _by_path(found: Verification, folder: str) -> Verification:
    # `go test` without `...` verifies one folder only
    is_recursive = not found.program.startswith("go ") or any(target.endswith("...") for target in found.targets)
    paths = [_joined(folder, target.removesuffix("...") or ".") for target in found.targets or (".",)]
    return replace(found, folder="", targets=tuple(sorted(paths)), by_path=is_recursive)


def _split(words: Sequence[str], with_value: Collection[str]) -> tuple[list[str], list[str]]:
    """The options, each with its value as `name=value`, and the other arguments."""
    options: list[str] = []
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            others += rest
        elif word[:1] != "-" or len(word) == 1:
            others.append(word)
        elif word in with_value:
            options.append(f"{word}={next(rest, '')}")
        else:
            options.append(word)
    return options, others


def _is_neutral(option: str, neutral: Collection[str]) -> bool:
    """Whether an option is neutral, also with a value (`--tb=short`, `-n4`) or as a group of letters (`-xvs`)."""
    name = option.partition("=")[0].rstrip("0123456789")
    is_group = name[:1] == "-" and name[1:2] != "-" and all(f"-{letter}" in neutral for letter in name[1:])
    return name in neutral or is_group


def _joined(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path))


def _folder(folder: str, path: str) -> str:
    joined = _joined(folder, path)
    return "" if joined == "." else joined
