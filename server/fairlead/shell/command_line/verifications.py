"""Finds the verifications in a command line, and those whose result its exit code shows (docs/plan.md P16)."""

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from fairlead.plan.evidence import Verification
from fairlead.shell.command_line.parse import parse
from fairlead.shell.command_line.simple_commands import Scope
from fairlead.shell.command_line.verifiers import ALIASES, NEUTRAL, NEVER_WITH, OPTION_VARIABLES, TABLE, Verifier
from fairlead.shell.command_line.words import Word, program_name
from fairlead.shell.command_line.wrappers import MAX_NESTING, SHELLS, shell_line, unwrap

_SETTING_ARGUMENT = re.compile(r"[A-Za-z_]\w*[:+?]?=")
_OPTION_VARIABLE = re.compile(rf"\b({'|'.join(OPTION_VARIABLES.split())})\+?=", re.I)
_PROCESSOR_COUNT = re.compile(r"\"?\$\((nproc|getconf _NPROCESSORS_ONLN|sysctl -n hw\.(logical|n)cpu)\)\"?")
_FOLDER_COMMANDS = {"cd", "pushd", "popd"}
_OFF_SUFFIXES = ("=false", "=no", "=off", "=0")


@dataclass(frozen=True, slots=True)
class FoundVerifications:
    """The verifications of a command line."""

    verified: tuple[Verification, ...] = ()
    """Exit code 0 means that all of these passed, if `pipefail` is set."""
    inconclusive: tuple[str, ...] = ()
    """The programs of the other verifications, whose result the exit code does not show."""
    piped: bool = False
    """Whether there may be a pipe, which hides exit codes unless `pipefail` is set."""

    def with_pipefail(self, command: str) -> str:
        """Returns `command`, in which these were found, after a line that sets `pipefail` if a pipe may hide a failure.

        So `pytest | tail` fails if the tests fail.
        """
        return f"set -o pipefail\n{command}" if self.verified and self.piped else command


NO_VERIFICATIONS = FoundVerifications()


def find_verifications(command: str, folder: str = "", depth: int = 0) -> FoundVerifications:
    """The verifications of a command line that runs in `folder`, relative to the workspace.

    Leaves out programs whose folder is not known and those that an expansion may give an option. There are none at all
    if the line sets one of OPTION_VARIABLES. `depth` is the number of shells around the line (`bash -c '...'`).
    """
    parsed = parse(command)
    if _OPTION_VARIABLE.search(command):
        return NO_VERIFICATIONS
    verified: list[Verification] = []
    inconclusive: list[str] = []
    # the folder in each scope; None if it is not known
    folders: dict[tuple[Scope, ...], str | None] = {(): folder}
    for simple in parsed.commands:
        words = [_PROCESSOR_COUNT.sub("1", word.text) if word.value is None else word.value for word in simple.words]
        current = next(folders[outer] for outer in _enclosing(simple.scopes) if outer in folders)
        if _FOLDER_COMMANDS & set(words[:2] if words[:1] in (["command"], ["builtin"]) else words[:1]):
            folders[simple.scopes] = _folder_after_cd(simple.words, current)
            # after a `cd` in a part that may not have run, the folder outside of that part is no longer known
            for outer in _enclosing(simple.scopes):
                if not outer or outer[-1].is_subshell:
                    break
                folders[outer[:-1]] = None
            continue
        if current is None or any(map(_may_be_option, simple.words[1:])):
            continue
        inner = _verifications_of(words, current, depth)
        inconclusive += inner.inconclusive
        if simple.decides:
            verified += inner.verified
        else:
            inconclusive += (each.program for each in inner.verified)
    return FoundVerifications(tuple(dict.fromkeys(verified)), tuple(dict.fromkeys(inconclusive)), "|" in command)


def _enclosing(scopes: tuple[Scope, ...]) -> Iterator[tuple[Scope, ...]]:
    """All scopes, then all except the innermost one, and so on to none."""
    return (scopes[:count] for count in range(len(scopes), -1, -1))


def _verifications_of(words: Sequence[str], folder: str, depth: int) -> FoundVerifications:
    words = unwrap(words)
    if depth < MAX_NESTING and words and program_name(words[0]) in SHELLS:
        line = shell_line(words)
        found = find_verifications(line, folder, depth + 1) if line is not None else FoundVerifications()
        if not found.piped:
            return found
        # the inner shell does not set `pipefail`
        return FoundVerifications(inconclusive=(*found.inconclusive, *(each.program for each in found.verified)))
    rows = (row for row in TABLE if words and program_name(words[0]) in row.programs.split())
    found = next(filter(None, (_verification(row, words, folder) for row in rows)), None)
    return FoundVerifications((found,) if found is not None else ())


