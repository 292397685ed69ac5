"""A session: one conversation with its plan and its proposals."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from fairlead.agent import loop
from fairlead.agent.events import Event
from fairlead.agent.loop import Agent, Limits, Outcome
from fairlead.agent.messages import History
from fairlead.models.choose import ModelChoice, OpenModel, open_model
from fairlead.plan import TodoManager
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.session.host import Host, RequestRefused, WrongRequest
from fairlead.session.prompt import MAX_PROMPT, ContextItem, system_prompt, user_prompt
from fairlead.tools.approvals import Approvals
from fairlead.tools.table import tool_table
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Root


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
        self.files = Files(root, host.buffers)
        self.plan = TodoManager()
        self.history = History()
        self.editor = host.editor
        self.reviewing = asyncio.Lock()
        self._approvals = Approvals(host.editor, session_id)
        self._model: OpenModel | None = None
        self._choice: ModelChoice | None = None
        self._task: asyncio.Task[Outcome] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._prompts = 0
        self._published = (0, 0)
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

    async def run(self, prompt: str, context: Sequence[ContextItem] = ()) -> Outcome:
        """Runs a task to its end, whatever the end is. Cancelling the caller cancels the run and still returns.

        Raises:
            WrongRequest: the prompt is empty or too long.
            RequestRefused: this session is running already, or the workspace cannot be worked in.
        """
        self.check(prompt)
        self._title_from(prompt)
        agent = self._agent()
        self._prompts += 1
        self._task = asyncio.ensure_future(loop.run(agent, user_prompt(prompt, context, self.root)))
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            self.cancel()
            return await self._task
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
        plan, edits = self.plan.snapshot(), self.files.version
        if plan.version != self._published[0]:
            self._sink(PlanChanged(plan))
        if edits != self._published[1]:
            self._sink(EditsChanged(edits, self.files.changes))
        self._published = (plan.version, edits)
        if event is not None:
            self._sink(event)

    def observe(self, path: Path) -> None:
        """The editor told something new of a file."""
        self.files.release(path)
        if not self.reviewing.locked():  # else it may be the accept's own edit; the accept looks again at its end
            self.files.observe(path)
            self.publish()

    def _agent(self) -> Agent:
        settings = self._host.settings
        self.plan.max_items = settings.plan.max_items
        self.plan.single_in_progress = settings.plan.single_in_progress
        self.plan.reminder_interval = settings.plan.reminder_interval
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
            limits=Limits(settings.loop.max_repeats, settings.loop.max_rounds),
        )

    def _title_from(self, prompt: str) -> None:
        if not self.title:
            self.title = prompt.strip().splitlines()[0][:80]
