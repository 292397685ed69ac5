"""Builds the agent of each run: its model, its tools, and the context and feedback that the model gets."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from fairlead.agent.agent import Agent
from fairlead.agent.dispatch import Dispatcher
from fairlead.agent.events import Event
from fairlead.agent.guard import IdleGuard, RepeatGuard
from fairlead.agent.interceptors import Interceptor
from fairlead.agent.limits import Budget, Limits
from fairlead.agent.loop import Run
from fairlead.agent.meter import Account, CostOf, Meter
from fairlead.agent.model import Model
from fairlead.agent.old_images import OldImages
from fairlead.agent.outcome import Ending, Outcome
from fairlead.agent.reminder import Reminder
from fairlead.agent.single_call import SingleCall
from fairlead.agent.small_model import SmallModel
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.tool import Mode, Tool
from fairlead.hosted_agents.agents import HostedAgents
from fairlead.hosted_agents.definition import AgentDefinition
from fairlead.hosted_agents.updates import MAX_ENTRIES
from fairlead.messages.history import History
from fairlead.messages.parts import Call, Note, Part, Prompt
from fairlead.models.factory import ModelChoice
from fairlead.plan import TodoManager
from fairlead.session.code_support import CodeSupport
from fairlead.session.commands import SessionCommands
from fairlead.session.context.context_item import ContextItem
from fairlead.session.context.folders_note import FoldersNote
from fairlead.session.context.project_rules import ProjectRules
from fairlead.session.context.prompt_context import PromptContext
from fairlead.session.evidence.session_evidence import SessionEvidence
from fairlead.session.hooks.interceptor import CallHooks, StopHooks
from fairlead.session.hooks.session_hooks import BeforePrompt, SessionHooks
from fairlead.session.model_selection import BY_SETTINGS, ModelSelection
from fairlead.session.run.called_tool import CalledTool
from fairlead.session.run.feedback import Feedback
from fairlead.session.run.feedback_interceptor import FeedbackInterceptor, LateMessages
from fairlead.session.run.hosted_run import HostedContext, HostedRun
from fairlead.session.run.prompt import RunTask, agent_prompt, proposals_note, system_prompt
from fairlead.session.run.run_tools import RunTools
from fairlead.session.run.subagents import MainRun, SpareModels, Subagents
from fairlead.session.run.workers import SubagentWorkers, usable
from fairlead.session.server_context import ServerContext
from fairlead.session.session_model import OpenedModel, SessionModel
from fairlead.session.subagent import SubagentLog
from fairlead.session.timed_editor import TimedEditor
from fairlead.session.web import private_services
from fairlead.skills.agent_file import AgentFile
from fairlead.skills.library import SkillLibrary
from fairlead.tool_servers.servers import ToolServers
from fairlead.tools.check_queue import CheckQueue
from fairlead.tools.delegate import Delegate
from fairlead.tools.explore import Explore
from fairlead.tools.kept_results import KeptResults
from fairlead.tools.server_tools import NOTE, USUAL_WINDOW
from fairlead.tools.terminal_program import RunTerminalProgram
from fairlead.tools.web_context import WebContext
from fairlead.workspace.files import Files


@dataclass
class AgentBuilder:
    """Builds agents from the parts of a session. Owns the parts that only runs use."""

    context: ServerContext
    files: Files
    plan: TodoManager
    history: History
    feedback: Feedback
    evidence: SessionEvidence
    commands: SessionCommands
    code: CodeSupport
    tool_servers: ToolServers
    skills: SkillLibrary
    hooks: SessionHooks
    hosted: HostedAgents
    check_queue: CheckQueue
    editor: TimedEditor
    publish: Callable[[Event | None], None]
    """None: the proposals have changed, which has no event."""
    subagents: SubagentLog
    new_run_id: Callable[[], str]
    execute: Callable[[Run, Sequence[Part]], Awaitable[Outcome]]
    """Executes the run of a subagent."""
    selection: ModelSelection = BY_SETTINGS
    """The model that the user has chosen for the session. The next run uses it."""
    run_id: str = ""
    """The id of the latest run; set it before the others learn of the run."""
    agent: str = ""
    """The agent of the latest run, as in `RunTask`; set it before `begin_run`."""

    def __post_init__(self) -> None:
        self._model = SessionModel(self._choose_model, self.context.spare_model)
        self._small_model = OpenedModel()
        self._subagent_models = SpareModels()
        self._stopped = StoppedCalls()
        self._rules = ProjectRules(self.files, self._emit)
        self._folders_note = FoldersNote()
        kept = KeptResults(self.skills.read)
        self._prompt_context = PromptContext(
            self.files, self.context.diagnostics, self.tool_servers.read, kept, self.skills, self._emit
        )
        self._tools = RunTools(
            context=self.context,
            plan=self.plan,
            evidence=self.evidence,
            code=self.code,
            tool_servers=self.tool_servers,
            skills=self.skills,
            hooks=self.hooks,
            check_queue=self.check_queue,
            web=WebContext(self.commands.gate, lambda: private_services(self.context.settings)),
            kept=kept,
        )

    async def warm(self) -> None:
        """Connects to the model, so that the next run's first request is faster. Does nothing before the first run."""
        await self._model.connect()

    def small_model(self, open_account: Callable[[CostOf], Account]) -> SmallModel | None:
        """The model for small work; None if the user has set none.

        Args:
            open_account: opens an account for what the model will use.
        """
        choice = self.context.choose_small_model(self.selection)
        if choice is None:
            return None
        return SmallModel(self._small_model.open(choice), open_account(self._small_model.cost_of))

    def _choose_model(self) -> ModelChoice:
        """The model of the next run: that of its agent, if the agent's file names one that is known."""
        agent = self.skills.found.agent_named(self.agent)
        named = self.context.choose_named_model(self.selection, agent.model) if agent and agent.model else None
        return named or self.context.choose_model(self.selection)

    def _emit(self, event: Event) -> None:
        """Publishes an event of the latest run."""
        self.publish(replace(event, run_id=self.run_id))

    def apply_plan_settings(self) -> None:
        """Lets the plan follow the user's current settings."""
        settings = self.context.settings.plan
        is_own = not self.hosted.choice.name
        self.plan.max_items = settings.max_items if is_own else MAX_ENTRIES  # others cannot know our limits
        self.plan.single_in_progress = settings.single_in_progress and is_own
        self.plan.reminder_interval = settings.reminder_interval

    async def begin_run(self) -> None:
        """Probes the sandbox and the language support, reads the rules of the root folders, and opens the model.

        Also reads the skills, and learns the tools of the tool servers that are new.
        """
        await asyncio.gather(
            self.commands.ready(),
            self._rules.begin_run(),
            self.skills.update(),
            self.code.queries.update_can_answer(),
            self._model.prepare(),
            self.tool_servers.prepare(),
        )

    async def before_prompt(self, task: RunTask) -> BeforePrompt:
        """Runs the hooks before the prompt of a task. Call `begin_run` first."""
        prompt = task.prompt if task.continues is None else None
        return await self.hooks.before_prompt(prompt, is_resumed=bool(self.history.messages))

    async def begin_hosted(self) -> None:
        """Like `begin_run`, for an agent of another maker, which has its own model, rules and tools."""
        await asyncio.gather(self.commands.ready(), self.skills.update(), self.code.queries.update_can_answer())

    def build_hosted(
        self,
        definition: AgentDefinition,
        mode: Mode,
        checkpoint: int | None,
        take_feedback: Callable[[], Awaitable[Sequence[Prompt | Note]]],
        ending: Ending | None,
    ) -> HostedRun:
        """The run in which an agent of another maker works. Call `begin_hosted` first. Arguments: see `build`."""
        files, commands, run_id = self.files, self.commands.tools(), self.run_id

        def emit(event: Event) -> None:
            self.publish(replace(event, run_id=run_id))

        tools = Dispatcher(
            tools=self._tools.of_hosted(files, commands),
            interceptors=(),
            emit=emit,
            current_item=self._current_item,
            already_shown=lambda _name, _input, _text: False,
            stopped=self._stopped,
        )
        context = HostedContext(
            agents=self.hosted,
            roots=files.roots,
            plan=self.plan,
            history=self.history,
            emit=emit,
            gate=self.commands.gate,
            tools=tools,
            propose=self.commands.propose,
            change_token=lambda: files.change_token,
            take_feedback=take_feedback,
            has_user_message=lambda: self.feedback.has_user_message,
            mode=mode,
            budget=self._budget(),
            clock=self._clock,
            max_check_prompts=self.context.settings.check.agent_prompts,
        )
        return HostedRun(run_id, definition, context, checkpoint, ending)

    def _budget(self) -> Budget:
        """What a run may use."""
        budget = self.context.settings.budget
        return Budget(budget.tokens, budget.cost_usd, budget.minutes)

    def _clock(self) -> float:
        """Seconds, without the time spent waiting for the user."""
        return self.context.clock() - self.editor.waited_seconds

    def _current_item(self) -> str | None:
        current = self.plan.snapshot().current
        return current.id if current else None

    def build(
        self,
        mode: Mode,
        checkpoint: int | None,
        count_prompts: Callable[[], int],
        take_feedback: Callable[[], Awaitable[Sequence[Prompt | Note]]],
        ending: Ending | None,
    ) -> Agent:
        """The agent of a run. Call `begin_run` first, unless the run has already been stopped.

        Args:
            checkpoint: the id of the checkpoint before the prompt; None if the run continues an earlier one.
            count_prompts: returns a number that increases with each message from the user.
            take_feedback: calls the method `take_feedback`, after reading the files that may have changed.
            ending: why the run must end before it asks the model; None: it need not.
        """
        context, files, plan = self.context, self.files, self.plan
        settings, commands = context.settings, self.commands.tools()
        model, run_id = self._model.for_run(), self.run_id
        is_brief = self._model.window.is_small

        def emit(event: Event) -> None:
            self.publish(replace(event, run_id=run_id))

        chosen = self.skills.found.agent_named(self.agent)
        checks = self._tools.checks(files, commands, chosen.checks if chosen is not None else ())
        meter = Meter(self._model.cost_of, self._model.window, emit)
        limits = Limits(meter, self._budget(), settings.loop.max_rounds, self._clock)

        def change_token() -> Hashable:
            return files.change_token, plan.snapshot().revision, count_prompts()

        async def has_new_errors() -> bool:
            """Checks the proposals only in agent mode, and only while the run may continue."""
            return mode == "agent" and limits.reached is None and await self.code.check()

        feedback = FeedbackInterceptor(take_feedback, lambda: self.feedback.has_user_message, has_new_errors, emit)
        subagents = self._subagents(model, meter, limits, chosen)
        if is_brief:
            own_tools = self._tools.brief(files, commands, checks)
        else:
            own_tools = self._tools.own(files, commands, checks)
            own_tools["explore"] = Explore(subagents.explore)
            agents = [each for each in self.skills.found.agents if each.is_for_model]
            if agents:
                own_tools["delegate"] = Delegate(agents, subagents.delegate)
            own_tools |= self._tools.of_code(files, commands)
        given = self._tools.of_servers(commands, self._model.window.limit or USUAL_WINDOW)
        tools = {**own_tools, **given}
        return Agent(
            run_id=run_id,
            model=model,
            system="".join(
                (
                    system_prompt(files.roots, is_brief=is_brief),
                    NOTE if given else "",
                    self._rules.root_rules,
                    self.skills.list_for_model(is_brief=is_brief),
                    agent_prompt(chosen),
                )
            ),
            tools={name: tools[name] for name in usable(tools, chosen)},
            plan=plan,
            history=self.history,
            emit=emit,
            interceptors=[
                self._call_hooks(mode, ending),
                limits,
                OldImages(self.history, model.capabilities.images, emit),
                RepeatGuard(change_token, settings.loop.max_repeats, settings.loop.max_idle_rounds),
                IdleGuard(change_token, settings.loop.max_repeats, settings.loop.max_idle_rounds),
                feedback,
                Reminder(plan, emit, counts_only=mode == "ask"),
                StopHooks(self.hooks.hooks, emit),
                LateMessages(feedback),
            ],
            meter=meter,
            proposals=lambda: proposals_note(files.changes, files.roots),
            window=self._model.window,
            stopped=self._stopped,
            small_model=self.small_model(meter.open_account),
            checkpoint=checkpoint,
            recording=self._model.recording,
            mode=mode,
        )

    def _subagents(self, model: Model, meter: Meter, limits: Limits, agent: AgentFile | None) -> Subagents:
        """The subagents of a run with this model."""
        loop = self.context.settings.loop
        workers = SubagentWorkers(
            context=self.context,
            commands=self.commands,
            tools=self._tools,
            rules=self._rules,
            skills=self.skills,
            hooks=self.hooks,
            selection=self.selection,
            agent=agent,
        )
        return Subagents(
            MainRun(
                files=self.files,
                plan=self.plan,
                publish=self.publish,
                note_work=self.evidence.recorder.note_subagent,
                new_id=self.new_run_id,
                execute=self.execute,
                model=model,
                meter=meter,
                limits=limits,
                max_repeats=loop.max_repeats,
                max_idle_rounds=loop.max_idle_rounds,
                stopped=self._stopped,
                log=self.subagents,
                kept=self._tools.kept,
                models=self._subagent_models,
                gate=self.commands.gate,
                explorer=workers.explorer,
                worker=workers.of_agent,
            )
        )

    async def begin_call(self) -> None:
        """Like `begin_run`, without what only a model needs. Starts no tool server: a call starts its own one."""
        await asyncio.gather(self.commands.ready(), self.code.queries.update_can_answer())

    def build_call(
        self,
        called: CalledTool,
        checkpoint: int | None,
        take_feedback: Callable[[], Awaitable[Sequence[Prompt | Note]]],
    ) -> SingleCall:
        """The run of a call by another program. Call `begin_call` first. The arguments are those of `build`."""
        files, plan, commands, run_id = self.files, self.plan, self.commands.tools(), self.run_id

        def emit(event: Event) -> None:
            self.publish(replace(event, run_id=run_id))

        tools: Mapping[str, Tool] = self._tools.of_programs(files, commands)
        interceptors: Sequence[Interceptor] = (self._call_hooks(),)
        if called.program is not None:  # the user has started it, and so no hook may refuse it
            tools = {called.name: RunTerminalProgram(commands, called.program, self.commands.box_settings())}
            interceptors = ()
        dispatcher = Dispatcher(
            tools=tools,
            interceptors=interceptors,
            emit=emit,
            current_item=self._current_item,
            already_shown=lambda _name, _input, _text: False,  # the program may no longer know what it got before
            stopped=self._stopped,
        )
        return SingleCall(
            run_id,
            called.shown_caller,
            Call("", called.name, dict(called.input)),
            dispatcher,
            plan,
            self.history,
            emit,
            take_feedback,
            checkpoint,
        )

    def _call_hooks(self, mode: Mode = "agent", ending: Ending | None = None) -> CallHooks:
        return CallHooks(self.hooks.hooks, self.commands.gate, lambda: self.files.roots, mode, ending)

    async def collect_context(self, task: RunTask) -> list[Part]:
        """The context for a prompt. Call it after `build`, because its size depends on the model's window."""
        surroundings = task.surroundings if self.context.settings.context.editor else None
        limit = None if self.hosted.choice.name else self._model.window.results_limit_chars()
        chosen = self.skills.chosen(task.prompt)
        skills = [ContextItem(kind="skill", name=chosen[0], text=chosen[1])] if chosen is not None else []
        items = [*skills, *task.context]
        return await self._prompt_context.collect(items, surroundings, self.history.messages, limit)

    async def take_feedback(self) -> list[Prompt | Note]:
        """What the model has not read yet: folders, what the user said and did, rules and new errors.

        The first call after `collect_context` also tells the user what context the prompt had.
        """
        self._prompt_context.emit_collected()
        folders = self._folders_note.take(self.files.roots, self.history.messages)
        rules = await self._rules.take_new(self.files.read_tracker.folders, self.history.messages)
        await self.code.update_report(self.plan.snapshot())
        # Nothing may be awaited after `Feedback.take`. What it and `take_report` return counts as read at
        # once, but is saved only with the history, so a cancellation in between would lose them.
        feedback = await self.feedback.take()
        return [*folders, *feedback, *rules, *self.code.take_report()]

    async def wait_for_stopped_calls(self) -> None:
        """Waits until all stopped calls have ended (docs/plan.md L16)."""
        await self._stopped.wait()

    async def aclose(self) -> None:
        """Closes the connections of the models."""
        await self._model.aclose()
        await self._small_model.aclose()
        await self._subagent_models.aclose()
