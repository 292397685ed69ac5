"""A session: one conversation with its plan and its proposals."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairlead.agent import loop
from fairlead.agent.events import Event, RunFinished, UsageReported
from fairlead.agent.loop import Agent, Limits, Outcome
from fairlead.agent.messages import History, Message
from fairlead.agent.model import Usage
from fairlead.agent.tool import Mode
from fairlead.edits.undo import Steps
from fairlead.models.choose import ModelChoice, OpenModel, open_model
from fairlead.models.prices import price_of
from fairlead.plan import PlanError, PlanOp, StalePlan, TodoManager
from fairlead.plan.evidence import Record
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.session.feedback import Feedback
from fairlead.session.host import Host, RequestRefused, Stale, WrongRequest
from fairlead.session.prompt import MAX_PROMPT, ContextItem, system_prompt, user_prompt
from fairlead.session.recorder import Recorder
from fairlead.session.snapshot import Snapshot
from fairlead.tools.approvals import Approvals
from fairlead.tools.table import tool_table
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Root


@dataclass(frozen=True, slots=True)
class _Published:
    """What went out last. Compared by identity where it can be: this is asked for each piece of text."""

    plan: int
    record: Record
    edits: int
    steps: Steps

    def same_plan(self, other: "_Published") -> bool:
        return self.plan == other.plan and self.record is other.record

    def same_edits(self, other: "_Published") -> bool:
        return self.edits == other.edits and self.steps is other.steps


class Session:
    """The owner of a task's state. All that changes goes out through `sink`, states before the event behind them."""

    def __init__(
        self, session_id: str, title: str, root: Root, host: Host, sink: Callable[[SessionEvent], None]
    ) -> None:
        self.id = session_id
        self.title = title
        self._host = host
        self._sink = sink
        self.root = root
        self.files = Files(root, host.buffers, host.watch)
        self.plan = TodoManager()
        self.feedback = Feedback(self.files, self.plan.render)
        self.steps = Steps()
        self.history = History()
        self.editor = host.editor
        self.reviewing = asyncio.Lock()
        self._approvals = Approvals(host.editor, session_id)
        self._model: OpenModel | None = None
        self._choice: ModelChoice | None = None
        self._task: asyncio.Task[Outcome] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._prompts = 0
        self.recorder = Recorder(self.plan.snapshot, host.clock, lambda path: str(self.root.path / path))
        self.plan.since = self.recorder.since
        self.plan_version = 0
        self._published = _Published(0, self.recorder.record, 0, self.steps)
        self._whole: tuple[Message, ...] = ()  # the conversation as of the last run's end: valid for a next request
        self._system = system_prompt(root)

    @property
    def running(self) -> bool:
        return self._task is not None

    def check(self, prompt: str) -> None:
        """Raises what `run` would raise now."""
        if not prompt.strip():
            raise WrongRequest("The task is empty. Say what should be done.")
        if len(prompt) > MAX_PROMPT:
            raise WrongRequest(
                f"The task is too long ({len(prompt):,} characters, the limit is {MAX_PROMPT:,}). "
                "Put the text into a file of the workspace and name the file."
            )
        if self.running:
            raise RequestRefused("This session is already running a task. Stop it first, or start a new task.")
        self._host.workspace()

    async def run(self, prompt: str, context: Sequence[ContextItem] = (), mode: Mode = "agent") -> Outcome:
        """Runs a task to its end, whatever the end is. Cancelling the caller cancels the run and still returns.

        Raises:
            WrongRequest: the prompt is empty or too long.
            RequestRefused: this session is running already, or the workspace cannot be worked in.
        """
        self.check(prompt)
        self._title_from(prompt)
        agent = self._agent(mode)
        self._prompts += 1
        self._task = asyncio.ensure_future(loop.run(agent, user_prompt(prompt, context, self.root, mode)))
        try:
            return self._paid(await asyncio.shield(self._task))
        except asyncio.CancelledError:
            self.cancel()
            return self._paid(await self._task)
        finally:
            self._task = None

    def cancel(self) -> None:
        """Stops the run; nothing happens where none is on."""
        if self._task is not None:
            # behind its first step: a run that has not begun could not end in good order
            asyncio.get_running_loop().call_soon(self._task.cancel)

    async def close(self) -> None:
        """Stops the run and lets go of connections."""
        self.cancel()
        if self._model is not None:
            await self._model.aclose()

    def publish(self, event: Event | None = None) -> None:
        """Sends what changed of plan and proposals, then the event."""
        if isinstance(event, UsageReported):
            event = replace(event, cost=self._cost(event.usage))
        if event is not None:
            self.recorder.on_event(event)
        plan, edits = self.plan.snapshot(), self.files.version
        now = _Published(plan.version, self.recorder.record, edits, self.steps)
        if not now.same_plan(self._published):
            self.plan_version += 1
            self._sink(self.plan_state())
        if not now.same_edits(self._published):
            self._sink(self.edits())
        if isinstance(event, RunFinished):
            self._whole = tuple(self.history.messages)
            self._keep()
        elif not (now.same_plan(self._published) and now.same_edits(self._published)):
            self._keep()
        self._published = now
        if event is not None:
            self._sink(event)

    def _keep(self) -> None:
        plan = replace(self.plan.snapshot(), version=self.plan_version)
        record, files = self.recorder.record, self.files
        heard, root = self.feedback.waiting, str(self.root.path)
        kept = Snapshot(self.id, self.title, root, plan, record, files.changes, files.version, self._whole, heard)
        self._host.kept.keep(kept)

    def restore(self, snapshot: Snapshot) -> None:
        """Goes on where another process was."""
        self._whole = snapshot.messages
        self.history.restore(snapshot.messages)
        self.feedback.restore(snapshot.feedback)
        self.plan.restore(snapshot.plan)
        self.plan_version = snapshot.plan.version
        self.recorder.record = snapshot.record
        self.files.restore(snapshot.changes, snapshot.version)
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
        done, undone = self.steps.done, self.steps.undone
        labels = (done[-1].label if done else None, undone[-1].label if undone else None)
        return EditsChanged(self.files.version, self.files.changes, *labels)

    def observe(self, path: Path) -> None:
        """A file may say something else by now."""
        if not self.reviewing.locked():  # else it may be the accept's own edit; the accept looks again at its end
            self.files.observe(path)
            self.publish()

    def _news(self) -> list[str]:
        """What the model should hear at this boundary. Its own command may have changed a file that it has edited."""
        for proposal in list(self.files.changes):
            self.observe(Path(proposal.path))
        return self.feedback.take()

    def _paid(self, outcome: Outcome) -> Outcome:
        return replace(outcome, cost=self._cost(outcome.usage))

    def _cost(self, usage: Usage) -> float | None:
        price = price_of(self._model.name) if self._model is not None else None
        return price.of(usage) if price is not None else None

    def _agent(self, mode: Mode) -> Agent:
        settings = self._host.settings
        self._set_up_plan()
        choice = self._host.choose_model()
        if self._model is None or choice != self._choice:
            if self._model is not None:
                closing = asyncio.ensure_future(self._model.aclose())
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
            self._model, self._choice = open_model(choice), choice
        return Agent(
            model=self._model,
            system=self._system,
            tools=tool_table(self.files, self.plan, self._approvals, settings.bash.timeout_seconds),
            plan=self.plan,
            history=self.history,
            emit=self.publish,
            stamp=lambda: (self.files.stamp, self.plan.snapshot().revision, self._prompts),
            notes=self._news,
            mode=mode,
            limits=Limits(settings.loop.max_repeats, settings.loop.max_rounds),
        )

    def _title_from(self, prompt: str) -> None:
        if not self.title:
            self.title = prompt.strip().splitlines()[0][:80]
