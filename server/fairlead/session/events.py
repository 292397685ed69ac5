"""The events of a session: those of its runs and checks, and the whole plan or all proposals whenever they change."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from fairlead.agent.events import (
    CheckFinished,
    Event,
    NeededChanges,
    SmallestSet,
    Text,
    Thinking,
    ToolOutput,
    UsageReported,
)
from fairlead.code.decode import Problem
from fairlead.edits.changeset import Changeset
from fairlead.plan import PlanningState
from fairlead.plan.evidence import Record
from fairlead.plan.verification import Support
from fairlead.sentences import Sentence
from fairlead.session.evidence.change_log import Cause
from fairlead.session.evidence.recorder import Inferred
from fairlead.tool_servers.status import ServerStatus


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The plan, and the evidence on record."""

    version: int
    """Increases with each change of the plan or the evidence."""
    state: PlanningState
    record: Record
    inferred: tuple[Inferred, ...] = ()
    supports: Mapping[str, Support] = field(default_factory=dict[str, Support])
    """What supports each item, by id."""
    lapsed: tuple[str, ...] = ()
    """See `SessionEvidence.lapsed`."""
    causes: Mapping[str, Cause | None] = field(default_factory=dict[str, Cause | None])
    """What broke the verification of items, by id."""


@dataclass(frozen=True, slots=True)
class EditsChanged:
    """The proposals, and the decisions that can be undone and redone."""

    version: int
    """The version of the proposals (`Files.version`). It never decreases. The other fields may change without it."""
    changes: Changeset
    undo_label: str | None
    """The label of the decision that an undo would undo; None if there is none."""
    redo_label: str | None
    """The label of the decision that a redo would redo; None if there is none."""
    protected: frozenset[str] = frozenset()
    """The current paths of the proposals that need a separate confirmation."""
    weakened: Mapping[str, Mapping[str | None, tuple[Sentence, ...]]] = field(
        default_factory=dict[str, Mapping[str | None, tuple[Sentence, ...]]]
    )
    """Why changes weaken tests (P22), by the current path of the file, then by the id of the hunk (None: the file)."""
    unread: frozenset[str] = frozenset()
    """The current paths of the proposals that no check has read (P21)."""
    unread_first: bool = False
    """Whether the user wants to see these first."""
    checked: CheckFinished | None = None
    """The result of the checks of what was accepted (P18), until a file or a proposal changes.

    With several checks, the first failure, else the last result; None if there is none.
    """
    smallest: SmallestSet | None = None
    """The smallest set that was found last (P19), as long as it is valid."""
    needed: NeededChanges | None = None
    """Which changes the checks need (P23), as long as it is valid."""
    errors: Mapping[Path, Sequence[Problem]] = field(default_factory=dict[Path, Sequence[Problem]])
    """The new errors that the proposals cause (P20), by the file's path in the proposed state.

    A file with such errors may have no proposal itself.
    """


@dataclass(frozen=True, slots=True)
class ToolServersChanged:
    """All tool servers of the session."""

    statuses: Sequence[ServerStatus]


SessionEvent = Event | PlanChanged | EditsChanged | ToolServersChanged


def joined_deltas(events: Sequence[SessionEvent]) -> Iterator[SessionEvent]:
    """The events in order. Successive deltas of one stream are one event; of successive usages the last is left."""
    for _, group in groupby(events, _stream):
        yield _joined(group)


def _stream(event: SessionEvent) -> Any:
    """A key that is equal for events that can be joined. Every other event has a key of its own."""
    match event:
        case Text() | Thinking():
            return type(event), event.run_id, event.restarts
        case ToolOutput(call_id):
            return ToolOutput, call_id
        case UsageReported():
            return UsageReported, event.run_id
        case _:
            return object()


def _joined(events: Iterable[SessionEvent]) -> SessionEvent:
    """Joins the deltas of one stream. Of any other group, the last event says all."""
    first, *rest = events
    if isinstance(first, Text | Thinking | ToolOutput) and rest:
        texts = (delta.text for delta in (first, *rest) if isinstance(delta, Text | Thinking | ToolOutput))
        return replace(first, text="".join(texts))
    return rest[-1] if rest else first