def _may_be_option(word: Word) -> bool:
    """Whether an expansion in the word may turn it into an option, such as `--help`."""
    if word.value is not None or (word.prefix and not word.prefix.startswith("-")):
        return False
    return any(char in _PROCESSOR_COUNT.sub("", word.text) for char in "$`{")


def _verification(row: Verifier, words: Sequence[str], folder: str) -> Verification | None:
    """The verification by a program with these arguments. None: it verifies nothing, or the row does not apply."""
    options, targets = _split_options(words[1:], row)
    program = program_name(words[0])
    if _checks_nothing(row, [*options, *words[1:]], targets):
        return None
    if row.subcommands:
        if not targets or not _matches(targets[0], row.subcommands):
            return None
        program = f"{program} {targets.pop(0)}"
    if row.requires and not {option.partition("=")[0] for option in [*options, *targets]} & {*row.requires.split()}:
        return None
    if not row.by_path:
        options += [target for target in targets if _SETTING_ARGUMENT.match(target)]
        targets = [target for target in targets if not _SETTING_ARGUMENT.match(target)]
    remaining = [target for target in targets if not _matches(target, row.other_targets)]
    if targets and not remaining:
        return None
    if row.targets and not any(_matches(target, row.targets) for target in remaining):
        return None
    narrowing = [option for option in options if option.partition("=")[0] in row.narrowing.split()]
    neutral = " ".join([row.neutral, *(option for option in NEUTRAL.split() if option not in row.values.split())])
    others = [option for option in options if option not in narrowing and not _is_neutral(option, neutral)]
    remaining = [target for target in remaining if not _matches(target, neutral)]
    found = Verification(
        ALIASES.get(program, program), folder, tuple(remaining), tuple(sorted(others)), tuple(sorted(narrowing))
    )
    return _resolve_paths(found, folder) if row.by_path else found


def _checks_nothing(row: Verifier, words: Sequence[str], targets: Sequence[str]) -> bool:
    """Whether an argument prevents the check, or makes it pass whatever it finds."""
    options = [word for word in words if word[:1] == "-"]
    names = {option.partition("=")[0] for option in options}
    if not row.has_single_dash:
        names.update(letter for option in options for letter in _letters(option, row.values.split()))
    given = {*targets, *options, *names}
    switched_off = {option.partition("=")[0] for option in options if option.lower().endswith(_OFF_SUFFIXES)}
    effective = {
        each for each in given if each.partition("=")[0] not in switched_off and not _matches(each, row.neutral)
    }
    return any(_matches(each, row.not_with) for each in given) or any(_matches(each, NEVER_WITH) for each in effective)


def _letters(option: str, with_value: Collection[str]) -> Iterator[str]:
    """The options in a group of letters: `-x` and `-v` in `-xv`. Text after an option that takes a value is its value.

    The group ends at the first character that is not a letter.
    """
    for letter in option[1:] if option[1:2] != "-" else "":
        if not letter.isalpha():
            return
        yield f"-{letter}"
        if f"-{letter}" in with_value:
            return


def _matches(text: str, patterns: str) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns.split())


def _resolve_paths(found: Verification, folder: str) -> Verification:
    # `go test` without `...` verifies one folder only
    is_recursive = not found.program.startswith("go ") or any(target.endswith("...") for target in found.targets)
    paths = [_joined(folder, target.removesuffix("...") or ".") for target in found.targets or (".",)]
    return replace(found, folder="", targets=tuple(sorted(paths)), by_path=is_recursive)


def _split_options(words: Sequence[str], row: Verifier) -> tuple[list[str], list[str]]:
    """The options, each with its value as `name=value`, and the other arguments."""
    options: list[str] = []
    others: list[str] = []
    with_value, with_number = row.values.split(), row.numbers.split()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            others += rest
            break
        if word[:1] != "-" or len(word) == 1:
            others.append(word)
        elif word in with_value or (word in with_number and rest and rest[0].isdigit()):
            options.append(f"{word}={rest.pop(0) if rest else ''}")
        else:
            options.append(word)
    return options, others


def _is_neutral(option: str, neutral: str) -> bool:
    """Whether an option is neutral, even with a value (`--tb=short`, `-n4`) or as a group of letters (`-xvs`)."""
    name = option.partition("=")[0].rstrip("0123456789")
    is_group = name[:1] == "-" and name[1:2] != "-" and all(_matches(f"-{letter}", neutral) for letter in name[1:])
    return _matches(name, neutral) or is_group


def _joined(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path))


def _folder_after_cd(words: Sequence[Word], folder: str | None) -> str | None:
    """The folder after `cd`, `pushd` or `popd` in a folder. None if it is not known: for all except `cd PATH`."""
    path = words[1].value if len(words) == 2 and words[0].value == "cd" else None
    if folder is None or path is None or path.startswith("-"):
        return None
    joined = _joined(folder, path)
    return "" if joined == "." else joined
