"""Keeps the record of a session's work: what happened is put under the step that was in progress."""

from collections.abc import Callable
from dataclasses import dataclass

from fairlead.agent.events import (
    CommandEnded,
    CommandStarted,
    Event,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
    UsageReported,
)
from fairlead.agent.model import Usage
from fairlead.plan import PlanningState
from fairlead.plan.evidence import BEFORE, UNPLANNED, Record

CHANGING = ("edit", "delete", "move")
LOOKING = ("read", "search")


@dataclass(frozen=True, slots=True)
class Inferred:
    """A step that nobody planned: what the agent was seen doing."""

    kind: str
    title: str


class Recorder:
    """Listens to the events of a session's runs.

    Args:
        plan: the plan as it is now.
        clock: seconds, from any start.
        path_of: the absolute path that a location of a call means.
    """

    def __init__(
        self, plan: Callable[[], PlanningState], clock: Callable[[], float], path_of: Callable[[str], str]
    ) -> None:
        self._plan = plan
        self._clock = clock
        self._path_of = path_of
        self._calls: dict[str, tuple[ToolStarted, str]] = {}
        self._places: dict[str, str] = {}  # of the commands that run, by call: one in the background outlives its call
        self._used = Usage()
        self._cost: float | None = 0.0
        self._since: float | None = None
        self._place = BEFORE
        self._unsettled: dict[str, float] = {}
        self._changes = self._commands = 0
        self.record = Record()
        self.inferred: tuple[Inferred, ...] = ()

    def on_event(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._used, self._cost, self._calls = Usage(), 0.0, {}
                self._since, self._place = self._clock(), self._now()
            case ToolStarted():
                self._spend()
                self._calls[event.call_id] = event, self._place
            case CommandStarted(call_id):
                self._began(call_id)
            case CommandEnded(_, run):
                self._settle(self.record.with_command(self._places.pop(run.call_id, BEFORE), run))
            case ToolFinished():
                self._spend()
                self._finished(event)
            case UsageReported(usage, cost):
                self._paid(usage, cost)
            case RunFinished():
                self._spend()
                self._since = None
                self._settle(self.record)
            case _:
                pass

    def since(self) -> str:
        """What was done since the plan was last updated, a sentence for the reminder (docs/plan.md L6)."""
        facts = [
            f"{count} {word}{'' if count == 1 else 's'}"
            for word, count in (("edit", self._changes), ("command", self._commands))
            if count
        ]
        return f" Since its last update: {' and '.join(facts)}." if facts else ""

    def _now(self) -> str:
        plan = self._plan()
        if plan.current is not None:
            return plan.current.id
        return UNPLANNED if plan.items else BEFORE

    def _spend(self) -> None:
        """The time since the last look is that of the step that was in progress then. Time alone is no news."""
        now = self._clock()
        if self._since is not None:
            self._unsettled[self._place] = self._unsettled.get(self._place, 0.0) + now - self._since
            self._since = now
        self._place = self._now()

    def _settle(self, record: Record) -> None:
        """Takes over a record, with the time that went by until now."""
        for place, seconds in self._unsettled.items():
            record = record.with_seconds(place, seconds)
        self._unsettled = {}
        self.record = record

    def _finished(self, event: ToolFinished) -> None:
        started, place = self._calls.pop(event.call_id, (None, ""))
        if started is None:
            return
        if started.name == "todo" and not event.is_error:
            self._changes = self._commands = 0
        if event.is_error:
            return
        if started.kind in CHANGING:
            self._changes += 1
            record = self.record
            for location in started.locations:
                record = record.with_file(place, self._path_of(location.path))
            self._settle(record)
        elif started.kind in LOOKING:
            self._settle(self.record.with_look(place))
        if place == BEFORE and started.kind in (*CHANGING, *LOOKING):
            self._infer(started)

    def _began(self, call_id: str) -> None:
        started, place = self._calls[call_id]
        self._places[call_id] = place
        self._commands += 1
        if place == BEFORE:
            self._infer(started)

    def _infer(self, started: ToolStarted) -> None:
        """What the agent does without a plan, as steps: looking around is one, however often it looks."""
        looked = started.kind in LOOKING
        step = Inferred("look", "Look around") if looked else Inferred(started.kind, started.title)
        if not self.inferred or self.inferred[-1] != step:
            self.inferred = (*self.inferred, step)

    def _paid(self, usage: Usage, cost: float | None) -> None:
        """A round is paid by the step that was in progress when it was asked for."""
        tokens = usage.tokens - self._used.tokens
        share = None if cost is None or self._cost is None else cost - self._cost
        if tokens > 0:
            self._settle(self.record.with_cost(self._place, tokens, share))
        self._used, self._cost = usage, cost
