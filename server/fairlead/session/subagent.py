"""A subagent of a session: what it did and what it knows. Values, and the one that grows while it works."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fairlead.agent.events import CommandEnded, Event, RunFinished, Steered, StopReason, ToolStarted, UsageReported
from fairlead.edits.changeset import Changeset
from fairlead.messages.history import History, clean_text
from fairlead.messages.parts import Message, Note, Prompt
from fairlead.plan.evidence import SubagentState, SubagentWork
from fairlead.session.conversation import Conversation, Entry
from fairlead.workspace.files import Files

_STATES: Mapping[StopReason, SubagentState] = {"end_turn": "done", "cancelled": "stopped"}


@dataclass(frozen=True, slots=True)
class Subagent:
    """A subagent as it is saved."""

    run_id: str
    """The id of its run, unique in the session."""
    work: SubagentWork
    messages: tuple[Message, ...] = ()
    """Its conversation with the model."""
    entries: tuple[Entry, ...] = ()
    """What it did, as a conversation shows it."""
    item_id: str | None = None
    """The step for which it works."""
    before: Changeset = field(default_factory=Changeset)
    """The session's proposals when it began; empty if nothing has to be merged."""
    changes: Changeset = field(default_factory=Changeset)
    """What its fork of the files proposes; empty as `before`."""


@dataclass
class RunningSubagent:
    """A subagent that works."""

    run_id: str
    work: SubagentWork
    item_id: str | None
    before: Files
    """A fork of the files as they were when it began."""
    fork: Files
    """Its files."""
    history: History = field(default_factory=History)
    conversation: Conversation = field(default_factory=Conversation)
    said: list[str] = field(default_factory=list[str])
    """The user's messages that it has not read yet."""
    stop: Callable[[], object] = lambda: None
    """Stops it at the user's request."""
    is_merged: bool = False
    """Whether its proposals are those of the session, too."""

    def add_user_message(self, text: str) -> int:
        """Queues a message. Returns how many are queued."""
        self.said.append(text)
        self.conversation.note(Steered(text, run_id=self.run_id))
        return len(self.said)

    def take_said(self) -> list[Prompt | Note]:
        """The messages that it has not read yet, which count as read then."""
        said, self.said = self.said, []
        return [Prompt(clean_text(text), while_working=True) for text in said]

    def note(self, event: Event) -> None:
        """Takes an event of its run."""
        match event:
            case UsageReported(usage, cost):
                self.work = replace(self.work, tokens=usage.tokens, cost=cost)
            case RunFinished(stop_reason):
                self.work = replace(self.work, state=_STATES.get(stop_reason, "failed"))
            case _:
                pass
        self.conversation.note(event)

    @property
    def saved(self) -> Subagent:
        """Its current state."""
        before, changes = self.before.changes, self.fork.changes
        return Subagent(
            self.run_id,
            self.work,
            tuple(self.history.messages),
            self.conversation.entries,
            self.item_id,
            *((before, changes) if changes is not before and not self.is_merged else ()),
        )


def evidence_of(event: Event) -> Event | None:
    """What an event of a subagent says about the work on the step; None: nothing.

    What it changes counts when it is merged, and the main run reports what it uses.
    """
    match event:
        case UsageReported() | ToolStarted(kind="edit" | "delete" | "move"):
            return None
        case CommandEnded():
            return replace(event, paths=())
        case _:
            return event


class SubagentLog:
    """The subagents of a session, in the order in which they began."""

    def __init__(self) -> None:
        self._ended: dict[str, Subagent] = {}
        self._running: dict[str, RunningSubagent] = {}

    @property
    def all(self) -> tuple[Subagent, ...]:
        """Those that have ended, and those that work."""
        return (*self._ended.values(), *(each.saved for each in self._running.values()))

    def restore(self, saved: Sequence[Subagent], repaired: Callable[[Subagent], Sequence[Message]]) -> None:
        """Replaces all by saved ones. Those that worked then were interrupted.

        Args:
            repaired: returns their messages so that the next request is valid.
        """
        self._running = {}
        self._ended = {each.run_id: _interrupted(each, repaired) for each in saved}

    def begin(self, subagent: RunningSubagent) -> None:
        self._running[subagent.run_id] = subagent

    def end(self, run_id: str) -> None:
        """Call it after the last event of its run."""
        self._ended[run_id] = self._running.pop(run_id).saved

    def running(self, run_id: str | None) -> RunningSubagent | None:
        """The subagent with this run, while it works; None if the run is another one."""
        return self._running.get(run_id) if run_id is not None else None

    def working(self, call_id: str) -> RunningSubagent | None:
        """The one that a call started, while it works."""
        return next((each for each in self._running.values() if each.work.call_id == call_id), None)

    def ended(self, title: str) -> Subagent | None:
        """The last one with this title that has ended."""
        return next((each for each in reversed(self._ended.values()) if each.work.title == title), None)

    def of_call(self, call_id: str) -> Subagent | None:
        """The one that a call started."""
        return next((each for each in self.all if each.work.call_id == call_id), None)


def _interrupted(saved: Subagent, repaired: Callable[[Subagent], Sequence[Message]]) -> Subagent:
    merged = replace(saved, before=Changeset(), changes=Changeset())
    if saved.work.state != "running":
        return merged
    return replace(merged, work=replace(saved.work, state="interrupted"), messages=tuple(repaired(saved)))
