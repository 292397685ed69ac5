"""Compares the commands that run tests, in CI, scripts and settings."""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairlead.plan.evidence import Verification
from fairlead.sentences import Sentence
from fairlead.shell.command_line.verifications import find_verifications

# options that leave tests or failures out, and those with a number below which a run fails
EXCLUDING = re.compile(
    r"--(ignore|ignore-glob|deselect|no-cov|exclude|skip|passWithNoTests|pass-with-no-tests|exit-zero|force-exclude"
    r"|testPathIgnorePatterns|no-fail|allow-failure|reruns|retries|max-warnings|keep-going|short|no-run)(=.*)?"
    r"|-(k|m|p|short|skip|DskipTests|Dmaven\.test\.skip.*|Dmaven\.test\.failure\.ignore.*)(=.*)?"
)
_WITH_VALUE = {"-k", "-m", "-p", "--ignore", "--ignore-glob", "--deselect", "--exclude", "--skip", "--reruns"}
STRICT = re.compile(
    r"--(strict\S*|cov-fail-under(=.*)?|fail-under(=.*)?|error-on-warnings|frozen|ci|forbid-only|race)|-W=?error"
)
_MINIMUM = re.compile(r"--(?:cov-)?fail-under[= ](\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Command:
    """A command line and where it is."""

    text: str
    line: int
    """From 0."""


@dataclass(frozen=True, slots=True)
class Softened:
    """A command that checks less."""

    reason: Sentence
    old_line: int
    new_line: int | None


def softened(old: Sequence[Command], new: Sequence[Command]) -> list[Softened]:
    """The commands that no longer run, or that check less, or whose failures no longer count."""
    before, after = ([(each, _verified(each.text)) for each in commands] for commands in (old, new))
    now = [verification for _, found in after for verification in found]
    texts = {each.text for each in new}
    lost: list[Softened] = []
    for command, found in before:
        if command.text in texts:
            continue
        for verification in found:
            if any(each.covers(verification) for each in now):
                continue
            lost += _lost(command, verification, after)
    return list({each.reason: each for each in lost}.values())


def _lost(
    command: Command, verification: Verification, after: Iterable[tuple[Command, Sequence[Verification]]]
) -> list[Softened]:
    program = verification.program
    for other, found in after:
        same = [each for each in found if each.program == program]
        if same:
            change = options_change(command.text, other.text)
            if change or any(verification.covers(each) for each in same):
                words = Sentence("The test command {0} checks less: {1}", program, change or other.text)
                return [Softened(words, command.line, other.line)]
            return []
    words = re.escape(program).replace(r"\ ", r"\s+(?:[\w-]+\s+)*?")
    for other, _ in after:
        if re.search(rf"(^|[\s/;&|(]){words}($|[\s;&|)])", other.text):
            change = options_change(command.text, other.text)
            ignored = Sentence("A failure of the test command {0} is ignored.", program)
            told = Sentence("The test command {0} checks less: {1}", program, change) if change else ignored
            return [Softened(told, command.line, other.line)]
    return [Softened(Sentence("The test command {0} no longer runs.", program), command.line, None)]


def options_change(old: str, new: str) -> str:
    """What is looser in the options of a command; empty if nothing is."""
    before, after = _options(old), _options(new)
    minimum, lower = _MINIMUM.search(old), _MINIMUM.search(new)
    if minimum and lower and float(lower[1]) < float(minimum[1]):
        return lower[0]
    added = [option for option in after if option not in before and EXCLUDING.fullmatch(option)]
    removed = [option for option in before if option not in after and STRICT.fullmatch(option)]
    kept = {option.partition("=")[0] for option in after}
    removed = [option for option in removed if option.partition("=")[0] not in kept]
    return added[0] if added else f"without {removed[0]}" if removed else ""


def _options(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    found: list[str] = []
    for index, word in enumerate(words):
        has_value = word in _WITH_VALUE and index + 1 < len(words)
        if word.startswith("-"):
            found.append(f"{word}={words[index + 1]}" if has_value else word)
    return found


def _verified(text: str) -> tuple[Verification, ...]:
    return find_verifications(text).verified
