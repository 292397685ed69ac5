"""The saved state of a session, as one value. store/entries.py converts it to journal entries."""

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
from fairlead.agent.tool import Mode
from fairlead.edits.changeset import Changeset
from fairlead.edits.undo import DecisionLog
from fairlead.hosted_agents.agents import OWN_AGENT, AgentChoice
from fairlead.messages.parts import Message
from fairlead.plan import PlanningState
from fairlead.plan.evidence import Record
from fairlead.plan.file_states import FileStates
from fairlead.plan.history import PlanVersion
from fairlead.plan.items import UserEdits
from fairlead.session.checkpoints import Checkpoint
from fairlead.session.conversation import Entry
from fairlead.session.evidence.recorder import Inferred
from fairlead.session.evidence.spending import Spent, SpentByDay
from fairlead.session.model_selection import BY_SETTINGS, ModelSelection
from fairlead.session.run.feedback import PendingFeedback
from fairlead.session.subagent import Subagent
from fairlead.workspace.rejections import Rejected

Phase = Literal["idle", "running", "paused"]
"""`paused`: a run is unfinished, because its process ended or because it stopped for a reason in `PAUSES`.

See docs/plan.md L14.
"""
PAUSES: Collection[StopReason] = ("budget", "max_turn_requests", "loop")
"""The stop reasons that leave a run unfinished."""

MAX_OUTPUT = 2000  # characters of the end of a call's output, saved in case the call is interrupted


@dataclass(frozen=True, slots=True)
class CallState:
    """A tool call of a run's current round: its output while it runs, then its result."""

    started: float
    """Seconds since the epoch."""
    output: str = ""
    result: str | None = None
    """None: it has not ended."""
    is_error: bool = False
    run_id: str | None = None


Calls = Mapping[str, CallState]
"""The calls of each run's current round, by id."""


@dataclass(frozen=True)
class SessionState:
    """Everything that a restart preserves."""

    title: str = ""
    phase: Phase = "idle"
    updated: float = 0.0
    """See `Session.updated`."""
    mode: Mode = "agent"
    """See `Runs.mode`."""
    agent: str = ""
    """See `Runs.agent`."""
    ended: StopReason | None = None
    """See `Runs.ended`."""
    selection: ModelSelection = BY_SETTINGS
    """See `Session.selection`."""
    hosted: AgentChoice = OWN_AGENT
    """See `HostedAgents.choice`."""
    at: float = 0.0
    """When this state was saved, in seconds since the epoch."""
    events_sent: int = 0
    """The number of events that were sent, or a higher number, because `JournalWriter` reserves some in advance."""
    plan: PlanningState = field(default_factory=PlanningState)
    """With the version that clients get (`Publisher.plan_version`)."""
    versions: tuple[PlanVersion, ...] = ()
    user_edits: UserEdits = field(default_factory=UserEdits)
    record: Record = field(default_factory=Record)
    file_states: FileStates = field(default_factory=FileStates)
    workspace_files: str = ""
    """See `WorkspaceFiles.saved`."""
    unseen_files: tuple[str, ...] = ()
    """See `WorkspaceFiles.unseen`."""
    inferred: tuple[Inferred, ...] = ()
    models: tuple[str, ...] = ()
    """The names of the models that were used, without duplicates."""
    spent: SpentByDay = field(default_factory=dict[str, Spent])
    """What its requests cost. A rewind does not change it."""
    changes: Changeset = field(default_factory=Changeset)
    edits_version: int = 0
    """See `Files.version`."""
    decisions: DecisionLog = field(default_factory=DecisionLog)
    rejected: tuple[Rejected, ...] = ()
    pending_feedback: PendingFeedback = field(default_factory=PendingFeedback)
    messages: tuple[Message, ...] = ()
    conversation: tuple[Entry, ...] = ()
    subagents: tuple[Subagent, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    calls: Calls = field(default_factory=lambda: MappingProxyType({}))


def checkpoint_of(state: SessionState, checkpoint_id: int, prompt: str) -> Checkpoint:
    """The checkpoint of this state, right before a prompt."""
    return Checkpoint(
        id=checkpoint_id,
        prompt=prompt,
        mode=state.mode,
        agent=state.agent,
        messages=state.messages,
        items=state.plan.items,
        awaits_approval=state.plan.awaits_approval,
        user_edits=state.user_edits,
        record=state.record,
        inferred=state.inferred,
        changes=state.changes,
        decisions=len(state.decisions.done),
        pending_feedback=state.pending_feedback,
    )


def with_event(calls: Calls, event: Event, now: float) -> Calls:
    """The calls of the current rounds after an event. A new round has none; earlier results are in the history."""
    match event:
        case RunStarted() | RoundStarted() | RunFinished():
            others = {call_id: call for call_id, call in calls.items() if call.run_id != event.run_id}
            return MappingProxyType(others) if len(others) < len(calls) else calls
        case ToolStarted(call_id):
            return MappingProxyType({**calls, call_id: CallState(now, run_id=event.run_id)})
        case ToolOutput(call_id, text) if call_id in calls:
            call = calls[call_id]
            return MappingProxyType({**calls, call_id: replace(call, output=(call.output + text)[-MAX_OUTPUT:])})
        case ToolFinished(call_id, is_error, text) if call_id in calls:
            ended = replace(calls[call_id], output="", result=text, is_error=is_error)
            return MappingProxyType({**calls, call_id: ended})
        case _:
            return calls
