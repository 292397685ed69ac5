"""Decides whether a command runs, needs the user's approval, or is denied (docs/commands.md). No I/O."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fairlead.display import shorten
from fairlead.sentences import Sentence
from fairlead.shell.command_line.outside import WHOLE_LINES
from fairlead.shell.command_line.parse import parse
from fairlead.shell.command_line.rules import (
    Rule,
    find_allowing_rule,
    find_denying_rule,
    reads_commands,
    suggested_rules,
)
from fairlead.shell.command_line.simple_commands import Parsed, SimpleCommand
from fairlead.shell.command_line.words import program
from fairlead.shell.layer import Where
from fairlead.shell.network import NO_NETWORK, Network, Service

MAX_REASONS = 6


@dataclass(frozen=True, slots=True)
class Permission:
    """Whether a command may run."""

    action: Literal["run", "ask", "deny"]
    reasons: tuple[str, ...] = ()
    """Sentences for the user, the most important first. Empty for `run`; at most MAX_REASONS and one with a count."""
    rules: tuple[str, ...] = ()
    """For `ask`: the allow rules with which the command, and no other one, would run without asking; () if none can."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user's settings say about commands."""

    approvals: Literal["ask", "sandboxed"] = "sandboxed"
    allow: Sequence[Rule] = ()
    """Rules for commands that run without asking."""
    deny: Sequence[Rule] = ()
    """Rules for commands that never run."""
    services: Collection[Service] = ()
    """The services that every command may reach."""
    no_sandbox: str = ""
    """Why there is no sandbox, as a sentence; empty if there is one."""


def check_permission(
    command: str,
    policy: Policy,
    *,
    where: Where,
    network: Network = NO_NETWORK,
    proxies: Collection[Service] = (),
) -> Permission:
    """Checks one bash command line. Never raises.

    Deny rules take precedence over everything else. If the allow rules allow every part of a command and nothing in it
    is unclear, it runs without asking, even outside the sandbox or with the internet, but not if it requests services:
    these are allowed only by settings of their own. Any other command runs without asking only in the sandbox, without
    a network, and with `approvals` set to `sandboxed`. If there are deny rules, nothing in such a command may be
    unclear either.

    Args:
        command: the command line.
        network: what the command requests to reach.
        proxies: what it reaches too if it requests the internet.
    """
    parsed, outside, allow, deny = parse(command), where == "workspace", policy.allow, policy.deny
    network = Network(network.internet, network.services.difference(policy.services))
    if rule := find_denying_rule(parsed.commands, deny):
        return Permission("deny", (f"Your deny rule blocks it: {rule.text}",))
    is_allowed = parsed.commands and all(find_allowing_rule(each, allow, outside=outside) for each in parsed.commands)
    unchecked = deny and (parsed.unclear or any(map(reads_commands, parsed.commands)))
    if is_allowed and not parsed.unclear and not unchecked and not network.services:
        return Permission("run")
    reasons = (
        [Sentence("It runs outside the sandbox, with your permissions.")] if outside else [*_reached(network, proxies)]
    )
    if unchecked:
        reasons.append(Sentence("Parts of it cannot be checked against your deny rules."))
    if policy.approvals == "sandboxed" and not reasons:
        return Permission("run")
    reasons += [*parsed.unclear, *_why_not_allowed(parsed, allow, outside=outside)]
    if not reasons:
        reasons.append(Sentence("Your settings require approval for every command."))
    more = len(reasons) - MAX_REASONS
    if more > 0:
        reasons = [*reasons[:MAX_REASONS], Sentence("And {0} more.", more)]
    can_be_allowed = not (parsed.unclear or unchecked or network.services)
    return Permission(
        "ask", tuple(reasons), suggested_rules(parsed.commands, allow, outside=outside) if can_be_allowed else ()
    )


def _reached(network: Network, proxies: Collection[Service]) -> Iterator[str]:
    """What a command can reach, as sentences."""
    if network.internet:
        yield Sentence(
            "It uses the network: it reaches every address on the internet, but nothing on this machine or in your "
            "local network."
        )
        if proxies:
            named = ", ".join(map(str, sorted(proxies)))
            yield Sentence(
                "It also reaches the proxy that your environment names, and whatever that leads to: {0}.", named
            )
    if network.services:
        own = [str(service) for service in sorted(network.services) if service.is_of_this_machine]
        others = [str(service) for service in sorted(network.services) if not service.is_of_this_machine]
        if own:
            yield Sentence("It reaches this on your machine: {0}.", ", ".join(own))
        if others:
            yield Sentence("It reaches this in your network: {0}.", ", ".join(others))


def _why_not_allowed(parsed: Parsed, rules: Sequence[Rule], *, outside: bool) -> Iterator[str]:
    """Why the allow rules do not cover the whole command line, without duplicates."""
    reported: set[str] = set()
    for command in parsed.commands:
        if not find_allowing_rule(command, rules, outside=outside):
            for reason in _why_command_not_allowed(command, rules):
                if reason not in reported:
                    reported.add(reason)
                    yield reason


def _why_command_not_allowed(command: SimpleCommand, rules: Sequence[Rule]) -> Iterator[str]:
    for write in command.writes:
        yield Sentence("It writes to {0} ({1}).", shorten(write.target.text), write.operator)
    for rule in rules:
        word = rule.uncovered_word(command) if rule.covers(command) else None
        if word:
            named = rule.text, shorten(word.text)
            if program(command.words) in WHOLE_LINES:
                yield Sentence(
                    "The rule `{0}` does not cover {1}. Outside the sandbox, its * covers nothing of this program.",
                    *named,
                )
            else:
                yield Sentence(
                    "The rule `{0}` does not cover {1}. Outside the sandbox, its * covers only plain names.", *named
                )
            return
    if not rules or not command.words:
        if command.assignments:
            yield Sentence("It sets {0}.", shorten(" ".join(command.assignments)))
        return
    named = " ".join([*command.assignments, *(word.text for word in command.words)])
    yield Sentence("No rule allows: {0}", shorten(named))
