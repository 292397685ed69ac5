"""What a session tells: the run's events, and its two states whole whenever they change."""

from dataclasses import dataclass

from fairlead.agent.events import Event
from fairlead.edits.changeset import Changeset
from fairlead.plan import PlanningState
from fairlead.plan.evidence import Record
from fairlead.session.recorder import Inferred


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The plan and what is on record for its steps. `version` counts changes of either."""

    version: int
    state: PlanningState
    record: Record
    inferred: tuple[Inferred, ...] = ()


@dataclass(frozen=True, slots=True)
class EditsChanged:
    """`version` never goes back. The labels name what an undo or a redo would do, None where there is nothing.

    `protected` are the paths of the proposals that are accepted only by a yes of their own.
    """

    version: int
    changes: Changeset
    undo_label: str | None
    redo_label: str | None
    protected: frozenset[str] = frozenset()


SessionEvent = Event | PlanChanged | EditsChanged
