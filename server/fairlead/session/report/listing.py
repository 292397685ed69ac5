"""The sessions as a list. No I/O."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fairlead.agent.events import StopReason
from fairlead.session.evidence.spending import Spent, SpentByDay
from fairlead.session.model_selection import BY_SETTINGS, ModelSelection
from fairlead.session.session import Session
from fairlead.session.state import Phase, SessionState
from fairlead.session.store.reader import JournalInfo


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
    ended: StopReason | None = None
    """See `Runs.ended`."""
    spent: SpentByDay = field(default_factory=dict[str, Spent])
    """See `SessionState.spent`."""
    open_elsewhere: bool = False
    """Whether another process has it open. The other fields are then from when its journal was read."""


def rows(sessions: Iterable[Session], unloaded: Iterable[Row]) -> tuple[Row, ...]:
    """The rows of loaded and unloaded sessions, the one with the latest `Row.updated` first."""
    return tuple(sorted((*map(_row, sessions), *unloaded), key=lambda row: row.updated, reverse=True))


def settled_row(info: JournalInfo) -> Row:
    """The row of a settled session (see `Summary` in store/reader.py), from the summary in its journal."""
    summary = info.summary
    assert summary is not None
    progress = summary.completed, summary.total, 0
    last = summary.selection, summary.ended, summary.spent
    return Row(info.id, summary.title, summary.updated, "idle", *progress, *last)


def unsettled_row(session_id: str, state: SessionState, *, open_elsewhere: bool) -> Row:
    """The row of an unloaded session that is not settled."""
    phase: Phase = "idle" if state.phase == "idle" else "paused"
    plan = state.plan
    progress = plan.completed, len(plan.items), len(state.changes)
    last = state.selection, state.ended, state.spent
    return Row(session_id, state.title, state.updated, phase, *progress, *last, open_elsewhere)


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
        ended=session.runs.ended,
        spent=session.evidence.recorder.spent,
    )
