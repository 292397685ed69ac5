"""Subagents: runs with a task, a conversation and limits of their own, which a call of the main run waits for."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fairlead.agent.agent import Agent
from fairlead.agent.events import Event, RunFinished, ToolStarted, UsageReported
from fairlead.agent.guard import IdleGuard, RepeatGuard
from fairlead.agent.interceptors import Interceptor
from fairlead.agent.limits import Limits
from fairlead.agent.loop import Run
from fairlead.agent.meter import Meter
from fairlead.agent.model import Model
from fairlead.agent.old_images import OldImages
from fairlead.agent.outcome import Outcome
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.tool import RunningCall, Tool
from fairlead.agent.window import Window
from fairlead.display import shorten
from fairlead.edits.origins import Author
from fairlead.errors import ToolError
from fairlead.gate.gate import Gate
from fairlead.messages.history import clean_text
from fairlead.messages.parts import Note, Part, Prompt, Text
from fairlead.models.factory import ModelChoice, open_model
from fairlead.plan import PlanItem, PlanningState, TodoManager
from fairlead.plan.evidence import SubagentWork
from fairlead.session.hooks.interceptor import CallHooks, StopHooks
from fairlead.session.run.feedback_interceptor import FeedbackInterceptor, LateMessages
from fairlead.session.run.prompt import proposals_note
from fairlead.session.session_model import cost_of, window_size
from fairlead.session.subagent import RunningSubagent, SubagentLog
from fairlead.skills.agent_file import AgentFile
from fairlead.tools.command_changes import ProposedChanges, propose_changes
from fairlead.tools.fork_changes import changes_between
from fairlead.tools.kept_results import KeptResults
from fairlead.uncancelled import finish_uncancelled
from fairlead.user_hooks.hooks import UserHooks
from fairlead.workspace.files import Files

MAX_AT_ONCE = 6
"""How many subagents of a run work at the same time; further ones wait."""
MAX_REPORT_CHARS = 20_000
"""How much of a report the model gets at once."""
MAX_TITLE = 80
EXPLORER_TYPE = "Explore"
"""What hooks call an explorer, as in Claude Code."""
NOT_FINISHED = "(The subagent did not finish: {reason})"
STOPPED_BY_USER = "The user stopped this subagent. Do not start it again unless the user asks for it."
NO_REPORT = "It has not reported anything."


async def no_new_errors() -> bool:
    """A subagent's proposals are checked when they are merged."""
    return False


@dataclass(frozen=True)
class MainRun:
    """What a run shares with its subagents."""

    files: Files
    plan: TodoManager
    publish: Callable[[Event | None], None]
    """Publishes an event, which has the id of its run. None: the proposals have changed."""
    note_work: Callable[[SubagentWork], None]
    """Takes the state of a subagent whenever it has changed, before the next event."""
    new_id: Callable[[], str]
    """Returns an id for a run."""
    execute: Callable[[Run, Sequence[Part]], Awaitable[Outcome]]
    """Executes a run."""
    model: Model
    """The main run's model, which plays a recording for all."""
    meter: Meter
    limits: Limits
    max_repeats: int
    max_idle_rounds: int
    stopped: StoppedCalls
    log: SubagentLog
    kept: KeptResults
    models: "SpareModels"
    gate: Gate
    explorer: Callable[[RunningSubagent], "Worker"]
    """Returns what a subagent works with that changes nothing."""
    worker: Callable[[AgentFile, RunningSubagent], "Worker"]
    """Returns what an agent in a file works with as a subagent."""


@dataclass(frozen=True)
class Worker:
    """What a subagent works with."""

    system: str
    """The system prompt."""
    tools: Mapping[str, Tool]
    choice: ModelChoice
    """What answers its requests."""
    hooks: UserHooks
    """They see its fork of the files."""
    aclose: Callable[[], Awaitable[None]]
    """Ends its commands."""


