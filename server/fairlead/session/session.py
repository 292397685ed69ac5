"""A session: one conversation with its plan and its proposals."""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fairlead.agent.events import CheckFinished, CommandEnded, Event, RunFinished, RunStarted, Steered, StopReason
from fairlead.agent.loop import Run
from fairlead.agent.outcome import Outcome
from fairlead.agent.tool import Mode
from fairlead.code.servers.servers import SessionServers
from fairlead.edits.changeset import Changeset
from fairlead.errors import ToolError
from fairlead.gate.gate import Gate
from fairlead.messages.history import History
from fairlead.messages.parts import Note, Part, Prompt
from fairlead.plan import PlanError, PlanOp, StalePlan, TodoManager
from fairlead.session.code_support import CodeSupport
from fairlead.session.commands import SessionCommands
from fairlead.session.errors import RequestRefused, Stale, WrongRequest
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.session.evidence.session_evidence import SessionEvidence
from fairlead.session.language_servers import FolderServers, ServersWorkspace
from fairlead.session.publisher import Publisher
from fairlead.session.review.checks import UserChecks
from fairlead.session.review.review import Review
from fairlead.session.run.agent_builder import AgentBuilder
from fairlead.session.run.current_run import CurrentRun
from fairlead.session.run.feedback import Feedback
from fairlead.session.run.prompt import Continuation, RunTask, check_prompt, shown_prompt, title_of, user_prompt
from fairlead.session.server_context import ServerContext
from fairlead.session.settings import Settings
from fairlead.session.state import PAUSES, Phase, SessionState
from fairlead.session.store.journal import Journal
from fairlead.session.store.repair import repaired
from fairlead.session.store.writer import JournalWriter
from fairlead.session.timed_editor import TimedEditor
from fairlead.tools.check_queue import CheckQueue
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots


