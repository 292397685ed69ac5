"""The runs of a session. One at a time is the main one: the session is running while it is."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from fairlead.agent.events import Event, RunFinished, RunStarted, Steered, StopReason
from fairlead.agent.loop import Run
from fairlead.agent.outcome import Outcome
from fairlead.agent.single_call import SingleCall
from fairlead.agent.tool import Mode
from fairlead.messages.parts import Note, Part, Prompt
from fairlead.session.decision_history import DecisionHistory
from fairlead.session.errors import RequestRefused
from fairlead.session.hooks.session_hooks import BeforePrompt
from fairlead.session.hooks.texts import BLOCKED_PROMPT
from fairlead.session.run.agent_builder import AgentBuilder
from fairlead.session.run.called_tool import CallAnswer, CalledTool
from fairlead.session.run.current_run import CurrentRun
from fairlead.session.run.hosted_run import HostedRun
from fairlead.session.run.prompt import RunTask, shown_prompt, user_prompt
from fairlead.session.state import PAUSES, Phase, SessionState

AnyRun = Run | SingleCall | HostedRun


class Runs:
    """Prepares and executes the runs of one session, and knows those that are going on.

    Args:
        snapshot: returns the session's state, for the checkpoint before a prompt.
        take_feedback: returns what the model has not read yet.
        count_events: returns how many events the session has published so far.
        compare_files: finds out which verifications still hold.
        current: starts and stops the main run.
    """

    def __init__(
        self,
        builder: AgentBuilder,
        decisions: DecisionHistory,
        snapshot: Callable[[], SessionState],
        take_feedback: Callable[[], Awaitable[Sequence[Prompt | Note]]],
        count_events: Callable[[], int],
        compare_files: Callable[[], Awaitable[None]],
        current: CurrentRun,
    ) -> None:
        self._builder = builder
        self._decisions = decisions
        self._snapshot = snapshot
        self._take_feedback = take_feedback
        self._count_events = count_events
        self._compare_files = compare_files
        self._current = current
        self.main_id = ""
        """The id of the latest main run; empty before the first one in this process."""
        self.going: dict[str, AnyRun] = {}
        """The runs that have begun and not ended, by id."""
        self.mode: Mode = "agent"
        """The mode of the last main run; `agent` before the first one."""
        self.agent = ""
        """The name of the agent of the last main run, as in `RunTask`."""
        self.ended: StopReason | None = None
        """Why the last main run ended; None while it goes on, and if it was interrupted or there was none."""
        self._resting: Phase = "idle"
        self._unchanged: int | None = None
        """The revision of the plan before a run in the mode `plan`; None if the plan awaited approval already."""
        self._last_number = 0
        self._prompt_count = 0
        """Increases with each prompt, continuation and message from the user; starts at 0 in each process."""
        self._exiting = False

    @property
    def phase(self) -> Phase:
        """The phase of the main run; between two runs, how the session waits for the next one."""
        main = self.going.get(self.main_id)
        return "running" if main is not None and main.is_running else self._resting

    @property
    def is_active(self) -> bool:
        """Whether there is a main run. It counts from its request until it has ended, even if it was stopped before."""
        return self._current.is_active

    def check_can_start(self) -> None:
        """Raises RequestRefused if a main run goes on. A stopped one that has not ended yet does not count."""
        if self.is_active and not self._current.is_stopping:
            raise RequestRefused("This session is already running. Stop it first, or start a new session.")

    async def execute_main(
        self, task: RunTask, on_begin: Callable[[], None], on_allowed: Callable[[], None] = lambda: None
    ) -> Outcome:
        """Executes the main run for a task. Cancelling the caller cancels the run; the outcome is still returned.

        If a stopped run has not ended yet, waits for it first. `on_begin` is called when the run begins, before its
        first event, `on_allowed` when the hooks have let the prompt pass.
        """
        self._prompt_count += 1
        return await self._current.execute(
            lambda stopped: self._prepare_main(task, on_begin, on_allowed, stopped=stopped)
        )

    async def _prepare_main(
        self, task: RunTask, on_begin: Callable[[], None], on_allowed: Callable[[], None], *, stopped: bool
    ) -> Outcome:
        """Prepares the run (the sandbox, the rules, the hooks, the prompt's context), then executes it.

        Args:
            stopped: whether the run was stopped before it began. If it was, or if it is stopped while it is prepared,
                the loop still runs, and returns the outcome of a stopped run.
        """
        on_begin()
        self._builder.run_id = self.main_id = self.new_id()
        self._builder.agent = self.agent = self.agent if task.agent is None else task.agent
        before, hosted = BeforePrompt(), self._builder.hosted.chosen
        if not stopped:
            try:
                await (self._builder.begin_run() if hosted is None else self._builder.begin_hosted())
                before = await self._builder.before_prompt(task)
            except asyncio.CancelledError:
                stopped = True
        if before.ending is None:
            on_allowed()
        checkpoint = self._add_checkpoint(task.prompt) if task.continues is None else None
        self.mode = task.mode or self.mode
        plan = self._builder.plan
        self._unchanged = None if plan.snapshot().awaits_approval else plan.snapshot().revision
        if self.mode != "ask":  # a question does not change whether the plan awaits approval
            plan.set_awaits_approval(self.mode == "plan")
        self._builder.apply_plan_settings()
        run: Run | HostedRun
        if hosted is not None:
            run = self._builder.build_hosted(hosted, self.mode, checkpoint, self._take_feedback, before.ending)
        else:
            agent = self._builder.build(
                self.mode, checkpoint, lambda: self._prompt_count, self._take_feedback, before.ending
            )
            run = Run(agent)
        current = asyncio.current_task()
        context: list[Part] = []
        if not stopped and before.ending is None:
            try:
                context = [*await self._builder.collect_context(task), *before.notes]
            except asyncio.CancelledError:
                stopped = True
        if stopped and current is not None:
            current.cancel()  # takes effect in the loop, which turns it into an outcome
        else:
            self._builder.commands.start_guarded_search()
        prompt = user_prompt(task.prompt, self.mode, context, checkpoint)
        outcome = await self.execute(run, prompt if before.ending is None else [Note("hook", BLOCKED_PROMPT)])
        await self._compare_at_end(outcome)
        return outcome

    async def execute_call(self, called: CalledTool, on_begin: Callable[[], None]) -> CallAnswer:
        """Executes a call by another program as the main run. Cancelling the caller cancels it.

        Raises:
            RequestRefused: it was stopped before the call began.
        """
        self._prompt_count += 1
        made: list[SingleCall] = []

        async def work(stopped: bool) -> Outcome:
            made.append(await self._prepare_call(called, on_begin, stopped=stopped))
            outcome = await self.execute(made[0], called.message(made[0].checkpoint))
            await self._compare_at_end(outcome)
            return outcome

        await self._current.execute(work)
        [call] = made
        if not call.results:
            raise RequestRefused("The call was stopped before it began.")
        [result] = call.results
        feedback = "\n\n".join(part.text for part in call.feedback)
        return CallAnswer(result.call_id, result.text, result.is_error, feedback)

    async def _prepare_call(self, called: CalledTool, on_begin: Callable[[], None], *, stopped: bool) -> SingleCall:
        """Prepares a call. The arguments are those of `_prepare_main`."""
        on_begin()
        self._builder.run_id = self.main_id = self.new_id()
        if not stopped:
            try:
                await self._builder.begin_call()
            except asyncio.CancelledError:
                stopped = True
        checkpoint = self._add_checkpoint(called.prompt) if called.prompt else None
        self.mode, self.agent = "agent", ""
        self._builder.plan.set_awaits_approval(False)
        self._builder.apply_plan_settings()
        current = asyncio.current_task()
        if stopped and current is not None:
            current.cancel()  # takes effect in the call, which turns it into an outcome
        else:
            self._builder.commands.start_guarded_search()
        return self._builder.build_call(called, checkpoint, self._take_feedback)

    def _add_checkpoint(self, prompt: str) -> int:
        """A checkpoint before a prompt, which begins new work: the step in progress becomes pending (P11)."""
        checkpoint = self._decisions.add_checkpoint(self._snapshot(), shown_prompt(prompt))
        self._builder.feedback.plan_edited(self._builder.plan.begin_prompt())
        return checkpoint

    async def _compare_at_end(self, outcome: Outcome) -> None:
        """Finds out which verifications still hold at the end of a run. The end of a stopped run does not wait."""
        with contextlib.suppress(asyncio.CancelledError):  # the user stops the run when it has ended already
            if outcome.stop_reason != "cancelled":
                await self._compare_files()
                return
        self._builder.evidence.compare_in_background()

    def new_id(self) -> str:
        """An id for a run, which no other run of the session has, not even in an earlier process."""
        self._last_number = max(self._last_number, self._count_events()) + 1
        return f"run{self._last_number}"

    async def execute(self, run: AnyRun, prompt: Sequence[Part]) -> Outcome:
        """Executes a run, which may be another one than the main one. It is in `going` meanwhile."""
        self.going[run.id] = run
        try:
            return await run.execute(prompt)
        finally:
            del self.going[run.id]

    def note_files(self) -> None:
        """The proposals or the user's documents may have changed: a hosted agent that works must see them."""
        main = self.going.get(self.main_id)
        if isinstance(main, HostedRun):
            main.note_files()

    def note(self, event: Event) -> None:
        """Call it with each event before it is published, so that what is sent with it has the right `phase`."""
        if isinstance(event, RunStarted) and event.run_id == self.main_id:
            self.ended = None
        if isinstance(event, RunFinished) and event.run_id == self.main_id:
            self.ended = None if self._exiting else event.stop_reason
            self._resting = "paused" if self._exiting or event.stop_reason in PAUSES else "idle"
            plan = self._builder.plan
            if self.mode == "plan" and plan.snapshot().revision == self._unchanged:
                plan.set_awaits_approval(False)  # the run wrote no plan

    def steer(self, text: str) -> tuple[int, Steered]:
        """Queues a message to the main run. Returns how many messages are queued, including this one, and its event.

        Raises:
            RequestRefused: there is no main run, or it has not started yet.
        """
        if self.phase != "running" and self.is_active and not self._current.is_stopping:
            raise RequestRefused("This session's run has not started yet. Try again in a moment.")
        if self.phase != "running":
            raise RequestRefused("This session is not running. Start a run with this text instead.")
        self._prompt_count += 1
        return self._builder.feedback.add_user_message(text), Steered(text, run_id=self.main_id)

    def cancel(self) -> None:
        """Stops the main run, if there is one, without waiting for its end."""
        self._current.cancel()

    async def wait_for_end(self) -> None:
        """Waits until a stopped main run has ended, if there is one.

        Raises:
            RequestRefused: there is a main run that was not stopped.
        """
        if self.is_active and not self._current.is_stopping:
            raise RequestRefused("This session is running. Stop it first.")
        await self._current.wait_for_end()

    @property
    def is_exiting(self) -> bool:
        """Whether a run that ends now counts as interrupted."""
        return self._exiting

    def prepare_exit(self) -> None:
        """Call it when the process is about to end: a run that ends from now on counts as interrupted."""
        self._exiting = True

    async def aclose(self) -> None:
        """Stops the main run, which counts as interrupted, and waits for its end."""
        self.prepare_exit()
        self.cancel()
        await self._current.wait_for_end()

    def adopt(self, state: SessionState) -> None:
        """Takes over a saved state. If it was saved during a run, that run counts as unfinished."""
        self._resting = "idle" if state.phase == "idle" else "paused"
        self.mode, self.agent = state.mode, state.agent
        self.ended = state.ended
