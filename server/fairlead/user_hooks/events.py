"""The events for which the user can define hooks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Event = Literal[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "TaskCompleted",
    "StepChecked",
    "BeforeAccept",
    "AfterAccept",
]
"""Claude Code's, apart from the last three."""


@dataclass(frozen=True, slots=True)
class EventRule:
    """What a hook of an event may do."""

    matched: str = ""
    """The field of the input that a matcher is compared with; empty: all hooks of the event run."""
    can_block: bool = False
    text_is_context: bool = False
    """Whether the model reads what a hook prints that is no JSON."""


EVENTS: Mapping[Event, EventRule] = {
    "SessionStart": EventRule("source", text_is_context=True),
    "UserPromptSubmit": EventRule(can_block=True, text_is_context=True),
    "PreToolUse": EventRule("tool_name", can_block=True),
    "PostToolUse": EventRule("tool_name", can_block=True),
    "Stop": EventRule(can_block=True),
    "SubagentStop": EventRule("agent_type", can_block=True),
    "PreCompact": EventRule("trigger"),
    "TaskCompleted": EventRule(can_block=True),
    "StepChecked": EventRule("outcome"),
    "BeforeAccept": EventRule(can_block=True),
    "AfterAccept": EventRule(),
}
# how Copilot's command line calls them, as far as the first letter is not the only difference
_OTHER_NAMES: Mapping[str, Event] = {"userPromptSubmitted": "UserPromptSubmit", "agentStop": "Stop"}


def event_of(name: str) -> Event | None:
    """The event that a file names; None if there is no such event."""
    for event in EVENTS:
        if name in (event, f"{event[0].lower()}{event[1:]}"):
            return event
    return _OTHER_NAMES.get(name)
