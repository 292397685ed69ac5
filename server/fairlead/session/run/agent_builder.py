"""Builds the agent of each run: its model, its tools, and the context and feedback that the model gets."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from fairlead.agent.agent import Agent
from fairlead.agent.dispatch import Dispatcher
from fairlead.agent.events import Event
from fairlead.agent.guard import IdleGuard, RepeatGuard
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
from fairlead.messages.history import History
from fairlead.messages.parts import Call, Note, Part, Prompt
from fairlead.models.factory import ModelChoice
from fairlead.plan import PlanItem, TodoManager
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
from fairlead.session.run.feedback_interceptor import FeedbackInterceptor
from fairlead.session.run.prompt import RunTask, agent_prompt, proposals_note, system_prompt
from fairlead.session.run.subagents import EXPLORER, WORKER, MainRun, SpareModels, Subagents, Worker, workspace_text
from fairlead.session.server_context import ServerContext
from fairlead.session.session_model import OpenedModel, SessionModel
from fairlead.session.subagent import RunningSubagent, SubagentLog
from fairlead.session.timed_editor import TimedEditor
from fairlead.session.web import private_services
from fairlead.skills.agent_file import AgentFile
from fairlead.skills.library import SkillLibrary
from fairlead.tool_servers.servers import ToolServers
from fairlead.tools.check_queue import CheckQueue
from fairlead.tools.checks import Checks
from fairlead.tools.commands import Commands
from fairlead.tools.delegate import Delegate
from fairlead.tools.explore import ASKS, EXPLORES_WITH, Explore
from fairlead.tools.kept_results import KeptResults
from fairlead.tools.run_check import RunCheck
from fairlead.tools.server_tools import NOTE, USUAL_WINDOW, ServerToolsContext, server_tools
from fairlead.tools.skill import UseSkill
from fairlead.tools.table import code_tools, tool_table
from fairlead.tools.web_context import WebContext
from fairlead.tools.web_search import WebSearch
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
        self._kept = KeptResults(self.skills.read)
        self._web = WebContext(self.commands.gate, lambda: private_services(self.context.settings))
        self._prompt_context = PromptContext(
            self.files, self.context.diagnostics, self.tool_servers.read, self._kept, self.skills, self._emit
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
        self.plan.max_items = settings.max_items
        self.plan.single_in_progress = settings.single_in_progress
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
        checks = self._checks(commands, chosen.checks if chosen is not None else ())
        meter = Meter(self._model.cost_of, self._model.window, emit)
        budget = Budget(settings.budget.tokens, settings.budget.cost_usd, settings.budget.minutes)
        limits = Limits(meter, budget, settings.loop.max_rounds, lambda: context.clock() - self.editor.waited_seconds)

        def change_token() -> Hashable:
            return files.change_token, plan.snapshot().revision, count_prompts()

        async def has_new_errors() -> bool:
            """Checks the proposals only in agent mode, and only while the run may continue."""
            return mode == "agent" and limits.reached is None and await self.code.check()

        subagents = self._subagents(model, meter, limits)
        own_tools = tool_table(files, plan, commands, checks, kept=self._kept, web=self._web, is_brief=is_brief)
        if not is_brief:
            own_tools["explore"] = Explore(subagents.explore)
            own_tools |= code_tools(files, commands.gate, self.code.queries, context.diagnostics)
        if settings.web.search_url and not is_brief:
            own_tools["web_search"] = WebSearch(self._web, settings.web.search_url)
        if self.skills.has_any_for_model:
            own_tools["skill"] = UseSkill(self.skills)
        agents = [each for each in self.skills.found.agents if each.is_for_model]
        if agents and not is_brief:
            own_tools["delegate"] = Delegate(agents, subagents.delegate)
        given = server_tools(
            ServerToolsContext(self.tool_servers, commands.gate, self._kept), self._model.window.limit or USUAL_WINDOW
        )
        note = NOTE if given else ""
        return Agent(
            run_id=run_id,
            model=model,
            system="".join(
                (
                    system_prompt(files.roots, is_brief=is_brief),
                    note,
                    self._rules.root_rules,
                    self.skills.list_for_model(is_brief=is_brief),
                    agent_prompt(chosen),
                )
            ),
            tools=_usable({**own_tools, **{tool.spec.name: tool for tool in given}}, chosen),
            plan=plan,
            history=self.history,
            emit=emit,
            interceptors=[
                self._call_hooks(mode, ending),
                limits,
                OldImages(self.history, model.capabilities.images, emit),
                RepeatGuard(change_token, settings.loop.max_repeats, settings.loop.max_idle_rounds),
                IdleGuard(change_token, settings.loop.max_repeats, settings.loop.max_idle_rounds),
                FeedbackInterceptor(take_feedback, lambda: self.feedback.has_user_message, has_new_errors, emit),
                Reminder(plan, emit, counts_only=mode == "ask"),
                StopHooks(self.hooks.hooks, emit),
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

    def _subagents(self, model: Model, meter: Meter, limits: Limits) -> Subagents:
        """The subagents of a run with this model."""
        loop = self.context.settings.loop
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
                kept=self._kept,
                models=self._subagent_models,
                gate=self.commands.gate,
                explorer=self._explorer,
                worker=self._worker,
            )
        )

    def _explorer(self, subagent: RunningSubagent) -> Worker:
        files, session_commands = subagent.fork, self.commands.of_fork(subagent.fork)
        commands, agent = session_commands.tools(), self.skills.found.agent_named(self.agent)
        own = self._tools_in(files, commands)
        own |= code_tools(files, commands.gate, self.code.queries, self.context.diagnostics)
        return Worker(
            EXPLORER.format(workspace=workspace_text(files.roots)),
            {name: own[name] for name in own if name in (*EXPLORES_WITH, *(ASKS if _may_use(agent, name) else ()))},
            self.context.choose_small_model(self.selection) or self.context.choose_model(self.selection),
            self.hooks.in_fork(files, session_commands, subagent.run_id),
            session_commands.aclose,
        )

    def _worker(self, agent: AgentFile, subagent: RunningSubagent) -> Worker:
        """What an agent in a file works with. The language servers do not know its edits, so it does not ask them."""
        files, session_commands = subagent.fork, self.commands.of_fork(subagent.fork)
        commands = session_commands.tools()
        given = server_tools(ServerToolsContext(self.tool_servers, commands.gate, self._kept), sys.maxsize)
        tools = {**self._tools_in(files, commands), **{tool.spec.name: tool for tool in given}}
        del tools["todo"]
        system = "".join(
            (
                WORKER.format(workspace=workspace_text(files.roots)),
                NOTE if given else "",
                self._rules.root_rules,
                self.skills.list_for_model() if agent.may_use("skill") else "",
                agent_prompt(agent),
            )
        )
        choice = self.context.choose_named_model(self.selection, agent.model) if agent.model else None
        return Worker(
            system,
            _usable(tools, agent),
            choice or self.context.choose_model(self.selection),
            self.hooks.in_fork(files, session_commands, subagent.run_id),
            session_commands.aclose,
        )

    def _tools_in(self, files: Files, commands: Commands) -> dict[str, Tool]:
        """The tools that do not ask language servers, for these files."""
        own = tool_table(files, self.plan, commands, self._checks(commands), kept=self._kept, web=self._web)
        if self.context.settings.web.search_url:
            own["web_search"] = WebSearch(self._web, self.context.settings.web.search_url)
        if self.skills.has_any_for_model:
            own["skill"] = UseSkill(self.skills)
        return own

    async def begin_call(self) -> None:
        """Like `begin_run`, without what only a model needs. Starts no tool server: a call starts its own one."""
        await asyncio.gather(self.commands.ready(), self.code.queries.update_can_answer())

    def build_call(
        self,
        called: CalledTool,
        checkpoint: int | None,
        take_feedback: Callable[[], Awaitable[Sequence[Prompt | Note]]],
    ) -> SingleCall:
        """The run of a call by another program. Call `begin_call` first. The arguments are those of `build`.

        It may use all tools of a run, those of servers always by their own names, and `run_check`.
        """
        files, plan, commands, run_id = self.files, self.plan, self.commands.tools(), self.run_id
        checks = self._checks(commands)

        def emit(event: Event) -> None:
            self.publish(replace(event, run_id=run_id))

        def current_item() -> str | None:
            current = plan.snapshot().current
            return current.id if current else None

        own = tool_table(files, plan, commands, checks, kept=self._kept, web=self._web)
        own |= code_tools(files, commands.gate, self.code.queries, self.context.diagnostics)
        given = server_tools(ServerToolsContext(self.tool_servers, commands.gate, self._kept), sys.maxsize)
        more = [*given, RunCheck(checks, self._known_checks)]
        dispatcher = Dispatcher(
            tools={**own, **{tool.spec.name: tool for tool in more}},
            interceptors=(self._call_hooks(),),
            emit=emit,
            current_item=current_item,
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

    def _checks(self, commands: Commands, more: Sequence[str] = ()) -> Checks:
        """The checks of the items that a run completes.

        Args:
            more: checks of items that changed files, in addition to those of the settings.
        """
        evidence, plan = self.evidence, self.plan

        def general_checks(item: PlanItem) -> Sequence[str]:
            """Returns no checks for a completed item, because the changes of later items need not pass yet."""
            completed = (each.id for each in plan.snapshot().items if each.status == "completed")
            return () if item.id in completed else evidence.general_checks(item, more)

        return Checks(
            self.files,
            commands,
            self.check_queue,
            general_checks,
            evidence.still_passes,
            self.context.settings.check.without_changes_seconds,
            self.hooks.step_checked,
        )

    def _known_checks(self) -> list[str]:
        """The checks of the settings, then those of the plan's items, each once."""
        of_items = (item.check for item in self.plan.snapshot().items)
        return list(dict.fromkeys(filter(None, (*self.context.settings.checks, *of_items))))

    async def collect_context(self, task: RunTask) -> list[Part]:
        """The context for a prompt. Call it after `build`, because its size depends on the model's window."""
        surroundings = task.surroundings if self.context.settings.context.editor else None
        limit = self._model.window.results_limit_chars()
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


def _may_use(agent: AgentFile | None, tool: str) -> bool:
    """Whether the agent of the main run may use a tool."""
    return agent is None or agent.may_use(tool)


def _usable(tools: dict[str, Tool], agent: AgentFile | None) -> dict[str, Tool]:
    """The tools that an agent may use."""
    return {name: tool for name, tool in tools.items() if _may_use(agent, name)}
