"""Records the evidence of a session's work, by the plan item that was in progress, if there was one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

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
from fairlead.agent.meter import Account
from fairlead.agent.model import Usage
from fairlead.display import count_of
from fairlead.plan import PlanningState
from fairlead.plan.evidence import BEFORE, UNPLANNED, Record, SubagentWork
from fairlead.session.evidence.spending import SpentByDay, spent_now

CHANGING_KINDS = ("edit", "delete", "move")
READING_KINDS = ("read", "search")


@dataclass(frozen=True, slots=True)
class Inferred:
    """A step that was not planned, inferred from the calls that the agent made before it had a plan."""

    kind: str
    """`look`, or the `ToolKind` of the call."""
    title: str


class Recorder:
    """Builds the record of the work from the events of a session's runs.

    Args:
        plan: returns the current plan.
        clock: seconds since an arbitrary start.
        path_of: returns the absolute path of a call's location.
        file_state_count: returns the number of file states so far.
        now: seconds since the epoch.
    """

    def __init__(
        self,
        plan: Callable[[], PlanningState],
        clock: Callable[[], float],
        path_of: Callable[[str], str],
        file_state_count: Callable[[], int],
        now: Callable[[], float],
    ) -> None:
        self._plan = plan
        self._clock = clock
        self._path_of = path_of
        self._file_state_count = file_state_count
        self._now = now
        self._calls: dict[str, tuple[ToolStarted, str]] = {}
        self._command_steps: dict[str, str] = {}  # by call; a background command outlives its call
        self._used: dict[str | None, tuple[Usage, float | None]] = {}
        """What each current run has used so far, by id, with its cost in US dollars; None if that is unknown."""
        self._timed_at: float | None = None
        self._step = BEFORE
        self._unrecorded_seconds: dict[str, float] = {}
        self._changes = self._commands = 0
        self.record = Record()
        self.inferred: tuple[Inferred, ...] = ()
        self.models: tuple[str, ...] = ()
        self.spent: SpentByDay = {}

    def on_event(self, event: Event) -> None:
        """Adds what an event says about the work to the record."""
        match event:
            case RunStarted(model):
                self.models = tuple(dict.fromkeys((*self.models, model)))
                if not self._used:
                    self._calls, self._timed_at, self._step = {}, self._clock(), self._current_step()
                self._used[event.run_id] = Usage(), 0.0
            case ToolStarted():
                self._add_time()
                self._calls[event.call_id] = event, self._step
            case CommandStarted(call_id, item_id):
                self._command_started(call_id, item_id)
            case CommandEnded(_, run, _, paths):
                step = self._command_steps.pop(run.call_id, BEFORE)
                self._set_record(self._with_files(step, paths).with_command(step, run))
            case ToolFinished():
                self._add_time()
                self._tool_finished(event)
            case UsageReported(usage, cost):
                self._add_cost(event.run_id, usage, cost)
            case RunFinished():
                self._add_time()
                self._used.pop(event.run_id, None)
                if not self._used:
                    self._timed_at = None
                self._set_record(self.record)
            case _:
                pass

    def note_subagent(self, work: SubagentWork) -> None:
        """Notes the current state of a subagent."""
        _, step = self._calls.get(work.call_id, (None, self._step))
        self._set_record(self.record.with_subagent(step, work))

    def add_account(self, account: Account) -> None:
        """Adds to the current step what requests outside of the runs have used."""
        if account.usage.tokens:
            self._spend(account.usage.tokens, account.cost)

    def work_since_update(self) -> str:
        """A sentence for the reminder: what was done since the plan was last updated (docs/plan.md L6).

        It begins with a space; empty if nothing was done. Counts only what this process did.
        """
        facts = [
            count_of(count, word) for word, count in (("edit", self._changes), ("command", self._commands)) if count
        ]
        return f" Since its last update: {' and '.join(facts)}." if facts else ""

    @property
    def step(self) -> str:
        """The id of the item in progress, or as for `_current_step`."""
        return self._current_step()

    def _current_step(self) -> str:
        """The id of the item in progress; without one, `BEFORE` or `UNPLANNED`."""
        plan = self._plan()
        if plan.current is not None:
            return plan.current.id
        return UNPLANNED if plan.items else BEFORE

    def _add_time(self) -> None:
        """Adds the time since the last event to the item that was in progress. Does not change the record yet."""
        now = self._clock()
        if self._timed_at is not None:
            self._unrecorded_seconds[self._step] = self._unrecorded_seconds.get(self._step, 0.0) + now - self._timed_at
            self._timed_at = now
        self._step = self._current_step()

    def _set_record(self, record: Record) -> None:
        """Replaces the record with this one plus the time that `_add_time` has measured since the last change."""
        for step, seconds in self._unrecorded_seconds.items():
            record = record.with_seconds(step, seconds)
        self._unrecorded_seconds = {}
        self.record = record

    def _tool_finished(self, event: ToolFinished) -> None:
        started, step = self._calls.pop(event.call_id, (None, ""))
        if started is None:
            return
        if started.name == "todo" and not event.is_error:
            self._changes = self._commands = 0
        if event.server_call is not None:
            self._set_record(self.record.with_call(step, event.server_call))
        has_merged = started.kind == "agent" and bool(event.paths)  # also if the subagent has failed then
        if event.is_error and not has_merged:
            return
        # a hosted agent also writes with its shell
        if started.kind in CHANGING_KINDS or has_merged or (started.has_claimed_locations and event.paths):
            self._changes += 1
            locations = () if started.has_claimed_locations else started.locations
            self._set_record(self._with_files(step, [*(each.path for each in locations), *event.paths]))
        elif started.kind in READING_KINDS:
            self._set_record(self.record.with_look(step))
        if step == BEFORE and (event.server_call or started.kind in (*CHANGING_KINDS, *READING_KINDS)):
            self._infer(started)

    def _with_files(self, step: str, paths: Iterable[str]) -> Record:
        """The record with more changed files in a step. Relative paths are as the model wrote them."""
        record = self.record
        for path in paths:
            record = record.with_file(step, self._path_of(path), self._file_state_count())
        return record

    def _command_started(self, call_id: str, item_id: str | None) -> None:
        started, current = self._calls.get(call_id, (None, self._current_step()))
        step = item_id or current  # the check of an item may run while another one is in progress
        self._command_steps[call_id] = step
        if started is None:
            return  # a check that the user started, not a call of the agent
        self._commands += 1
        if step == BEFORE:
            self._infer(started)

    def _infer(self, started: ToolStarted) -> None:
        """Adds a step for a call made before the plan. Successive reads are one step, as are successive equal calls."""
        is_read = started.kind in READING_KINDS
        step = Inferred("look", "Look around") if is_read else Inferred(started.kind, started.title)
        if not self.inferred or self.inferred[-1] != step:
            self.inferred = (*self.inferred, step)

    def _add_cost(self, run_id: str | None, usage: Usage, cost: float | None) -> None:
        """Adds the cost of a request to the item that was in progress when it was sent.

        Args:
            usage: of the run so far.
            cost: of the run so far, in US dollars; None if unknown.
        """
        used, cost_before = self._used.get(run_id, (Usage(), 0.0))
        tokens = usage.tokens - used.tokens
        share = None if cost is None or cost_before is None else cost - cost_before
        if tokens > 0:
            self._spend(tokens, share)
        self._used[run_id] = usage, cost

    def _spend(self, tokens: int, usd: float | None) -> None:
        self._set_record(self.record.with_cost(self._step, tokens, usd))
        today = datetime.fromtimestamp(self._now(), UTC).astimezone().date().isoformat()
        self.spent = spent_now(self.spent, today, tokens, usd)
