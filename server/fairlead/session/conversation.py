"""What the conversation of a session shows, in order, so that it shows the same after a restart.

The history (`messages/`) cannot tell: it is what the model reads, and compaction replaces most of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fairlead.agent.errors import ModelFailure
from fairlead.agent.events import (
    CommandEnded,
    Compacted,
    ContextSent,
    Event,
    FeedbackSent,
    ReminderSent,
    Retry,
    RulesFound,
    RunStarted,
    Steered,
    StepBegan,
    StopReason,
    Text,
    Thinking,
    ToolFinished,
    ToolStarted,
    UsageReported,
)
from fairlead.plan.evidence import CommandRun
from fairlead.sentences import Phrase
from fairlead.session.run.prompt import Continuation


@dataclass(frozen=True, slots=True)
class Prompted:
    """A run begins with a prompt."""

    said: str
    checkpoint: int | None = None
    """The id of the session's checkpoint before it; None until the run has one."""


@dataclass(frozen=True, slots=True)
class Continued:
    """A run continues an earlier one, or starts the work on an approved plan."""

    what: Continuation


@dataclass(frozen=True, slots=True)
class Ended:
    """A run has ended. A run that was interrupted has no end."""

    stop_reason: StopReason
    message: str
    """As in `Outcome`."""
    record: tuple[Phrase, ...]
    """A short summary of the whole session's work."""
    failure: ModelFailure | None = None
    """None unless the stop reason is `error`."""


Shown = (
    Prompted
    | Continued
    | Ended
    | RulesFound
    | ContextSent
    | Text
    | Thinking
    | ToolStarted
    | StepBegan
    | CommandEnded
    | ToolFinished
    | ReminderSent
    | FeedbackSent
    | Steered
    | Retry
    | UsageReported
    | Compacted
)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """Something that is shown. It is compared by identity, so that a long conversation is saved quickly."""

    shown: Shown


class Conversation:
    """Collects what is shown from the events of a session."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._calls: set[str] = set()
        """The ids of the calls among them."""
        self._streamed: Text | Thinking | None = None
        """What the model is still writing."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        self._end_stream()
        return tuple(self._entries)

    def restore(self, entries: Iterable[Entry]) -> None:
        """Shows something else, after a restart or a rewind."""
        self._entries, self._streamed = list(entries), None
        self._calls = calls_in(self._entries)

    def add(self, shown: Shown) -> None:
        self._end_stream()
        self._entries.append(Entry(shown))
        if isinstance(shown, ToolStarted):
            self._calls.add(shown.call_id)

    def note(self, event: Event) -> None:
        """Adds an event without what nobody sees later."""
        match event:
            case Text() | Thinking():
                self._stream(event)
            case RunStarted(checkpoint=int() as checkpoint):
                self._mark_prompt(checkpoint)
            case ToolStarted():
                # the texts of an edit are what it proposed, which an export shows
                self.add(event if event.kind == "edit" else replace(event, input={}))
            case ToolFinished():
                self.add(replace(event, paths=()))
            case CommandEnded(run=run) if run.call_id in self._calls:
                short = CommandRun(run.call_id, "", run.exit_code, run.seconds, run.stopped)
                self.add(replace(event, run=short, paths=()))
            case FeedbackSent():
                self.add(replace(event, text=""))
            case Steered():
                # the model has not read the message yet: what it is still writing comes before it
                self._entries.append(Entry(event))
            case RulesFound() | ContextSent() | StepBegan() | ReminderSent() | Retry() | Compacted():
                self.add(event)
            case UsageReported():
                self.add(event)
            case _:
                pass

    def _stream(self, event: Text | Thinking) -> None:
        streamed = self._streamed
        if streamed is not None and type(event) is type(streamed):
            event = replace(event, text=streamed.text + event.text)
        else:
            self._end_stream()
        self._streamed = event

    def _end_stream(self) -> None:
        """Adds what the model has written, before the messages that it has not read yet."""
        if self._streamed is None:
            return
        index = len(self._entries)
        while index > 0 and isinstance(self._entries[index - 1].shown, Steered):
            index -= 1
        self._entries.insert(index, Entry(self._streamed))
        self._streamed = None

    def _mark_prompt(self, checkpoint: int) -> None:
        """Gives the prompt with which the run began its checkpoint."""
        for index in range(len(self._entries) - 1, -1, -1):
            shown = self._entries[index].shown
            if isinstance(shown, Prompted):
                self._entries[index] = Entry(replace(shown, checkpoint=checkpoint))
                return


def calls_in(entries: Iterable[Entry]) -> set[str]:
    """The ids of the calls among the entries."""
    return {entry.shown.call_id for entry in entries if isinstance(entry.shown, ToolStarted)}


def before_prompt(entries: tuple[Entry, ...], checkpoint: int) -> tuple[Entry, ...]:
    """The entries before the prompt with this checkpoint."""
    for index, entry in enumerate(entries):
        if isinstance(entry.shown, Prompted) and entry.shown.checkpoint == checkpoint:
            return entries[:index]
    return entries