@dataclass
class SpareModels:
    """The models of subagents that have ended, for the next ones. A model has one request at a time."""

    _idle: list[tuple[ModelChoice, Model]] = field(default_factory=list[tuple[ModelChoice, Model]])

    def take(self, choice: ModelChoice) -> Model:
        """A model of this choice, which nothing else uses until it is given back."""
        for entry in self._idle:
            if entry[0] == choice:
                self._idle.remove(entry)
                return entry[1]
        return open_model(choice)

    def give_back(self, choice: ModelChoice, model: Model) -> None:
        self._idle.append((choice, model))

    async def aclose(self) -> None:
        """Closes the models that nothing uses."""
        idle, self._idle = self._idle, []
        for _, model in idle:
            await model.aclose()


class Subagents:
    """Starts the subagents of one run."""

    def __init__(self, run: MainRun) -> None:
        self._run = run
        self._places = asyncio.Semaphore(MAX_AT_ONCE)

    async def explore(self, title: str, task: str, continues: str, call: RunningCall) -> str:
        """Lets a subagent find something out, and returns its report (`Start` of tools/explore.py).

        Raises:
            ToolError: there is no earlier one to continue, or it did not finish.
        """
        subagent = self._begin("", title, continues, call)
        try:
            report = await self._work(self._run.explorer(subagent), subagent, task, call)
        finally:
            self._end(subagent)
        if subagent.work.state != "done":
            raise ToolError(report)
        return report

    async def delegate(self, agent: AgentFile, title: str, task: str, continues: str, call: RunningCall) -> str:
        """Lets an agent in a file do a task, merges what it proposed, and returns its report.

        What it has proposed is merged however it ends, as what a command has changed would be.

        Raises:
            ToolError: as `explore`.
        """
        subagent = self._begin(agent.name, title, continues, call)
        try:
            report = await self._work(self._run.worker(agent, subagent), subagent, task, call)
        finally:
            merged = await finish_uncancelled(self._merge(subagent, call))
        lines = "\n".join(filter(None, (report, *merged.report)))
        if subagent.work.state != "done":
            raise ToolError(lines)
        return lines

    async def _merge(self, subagent: RunningSubagent, call: RunningCall) -> ProposedChanges:
        """Merges what a subagent has proposed, and ends it."""
        try:
            merged = await merge(self._run.files, subagent.before, subagent.fork, call.author)
            subagent.is_merged, call.changed_paths = True, merged.paths
            return merged
        finally:
            self._end(subagent)
            self._run.publish(None)  # if the call was stopped, it has no event anymore

    def _begin(self, agent: str, title: str, continues: str, call: RunningCall) -> RunningSubagent:
        """Begins a subagent for a call, which knows what an earlier one knew if the call continues it.

        Raises:
            ToolError: there is no earlier one with this title.
        """
        run = self._run
        earlier = run.log.ended(shorten(continues, MAX_TITLE)) if continues else None
        if continues and earlier is None:
            raise ToolError(f"There is no earlier subagent with the title {continues!r}. Leave out continue.")
        before, fork = run.files.fork(), run.files.fork()
        work = SubagentWork(call.id, shorten(title, MAX_TITLE), agent, "running")
        subagent = RunningSubagent(run.new_id(), work, call.item_id, before, fork)
        if earlier is not None:
            subagent.history.replace(earlier.messages)
        run.log.begin(subagent)
        run.note_work(work)
        return subagent

    def _end(self, subagent: RunningSubagent) -> None:
        if subagent.work.state == "running":  # its run has not begun
            subagent.work = replace(subagent.work, state="stopped")
            self._run.note_work(subagent.work)
        self._run.log.end(subagent.run_id)

    async def _work(self, worker: Worker, subagent: RunningSubagent, task: str, call: RunningCall) -> str:
        """Lets a subagent work. Returns its report, or why it has not finished and what it wrote last."""
        call.progress = lambda: f"Stopped. {_partial(subagent)}"
        work = asyncio.ensure_future(self._execute(worker, subagent, task, call))
        subagent.stop = work.cancel
        outcome: Outcome | None = None
        try:
            outcome = await work
        except asyncio.CancelledError:  # it was stopped before its run began
            pass
        finally:
            await finish_uncancelled(worker.aclose())
        if outcome is None or outcome.stop_reason == "cancelled":
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise asyncio.CancelledError
            return f"{STOPPED_BY_USER} {_partial(subagent)}"
        if outcome.stop_reason == "end_turn":
            return self._run.kept.shortened(outcome.message, MAX_REPORT_CHARS)
        return f"{NOT_FINISHED.format(reason=outcome.message)}\n{_partial(subagent)}"

    async def _execute(self, worker: Worker, subagent: RunningSubagent, task: str, call: RunningCall) -> Outcome:
        run = self._run
        async with self._places:
            model = run.model if worker.choice.replay is not None else run.models.take(worker.choice)
            try:
                agent = self._agent(worker, subagent, model, call)
                return await run.execute(Run(agent), [Prompt(clean_text(task.strip()))])
            finally:
                if model is not run.model:
                    run.models.give_back(worker.choice, model)

    def _agent(self, worker: Worker, subagent: RunningSubagent, model: Model, call: RunningCall) -> Agent:
        run, choice, files = self._run, worker.choice, subagent.fork

        def emit(event: Event) -> None:
            run.publish(replace(event, run_id=subagent.run_id))
            if isinstance(event, UsageReported | RunFinished):
                run.note_work(subagent.work)
            if isinstance(event, ToolStarted) and not event.refused:
                call.output(f"{event.title}\n")

        window = Window(choice.endpoint.is_hosted)
        window.begin_run(window_size(choice, model))
        meter = Meter(lambda usage: cost_of(choice, model, usage), window, emit, run.meter)

        def change_token() -> tuple[int, int, int]:
            return files.change_token

        async def take_said() -> list[Prompt | Note]:
            return subagent.take_said()

        said = FeedbackInterceptor(take_said, lambda: bool(subagent.said), no_new_errors, emit)
        interceptors: list[Interceptor] = [
            CallHooks(worker.hooks, run.gate, lambda: files.roots),
            run.limits.of_subagent(),
            OldImages(subagent.history, model.capabilities.images, emit),
            RepeatGuard(change_token, run.max_repeats, run.max_idle_rounds),
            IdleGuard(change_token, run.max_repeats, run.max_idle_rounds),
            said,
            StopHooks(worker.hooks, emit, subagent.work.agent or EXPLORER_TYPE),
            LateMessages(said),
        ]
        return Agent(
            run_id=subagent.run_id,
            model=model,
            system=worker.system,
            tools=worker.tools,
            plan=_plan_with(run.plan, call.item_id),
            history=subagent.history,
            emit=emit,
            interceptors=interceptors,
            meter=meter,
            proposals=lambda: proposals_note(files.changes, files.roots),
            window=window,
            stopped=run.stopped,
        )


async def merge(files: Files, before: Files, fork: Files, author: Author) -> ProposedChanges:
    """Proposes what was proposed in a fork, as if a command had changed it.

    Args:
        before: a fork of the same moment, in which nothing was proposed.
    """
    return await propose_changes(files, await changes_between(before, fork), files.roots, author)


def _plan_with(plan: TodoManager, item_id: str | None) -> TodoManager:
    """A plan with nothing but the step for which a subagent works, so that what it does belongs to the step."""
    items: tuple[PlanItem, ...] = tuple(item for item in plan.snapshot().items if item.id == item_id)
    own = TodoManager()
    own.restore(PlanningState(items))
    return own


def _partial(subagent: RunningSubagent) -> str:
    """What a subagent wrote last, for the agent that asked it."""
    parts = (part for message in subagent.history.messages if message.role == "assistant" for part in message.parts)
    said = [part.text for part in parts if isinstance(part, Text)]
    return f"What it wrote last:\n{said[-1][:MAX_REPORT_CHARS]}" if said else NO_REPORT
