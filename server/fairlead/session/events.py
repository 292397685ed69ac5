"""What a session tells: the run's events, and its two states whole whenever they change."""

from dataclasses import dataclass

from fairlead.agent.events import Event
from fairlead.edits.changeset import Changeset
from fairlead.plan import PlanningState


@dataclass(frozen=True, slots=True)
class PlanChanged:
    state: PlanningState


@dataclass(frozen=True, slots=True)
class EditsChanged:
    """`version` never goes back."""

    version: int
    changes: Changeset


SessionEvent = Event | PlanChanged | EditsChanged
