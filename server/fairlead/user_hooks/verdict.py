"""What hooks say about an event: by their exit codes and what they print. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from fairlead.display import shorten, without_sequences
from fairlead.json_values import check_encodable, is_object
from fairlead.sentences import Sentence
from fairlead.user_hooks.events import EVENTS, Event

BLOCKS = 2
"""The exit code with which a hook blocks."""
MAX_CHARS = 10_000
"""How much of each text of a hook is used."""
NO_REASON = "It gave no reason."
Decision = Literal["none", "allow", "ask", "deny"]
_DECISIONS: Sequence[Decision] = ("none", "allow", "ask", "deny")
"""From the weakest to the strictest."""


@dataclass(frozen=True, slots=True)
class HookOutput:
    """How the command of a hook ended."""

    exit_code: int | None
    """None: it was killed at its time limit."""
    output: str
    errors: str
    seconds: float = 0
    """Its time limit."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one hook, or all of them together, say about an event."""

    decision: Decision = "none"
    """`allow` has no effect: a hook cannot allow more than the user's settings do."""
    reason: str = ""
    """Why it was refused, or why the user is to be asked."""
    context: str = ""
    """What the model is to read."""
    message: str = ""
    """What the user is to read."""
    ends_run: bool = False
    stop_reason: str = ""
    """Why the run ends, for the user."""
    updated_input: Mapping[str, Any] | None = None
    """The changed fields of a call's input, by the names of Claude Code."""
    warnings: tuple[str, ...] = ()
    """What is wrong with the hook. Each is a `Sentence`."""

    @property
    def blocks(self) -> bool:
        return self.decision == "deny"


NOTHING = Verdict()


def verdict_of(event: Event, ended: HookOutput) -> Verdict:
    """What the command of a hook says."""
    if ended.exit_code is None:
        return Verdict(warnings=(Sentence("It was stopped after {0} s, its time limit.", f"{ended.seconds:g}"),))
    said = _text(ended.errors) or _text(ended.output)
    if ended.exit_code == BLOCKS and EVENTS[event].can_block:
        return Verdict("deny", said or NO_REASON)
    if ended.exit_code != 0:
        return Verdict(warnings=(_failed(ended.exit_code, said),))
    output = ended.output.strip()
    if output.startswith("{"):
        return _read(event, output)
    return Verdict(context=_text(output)) if EVENTS[event].text_is_context else NOTHING


def _failed(exit_code: int, said: str) -> Sentence:
    if said:
        return Sentence("It failed (exit code {0}): {1}", exit_code, shorten(said, 300))
    return Sentence("It failed (exit code {0}).", exit_code)


def combined(verdicts: Sequence[Verdict]) -> Verdict:
    """What several hooks say together: the strictest decision counts, and the input of the first that changes it."""
    strictest = max((_DECISIONS.index(each.decision) for each in verdicts), default=0)
    decision = _DECISIONS[strictest]
    changed = [each.updated_input for each in verdicts if each.updated_input is not None]
    return Verdict(
        decision,
        _joined(each.reason for each in verdicts if each.decision == decision),
        _joined(each.context for each in verdicts),
        _joined(each.message for each in verdicts),
        any(each.ends_run for each in verdicts),
        _joined(each.stop_reason for each in verdicts),
        changed[0] if changed else None,
        tuple(warning for each in verdicts for warning in each.warnings),
    )


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(filter(None, texts)))


@dataclass
class _Fields:
    """Reads the fields of an object, and collects the names of those that are wrong."""

    wrong: list[str] = field(default_factory=list[str])

    def text(self, given: Mapping[str, Any], name: str) -> str:
        value = given.get(name)
        if value is not None and not isinstance(value, str):
            self.wrong.append(name)
        return _text(value) if isinstance(value, str) else ""

    def input(self, given: Mapping[str, Any], name: str) -> dict[str, Any] | None:
        """Like `object`, within the limits for the input of a call."""
        value = self.object(given, name)
        try:
            check_encodable(value)
        except (RecursionError, ValueError):
            self.wrong.append(name)
            return None
        return value

    def object(self, given: Mapping[str, Any], name: str) -> dict[str, Any] | None:
        value = given.get(name)
        if value is not None and not is_object(value):
            self.wrong.append(name)
        return value if is_object(value) else None


def _read(event: Event, output: str) -> Verdict:
    try:
        given = json.loads(output)
    except (ValueError, RecursionError) as error:
        problem = str(error) or "nested too deeply"
        return Verdict(warnings=(Sentence("What it printed begins like JSON but is none: {0}.", problem),))
    if not is_object(given):  # not possible: it begins with {
        return NOTHING
    fields = _Fields()
    more = fields.object(given, "hookSpecificOutput") or {}
    decision, reason = _decision(fields, event, given, more)
    verdict = Verdict(
        decision,
        reason,
        fields.text(more, "additionalContext"),
        fields.text(given, "systemMessage"),
        given.get("continue") is False,
        fields.text(given, "stopReason"),
        fields.input(more, "updatedInput") if event == "PreToolUse" else None,
    )
    wrong = tuple(
        Sentence("Its field {0} has another form than expected, and is ignored.", name) for name in fields.wrong
    )
    return replace(verdict, warnings=wrong)


def _decision(fields: _Fields, event: Event, given: Mapping[str, Any], more: Mapping[str, Any]) -> tuple[Decision, str]:
    """The decision with its reason. One that has no meaning for the event counts as none."""
    general = {"block": "deny", "deny": "deny"}.get(fields.text(given, "decision"), "none")
    if event == "PreToolUse":
        special = fields.text(more, "permissionDecision")
        if special in ("allow", "ask", "deny"):
            return special, fields.text(more, "permissionDecisionReason") or (NO_REASON if special != "allow" else "")
    if general == "deny" and EVENTS[event].can_block:
        return "deny", fields.text(given, "reason") or NO_REASON
    return "none", ""


def _text(given: str) -> str:
    """A text of a hook, as it is shown and read: without terminal sequences, and not too long."""
    text = without_sequences(given).strip()
    return (
        text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}\n[... {len(text) - MAX_CHARS:,} characters left out]"
    )
