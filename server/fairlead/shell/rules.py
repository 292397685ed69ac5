"""The person's rules: which commands run without asking, and which never do (docs/commands.md).

A rule is a command as one would write it, in which a `*` stands for words. It is compared with the parsed words, never
with the text, so quotes and blanks do not matter and nothing can be slipped in.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fairlead.shell.dangers import TABLE, WRAPPERS, Danger, dangers, program
from fairlead.shell.parse import SimpleCommand, parse
from fairlead.shell.words import Word

_STARRED = ("/", ".", ":")  # after these a `*` may stand for the rest of a word
_NESTED = 4  # how deep `sh -c 'sh -c ...'` is looked into
_FAR = 100  # and how many words of such a command
_SHELLS = {"sh", "bash", "zsh", "dash", "ksh", "fish", "eval", "su", "ssh", "watch"}


class BadRule(ValueError):
    """A text that is no rule; the message says why and what to write instead."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Commands that a rule matches, and some like them that it does not."""

    matches: tuple[str, ...]
    misses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, as it was written and as a command whose words may be `*`."""

    text: str
    command: SimpleCommand

    @classmethod
    def parse(cls, text: str) -> "Rule":
        """Reads a rule.

        Raises:
            BadRule: it is no single command of plain words.
        """
        parsed = parse(text)
        if not text.strip() or not parsed.commands:
            raise BadRule("A rule is a command, such as `git status` or `npm test *`; this one is empty.")
        command, *others = parsed.commands
        if parsed.unclear or others:
            raise BadRule("A rule is one plain command, without ;, |, &&, $ or the like; write one rule for each.")
        name = command.words[0].value if command.words else None
        if not name:
            raise BadRule("A rule begins with the name of what it is about; `*` alone would be everything.")
        for word in command.words:
            if word.value is None and not _star(word):
                raise BadRule(f"`{word.text}`: a * stands for whole words, or for the rest of one after / . or :")
        return cls(text, command)

    def allows(self, command: SimpleCommand) -> bool:
        """Whether all of a command is what the rule says; what dangers.py lists only where the rule names it."""
        return self.covers(command) and self.beyond(command) is None

    def covers(self, command: SimpleCommand) -> bool:
        """Whether the words fit, whatever they do."""
        if command.assignments != self.command.assignments or len(command.writes) != len(self.command.writes):
            return False
        writes = zip(command.writes, self.command.writes, strict=True)
        if any(one.operator != two.operator or one.target.value != two.target.value for one, two in writes):
            return False
        if any(write.target.value is None for write in command.writes):
            return False
        rule, words = self.command.words, command.words
        if rule[-1].text == "*":
            rule = rule[:-1]
            if len(words) < len(rule):
                return False
            words = words[: len(rule)]
        return len(words) == len(rule) and all(map(_fits, rule, words))

    def beyond(self, command: SimpleCommand) -> Danger | None:
        """The first thing in a covered command that the rule would have to name to allow it."""
        named = {index for index, word in enumerate(self.command.words) if word.value is not None}
        return next((danger for danger in dangers(command.words) if danger.index not in named), None)

    def denies(self, command: SimpleCommand) -> bool:
        """Whether the rule speaks of a command, or of one that it runs: strict, so options in between do not matter."""
        return any(_speaks_of(self.command.words, words) for words in _run_by(command.words))

    def examples(self) -> Examples:
        """A few commands to show what the rule means."""
        stem = " ".join(word.text for word in self.command.words if word.text != "*")
        starred = any(word.value is None for word in self.command.words)
        given = self.text.replace("*", "x").strip()
        matches = [given] if starred and self.command.words[-1].text != "*" else [stem, given]
        candidates = [f"{given} more", f"{given} > f", f"{given}; ls", f"sudo {given}"]
        name = program(self.command.words)
        options = [row.long.split()[0] for row in TABLE if name in row.programs.split() and row.long and not row.after]
        candidates += [f"{stem} {option}=f" for option in options]
        return Examples(
            tuple(dict.fromkeys(text for text in matches if permitted(text, [self]))),
            tuple(text for text in candidates if not permitted(text, [self])),
        )


def denied_examples(rule: Rule) -> tuple[str, ...]:
    """A few commands that a rule forbids, in disguises that it sees through."""
    given = rule.text.replace("*", "x").strip()
    candidates = [given, f"ls && {given}", f"sudo {given}", f"bash -c '{given}'"]
    return tuple(text for text in candidates if denying(parse(text).commands, [rule]))


def permitted(command: str, rules: Sequence[Rule]) -> bool:
    """Whether everything in a command line is understood and allowed by the rules."""
    parsed = parse(command)
    return bool(parsed.commands) and not parsed.unclear and all(allowing(each, rules) for each in parsed.commands)


def allowing(command: SimpleCommand, rules: Iterable[Rule]) -> Rule | None:
    """The first rule that allows a command."""
    return next((rule for rule in rules if rule.allows(command)), None)


def denying(commands: Iterable[SimpleCommand], rules: Sequence[Rule]) -> Rule | None:
    """The first rule that forbids one of the commands."""
    return next((rule for command in commands for rule in rules if rule.denies(command)), None)


def _star(word: Word) -> bool:
    return word.text == "*" or (word.text == f"{word.begins}*" and word.begins.endswith(_STARRED))


def _fits(rule: Word, word: Word) -> bool:
    """One word for one word; a word of unknown value could become several, so it fits none."""
    if word.value is None:
        return False
    if rule.value is not None:
        return word.value == rule.value
    if rule.text == "*":
        return True
    rest = word.value.removeprefix(rule.begins)
    return rest not in ("", word.value) and ".." not in rest.split("/")


def _run_by(words: tuple[Word, ...], depth: int = 0) -> Iterator[tuple[Word, ...]]:
    """A command's words, and those of each command that it is known to run by its arguments."""
    yield words
    name = program(words)
    if name in WRAPPERS:
        for index in range(1, min(len(words), _FAR)):
            yield from _run_by(words[index:], depth) if program(words[index:]) in _SHELLS else [words[index:]]
    if name in _SHELLS and depth < _NESTED:
        texts = [word.value for word in words[1:_FAR] if word.value]
        for text in [*texts, " ".join(texts)]:
            for inner in parse(text).commands:
                yield from _run_by(inner.words, depth + 1)


def _speaks_of(rule: Sequence[Word], words: Sequence[Word]) -> bool:
    if not words or program(rule) != program(words):
        return False
    return _follows(rule[1:], words[1:])


def _follows(rule: Sequence[Word], words: Sequence[Word]) -> bool:
    """Whether the words are the rule's, with options and their values between them passed over."""
    open_ended = bool(rule) and rule[-1].text == "*"
    wanted = rule[:-1] if open_ended else rule
    reached = {0}  # how many of the wanted words may have been found so far
    values: set[int] = set()  # the same, for when this word is the value of the option before it
    for word in words:
        if open_ended and len(wanted) in reached:
            break
        found = {at + 1 for at in reached if at < len(wanted) and (word.value is None or _fits(wanted[at], word))}
        option = word.value is None or word.value.startswith("-")
        reached, values = found | values | (reached if option else set()), reached if option else set()
    return len(wanted) in reached
