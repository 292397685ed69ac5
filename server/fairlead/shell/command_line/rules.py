"""The user's rules: which commands run without asking, and which never run (docs/commands.md).

A rule is written like a command, in which `*` matches words. It is compared with the parsed words, never with the text,
so quotes and whitespace make no difference.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fairlead.display import escape_invisible
from fairlead.shell.command_line.outside import COMMAND_RUNNERS, GIT_RUNNERS, OTHER_SHELLS, is_covered
from fairlead.shell.command_line.parse import parse
from fairlead.shell.command_line.simple_commands import SimpleCommand
from fairlead.shell.command_line.words import Word, program
from fairlead.shell.command_line.wrappers import SHELLS, is_wrapper

_BEFORE_STAR = ("/", ".", ":")  # after one of these, `*` matches the rest of a word
_MAX_NESTING = 4  # levels of `sh -c 'sh -c ...'` that deny rules look into
_MAX_WORDS = 100  # how many words of a command deny rules search for another command that it runs
_UNKNOWN = Word("", None, "")
# programs whose arguments may contain a command line as text
_TEXT_RUNNERS = (
    SHELLS
    | OTHER_SHELLS
    | COMMAND_RUNNERS
    | {"eval", "trap", "alias", "bind", "complete", "compgen", "mapfile", "readarray", "npx", "mise"}
)
_SCRIPT_RUNNERS = SHELLS | OTHER_SHELLS | {"source", "."}
_NO_SCRIPT = ("-", "+", "<(", "/dev/", "/proc/")
_WITH_VALUE = re.compile(r"[-+]\w*[oO]|--rcfile|--init-file")  # options of shells

_PLAIN = re.compile(r"[\w./:=@%+-]+")

_NOT_ONE_COMMAND = "A rule is one plain command, without ;, |, &&, $ or the like. Write one rule per command."


class BadRule(ValueError):
    """The text is not a rule. The message says why and what to write instead."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Commands that a rule matches, and similar ones that it does not match."""

    matches: tuple[str, ...]
    misses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: as written, and as a parsed command whose words may contain `*`."""

    text: str
    command: SimpleCommand

    @classmethod
    def parse(cls, text: str) -> "Rule":
        """Parses a rule.

        Raises:
            BadRule: the text is not a single command of plain words and `*`.
        """
        parsed = parse(text)
        if not parsed.commands and not parsed.unclear:
            raise BadRule("The rule is empty. Write a command, such as `git status` or `npm test *`.")
        if len(parsed.commands) != 1:
            raise BadRule(_NOT_ONE_COMMAND)
        [command] = parsed.commands
        if not command.words or not command.words[0].value:  # before `unclear`, whose message would be less helpful
            raise BadRule(
                "A rule begins with the name of a program. Write the name in full, without *, $, ~ or the like."
            )
        if parsed.unclear:
            raise BadRule(_NOT_ONE_COMMAND)
        for word in command.words:
            if word.value is None and not _is_star(word):
                raise BadRule(
                    f"`{word.text}` is not a plain word. Write it without $, ~, ?, [ ] and {{ }}; "
                    "a * matches whole words, or the rest of a word after / . or :"
                )
        return cls(text, command)

    def allows(self, command: SimpleCommand, *, outside: bool) -> bool:
        """Whether the rule allows a command.

        Args:
            outside: whether the command would run outside of the sandbox, where `*` covers less (`outside.py`).
        """
        return self.covers(command) and not (outside and self.uncovered_word(command))

    def covers(self, command: SimpleCommand) -> bool:
        """Whether the command matches the rule word by word, with any words for `*`.

        It must also have exactly the rule's assignments and redirections to files.
        """
        if command.assignments != self.command.assignments or len(command.writes) != len(self.command.writes):
            return False
        writes = zip(command.writes, self.command.writes, strict=True)
        if any(own.operator != write.operator or own.target.value != write.target.value for write, own in writes):
            return False
        if any(write.target.value is None for write in command.writes):
            return False
        rule, words = self.command.words, command.words
        if rule[-1].text == "*":
            rule = rule[:-1]
            if len(words) < len(rule):
                return False
            words = words[: len(rule)]
        return len(words) == len(rule) and all(map(_matches, rule, words))

    def uncovered_word(self, command: SimpleCommand) -> Word | None:
        """The first word of a covered command that the rule does not allow outside of the sandbox."""
        rule, words = self.command.words, command.words
        starred = (index for index in range(len(words)) if rule[min(index, len(rule) - 1)].value is None)
        return next((words[index] for index in starred if not is_covered(rule, words, index)), None)

    def denies(self, command: SimpleCommand) -> bool:
        """Whether the rule forbids the command or one that it runs.

        Options between the rule's words are ignored, and so are all assignments and redirections.
        """
        return any(_forbids(self.command.words, words) for words in _commands_in(command.words))

    def examples(self) -> Examples:
        """A few commands that show what the rule means."""
        stem = " ".join(word.text for word in self.command.words if word.text != "*")
        starred = any(word.value is None for word in self.command.words)
        sample = self.text.replace("*", "x").strip()
        matches = [sample] if starred and self.command.words[-1].text != "*" else [stem, sample]
        candidates = [f"{sample} more", f"{sample} > f", f"{sample}; ls", f"sudo {sample}"]
        candidates += [f"{stem} --option", f"{stem} ../x"]
        return Examples(
            tuple(dict.fromkeys(text for text in matches if is_allowed(text, [self]))),
            tuple(text for text in candidates if not is_allowed(text, [self])),
        )


def denied_examples(rule: Rule) -> tuple[str, ...]:
    """A few commands that a rule forbids, including some in which another command runs the forbidden one."""
    sample = rule.text.replace("*", "x").strip()
    candidates = [sample, f"ls && {sample}", f"sudo {sample}", f"bash -c '{sample}'"]
    return tuple(text for text in candidates if find_denying_rule(parse(text).commands, [rule]))


def is_allowed(command: str, rules: Sequence[Rule], *, outside: bool = True) -> bool:
    """Whether the rules allow every part of a command line, and nothing in it is unclear."""
    parsed = parse(command)
    found = (find_allowing_rule(each, rules, outside=outside) for each in parsed.commands)
    return bool(parsed.commands) and not parsed.unclear and all(found)


def suggested_rules(commands: Iterable[SimpleCommand], rules: Sequence[Rule], *, outside: bool) -> tuple[str, ...]:
    """The rules to add to `rules` so that all of these commands are allowed, and nothing else; () if none can."""
    suggested: list[Rule] = []
    for command in commands:
        if find_allowing_rule(command, [*rules, *suggested], outside=outside):
            continue
        try:
            rule = Rule.parse(command.text)
        except BadRule:
            return ()
        # the user must see what they allow, in one line
        if escape_invisible(rule.text) != rule.text or "\n" in rule.text:
            return ()
        if not rule.allows(command, outside=outside) or any(word.value is None for word in rule.command.words):
            return ()
        suggested.append(rule)
    return tuple(rule.text for rule in suggested)


def find_allowing_rule(command: SimpleCommand, rules: Iterable[Rule], *, outside: bool) -> Rule | None:
    """The first rule that allows a command; None if none does. `outside` is as for `Rule.allows`."""
    return next((rule for rule in rules if rule.allows(command, outside=outside)), None)


def find_denying_rule(commands: Iterable[SimpleCommand], rules: Sequence[Rule]) -> Rule | None:
    """The first rule that forbids one of the commands; None if none does."""
    return next((rule for command in commands for rule in rules if rule.denies(command)), None)


def reads_commands(command: SimpleCommand) -> bool:
    """Whether a command is or runs a shell that reads its commands from its input, where deny rules cannot see them."""
    return any(map(_is_shell_with_input, _commands_in(command.words)))


def _is_shell_with_input(words: Sequence[Word]) -> bool:
    if program(words) not in _SCRIPT_RUNNERS:
        return False
    arguments = [word.value or word.text for word in words[1:]]
    values = {index + 1 for index, text in enumerate(arguments) if _WITH_VALUE.fullmatch(text)}
    has_script = any(not text.startswith(_NO_SCRIPT) for index, text in enumerate(arguments) if index not in values)
    return not has_script or any("s" in text for text in arguments if re.fullmatch(r"-\w+", text))


def _is_star(word: Word) -> bool:
    return word.text == "*" or (word.text == f"{word.prefix}*" and word.prefix.endswith(_BEFORE_STAR))


def _matches(rule: Word, word: Word) -> bool:
    """Whether a rule's word matches a command's word. A word whose value only bash can tell never matches."""
    if word.value is None:
        return False
    if rule.value is not None:
        return word.value == rule.value
    if rule.text == "*":
        return True
    rest = word.value.removeprefix(rule.prefix)
    from_dots = word.value[len(rule.prefix.rstrip(".")) :]  # `.*` must not match `../x`
    return rest not in ("", word.value) and ".." not in from_dots.split("/")


def _commands_in(
    words: tuple[Word, ...], depth: int = 0, seen: set[tuple[int, tuple[Word, ...] | str]] | None = None
) -> Iterator[tuple[Word, ...]]:
    """The words of a command, and of each command that it may run according to its arguments.

    Args:
        depth: the number of shells around the command.
        seen: the commands and texts that were searched already, with their depth. Without it, a line of runners that
            run each other would take exponential time.
    """
    seen = set() if seen is None else seen
    name, more = program(words), tuple[Word, ...]()
    values = [word.value or "" for word in words[1:_MAX_WORDS]]
    runs_by_git = name == "git" and not GIT_RUNNERS.isdisjoint(values)
    is_runner = runs_by_git or name in COMMAND_RUNNERS or is_wrapper(name, values)
    for index in range(min(len(words), _MAX_WORDS) if is_runner else 1):
        inner = words[index:] + more
        more = (_UNKNOWN,) if program(inner) in ("xargs", "parallel") else more
        if (depth, inner) in seen:
            continue
        seen.add((depth, inner))
        yield inner
        for text in _texts_in(inner) if depth < _MAX_NESTING else ():
            if (depth, text) not in seen:
                seen.add((depth, text))
                for command in parse(text).commands:
                    yield from _commands_in(command.words, depth + 1, seen)


def _texts_in(words: Sequence[Word]) -> list[str]:
    """The arguments of a command that may be command lines."""
    name, texts = program(words), [word.value for word in words[1:_MAX_WORDS] if word.value]
    if name == "git":
        return [*([] if GIT_RUNNERS.isdisjoint(texts) else texts), *_git_aliases(texts)]
    if name.startswith("git-"):
        return [" ".join([f"git {name[4:]}", *texts])]
    if name not in _TEXT_RUNNERS:
        return []
    # also `--split-string=...`, `alias x=...` and `-S...`
    texts += [part for text in texts for part in (text.partition("=")[2], text[2:] if text[0] == "-" else "") if part]
    if name in COMMAND_RUNNERS:
        # plain words after a runner are a command themselves
        texts, all_of_them = [text for text in texts if not _PLAIN.fullmatch(text)], " ".join(texts)
        return [*texts, all_of_them] if texts else []
    return [*texts, " ".join(texts)]


def _git_aliases(texts: Iterable[str]) -> Iterator[str]:
    """The commands of aliases: `-c alias.x='!command'` and `-c alias.x=subcommand`."""
    for text in texts:
        name, _, value = text.partition("=")
        if value.startswith("!"):
            yield value[1:]
        elif name.removeprefix("-c").startswith("alias."):
            yield f"git {value}"


def _forbids(rule: Sequence[Word], words: Sequence[Word]) -> bool:
    if not words or program(rule) != program(words):
        return False
    return _contains_in_order(rule[1:], words[1:])


def _contains_in_order(rule: Sequence[Word], words: Sequence[Word]) -> bool:
    """Whether the words match the rule's, if options and their values between them are ignored."""
    open_ended = bool(rule) and rule[-1].text == "*"
    wanted = rule[:-1] if open_ended else rule
    reached: set[int] = {0}  # how many wanted words may have been found so far; there may be several answers
    values: set[int] = set()  # the same, for the case that this word is the value of the option before it
    for word in words:
        if open_ended and len(wanted) in reached:
            break
        found = {at + 1 for at in reached if at < len(wanted) and (word.value is None or _matches(wanted[at], word))}
        is_option = word.value is None or word.value.startswith("-")
        before = reached if is_option else set[int]()
        reached, values = found | values | before, before
    return len(wanted) in reached
