"""A session: one conversation with its plan and its proposals."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fairlead.agent.events import (
    CheckFinished,
    CommandEnded,
    CommandStarted,
    Event,
    RunFinished,
    RunStarted,
    StepBegan,
    Text,
    Thinking,
    ToolOutput,
)
from fairlead.agent.meter import Account
from fairlead.agent.outcome import Outcome
from fairlead.code.servers.servers import SessionServers
from fairlead.edits.changeset import Changeset
from fairlead.edits.origins import Author
from fairlead.errors import ToolError
from fairlead.gate.gate import Gate
from fairlead.hosted_agents.agents import AgentError, HostedAgents
from fairlead.messages.history import History, clean_text
from fairlead.messages.parts import Note, Prompt
from fairlead.plan import PlanError, PlanningState, PlanOp, StalePlan, TodoManager
from fairlead.sentences import Phrase
from fairlead.session.code_support import CodeSupport
from fairlead.session.commands import SessionCommands
from fairlead.session.conversation import Continued, Conversation, Ended, Prompted
from fairlead.session.errors import RequestRefused, Stale, WrongRequest
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.session.evidence.session_evidence import SessionEvidence
from fairlead.session.hooks.session_hooks import SessionHooks
from fairlead.session.hooks.workspace import HooksWorkspace
from fairlead.session.language_servers import FolderServers, ServersWorkspace
from fairlead.session.model_selection import ModelSelection
from fairlead.session.publisher import Publisher
from fairlead.session.review.checks import UserChecks
from fairlead.session.review.review import Review
from fairlead.session.review.weakened import Weakened
from fairlead.session.run.agent_builder import AgentBuilder
from fairlead.session.run.agent_tools import AGENT_TOOLS
from fairlead.session.run.called_tool import CallAnswer, CalledTool
from fairlead.session.run.current_run import CurrentRun
from fairlead.session.run.feedback import Feedback
from fairlead.session.run.prompt import NO_AGENT, Continuation, RunTask, check_prompt, shown_prompt, title_of
from fairlead.session.run.runs import Runs
from fairlead.session.run.subagents import merge
from fairlead.session.run.title import TitleWriter
from fairlead.session.server_context import ServerContext
from fairlead.session.settings import Settings
from fairlead.session.state import SessionState
from fairlead.session.store.journal import Journal
from fairlead.session.store.repair import repaired
from fairlead.session.store.writer import JournalWriter
from fairlead.session.subagent import RunningSubagent, Subagent, SubagentLog, evidence_of
from fairlead.session.timed_editor import TimedEditor
from fairlead.session.tool_servers import StatusSender, ToolServersWorkspace, tool_policy
from fairlead.session.web import host_policy
from fairlead.skills.library import SkillLibrary
from fairlead.tool_servers.servers import ToolServers
from fairlead.tools.check_queue import CheckQueue
from fairlead.user_hooks.hooks import UserHooks
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots

_SHOWN_OF_SUBAGENTS = (CommandStarted, ToolOutput, CommandEnded)


class Session:
    """Owns the state of one conversation.

    `sink` gets its events. If an event changed the plan or the proposals, they come before this event. `on_title` is
    called when the title has changed.
    """

    def __init__(
        self,
        session_id: str,
        title: str,
        roots: Roots,
        context: ServerContext,
        sink: Callable[[Sequence[SessionEvent]], None],
        journal: Journal,
        on_title: Callable[[], None] = lambda: None,
    ) -> None:
        self.id = session_id
        self.title = title
        self.updated = context.now()
        """When the last run began or ended, in seconds since the epoch.

        Before the first run: when the session was created, or the value that it was restored or forked with.
        """
        self._context = context
        self.files = Files(roots, context.buffers, context.watch, context.opened_secrets)
        self.plan = TodoManager()
        self.feedback = Feedback(self.files, self.plan.render)
        self.history = History()
        self.conversation = Conversation()
        self.subagents = SubagentLog()
        self._in_progress = frozenset[str]()
        self._seen_plan: PlanningState | None = None
        self.editor = TimedEditor(context.editor, context.clock)
        gate = Gate(
            session_id,
            self.editor,
            lambda: self.commands.policy(),  # noqa: PLW0108  they are made below
            lambda: tool_policy(context.settings),
            lambda: host_policy(context.settings),
        )
        self.review = Review(
            self.files,
            self.feedback,
            self.editor,
            gate,
            self.publish,
            self.protected,
            lambda paths: self.hooks.before_accept(paths),  # noqa: PLW0108  they are made below
            lambda paths: self.hooks.after_accept(paths),  # noqa: PLW0108
        )
        servers = FolderServers(self.files, self._servers_of, self.editor.waiting_for_server)
        self._code = CodeSupport(
            self.files,
            servers,
            lambda: context.editor_code,
            lambda: context.settings.check.new_errors_seconds,
            context.warn_once,
        )
        self.evidence = SessionEvidence(
            self.files,
            self.plan,
            self._code.problems,
            lambda: context.settings,
            context.clock,
            context.now,
            self.publish,
            lambda: self.review.decisions,
        )
        self.plan.work_since_update = self.evidence.recorder.work_since_update
        self.skills = SkillLibrary(lambda: self.files.roots)
        self.commands = SessionCommands(
            self.files,
            self.evidence.record_state,
            self.evidence.find_inputs,
            self.evidence.check_commands,
            context,
            lambda: self.publish(may_wait=True),  # an agent may make many calls in a second
            gate,
            self.skills.shown_folders,
        )
        hooks_workspace = HooksWorkspace(
            self.files,
            self.plan,
            self.commands,
            context,
            self.publish,
            lambda: self.runs.main_id if self.runs.is_active else None,
            lambda: self.journal_writer.events,
        )
        hooks = UserHooks(hooks_workspace, context.hook_files, context.allowed_hooks, Path.home())
        self.hooks: SessionHooks = SessionHooks(hooks, hooks_workspace, lambda: self.files.version, context.warn_once)
        self.tool_servers = ToolServers(
            ToolServersWorkspace(self.files, lambda: self.commands, context),
            lambda: context.tool_definitions(self.files.roots),
            context.known_servers,
            context.tool_server_pool,
            context.packages,
            on_change=lambda: self.server_statuses.schedule(),  # noqa: PLW0108  they are made below
            secrets=context.server_secrets,
        )
        self.server_statuses = StatusSender(self.tool_servers.statuses, sink)
        self.hosted = HostedAgents(
            ToolServersWorkspace(self.files, lambda: self.commands, context),
            context.agents,
            context.hosted_agents,
            AGENT_TOOLS,
        )
        current = CurrentRun()
        self.user_checks = UserChecks(
            context,
            self.review,
            self.plan,
            self.evidence,
            self.commands,
            CheckQueue(),
            current,
            self.publish,
        )
        self.is_rewinding = False
        """Set while an earlier state is restored; no run can start."""
        self.journal_writer = JournalWriter(journal, self.snapshot, context.now)
        self._publisher = Publisher(
            self.plan,
            self.files,
            self.evidence,
            lambda: self.review.decisions,
            self.review.weakened,
            self.journal_writer,
            sink,
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
            tool_servers=self.tool_servers,
            skills=self.skills,
            hooks=self.hooks,
            hosted=self.hosted,
            check_queue=self.user_checks.queue,
            editor=self.editor,
            publish=self.publish,
            subagents=self.subagents,
            new_run_id=lambda: self.runs.new_id(),  # noqa: PLW0108  they are made below
            execute=lambda run, prompt: self.runs.execute(run, prompt),  # noqa: PLW0108
        )
        self._on_title = on_title
        self._title_writer = TitleWriter(self._use_title, self.evidence.recorder.add_account)
        self.runs = Runs(
            self._agent_builder,
            self.review.history,
            self.snapshot,
            self._take_feedback,
            lambda: self.journal_writer.events,
            self.compare_files,
            current,
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
        """Whether there is a main run. It counts from its request until it has ended, even if it was stopped before."""
        return self.runs.is_active

    @property
    def selection(self) -> ModelSelection:
        """The model that the user has chosen for this session."""
        return self._agent_builder.selection

    def select_model(self, selection: ModelSelection) -> None:
        """The next run asks this model. A current run continues with its own."""
        self._agent_builder.selection = selection
        self.publish()

    @property
    def model(self) -> ModelSelection:
        """The model that the next run asks."""
        return self._context.resolved(self.selection)

    def change_folders(self, roots: Roots) -> None:
        """Continues with these folders. A sandboxed command that is already running still sees the earlier ones."""
        self.files.roots = roots

    def check_can_run(self, continues: Continuation | None) -> None:
        """Raises RequestRefused if a run cannot start. A stopped run that has not ended yet does not prevent it.

        Args:
            continues: as in `RunTask`.
        """
        self.runs.check_can_start()
        if self.is_rewinding:
            raise RequestRefused("This session is being rewound. Try again in a moment.")
        if continues == "paused" and self.runs.phase == "idle" and not self.history.messages:
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
            RequestRefused: the session is already running, is being rewound, has nothing to continue, its workspace
                cannot be used, or there is no such agent.
        """
        self.check_can_run(task.continues)
        self._choose_hosted(task)
        if name := self.runs.agent if task.agent is None else task.agent:
            await self._check_agent(name)
            self.check_can_run(task.continues)
        if self.running:  # the run is stopping, or `check_can_run` would have raised
            self.cancel()
        is_new = not self.title
        self.title = self.title or title_of(task.prompt)
        self.journal_writer.compact()

        def begin() -> None:
            begun = Continued(task.continues) if task.continues else Prompted(shown_prompt(task.prompt))
            self.conversation.add(begun)
            on_begin()

        return await self.runs.execute_main(task, begin, lambda: self._write_title(task.prompt) if is_new else None)

    def _choose_hosted(self, task: RunTask) -> None:
        """Raises RequestRefused if there is no agent that can do the task."""
        try:
            hosted = self.hosted.choice.name if task.hosted is None else task.hosted
            if hosted and task.agent:
                raise RequestRefused(f"{self.hosted.named(hosted).title} cannot work as the agent “{task.agent}”.")
            self.hosted.choose(hosted)
        except AgentError as error:
            raise RequestRefused(str(error)) from error

    async def _check_agent(self, name: str) -> None:
        """Raises RequestRefused if there is no agent with this name that the user may choose."""
        found = await self.skills.update()
        agent = found.agent_named(name)
        if agent is None or not agent.is_for_user:
            names = ", ".join(each.name for each in found.agents if each.is_for_user)
            known = f"There are: {names}." if names else "Agents are files such as .claude/agents/NAME.md."
            raise RequestRefused(NO_AGENT.format(name=name, known=known))

    async def call_tool(self, called: CalledTool, on_begin: Callable[[], None] = lambda: None) -> CallAnswer:
        """Runs a call that another program makes, as a run of its own without a model.

        Cancelling the caller stops the call. `on_begin` is as for `run`.

        Raises:
            RequestRefused: as `run`, or the call was stopped before it began.
        """
        self.check_can_run(None if called.prompt else "paused")
        if self.running:  # as in `run`
            self.cancel()
        if not self.title:
            self._use_title(title_of(called.prompt))
        self.journal_writer.compact()

        def begin() -> None:
            if called.prompt:
                self.conversation.add(Prompted(shown_prompt(called.prompt)))
            on_begin()

        try:
            return await self.runs.execute_call(called, begin)
        finally:
            if called.program is not None:  # what a stopped one has written is proposed too
                await self._agent_builder.wait_for_stopped_calls()

    def show_end(self, outcome: Outcome, record: tuple[Phrase, ...]) -> None:
        """Shows in the conversation how a run ended, unless it was interrupted by the end of the process.

        Args:
            record: a short summary of the session's work.
        """
        if not self.runs.is_exiting:
            failure = outcome.error.failure if outcome.error else None
            self.conversation.add(Ended(outcome.stop_reason, outcome.message, record, failure))
            self.publish()

    async def compare_files(self) -> None:
        """Finds out which verifications still hold (`SessionEvidence.compare`), and publishes that."""
        await self.evidence.compare()
        self.publish()

    def steer(self, text: str) -> int:
        """Queues a message to the current run. Returns how many messages are queued, including this one.

        The model reads it between two rounds, or with the next prompt if the run ends first.

        Raises:
            WrongRequest: the text is empty or too long.
            RequestRefused: the session is not running, or its run has not started yet.
        """
        check_prompt(text)
        queued, event = self.runs.steer(text.strip())
        self.publish(event)
        return queued

    def steer_subagent(self, call_id: str, text: str) -> int:
        """Queues a message to the subagent of a call, as `steer`.

        Raises:
            WrongRequest: the text is empty or too long.
            RequestRefused: the subagent does not work.
        """
        check_prompt(text)
        return self._working(call_id).add_user_message(text.strip())

    def stop_subagent(self, call_id: str) -> None:
        """Stops the subagent of a call. The agent learns of it, and goes on.

        Raises:
            RequestRefused: the subagent does not work.
        """
        self._working(call_id).stop()

    def _working(self, call_id: str) -> RunningSubagent:
        subagent = self.subagents.working(call_id)
        if subagent is None:
            raise RequestRefused("This subagent is not working anymore.")
        return subagent

    def rename(self, title: str) -> None:
        """Gives the session the user's title, which the small model does not replace.

        Raises:
            WrongRequest: the title is empty.
        """
        name = title_of(clean_text(title))
        if not name:
            raise WrongRequest("A session's title must not be empty.")
        self._title_writer.stop()
        self._use_title(name)

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
        self.runs.cancel()

    async def warm(self) -> None:
        """Connects to the model, so that the next run is faster.

        Does nothing before the session's first run in this process.
        """
        await self._agent_builder.warm()

    async def close(self) -> None:
        """Stops everything that runs in the session, waits until its processes have ended, and closes connections.

        The run counts as interrupted. The journal stays open.
        """
        self.commands.stop()
        await self._title_writer.aclose()
        await self.runs.aclose()
        await self._agent_builder.wait_for_stopped_calls()
        await self.user_checks.queue.aclose()
        await self.hooks.aclose()
        await self.tool_servers.aclose()
        await self.hosted.end()
        self.server_statuses.close()
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

    def publish(self, event: Event | None = None, *, may_wait: bool = False) -> None:
        """Records an event of a run or a check, and updates the evidence. `Outbox` decides when it is saved and sent.

        Clients see little of what a subagent does: its commands. The call that started it tells the rest.

        Args:
            event: None: something has changed without an event.
            may_wait: see `Outbox.add`.
        """
        subagent = self.subagents.running(event.run_id) if event is not None else None
        if event is not None:
            if (recorded := event if subagent is None else evidence_of(event)) is not None:
                self.evidence.recorder.on_event(recorded)
            self.journal_writer.note(event)
            self.runs.note(event)
            (subagent or self.conversation).note(event)
        if isinstance(event, RunStarted | RunFinished) and event.run_id == self.runs.main_id:
            self.updated = self._context.now()
        if isinstance(event, CommandEnded):
            self.files.report_changes(None)
        self.evidence.update()
        if isinstance(event, CheckFinished):
            self.evidence.last_checks.add(event)
            self.hooks.check_finished(event)
        if subagent is None or event is None or isinstance(event, _SHOWN_OF_SUBAGENTS):
            self._publisher.publish(event, may_wait=may_wait)
        elif not isinstance(event, Text | Thinking):
            self._publisher.publish(None)
        self.runs.note_files()
        self._publish_begun_steps()

    def _publish_begun_steps(self) -> None:
        """Publishes the items of the plan that a run has begun since the last call."""
        plan = self.plan.snapshot()
        if plan is self._seen_plan:
            return
        self._seen_plan = plan
        items = {item.id: item.content for item in plan.items if item.status == "in_progress"}
        begun, self._in_progress = items.keys() - self._in_progress, frozenset(items)
        if self.runs.phase == "running":
            for item_id in sorted(begun):
                self.publish(StepBegan(item_id, items[item_id], run_id=self.runs.main_id))

    def flush(self) -> None:
        """Saves and sends the events that `Outbox` holds."""
        self._publisher.outbox.flush()
        self.server_statuses.flush()

    def snapshot(self) -> SessionState:
        """The state to save, except for the values that `JournalWriter` adds."""
        return SessionState(
            title=self.title,
            phase=self.runs.phase,
            updated=self.updated,
            mode=self.runs.mode,
            agent=self.runs.agent,
            ended=self.runs.ended,
            selection=self.selection,
            hosted=self.hosted.choice,
            plan=replace(self.plan.snapshot(), version=self._publisher.plan_version),
            versions=self.plan.history,
            user_edits=self.plan.user_edits,
            record=self.evidence.recorder.record,
            file_states=self.evidence.known_files.states,
            workspace_files=self.evidence.known_files.workspace.saved,
            unseen_files=tuple(sorted(self.evidence.known_files.workspace.unseen)),
            inferred=self.evidence.recorder.inferred,
            models=self.evidence.recorder.models,
            spent=self.evidence.recorder.spent,
            changes=self.files.changes,
            edits_version=self.files.version,
            decisions=self.review.decisions,
            rejected=self.files.rejections.all,
            pending_feedback=self.feedback.pending,
            messages=tuple(self.history.messages),
            conversation=self.conversation.entries,
            subagents=self.subagents.all,
            checkpoints=self.review.history.checkpoints,
        )

    async def restore(self, state: SessionState) -> None:
        """Restores the state of an earlier process. Does not continue its run."""
        self.journal_writer.restore(state.events_sent)
        await self.adopt(state)
        self.evidence.note_lapsed()

    async def adopt(self, state: SessionState) -> None:
        """Replaces the session's state, except for its title and the count of events.

        Call it only without a run. If the state was saved during a run, the session is paused afterwards, because that
        run counts as unfinished.
        """
        self.runs.adopt(state)
        self._agent_builder.selection = state.selection
        self.hosted.adopt(state.hosted)
        self.updated = state.updated
        self.files.read_tracker.forget()
        self.history.replace(repaired(state.messages, state.calls, state.at))
        self.conversation.restore(state.conversation)
        self.subagents.restore(state.subagents, lambda each: repaired(each.messages, state.calls, state.at))
        self.feedback.restore(state.pending_feedback)
        self.plan.restore(state.plan, state.versions, state.user_edits)
        self._publisher.plan_version = state.plan.version
        self.review.history.restore(state)
        self.files.rejections.restore(state.rejected)
        await self.files.restore(state.changes, state.edits_version)
        await self._merge_interrupted(state.subagents)
        self.evidence.restore(state)
        await self.compare_files()

    async def _merge_interrupted(self, subagents: Sequence[Subagent]) -> None:
        """Proposes what subagents had proposed whose process has ended, as their end would have done."""
        for each in subagents:
            if each.changes is not each.before:
                before, fork = self.files.fork(), self.files.fork()
                before.changes, fork.changes = each.before, each.changes
                await merge(self.files, before, fork, Author(each.item_id, each.work.call_id))

    def edit_plan(self, ops: Sequence[PlanOp], revision: int) -> None:
        """Applies the user's changes to the plan, all or none. The model reads about them in the next feedback.

        Args:
            revision: the `PlanningState.revision` that the user saw.

        Raises:
            Stale: the plan has changed since this revision; nothing was done.
            WrongRequest: an operation is invalid; nothing was done.
        """
        self._agent_builder.apply_plan_settings()
        try:
            descriptions = self.plan.edit(ops, revision)
        except StalePlan as error:
            raise Stale(str(error)) from error
        except PlanError as error:
            raise WrongRequest(str(error)) from error
        self.feedback.plan_edited(descriptions)
        self.publish()

    def plan_state(self) -> PlanChanged:
        """The current plan, with its record and what supports its items."""
        return self._publisher.plan_state()

    def edits(self) -> EditsChanged:
        """The current proposals, with the decisions that can be undone and redone, and what checks found."""
        return self._publisher.edits()

    def protected(self) -> Mapping[str, str]:
        """The proposals that need a separate confirmation: the reason for each, by its current path."""
        return self._publisher.protected()

    def weakened(self) -> Weakened:
        """The changes that weaken tests, and why."""
        return self.review.weakened()

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

    def _write_title(self, prompt: str) -> None:
        """Lets the small model write a title for a session that is named after its first prompt."""
        small = self._agent_builder.small_model(Account)
        if small is not None:
            self._title_writer.start(small, prompt)

    def _use_title(self, title: str) -> None:
        self.title = title
        self.publish()
        self._on_title()