class Session:
    """Owns the state of one conversation.

    `sink` gets its events. If an event changed the plan or the proposals, they come before this event.
    """

    def __init__(
        self,
        session_id: str,
        title: str,
        roots: Roots,
        context: ServerContext,
        sink: Callable[[Sequence[SessionEvent]], None],
        journal: Journal,
    ) -> None:
        self.id = session_id
        self.title = title
        self.phase: Phase = "idle"
        self.updated = context.now()
        """When the last run began or ended, in seconds since the epoch.

        Before the first run: when the session was created, or the value that it was restored or forked with.
        """
        self.mode: Mode = "agent"
        """The mode of the last run; `agent` before the first one."""
        self._context = context
        self.files = Files(roots, context.buffers, context.watch, context.opened_secrets)
        self.plan = TodoManager()
        self.feedback = Feedback(self.files, self.plan.render)
        self.history = History()
        self.editor = TimedEditor(context.editor, context.clock)
        gate = Gate(session_id, self.editor, lambda: self.commands.policy())  # noqa: PLW0108  they are made below
        self.review = Review(self.files, self.feedback, self.editor, gate, self.publish, self.protected)
        servers = FolderServers(self.files, self._servers_of, self.editor.waiting_for_server)
        self._code = CodeSupport(
            self.files, servers, lambda: context.editor_code, lambda: context.settings.check.new_errors_seconds
        )
        self.evidence = SessionEvidence(
            self.files, self.plan, self._code.problems, lambda: context.settings, context.clock, self.publish
        )
        self.plan.work_since_update = self.evidence.recorder.work_since_update
        self.commands = SessionCommands(self.files, self.evidence, context, self.publish, gate)
        self._run = CurrentRun()
        self.user_checks = UserChecks(
            context,
            self.review,
            self.plan,
            self.evidence,
            self.commands,
            CheckQueue(),
            self._run,
            self.publish,
        )
        self._prompt_count = 0
        """Increases with each prompt, continuation and message from the user; starts at 0 in each process."""
        self.is_rewinding = False
        """Set while an earlier state is restored; no run can start."""
        self._exiting = False
        self.journal_writer = JournalWriter(journal, self.snapshot, context.now)
        self._publisher = Publisher(
            self.plan, self.files, self.evidence, lambda: self.review.decisions, self.journal_writer, sink
        )
        self._agent_builder = AgentBuilder(
            context=context,
            files=self.files,
            plan=self.plan,
            history=self.history,
            feedback=self.feedback,
            evidence=self.evidence,
            commands=self.commands,
            code=self._code,
            check_queue=self.user_checks.queue,
            editor=self.editor,
            publish=self.publish,
        )

    @property
    def roots(self) -> Roots:
        """The folders of the workspace."""
        return self.files.roots

    @property
    def settings(self) -> Settings:
        """The user's current settings."""
        return self._context.settings

    @property
    def running(self) -> bool:
        """Whether there is a run. A run counts from its request until it has ended, even if it was stopped before."""
        return self._run.is_active

    def change_folders(self, roots: Roots) -> None:
        """Continues with these folders. A sandboxed command that is already running still sees the earlier ones."""
        self.files.roots = roots

    def check_can_run(self, continues: Continuation | None) -> None:
        """Raises RequestRefused if a run cannot start. A stopped run that has not ended yet does not prevent it.

        Args:
            continues: as in `RunTask`.
        """
        if self.running and not self._run.is_stopping:
            raise RequestRefused("This session is already running. Stop it first, or start a new session.")
        if self.is_rewinding:
            raise RequestRefused("This session is being rewound. Try again in a moment.")
        if continues == "paused" and self.phase == "idle" and not self.history.messages:
            raise RequestRefused("This session has no run to continue. Send a prompt.")
        plan = self.plan.snapshot()
        if continues == "plan" and plan.completed == len(plan.items):
            raise RequestRefused("This session's plan has no unfinished step. Send a prompt.")
        self.check_workspace()

    def check_workspace(self) -> None:
        """Raises RequestRefused if the workspace cannot be used now (`ServerContext.workspace`)."""
        self._context.workspace()

    async def run(self, task: RunTask, on_begin: Callable[[], None] = lambda: None) -> Outcome:
        """Runs a task and returns the outcome. Cancelling the caller cancels the run; the outcome is still returned.

        If a stopped run has not ended yet, waits for it first. `on_begin` is called when the run begins, before its
        first event.

        Raises:
            RequestRefused: the session is already running, is being rewound, has nothing to continue, or its workspace
                cannot be used.
        """
        self.check_can_run(task.continues)
        if self.running:  # the run is stopping, or `check_can_run` would have raised
            self.cancel()
        self._set_title(task.prompt)
        self.journal_writer.compact()
        self._prompt_count += 1
        return await self._run.execute(lambda stopped: self._run_loop(task, on_begin, stopped=stopped))

    async def _run_loop(self, task: RunTask, on_begin: Callable[[], None], *, stopped: bool) -> Outcome:
        """Prepares the run (the sandbox, the rules, the prompt's context), then runs the loop.

        Args:
            stopped: whether the run was stopped before it began. If it was, or if it is stopped while it is prepared,
                the loop still runs, and returns the outcome of a stopped run.
        """
        on_begin()
        self._agent_builder.run_id = self._run.id = f"run{self.journal_writer.events + 1}"
        if not stopped:
            try:
                await self._agent_builder.begin_run()
            except asyncio.CancelledError:
                stopped = True
        checkpoint = None
        if task.continues is None:
            checkpoint = self.review.history.add_checkpoint(self.snapshot(), shown_prompt(task.prompt))
            self.feedback.plan_edited(self.plan.begin_prompt())
        self.mode = task.mode or self.mode
        if self.mode != "ask":  # a question does not change whether the plan awaits approval
            self.plan.set_awaits_approval(self.mode == "plan")
        self._apply_plan_settings()
        agent = self._agent_builder.build(self.mode, checkpoint, lambda: self._prompt_count, self._take_feedback)
        current = asyncio.current_task()
        context: list[Part] = []
        if not stopped:
            try:
                context = await self._agent_builder.collect_context(task)
            except asyncio.CancelledError:
                stopped = True
        if stopped and current is not None:
            current.cancel()  # takes effect in the loop, which turns it into an outcome
        else:
            self.commands.start_guarded_search()
        outcome = await Run(agent).execute(user_prompt(task.prompt, self.mode, context, checkpoint))
        await self._compare_at_end(outcome)
        return outcome

    async def _compare_at_end(self, outcome: Outcome) -> None:
        """Finds out which verifications still hold at the end of a run. The end of a stopped run does not wait."""
        with contextlib.suppress(asyncio.CancelledError):  # the user stops the run when it has ended already
            if outcome.stop_reason != "cancelled":
                await self.compare_files()
                return
        self.evidence.compare_in_background()

    async def compare_files(self) -> None:
        """Finds out which verifications still hold (`SessionEvidence.compare`), and publishes that."""
        await self.evidence.compare()
        self.publish()

    async def wait_for_end(self) -> None:
        """Waits until a stopped run has ended, if there is one.

        Raises:
            RequestRefused: the session has a run that was not stopped.
        """
        if self.running and not self._run.is_stopping:
            raise RequestRefused("This session is running. Stop it first.")
        await self._run.wait_for_end()

    def steer(self, text: str) -> int:
        """Queues a message to the current run. Returns how many messages are queued, including this one.

        The model reads it between two rounds, or with the next prompt if the run ends first.

        Raises:
            WrongRequest: the text is empty or too long.
            RequestRefused: the session is not running, or its run has not started yet.
        """
        check_prompt(text)
        if self.phase != "running" and self.running and not self._run.is_stopping:
            raise RequestRefused("This session's run has not started yet. Try again in a moment.")
        if self.phase != "running":
            raise RequestRefused("This session is not running. Start a run with this text instead.")
        self._prompt_count += 1
        queued = self.feedback.add_user_message(text.strip())
        self.publish(Steered(text.strip(), run_id=self._run.id))
        return queued

    def discard_changes(self) -> None:
        """Discards all proposals and decisions; the user's files do not change."""
        self.files.changes = Changeset()
        self.review.history.discard_decisions()
        self.publish()

    def cancel(self) -> None:
        """Stops the run and the background commands, if there are any, without waiting for them to end.

        Does not stop the checks that the user started.
        """
        self.commands.stop()
        self._run.cancel()

    async def warm(self) -> None:
        """Connects to the model, so that the next run is faster.

        Does nothing before the session's first run in this process.
        """
        await self._agent_builder.warm()

    def prepare_exit(self) -> None:
        """Call it when the process is about to end: a run that ends from now on counts as interrupted."""
        self._exiting = True

    async def close(self) -> None:
        """Stops everything that runs in the session, waits until its processes have ended, and closes connections.

        The run counts as interrupted. The journal stays open.
        """
        self.prepare_exit()
        self.cancel()
        await self._run.wait_for_end()
        await self._agent_builder.wait_for_stopped_calls()
        await self.user_checks.queue.aclose()
        await self._code.aclose()
        await self.commands.aclose()
        await self.evidence.aclose()
        await self._agent_builder.aclose()

    async def stop_command(self, handle: str) -> None:
        """Stops a background command or a check at the user's request, and waits until its processes have ended.

        Does nothing if it has ended already.

        Raises:
            WrongRequest: no command or check had this handle.
        """
        if await self.user_checks.queue.stop(handle):
            return
        try:
            command = self.commands.background.get(handle)
        except ToolError as error:
            raise WrongRequest(str(error)) from error
        await command.stop()

    def publish(self, event: Event | None = None) -> None:
        """Records an event of a run or a check, and updates the evidence. `Outbox` decides when it is saved and sent.

        Args:
            event: None: something has changed without an event.
        """
        if event is not None:
            self.evidence.recorder.on_event(event)
            self.journal_writer.note(event)
        if isinstance(event, RunStarted | RunFinished) and event.run_id == self._run.id:
            self.phase = "running" if isinstance(event, RunStarted) else self._phase_after(event.stop_reason)
            self.updated = self._context.now()
        if isinstance(event, CommandEnded):
            self.files.report_changes(None)
        self.evidence.update()
        if isinstance(event, CheckFinished):
            self.evidence.last_checks.add(event)
        self._publisher.publish(event)

    def flush(self) -> None:
        """Saves and sends the events that `Outbox` holds."""
        self._publisher.outbox.flush()

    def _phase_after(self, stop_reason: StopReason) -> Phase:
        return "paused" if self._exiting or stop_reason in PAUSES else "idle"

    def snapshot(self) -> SessionState:
        """The state to save, except for the values that `JournalWriter` adds."""
        return SessionState(
            title=self.title,
            phase=self.phase,
            updated=self.updated,
            mode=self.mode,
            plan=replace(self.plan.snapshot(), version=self._publisher.plan_version),
            versions=self.plan.history,
            user_edits=self.plan.user_edits,
            record=self.evidence.recorder.record,
            file_states=self.evidence.known_files.states,
            workspace_files=self.evidence.known_files.workspace.saved,
            inferred=self.evidence.recorder.inferred,
            models=self.evidence.recorder.models,
            changes=self.files.changes,
            edits_version=self.files.version,
            decisions=self.review.decisions,
            rejected=self.files.rejections.all,
            pending_feedback=self.feedback.pending,
            messages=tuple(self.history.messages),
            checkpoints=self.review.history.checkpoints,
        )

    async def restore(self, state: SessionState) -> None:
        """Restores the state of an earlier process. Does not continue its run."""
        self.journal_writer.restore(state.events_sent)
        await self.adopt(state)

    async def adopt(self, state: SessionState) -> None:
        """Replaces the session's state, except for its title and the count of events.

        Call it only without a run. If the state was saved during a run, the session is paused afterwards, because that
        run counts as unfinished.
        """
        self.phase = "idle" if state.phase == "idle" else "paused"
        self.updated = state.updated
        self.mode = state.mode
        self.files.read_tracker.forget()
        self.history.replace(repaired(state.messages, state.calls, state.at))
        self.feedback.restore(state.pending_feedback)
        self.plan.restore(state.plan, state.versions, state.user_edits)
        self._publisher.plan_version = state.plan.version
        self.review.history.restore(state)
        self.files.rejections.restore(state.rejected)
        await self.files.restore(state.changes, state.edits_version)
        self.evidence.restore(state)
        await self.compare_files()

    def edit_plan(self, ops: Sequence[PlanOp], revision: int) -> None:
        """Applies the user's changes to the plan, all or none. The model reads about them in the next feedback.

        Args:
            revision: the `PlanningState.revision` that the user saw.

        Raises:
            Stale: the plan has changed since this revision; nothing was done.
            WrongRequest: an operation is invalid; nothing was done.
        """
        self._apply_plan_settings()
        try:
            descriptions = self.plan.edit(ops, revision)
        except StalePlan as error:
            raise Stale(str(error)) from error
        except PlanError as error:
            raise WrongRequest(str(error)) from error
        self.feedback.plan_edited(descriptions)
        self.publish()

    def _apply_plan_settings(self) -> None:
        settings = self._context.settings.plan
        self.plan.max_items = settings.max_items
        self.plan.single_in_progress = settings.single_in_progress
        self.plan.reminder_interval = settings.reminder_interval

    def plan_state(self) -> PlanChanged:
        """The current plan, with its record and what supports its items."""
        return self._publisher.plan_state()

    def edits(self) -> EditsChanged:
        """The current proposals, with the decisions that can be undone and redone, and what checks found."""
        return self._publisher.edits()

    def protected(self) -> Mapping[str, str]:
        """The proposals that need a separate confirmation: the reason for each, by its current path."""
        return self._publisher.protected()

    async def observe(self, paths: Collection[Path]) -> None:
        """Reads files that may have changed. Publishes once, because thousands may change at the same time.

        During a decision, only notes that the files must be read before the next round, and publishes nothing.
        """
        self.files.report_changes(paths)
        # during a decision, the change may be its own edit; a decision reads its files again at the end
        if not self.review.lock.locked():
            await self.files.observe(paths, lambda: not self.review.lock.locked())
            self.publish()

    async def _take_feedback(self) -> list[Prompt | Note]:
        """Returns the feedback that the model has not read yet.

        First reads the files with proposals that may have changed, for example because a command has run.
        """
        changed = self.files.paths_to_observe()
        if changed:
            await self.observe(changed)
        return await self._agent_builder.take_feedback()

    def _servers_of(self, folder: Path) -> SessionServers:
        workspace = ServersWorkspace(self.files, folder, lambda: self.commands, self._context)
        return SessionServers(workspace, self._context.server_pool, self._context.clock)

    def _set_title(self, prompt: str) -> None:
        if not self.title:
            self.title = title_of(prompt)
