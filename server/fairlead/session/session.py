"""A session: one conversation with its plan and its proposals."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from fairlead.agent import loop
from fairlead.agent.budget import Budget
from fairlead.agent.errors import ToolError
from fairlead.agent.events import (
    CheckFinished,
    CommandEnded,
    Event,
    RunFinished,
    RunStarted,
    SmallestSet,
    Steered,
    StopReason,
)
from fairlead.agent.loop import Agent, Limits
from fairlead.agent.messages import Block, History
from fairlead.agent.outcome import Outcome
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.tool import Mode
from fairlead.code.servers.servers import SessionServers
from fairlead.edits.changeset import Changeset
from fairlead.edits.undo import Decision, DecisionLog
from fairlead.plan import PlanError, PlanOp, StalePlan, TodoManager
from fairlead.session.checkpoints import Checkpoint, without_decision
from fairlead.session.code_support import CodeSupport
from fairlead.session.commands import SessionCommands
from fairlead.session.context.prompt_context import PromptContext
from fairlead.session.current_run import CurrentRun
from fairlead.session.errors import RequestRefused, Stale, WrongRequest
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.session.evidence import SessionEvidence
from fairlead.session.feedback import Feedback
from fairlead.session.folders_note import FoldersNote
from fairlead.session.language_servers import FolderServers, ServersWorkspace
from fairlead.session.outbox import Outbox
from fairlead.session.project_rules import ProjectRules
from fairlead.session.prompt import (
    Continuation,
    RunTask,
    check_prompt,
    proposals_note,
    shown_prompt,
    system_prompt,
    title_of,
    user_prompt,
)
from fairlead.session.published import Published
from fairlead.session.server_context import ServerContext
from fairlead.session.session_model import SessionModel
from fairlead.session.settings import Settings
from fairlead.session.state import PAUSES, Phase, SessionState
from fairlead.session.store.journal import Journal
from fairlead.session.store.repair import repaired
from fairlead.session.store.writer import JournalWriter
from fairlead.session.timed_editor import TimedEditor
from fairlead.tools.approvals import Approvals
from fairlead.tools.check_queue import CheckQueue
from fairlead.tools.checks import Checks
from fairlead.tools.commands import Commands
from fairlead.tools.table import tool_table
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots
from fairlead.workspace.protected import Protections


class Session:
    """Owns the state of one conversation. `sink` gets its events; states precede the event that changed them."""

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
        self.state: Phase = "idle"
        self.updated = context.now()  # when the last run began or ended, in seconds since the epoch
        self._context = context
        self._sink = sink
        self.files = Files(roots, context.buffers, context.watch)
        self.plan = TodoManager()
        self.feedback = Feedback(self.files, self.plan.render)
        self._decisions = DecisionLog()
        self.history = History()
        self.checkpoints: tuple[Checkpoint, ...] = ()
        self._last_checkpoint = 0
        self.editor = TimedEditor(context.editor, context.clock)
        self.reviewing = asyncio.Lock()
        self.awaiting_report = asyncio.Event()
        """Set while the server waits until the editor reports a document that it has edited."""
        self.approvals = Approvals(self.editor, session_id)
        servers = FolderServers(self.files, self._servers_of)
        self._code = CodeSupport(
            self.files, servers, lambda: context.editor_code, lambda: context.settings.check.new_errors_seconds
        )
        self.evidence = SessionEvidence(
            self.files, self.plan, self._code.problems, lambda: context.settings, context.clock
        )
        self.plan.since = self.evidence.recorder.since
        self.checks = CheckQueue()
        self.commands = SessionCommands(self.files, self.evidence, context, self.publish)
        self._model = SessionModel(context.choose_model, context.spare_model)
        self._run = CurrentRun()
        self._stopped = StoppedCalls()
        self._prompts = 0
        self.is_rewinding = False
        """Set while an earlier state is restored; no run can start."""
        self._exiting = False
        self.plan_version = 0
        self._published = Published(0, self.evidence.recorder.record, 0, 0, self.decisions, None, None, 0)
        self._sent = self._published
        self.outbox = Outbox(self._save_and_send)
        self.journal_writer = JournalWriter(journal, self.snapshot, context.now)
        self._rules = ProjectRules(self.files, self.publish)
        self._folders_note = FoldersNote()
        self.protections = Protections()
        self._prompt_context = PromptContext(self.files, context.diagnostics, self.publish)

    @property
    def roots(self) -> Roots:
        """The folders of the workspace."""
        return self.files.roots

    @property
    def settings(self) -> Settings:
        return self._context.settings

    @property
    def running(self) -> bool:
        return self._run.is_active

    @property
    def runs(self) -> int:
        """How many runs have begun in this process."""
        return self._run.begun

    @property
    def decisions(self) -> DecisionLog:
        return self._decisions

    def add_decision(self, decision: Decision) -> None:
        self._decisions = self._decisions.with_decision(decision)

    def mark_undone(self, files: Collection[int]) -> None:
        """Records that the last decision was undone in some of its files, given by index."""
        before, self._decisions = self._decisions, self._decisions.undo(files)
        undone = [file for index, file in enumerate(before.done[-1].files) if index in files]
        counts = len(before.done), len(self._decisions.done)
        self.checkpoints = without_decision(self.checkpoints, undone, *counts)

    def mark_redone(self, files: Collection[int]) -> None:
        """Records that the last undone decision was redone in some of its files, given by index."""
        self._decisions = self._decisions.redo(files)

    def change_folders(self, roots: Roots) -> None:
        """Continues with these folders. A running command of the sandbox sees those with which it began."""
        self.files.roots = roots

    def check_can_run(self, continues: Continuation | None) -> None:
        """Raises RequestRefused if a run cannot start."""
        if self.running and not self._run.is_stopping:
            raise RequestRefused("This session is already running a task. Stop it first, or start a new task.")
        if self.is_rewinding:
            raise RequestRefused("This session is being rewound. Try again in a moment.")
        if continues == "paused" and self.state == "idle" and not self.history.messages:
            raise RequestRefused("This session has no run to continue. Send a prompt.")
        plan = self.plan.snapshot()
        if continues == "plan" and plan.completed == len(plan.items):
            raise RequestRefused("This session's plan has no unfinished step. Send a prompt.")
        self.check_workspace()

    def check_workspace(self) -> None:
        """Raises RequestRefused if the workspace cannot be used now, as `ServerContext.workspace`."""
        self._context.workspace()

    async def run(self, task: RunTask, on_begin: Callable[[], None] = lambda: None) -> Outcome:
        """Runs a task and returns the outcome. Cancelling the caller cancels the run; the outcome is still returned.

        If a stopped run has not ended yet, waits for it first. `on_begin` is called when the run begins.

        Raises:
            RequestRefused: the session is already running, has nothing to continue, or its workspace cannot be used.
        """
        self.check_can_run(task.continues)
        if self.running:  # and stopping
            self.cancel()
        self._set_title(task.prompt)
        self.journal_writer.compact()
        self._prompts += 1
        return await self._run.execute(lambda stopped: self._run_loop(task, on_begin, stopped=stopped))

    async def _run_loop(self, given: RunTask, on_begin: Callable[[], None], *, stopped: bool) -> Outcome:
        """Runs the loop after the sandbox has been probed.

        A run that is stopped earlier than that gets its outcome from the loop too.
        """
        on_begin()
        if not stopped:
            try:
                await asyncio.gather(self.commands.ready(), self._rules.begin_run(), self._code.queries.look())
            except asyncio.CancelledError:
                stopped = True
        checkpoint = self._add_checkpoint(given.prompt) if given.continues is None else None
        agent, task = self._agent(given.mode, self.commands.tools(), checkpoint), asyncio.current_task()
        context: list[Block] = []
        if not stopped:
            try:
                context = await self._context_of(given)
            except asyncio.CancelledError:
                stopped = True
        if stopped and task is not None:
            task.cancel()
        else:
            self.commands.start_look()
        return await loop.run(agent, user_prompt(given, context))

    def _add_checkpoint(self, prompt: str) -> int:
        """Remembers the session as it is before a prompt. Returns the checkpoint's id."""
        self._last_checkpoint += 1
        new = Checkpoint(
            id=self._last_checkpoint,
            prompt=shown_prompt(prompt),
            messages=tuple(self.history.messages),
            items=self.plan.snapshot().items,
            user_edits=self.plan.user_edits,
            record=self.evidence.recorder.record,
            inferred=self.evidence.recorder.inferred,
            changes=self.files.changes,
            decisions=len(self._decisions.done),
            pending_feedback=self.feedback.pending,
        )
        self.checkpoints = (*self.checkpoints, new)
        return new.id

    async def _context_of(self, task: RunTask) -> list[Block]:
        """What the model gets with a prompt."""
        surroundings = task.surroundings if self._context.settings.context.editor else None
        limit = self._model.window.results_limit_chars()
        return await self._prompt_context.collect(task.context, surroundings, self.history.messages, limit)

    async def wait_for_end(self) -> None:
        """Waits until a stopped run has ended.

        Raises:
            RequestRefused: the session is running.
        """
        if self.running and not self._run.is_stopping:
            raise RequestRefused("This session is running. Stop it first.")
        await self._run.wait_for_end()

    def steer(self, text: str) -> int:
        """Sends a message to the current run, which reads it at the next boundary. Returns how many are queued.

        Raises:
            WrongRequest: the text is empty or too long.
            RequestRefused: the session is not running.
        """
        check_prompt(text)
        if self.state != "running":
            raise RequestRefused("This session is not running. Start a run with this text instead.")
        self._prompts += 1
        queued = self.feedback.add_user_message(text.strip())
        self.publish(Steered(text.strip()))
        return queued

    def discard_changes(self) -> None:
        """Discards all proposals and decisions; the user's files do not change."""
        self.files.changes = Changeset()
        self._decisions = DecisionLog()
        self.publish()

    def cancel(self) -> None:
        """Stops the run and the background commands, if there are any."""
        self.commands.stop()
        self._run.cancel()

    async def warm(self) -> None:
        """Prepares the first request of the next run."""
        await self._model.connect()

    def prepare_exit(self) -> None:
        """Call it when the process is about to end: a run that ends from now on counts as interrupted."""
        self._exiting = True

    async def close(self) -> None:
        """Stops the run, waits for its processes to end, and closes connections."""
        self.prepare_exit()
        self.cancel()
        await self._run.wait_for_end()
        await self._stopped.wait()
        await self.checks.aclose()
        await self._code.aclose()
        await self.commands.aclose()
        await self._model.aclose()

    async def stop_command(self, handle: str) -> None:
        """Stops a background command or a check at the user's request.

        Raises:
            WrongRequest: there is no command with this handle.
        """
        if await self.checks.stop(handle):
            return
        try:
            command = self.commands.background.get(handle)
        except ToolError as error:
            raise WrongRequest(str(error)) from error
        await command.stop()

    def publish(self, event: Event | None = None) -> None:
        """Records an event of the run, or that something else changed. `Outbox` decides when it is saved and sent."""
        if event is not None:
            self.evidence.recorder.on_event(event)
            self.journal_writer.note(event)
        if isinstance(event, RunStarted | RunFinished):
            self.state = "running" if isinstance(event, RunStarted) else self._phase_after(event.stop_reason)
            self.updated = self._context.now()
        if isinstance(event, CommandEnded):
            self.files.report_changes(None)
        self.evidence.update()
        plan, edits = self.plan.snapshot(), self.files.version
        if isinstance(event, CheckFinished):
            self.evidence.last_checks.add(event)
        files, record = self.evidence.known_files.version, self.evidence.recorder.record
        problems = self._code.problems.version
        now = Published(plan.version, record, files, edits, self.decisions, *self._check_results(), problems)
        before, self._published = self._published, now
        if not now.same_plan(before):
            self.plan_version += 1
        self.outbox.add(event)

    def _save_and_send(self, events: Sequence[Event]) -> None:
        """Saves the session, then sends the plan and the proposals if they changed, then the events.

        Nothing is sent before it is saved, so what the user saw survives a kill.
        """
        before, self._sent = self._sent, self._published
        self.journal_writer.save(events)
        states: list[SessionEvent] = []
        if not self._sent.same_plan(before):
            states.append(self.plan_state())
        if not self._sent.same_edits(before):
            states.append(self.edits())
        if states or events:
            self._sink([*states, *events])

    def _check_results(self) -> tuple[CheckFinished | None, SmallestSet | None]:
        """The results of checks that belong to the proposals as they are now."""
        return self.evidence.last_checks.shown, self.evidence.found_set.now()

    def _phase_after(self, stop_reason: StopReason) -> Phase:
        return "paused" if self._exiting or stop_reason in PAUSES else "idle"

    def snapshot(self) -> SessionState:
        """What is saved of the session, without what `JournalWriter` adds."""
        return SessionState(
            title=self.title,
            phase=self.state,
            updated=self.updated,
            plan=replace(self.plan.snapshot(), version=self.plan_version),
            versions=self.plan.history,
            user_edits=self.plan.user_edits,
            record=self.evidence.recorder.record,
            file_states=self.evidence.known_files.states,
            inferred=self.evidence.recorder.inferred,
            models=self.evidence.recorder.models,
            changes=self.files.changes,
            edits_version=self.files.version,
            decisions=self.decisions,
            rejected=self.files.rejections.all,
            pending_feedback=self.feedback.pending,
            messages=tuple(self.history.messages),
            checkpoints=self.checkpoints,
        )

    async def restore(self, state: SessionState) -> None:
        """Restores the state of an earlier process. Does not continue its run."""
        self.journal_writer.restore(state.events_sent)
        await self.adopt(state)

    async def adopt(self, state: SessionState) -> None:
        """Continues with this state, except for the count of events."""
        self.state = "idle" if state.phase == "idle" else "paused"
        self.updated = state.updated
        self.files.read_tracker.forget()
        self.history.replace(repaired(state.messages, state.calls, state.at))
        self.feedback.restore(state.pending_feedback)
        self.plan.restore(state.plan, state.versions, state.user_edits)
        self.plan_version = state.plan.version
        self._decisions = state.decisions
        self.files.rejections.restore(state.rejected)
        await self.files.restore(state.changes, state.edits_version)
        self.evidence.restore(state)
        self.checkpoints = state.checkpoints
        self._last_checkpoint = max([self._last_checkpoint, *(each.id for each in state.checkpoints)])
        self.publish()

    def edit_plan(self, ops: Sequence[PlanOp], revision: int) -> None:
        """Applies the user's changes of the plan; the model reads about them at the next boundary.

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
        """The current plan, with its record."""
        plan, recorder = self.plan.snapshot(), self.evidence.recorder
        return PlanChanged(self.plan_version, plan, recorder.record, recorder.inferred, self.evidence.supports())

    def edits(self) -> EditsChanged:
        """The current proposals."""
        done, undone = self.decisions.done, self.decisions.undone
        labels = (done[-1].label if done else None, undone[-1].label if undone else None)
        protected = frozenset(self.protections.of(self.roots, self.files.changes))
        checks = self._check_results()
        errors = self._code.problems.errors()
        return EditsChanged(self.files.version, self.files.changes, *labels, protected, *checks, errors)

    async def observe(self, paths: Collection[Path]) -> None:
        """Reads files that may have changed. Publishes once, because thousands may change at the same time."""
        self.files.report_changes(paths)
        # during a decision, the change may be its own edit; decisions read the files again at the end
        if not self.reviewing.locked():
            await self.files.observe(paths, lambda: not self.reviewing.locked())
            self.publish()

    async def _take_feedback(self) -> list[str]:
        """The feedback at this boundary. Reads the proposed files first, because a command may have changed them."""
        changed = self.files.changed_paths()
        if changed:
            await self.observe(changed)
        self._prompt_context.report()
        folders = self._folders_note.take(self.roots, self.history.messages)
        rules = await self._rules.take_new(self.files.read_tracker.folders, self.history.messages)
        report = await self._code.take_report(self.plan.snapshot())
        # last, because the feedback that was taken is not saved until it is in the history
        return [*folders, *await self.feedback.take(), *rules, *report]

    def _agent(self, mode: Mode, commands: Commands, checkpoint: int | None) -> Agent:
        settings = self._context.settings
        self._apply_plan_settings()
        model = self._model.for_run(settings.context_tokens)
        without_seconds = settings.check.without_changes_seconds
        find_general, holds = self.evidence.general_checks, self.evidence.holds
        checks = Checks(self.files, commands, self.approvals, self.checks, find_general, holds, without_seconds)
        budget = Budget(settings.budget.tokens, settings.budget.cost_usd, settings.budget.minutes)
        return Agent(
            model=model,
            system=system_prompt(self.roots) + self._rules.of_root,
            tools=tool_table(
                self.files, self.plan, self.approvals, commands, checks, self._code.queries, self._context.diagnostics
            ),
            plan=self.plan,
            history=self.history,
            emit=self.publish,
            change_token=lambda: (self.files.change_token, self.plan.snapshot().revision, self._prompts),
            take_feedback=self._take_feedback,
            has_user_message=lambda: self.feedback.has_user_message,
            check_proposals=self._code.check,
            cost_of=self._model.cost_of,
            proposals=lambda: proposals_note(self.files.changes, self.roots),
            window=self._model.window,
            stopped=self._stopped,
            checkpoint=checkpoint,
            mode=mode,
            limits=Limits(settings.loop.max_repeats, settings.loop.max_rounds, settings.loop.max_idle_rounds, budget),
            clock=lambda: self._context.clock() - self.editor.waited_seconds,
        )

    def _servers_of(self, folder: Path) -> SessionServers:
        workspace = ServersWorkspace(
            self.id, self.files, folder, lambda: self.commands, self._context, self.editor.approve
        )
        return SessionServers(workspace, self._context.server_pool, self._context.clock)

    def _set_title(self, prompt: str) -> None:
        if not self.title:
            self.title = title_of(prompt)
