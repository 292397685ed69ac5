"""What happened under each step: the record beside the plan. Values and sums; no clock, no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from fairlead.plan.items import PlanItem

Verification = Literal["none", "shown", "claimed", "contradicted"]

# what happened while no step was in progress, by when: before there was a plan, and with one
BEFORE: Literal["before"] = "before"
UNPLANNED: Literal["unplanned"] = "unplanned"


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A command that ran. `exit_code` is None where it was killed; `stopped`: on purpose, which is no failure."""

    call_id: str
    command: str
    exit_code: int | None
    seconds: float
    stopped: bool = False

    @property
    def failed(self) -> bool:
        return self.exit_code != 0 and not self.stopped


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one step. `files` are paths that it changed; `cost` is in US dollars, None where unknown."""

    files: tuple[str, ...] = ()
    commands: tuple[CommandRun, ...] = ()
    looks: int = 0
    seconds: float = 0.0
    tokens: int = 0
    cost: float | None = 0.0

    @property
    def empty(self) -> bool:
        return not (self.files or self.commands or self.looks)


@dataclass(frozen=True)
class Record:
    """The evidence by step id, and of what belongs to no step. Identity is the id, which a step keeps (P6)."""

    by_place: Mapping[str, Evidence] = field(default_factory=dict[str, Evidence])

    def of(self, place: str) -> Evidence:
        return self.by_place.get(place, Evidence())

    def with_file(self, place: str, path: str) -> "Record":
        old = self.of(place)
        return self._with(place, replace(old, files=tuple(dict.fromkeys((*old.files, path)))))

    def with_command(self, place: str, run: CommandRun) -> "Record":
        old = self.of(place)
        return self._with(place, replace(old, commands=(*old.commands, run)))

    def with_look(self, place: str) -> "Record":
        old = self.of(place)
        return self._with(place, replace(old, looks=old.looks + 1))

    def with_seconds(self, place: str, seconds: float) -> "Record":
        old = self.of(place)
        return self._with(place, replace(old, seconds=old.seconds + seconds))

    def with_cost(self, place: str, tokens: int, cost: float | None) -> "Record":
        old = self.of(place)
        total = None if cost is None or old.cost is None else old.cost + cost
        return self._with(place, replace(old, tokens=old.tokens + tokens, cost=total))

    def _with(self, place: str, evidence: Evidence) -> "Record":
        return Record({**self.by_place, place: evidence})


def verification(item: PlanItem, evidence: Evidence) -> Verification:
    """What stands behind a completed step: something, nothing but the word of the model, or a command that failed."""
    if item.status != "completed":
        return "none"
    if evidence.commands and evidence.commands[-1].failed:
        return "contradicted"
    return "shown" if item.marked or not evidence.empty else "claimed"
