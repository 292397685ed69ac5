"""All that is kept of a session, as one value. How it becomes lines of a journal is store/entries.py's business."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from fairlead.agent.events import (
    Event,
    RoundStarted,
    RunFinished,
    RunStarted,
    StopReason,
    ToolFinished,
    ToolOutput,
    ToolStarted,
)
from fairlead.agent.messages import Message
from fairlead.edits.changeset import Changeset
from fairlead.edits.undo import DecisionLog
from fairlead.plan import PlanningState
from fairlead.plan.evidence import Record
from fairlead.plan.history import PlanVersion
from fairlead.plan.items import Wish
from fairlead.session.feedback import Unheard
from fairlead.session.recorder import Inferred
from fairlead.workspace.rejections import Rejected

Phase = Literal["idle", "running", "paused"]
"""`paused`: a run stands in the middle: its process ended, or it came to a bound (docs/plan.md L14)."""
PAUSES: Collection[StopReason] = ("budget", "max_turn_requests", "loop")

MAX_OUTPUT = 2000  # characters of a call's output that are kept in case it is interrupted: the last ones


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A tool call of the round under way. `started` is in seconds since the epoch; `result` None: it has not ended."""

    started: float
    output: str = ""
    result: str | None = None
    is_error: bool = False


Calls = Mapping[str, OpenCall]


@dataclass(frozen=True)
class SessionState:
    """Values only.

    `updated` is when the last run began or ended, `at` when this was written (seconds since the epoch); `told` is at
    least the number of the events that went out; `plan` carries the version that the wire counts.
    """

    title: str = ""
    phase: Phase = "idle"
    updated: float = 0.0
    at: float = 0.0
    told: int = 0
    plan: PlanningState = field(default_factory=PlanningState)
    versions: tuple[PlanVersion, ...] = ()
    wish: Wish = field(default_factory=Wish)
    record: Record = field(default_factory=Record)
    inferred: tuple[Inferred, ...] = ()
    changes: Changeset = field(default_factory=Changeset)
    edits_version: int = 0
    decisions: DecisionLog = field(default_factory=DecisionLog)
    rejected: tuple[Rejected, ...] = ()
    unheard: Unheard = field(default_factory=Unheard)
    messages: tuple[Message, ...] = ()
    calls: Calls = field(default_factory=lambda: MappingProxyType({}))


def with_event(calls: Calls, event: Event, now: float) -> Calls:
    """The calls of the round under way, after an event. A new round's results stand in the conversation."""
    match event:
        case RunStarted() | RoundStarted() | RunFinished():
            return MappingProxyType({}) if calls else calls
        case ToolStarted(call_id):
            return MappingProxyType({**calls, call_id: OpenCall(now)})
        case ToolOutput(call_id, text) if call_id in calls:
            call = calls[call_id]
            return MappingProxyType({**calls, call_id: replace(call, output=(call.output + text)[-MAX_OUTPUT:])})
        case ToolFinished(call_id, is_error, text) if call_id in calls:
            ended = replace(calls[call_id], output="", result=text, is_error=is_error)
            return MappingProxyType({**calls, call_id: ended})
        case _:
            return calls
