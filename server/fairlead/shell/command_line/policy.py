"""Decides whether a command runs, needs the user's approval, or is denied (docs/commands.md). No I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fairlead.display import shorten
from fairlead.shell.command_line.parse import parse
from fairlead.shell.command_line.rules import Rule, find_allowing_rule, find_denying_rule
from fairlead.shell.command_line.simple_commands import Parsed, SimpleCommand
from fairlead.shell.layer import Where

MAX_REASONS = 6


@dataclass(frozen=True, slots=True)
class Permission:
    """Whether a command may run."""

    action: Literal["run", "ask", "deny"]
    reasons: tuple[str, ...] = ()
    """Sentences for the user, the most important first. Empty for `run`; at most MAX_REASONS and one with a count."""


def check_permission(
    command: str,
    *,
    where: Where,
    network: bool = False,
    unsandboxed: bool = False,
    approvals: Literal["ask", "sandboxed"],
    allow: Sequence[Rule] = (),
    deny: Sequence[Rule] = (),
) -> Permission:
    """Checks one bash command line. Never raises.

    Deny rules take precedence over everything else. If the allow rules allow every part of a command and nothing in it
    is unclear, it runs without asking, even outside the sandbox or with the network. Any other command runs without
    asking only in the sandbox, without the network, and with `approvals` set to `sandboxed`. If there are deny rules,
    nothing in such a command may be unclear either.

    Args:
        command: the command line.
        where: where the command runs if it is not `unsandboxed`.
        network: whether the command requests the network.
        unsandboxed: whether the command requests to run outside the sandbox.
        approvals: the user's setting.
        allow: rules for commands that run without asking.
        deny: rules for commands that never run.
    """
    parsed = parse(command)
    if rule := find_denying_rule(parsed.commands, deny):
        return Permission("deny", (f"Your deny rule blocks it: {rule.text}",))
    if not parsed.unclear and parsed.commands and all(find_allowing_rule(each, allow) for each in parsed.commands):
        return Permission("run")
    reasons: list[str] = []
    if where == "workspace" or unsandboxed:
        reasons.append("It runs outside the sandbox, with your permissions.")
    if network:
        reasons.append("It uses the network.")
    if deny and parsed.unclear:
        reasons.append("Parts of it cannot be checked against your deny rules.")
    if approvals == "sandboxed" and not reasons:
        return Permission("run")
    reasons += [*parsed.unclear, *_why_not_allowed(parsed, allow)]
    if not reasons:
        reasons.append("Your settings require approval for every command.")
    more = len(reasons) - MAX_REASONS
    if more > 0:
        reasons = [*reasons[:MAX_REASONS], f"And {more} more."]
    return Permission("ask", tuple(reasons))


def _why_not_allowed(parsed: Parsed, rules: Sequence[Rule]) -> Iterator[str]:
    """Why the allow rules do not cover the whole command line, without duplicates."""
    reported: set[str] = set()
    for command in parsed.commands:
        if not find_allowing_rule(command, rules):
            for reason in _why_command_not_allowed(command, rules):
                if reason not in reported:
                    reported.add(reason)
                    yield reason


def _why_command_not_allowed(command: SimpleCommand, rules: Sequence[Rule]) -> Iterator[str]:
    for write in command.writes:
        yield f"It writes to {shorten(write.target.text)} ({write.operator})."
    for rule in rules:
        danger = rule.uncovered_danger(command) if rule.covers(command) else None
        if danger:
            word = command.words[danger.index]
            yield f"The rule `{rule.text}` does not cover {shorten(word.text)}: it {danger.effect}."
            return
    if not rules or not command.words:
        if command.assignments:
            yield f"It sets {shorten(' '.join(command.assignments))}."
        return
    yield f"No rule allows: {shorten(' '.join([*command.assignments, *(word.text for word in command.words)]))}"
