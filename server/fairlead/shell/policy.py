"""Whether a command runs, is asked for, or is refused, and why. Nothing is run or looked up here (docs/commands.md)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fairlead.shell.layer import Where
from fairlead.shell.parse import Parsed, SimpleCommand, parse, short
from fairlead.shell.rules import Rule, allowing, denying

MOST_REASONS = 6


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happens to a command. The reasons are sentences for people, weightiest first; none if it just runs."""

    action: Literal["run", "ask", "deny"]
    reasons: tuple[str, ...] = ()


def decide(
    command: str,
    *,
    where: Where,
    network: bool = False,
    unsandboxed: bool = False,
    approvals: Literal["ask", "sandboxed"],
    allow: Sequence[Rule] = (),
    deny: Sequence[Rule] = (),
) -> Verdict:
    """Judges one command line of bash. `where` is what this system can do at best; never raises.

    A rule that denies beats everything. What the rules allow, all of it, runs anywhere. Else a command runs without a
    question only in the sandbox, without the network, and if the person has not asked for every question.
    """
    parsed = parse(command)
    if forbidding := denying(parsed.commands, deny):
        return Verdict("deny", (f"Your rule denies it: {forbidding.text}",))
    if not parsed.unclear and parsed.commands and all(allowing(each, allow) for each in parsed.commands):
        return Verdict("run")
    reasons: list[str] = []
    if where == "workspace" or unsandboxed:
        reasons.append("It runs in the workspace itself, with your rights.")
    if network:
        reasons.append("It wants to use the network.")
    if deny and parsed.unclear:
        reasons.append("It is not certain whether your rules deny it.")
    if approvals == "sandboxed" and not reasons:
        return Verdict("run")
    reasons += [*parsed.unclear, *_not_allowed(parsed, allow)]
    if not reasons:
        reasons.append("Your settings ask before every command.")
    more = len(reasons) - MOST_REASONS
    if more > 0:
        reasons = [*reasons[:MOST_REASONS], f"And {more} more."]
    return Verdict("ask", tuple(reasons))


def _not_allowed(parsed: Parsed, rules: Sequence[Rule]) -> Iterator[str]:
    """Why the rules do not allow it, each thing once."""
    said: set[str] = set()
    for command in parsed.commands:
        if not allowing(command, rules):
            for reason in _why(command, rules):
                if reason not in said:
                    said.add(reason)
                    yield reason


def _why(command: SimpleCommand, rules: Sequence[Rule]) -> Iterator[str]:
    for write in command.writes:
        yield f"It writes to {short(write.target.text)} ({write.operator})."
    for rule in rules:
        beyond = rule.beyond(command) if rule.covers(command) else None
        if beyond:
            word = command.words[beyond.index]
            yield f"The rule `{rule.text}` does not cover {short(word.text)}: it {beyond.does}."
            return
    if not rules or not command.words:
        if command.assignments:
            yield f"It sets {short(' '.join(command.assignments))}."
        return
    yield f"No rule allows: {short(' '.join([*command.assignments, *(word.text for word in command.words)]))}"
