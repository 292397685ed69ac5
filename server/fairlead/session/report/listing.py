"""The sessions as a list, and a conversation as lines to read. No I/O."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fairlead.messages.parts import CONTEXT, Call, Message, Note, Prompt, Result, Text
from fairlead.plan.evidence import Record
from fairlead.plan.render import PlanUpdate
from fairlead.session.model_selection import BY_SETTINGS, ModelSelection
from fairlead.session.session import Session
from fairlead.session.state import Phase, SessionState
from fairlead.session.store.reader import JournalInfo

MAX_RESULT = 2000
"""How many characters of a result a reopened conversation shows."""


@dataclass(frozen=True, slots=True)
class Row:
    """A session in the list."""

    id: str
    title: str
    updated: float
    """When its last run began or ended (`Session.updated`), in seconds since the epoch."""
    phase: Phase
    completed: int
    """The number of completed items of its plan."""
    total: int
    """The number of items of its plan."""
    pending_files: int
    """The number of files with undecided proposals."""
    model: ModelSelection = BY_SETTINGS
    """The model that its next run asks. `Sessions.rows` adds what the settings decide."""
    open_elsewhere: bool = False
    """Whether another process has it open. The other fields are then from when its journal was read."""


@dataclass(frozen=True, slots=True)
class Line:
    """A message of the user or a text of the model, the context sent with a prompt, or a tool call."""

    role: Literal["user", "context", "assistant", "tool"]
    text: str
    """Of a tool call: its first text argument."""
    tool: str = ""
    """The name of the called tool."""
    failed: bool = False
    """Whether a tool call ended with an error, or its command failed."""
    result: str = ""
    """What a tool call returned; only the beginning and the end if it is long."""
    plan_update: PlanUpdate | None = None
    """Set if a tool call rewrote the plan."""
    pictures: tuple[str, ...] = ()
    """The names of the pictures that were sent with a prompt."""
    checkpoint: int | None = None
    """The id of the checkpoint before a prompt, if the session can be rewound to it."""


def rows(sessions: Iterable[Session], unloaded: Iterable[Row]) -> tuple[Row, ...]:
    """The rows of loaded and unloaded sessions, the one with the latest `Row.updated` first."""
    return tuple(sorted((*map(_row, sessions), *unloaded), key=lambda row: row.updated, reverse=True))


def settled_row(info: JournalInfo) -> Row:
    """The row of a settled session (see `Summary` in store/reader.py), from the summary in its journal."""
    summary = info.summary
    assert summary is not None
    progress = summary.completed, summary.total, 0
    return Row(info.id, summary.title, summary.updated, "idle", *progress, summary.selection)


def unsettled_row(session_id: str, state: SessionState, *, open_elsewhere: bool) -> Row:
    """The row of an unloaded session that is not settled."""
    phase: Phase = "idle" if state.phase == "idle" else "paused"
    plan = state.plan
    progress = plan.completed, len(plan.items), len(state.changes)
    return Row(session_id, state.title, state.updated, phase, *progress, state.selection, open_elsewhere)


def _row(session: Session) -> Row:
    plan = session.plan.snapshot()
    return Row(
        id=session.id,
        title=session.title,
        updated=session.updated,
        phase=session.runs.phase,
        completed=plan.completed,
        total=len(plan.items),
        pending_files=len(session.files.changes),
        model=session.selection,
    )


def transcript(messages: Sequence[Message], record: Record) -> list[Line]:
    """The user's messages with the context of prompts, the model's texts, and its calls with their results.

    Omits the other notes that Fairlead added for the model.

    Args:
        record: says which commands failed.
    """
    failed_commands = {run.call_id for evidence in record.by_step.values() for run in evidence.commands if run.failed}
    results = [part for message in messages for part in message.parts if isinstance(part, Result)]
    failed = failed_commands | {result.call_id for result in results if result.is_error}
    by_call = {result.call_id: result for result in results}
    return [line for message in messages for line in _lines(message, failed, by_call)]


def _lines(message: Message, failed: Collection[str], results: Mapping[str, Result]) -> Iterator[Line]:
    notes = [part for part in message.parts if isinstance(part, Note)]
    context = [note for note in notes if note.kind in CONTEXT]
    if any(note.kind == "summary" for note in notes):
        context = []  # it may contain several prompts, each followed by its context
    for part in message.parts:
        match part:
            case Call():
                about = next((value for value in part.input.values() if isinstance(value, str)), "")
                result = results.get(part.id)
                shown, plan_update = (_shortened(result.text), result.plan_update) if result else ("", None)
                yield Line("tool", about.strip(), part.name, part.id in failed, shown, plan_update)
            case Text(text):
                yield Line("assistant", text)
            case Prompt(said, while_working=True):
                yield Line("user", said)
            case Prompt(said, _, checkpoint):
                pictures = tuple(name for note in context for name in note.pictures)
                yield Line("user", said, pictures=pictures, checkpoint=checkpoint)
                if context:
                    yield Line("context", "\n\n".join(note.text for note in context))
            case _:
                pass


def _shortened(result: str) -> str:
    if len(result) <= MAX_RESULT:
        return result
    half = MAX_RESULT // 2
    return f"{result[:half]}\n...\n{result[-half:]}"
