"""A session: one conversation with its plan and its proposals."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairlead.agent import loop
from fairlead.agent.budget import Budget
from fairlead.agent.errors import ToolError
from fairlead.agent.events import Event, RunFinished, RunStarted, Steered, StopReason
from fairlead.agent.loop import Agent, Limits
from fairlead.agent.messages import Block, History
from fairlead.agent.model import Usage
from fairlead.agent.outcome import Outcome
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.tool import Mode
from fairlead.agent.window import Window
from fairlead.edits.changeset import Changeset
from fairlead.edits.undo import Decision, DecisionLog
from fairlead.models.factory import ClosableModel, ModelChoice, open_model
from fairlead.models.prices import context_of, price_of
from fairlead.plan import PlanError, PlanOp, StalePlan, TodoManager
from fairlead.plan.evidence import Record
from fairlead.session.commands import SessionCommands
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.session.feedback import Feedback
from fairlead.session.host import Host, RequestRefused, Stale, WrongRequest
from fairlead.session.prompt import RunTask, check_prompt, proposals_note, system_prompt, user_prompt
from fairlead.session.recorder import Recorder
from fairlead.session.state import PAUSES, Phase, SessionState
from fairlead.session.store.journal import Journal
from fairlead.session.store.repair import repaired
from fairlead.session.store.writer import Keeper
from fairlead.session.timed_editor import Patience
from fairlead.tools.approvals import Approvals
from fairlead.tools.commands import Commands, finish_uncancelled
from fairlead.tools.table import tool_table
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Root
from fairlead.workspace.risk import protections


@dataclass(frozen=True, slots=True)
class _Published:
    """What went out last. Compared by identity where it can be: this is asked for each piece of text."""

    plan: int
    record: Record
    edits: int
    decisions: DecisionLog

    def same_plan(self, other: "_Published") -> bool:
        return self.plan == other.plan and self.record is other.record

    def same_edits(self, other: "_Published") -> bool:
        return self.edits == other.edits and self.decisions is other.decisions


class Session:
    """The owner of a task's state. All that changes goes out through `sink`, states before the event behind them."""

    def __init__(
        self,
        session_id: str,
        title: str,
        root: Root,
        host: Host,
        sink: Callable[[SessionEvent], None],
        journal: Journal,
    ) -> None:
        self.id = session_id
        self.title = title
        self.state: Phase = "idle"
        self.updated = host.now()  # when the last run began or ended
        self._host = host
        self._sink = sink
        self.root = root
        self.files = Files(root, host.buffers, host.watch)
        self.plan = TodoManager()
        self.feedback = Feedback(self.files, self.plan.render)
        self._decisions = DecisionLog()
        self.history = History()
        self.window = Window()
        self.editor = Patience(host.editor, host.clock)
        self.reviewing = asyncio.Lock()
        self.unreported = asyncio.Event()
        """Set while the editor has applied an edit but has not reported the changed document yet."""
        self.approvals = Approvals(self.editor, session_id)
        self.commands = SessionCommands(self.files, host, self.publish)
        self._model: ClosableModel | None = None
        self._choice: ModelChoice | None = None
        self._task: asyncio.Task[Outcome] | None = None
        self._caller: asyncio.Task[Any] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._stopped = StoppedCalls()
        self._prompts = 0
        self._stopping = False
        self._leaving = False
        self.recorder = Recorder(self.plan.snapshot, host.clock, self._path_of)
        self.plan.since = self.recorder.since
        self.plan_version = 0
        self._published = _Published(0, self.recorder.record, 0, self.decisions)
        self.keeper = Keeper(journal, self.snapshot, host.now)
        self._system = system_prompt(root)

    def _path_of(self, given: str) -> str:
        """One file has one path on the record, however the model spells it."""
        try:
            return str(self.root.resolve(given))
        except ToolError:  # the call did nothing there
            return str(self.root.path / given)

    @property
    def running(self) -> bool:
        return self._task is not None

    @property
    def decisions(self) -> DecisionLog:
        return self._decisions

    def add_decision(self, decision: Decision) -> None:
        self._decisions = self._decisions.with_decision(decision)

    def mark_undone(self, files: Collection[int]) -> None:
        """Records that the last decision was undone in some of its files, given by index."""
        self._decisions = self._decisions.undo(files)

    def mark_redone(self, files: Collection[int]) -> None:
        """Records that the last undone decision was redone in some of its files, given by index."""
        self._decisions = self._decisions.redo(files)

    def check_can_run(self) -> None:
        """Raises RequestRefused if a run cannot start."""
        if self.running and not self._is_stopping():
            raise RequestRefused("This session is already running a task. Stop it first, or start a new task.")
        self._host.workspace()

    async def run(self, task: RunTask, begins: Callable[[], None] = lambda: None) -> Outcome:
        """Runs a task to its end, whatever the end is. Cancelling the caller cancels the run and still returns.

        A run that was stopped and has not come to its end is waited for; `begins` is called behind that.

        Raises:
            RequestRefused: this session is running already, or the workspace cannot be worked in.
        """
        self.check_can_run()
        if self.running:  # and about to stop
            self.cancel()
        self._title_from(task.prompt)
        self.keeper.tidy()
        self._prompts += 1
        run = asyncio.ensure_future(self._begun(self._task, user_prompt(task, self.root), task.mode, begins))
        self._task, self._caller, self._stopping = run, asyncio.current_task(), False
        try:
            while not run.done():
                try:
                    await asyncio.wait({run})
                except asyncio.CancelledError:  # however often
                    if self._task is run:
                        self.cancel()
            return run.result()
        finally:
            if self._task is run:
                self._task = self._caller = None

    def _is_stopping(self) -> bool:
        """Whether the run was stopped; its caller may have been cancelled and not have come to hear of it yet."""
        return self._stopping or (self._caller is not None and self._caller.cancelling() > 0)

    async def _begun(
        self, before: asyncio.Task[Outcome] | None, prompt: list[Block], mode: Mode, begins: Callable[[], None]
    ) -> Outcome:
        """The loop, once the run before is over and it is known how commands can run.

        One that is stopped before that ends in good order too.
        """
        stopped = False
        try:
            await finish_uncancelled(_end_of(before))
        except asyncio.CancelledError:
            stopped = True
        begins()
        if not stopped:
            try:
                await self.commands.ready()
            except asyncio.CancelledError:
                stopped = True
        agent, task = self._agent(mode, self.commands.tools()), asyncio.current_task()
        if stopped and task is not None:
            task.cancel()
        return await loop.run(agent, prompt)

    def steer(self, text: str) -> int:
        """Says something to the run under way, which hears it at the next boundary. Returns how many words wait.

        Raises:
            WrongRequest: the text is empty or too long.
            RequestRefused: nothing runs.
        """
        check_prompt(text)
        if self.state != "running":
            raise RequestRefused("Nothing runs in this session, so nobody would hear it. Give it as a task instead.")
        self._prompts += 1
        queued = self.feedback.said(text.strip())
        self.publish(Steered(text.strip()))
        return queued

    def clear(self) -> None:
        """Lets go of all proposals; the person's files stay as they are."""
        self.files.changes = Changeset()
        self._decisions = DecisionLog()
        self.publish()

    def cancel(self) -> None:
        """Stops the run and what runs in the background; nothing happens where nothing is on."""
        self.commands.stop()
        if self._task is not None and not self._stopping:
            self._stopping = True
            # behind its first step: a run that has not begun could not end in good order
            asyncio.get_running_loop().call_soon(self._task.cancel)

    def leave(self) -> None:
        """The process is about to end: a run that ends with it counts as interrupted."""
        self._leaving = True

    async def close(self) -> None:
        """Stops the run, waits until nothing of it is left, and closes connections."""
        self.leave()
        self.cancel()
        await _end_of(self._task)
        await self._stopped.wait()
        await self.commands.aclose()
        if self._model is not None:
            await self._model.aclose()

    async def stop_command(self, handle: str) -> None:
        """The person ends a background command.

        Raises:
            WrongRequest: there is none of that name.
        """
        try:
            command = self.commands.background.get(handle)
        except ToolError as error:
            raise WrongRequest(str(error)) from error
        await command.stop()

    def publish(self, event: Event | None = None) -> None:
        """Sends what changed of plan and proposals, then the event."""
        if event is not None:
            self.recorder.on_event(event)
        if isinstance(event, RunStarted | RunFinished):
            self.state = "running" if isinstance(event, RunStarted) else self._rest(event.stop_reason)
            self.updated = self._host.now()
        plan, edits = self.plan.snapshot(), self.files.version
        now = _Published(plan.version, self.recorder.record, edits, self.decisions)
        before, self._published = self._published, now
        if not now.same_plan(before):
            self.plan_version += 1
        self.keeper.keep(event)
        if not now.same_plan(before):
            self._sink(self.plan_state())
        if not now.same_edits(before):
            self._sink(self.edits())
        if event is not None:
            self._sink(event)

    def _rest(self, stop_reason: StopReason) -> Phase:
        return "paused" if self._leaving or stop_reason in PAUSES else "idle"

    def snapshot(self) -> SessionState:
        """All that is kept of it, but for what the keeper knows."""
        return SessionState(
            title=self.title,
            phase=self.state,
            updated=self.updated,
            plan=replace(self.plan.snapshot(), version=self.plan_version),
            versions=self.plan.history,
            wish=self.plan.wish,
            record=self.recorder.record,
            inferred=self.recorder.inferred,
            changes=self.files.changes,
            edits_version=self.files.version,
            decisions=self.decisions,
            rejected=self.files.rejections.all,
            unheard=self.feedback.unheard,
            messages=tuple(self.history.messages),
        )

    async def restore(self, kept: SessionState) -> None:
        """Goes on where another process was; nothing runs by itself."""
        self.state = "idle" if kept.phase == "idle" else "paused"
        self.updated = kept.updated
        self.history.replace(repaired(kept.messages, kept.calls, kept.at))
        self.feedback.restore(kept.unheard)
        self.plan.restore(kept.plan, kept.versions, kept.wish)
        self.plan_version = kept.plan.version
        self.recorder.record, self.recorder.inferred = kept.record, kept.inferred
        self._decisions = kept.decisions
        self.files.rejections.restore(kept.rejected)
        await self.files.restore(kept.changes, kept.edits_version)
        self.keeper.restore(kept.told)
        self.publish()

    def edit_plan(self, ops: Sequence[PlanOp], revision: int) -> None:
        """The person changes the plan; the model hears of it at the next boundary.

        Raises:
            Stale: the plan changed since that revision; nothing was done.
            WrongRequest: an operation makes no sense; nothing was done.
        """
        self._set_up_plan()
        try:
            told = self.plan.edit(ops, revision)
        except StalePlan as error:
            raise Stale(str(error)) from error
        except PlanError as error:
            raise WrongRequest(str(error)) from error
        self.feedback.plan_edited(told)
        self.publish()

    def _set_up_plan(self) -> None:
        settings = self._host.settings.plan
        self.plan.max_items = settings.max_items
        self.plan.single_in_progress = settings.single_in_progress
        self.plan.reminder_interval = settings.reminder_interval

    def plan_state(self) -> PlanChanged:
        """The plan as it is now, with its record."""
        return PlanChanged(self.plan_version, self.plan.snapshot(), self.recorder.record, self.recorder.inferred)

    def edits(self) -> EditsChanged:
        """The proposals as they are now."""
        done, undone = self.decisions.done, self.decisions.undone
        labels = (done[-1].label if done else None, undone[-1].label if undone else None)
        protected = frozenset(protections(self.root, self.files.changes))
        return EditsChanged(self.files.version, self.files.changes, *labels, protected)

    async def observe(self, paths: Collection[Path]) -> None:
        """Files may say something else by now. Published once: thousands may change at one moment."""
        # while something is decided it may be that edit; whoever decides looks again at the end
        if not self.reviewing.locked():
            await self.files.observe(paths, lambda: not self.reviewing.locked())
            self.publish()

    async def _take_feedback(self) -> list[str]:
        """What the model should hear at this boundary. Its own command may have changed a file that it has edited."""
        await self.observe([Path(proposal.path) for proposal in self.files.changes])
        return await self.feedback.take()

    def _cost(self, usage: Usage) -> float | None:
        price = price_of(self._model.name) if self._model is not None else None
        return price.of(usage) if price is not None else None

    def _agent(self, mode: Mode, commands: Commands) -> Agent:
        settings = self._host.settings
        self._set_up_plan()
        choice = self._host.choose_model()
        if self._model is None or choice != self._choice:
            if self._model is not None:
                closing = asyncio.ensure_future(self._model.aclose())
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
            self._model, self._choice, self.window = open_model(choice), choice, Window(choice.endpoint.is_hosted)
        self.window.begin_run(
            settings.context_tokens or context_of(self._model.name) if choice.replay is None else None
        )
        budget = Budget(settings.budget.tokens, settings.budget.cost_usd, settings.budget.minutes)
        return Agent(
            model=self._model,
            system=self._system,
            tools=tool_table(self.files, self.plan, self.approvals, commands, self._host.diagnostics),
            plan=self.plan,
            history=self.history,
            emit=self.publish,
            change_token=lambda: (self.files.change_token, self.plan.snapshot().revision, self._prompts),
            take_feedback=self._take_feedback,
            has_user_message=lambda: self.feedback.has_user_message,
            cost_of=self._cost,
            proposals=lambda: proposals_note(self.files.changes, self.root),
            window=self.window,
            stopped=self._stopped,
            mode=mode,
            limits=Limits(settings.loop.max_repeats, settings.loop.max_rounds, settings.loop.max_idle_rounds, budget),
            clock=lambda: self._host.clock() - self.editor.seconds,
        )

    def _title_from(self, prompt: str) -> None:
        if not self.title:
            self.title = prompt.strip().splitlines()[0][:80]


async def _end_of(task: asyncio.Task[Outcome] | None) -> None:
    if task is not None:
        await asyncio.wait({task})
