"""The record of the work on each step. Pure values."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from fairlead.plan.items import PlanItem

Verification = Literal["none", "shown", "claimed", "contradicted"]

# work while no step was in progress: before there was a plan, and with a plan
BEFORE: Literal["before"] = "before"
UNPLANNED: Literal["unplanned"] = "unplanned"


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A command that ran. `exit_code` is None if it was killed. `stopped` on purpose is not a failure."""

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
    """The recorded work on one step. `files` are the changed paths; `cost` is in US dollars, None if unknown."""

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
    """The evidence by step id, and for work outside of steps. A step keeps its id (P6)."""

    by_step: Mapping[str, Evidence] = field(default_factory=dict[str, Evidence])

    def of(self, step: str) -> Evidence:
        return self.by_step.get(step, Evidence())

    def with_file(self, step: str, path: str) -> "Record":
        old = self.of(step)
        return self._with(step, replace(old, files=tuple(dict.fromkeys((*old.files, path)))))

    def with_command(self, step: str, run: CommandRun) -> "Record":
        old = self.of(step)
        return self._with(step, replace(old, commands=(*old.commands, run)))

    def with_look(self, step: str) -> "Record":
        old = self.of(step)
        return self._with(step, replace(old, looks=old.looks + 1))

    def with_seconds(self, step: str, seconds: float) -> "Record":
        old = self.of(step)
        return self._with(step, replace(old, seconds=old.seconds + seconds))

    def with_cost(self, step: str, tokens: int, cost: float | None) -> "Record":
        old = self.of(step)
        total = None if cost is None or old.cost is None else old.cost + cost
        return self._with(step, replace(old, tokens=old.tokens + tokens, cost=total))

    def _with(self, step: str, evidence: Evidence) -> "Record":
        return Record({**self.by_step, step: evidence})


def verification(item: PlanItem, evidence: Evidence) -> Verification:
    """What supports a completed step (P15): work, only the model's claim, or a failed command against it."""
    if item.status != "completed":
        return "none"
    if evidence.commands and evidence.commands[-1].failed:
        return "contradicted"
    return "shown" if item.marked or not evidence.empty else "claimed"
