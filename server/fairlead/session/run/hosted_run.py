"""A run in which an agent of another maker works (docs/agents.md).

What it writes is taken from its box, never from what it says. Its plan becomes the session's plan by a call of `todo`,
so that its steps are proven as those of Fairlead's own agent are.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlead.agent.dispatch import Dispatcher
from fairlead.agent.errors import ModelError
from fairlead.agent.events import (
    Event,
    FeedbackSent,
    Location,
    ReminderSent,
    RoundStarted,
    RunFinished,
    RunStarted,
    StopReason,
    Text,
    Thinking,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    UsageReported,
)
from fairlead.agent.limits import Budget
from fairlead.agent.model import Usage
from fairlead.agent.outcome import NEW_BUDGET, Ending, Outcome, failure
from fairlead.agent.prompts import NOT_IN_MODE
from fairlead.agent.tool import CHANGES_FILES, Mode
from fairlead.display import shorten
from fairlead.edits.origins import Author
from fairlead.errors import ToolError
from fairlead.gate.gate import Gate, NotAllowed
from fairlead.gate.request import CallTool, RunCommand
from fairlead.hosted_agents.agent import RunningAgent
from fairlead.hosted_agents.agents import AgentError, HostedAgents
from fairlead.hosted_agents.connection import AgentFailed
from fairlead.hosted_agents.definition import AgentDefinition
from fairlead.hosted_agents.own_tools import ToolAnswer
from fairlead.hosted_agents.updates import ENDED, CallState, PlanEntries, Said, Update, Used, plan_of_call, read_count
from fairlead.json_values import fields_of
from fairlead.messages.history import History
from fairlead.messages.parts import Call, Image, Note, Part, Prompt, Result
from fairlead.messages.parts import Text as TextPart
from fairlead.plan import PlanError, TodoManager
from fairlead.plan.manager import PlanReminder
from fairlead.plan.render import item_text
from fairlead.session.run.agent_tools import CALLED
from fairlead.shell.layer import Changes
from fairlead.tools.command_changes import ProposedChanges
from fairlead.uncancelled import finish_uncancelled
from fairlead.workspace.paths import Roots

log = logging.getLogger(__name__)

BUDGET_SECONDS = 0.5
"""How often the budget is compared with what the agent reports."""
STOPPED = "Stopped."
NOT_TAKEN = "What it wrote cannot be read, and is lost: {problem}"
OTHER_FILES = "Files written apart from its calls"
UNENDED = "(The agent did not say how this call ended.)"
CHECKED = (
    "<plan_checked>\nThe checks of your plan's steps ran on the files as you left them. Some failed, so these steps "
    "are not completed:\n{results}\n</plan_checked>"
)
PLAN_REFUSED = "<plan_checked>\nYour last plan was not taken over: {problem}\n</plan_checked>"
REMINDER = "Your plan did not change during your last {count} calls. The first open step: {step}."
REWRITE = " Update it, so that it shows what is done and what comes next."
EARLIER = (
    "<earlier_work>\nThis session has worked before, with another agent or before a restart. What was said, "
    "shortened:\n{said}\n</earlier_work>"
)
MAX_EARLIER, MAX_EARLIER_PART = 12_000, 2_000
MAX_INPUT_CHARS = 4_000
_STOP_REASONS: Mapping[str, StopReason] = {
    "end_turn": "end_turn",
    "max_tokens": "max_tokens",
    "max_turn_requests": "max_turn_requests",
    "refusal": "refusal",
    "cancelled": "cancelled",
}
_ENDINGS: Mapping[StopReason, str] = {
    "max_tokens": "The agent's answer was cut off by its model's limit. Send a follow-up to continue it.",
    "max_turn_requests": "The agent paused after many requests. You can let it continue.",
    "refusal": "The agent's model refused to continue.",
    "cancelled": "The agent ended its turn, as agents do after a rejection. Tell it what to do instead.",
}


@dataclass(frozen=True)
class HostedContext:
    """What a hosted run needs from its session."""

    agents: HostedAgents
    roots: Roots
    plan: TodoManager
    history: History
    emit: Callable[[Event], None]
    gate: Gate
    tools: Dispatcher
    """Runs the calls of `todo` that stand for the agent's plans, and the agent's calls of Fairlead's tools."""
    propose: Callable[[Changes, Author], Awaitable[ProposedChanges]]
    change_token: Callable[[], object]
    """Differs after each change of the proposals or the open documents."""
    take_feedback: Callable[[], Awaitable[Sequence[Prompt | Note]]]
    has_user_message: Callable[[], bool]
    mode: Mode
    budget: Budget
    clock: Callable[[], float]
    """Returns seconds, without the time spent waiting for the user."""
    max_check_prompts: int
    """How often failed checks are sent to the agent without a prompt of the user."""


@dataclass(frozen=True)
class _ToolCall:
    """A call of a tool of Fairlead by the agent."""

    name: str
    input: Mapping[str, Any]
    answer: "asyncio.Future[ToolAnswer]"


@dataclass
class _Shown:
    """A call as the user sees it."""

    call_id: str
    """Unique in the session."""
    author: Author
    output: str = ""
    is_finished: bool = False


@dataclass
class HostedRun:
    """Lets an agent work on a prompt. Implements `Turn`."""

    id: str
    definition: AgentDefinition
    context: HostedContext
    checkpoint: int | None
    ending: Ending | None = None
    """Why the run must end before the agent works; None: it need not."""
    is_running: bool = False
    _agent: RunningAgent | None = None
    _began: float = 0.0
    _round: int = 0
    _said: list[str] = field(default_factory=list[str])
    _shown: dict[str, _Shown] = field(default_factory=dict[str, _Shown])
    _last: Author = field(default_factory=Author)
    _updates: "asyncio.Queue[Update | _ToolCall]" = field(default_factory=asyncio.Queue["Update | _ToolCall"])
    _plan: Sequence[Mapping[str, str]] = ()
    """The latest one; empty if not all of it was taken over."""
    _failed: tuple[Sequence[Mapping[str, str]], object] | None = None
    """The latest plan that was not all taken over, with `change_token` then, until the agent reads why."""
    _silent_calls: int = 0
    """How many calls have ended since the last plan."""
    _plans: int = 0
    _tool_calls: int = 0
    _reports: int = 0
    _written: set[str] = field(default_factory=set[str])
    """The absolute paths of the files that were proposed in the run."""
    _unreported: list[ProposedChanges] = field(default_factory=list[ProposedChanges])
    """What was proposed since a call last ended. The files may be collected before the call that wrote them ends."""
    _unread: list[str] = field(default_factory=list[str])
    """What failed checks say, for the agent."""
    _files: asyncio.Lock = field(default_factory=asyncio.Lock)
    _used: Used | None = None
    _seen: object = None
    """`change_token` when the agent was last shown the files."""
    _showing: asyncio.Task[None] | None = None
    _usage: Usage = field(default_factory=Usage)
    _cost_before: float | None = None
    """What the agent's session had cost before the run."""

    async def execute(self, prompt: Sequence[Part]) -> Outcome:
        """Works on a prompt until the agent ends its turn. Raises nothing: the outcome says how it ended."""
        context = self.context
        context.plan.begin_run()
        self.is_running = True
        self._began = context.clock()
        context.emit(RunStarted(self.definition.title, self.checkpoint))
        earlier = _earlier(context.history)
        context.history.add_user_message(prompt)
        ending = Ending("cancelled", STOPPED)
        try:
            ending = self.ending or await self._work(prompt, earlier)
        except asyncio.CancelledError:
            pass
        except NotAllowed as error:
            ending = failure(ModelError("hosted_agent", str(error)))
        except AgentError as error:
            ending = failure(ModelError("hosted_sign_in" if error.needs_sign_in else "hosted_agent", str(error)))
        except (AgentFailed, ToolError) as error:
            ending = failure(
                ModelError("hosted_agent", str(context.agents.failed(self._agent, error, self.definition)))
            )
        except Exception as error:
            log.exception("the run failed")
            ending = failure(ModelError("internal", f"Internal error in Fairlead: {error!r}. The log has the details."))
        await finish_uncancelled(self._end(ending))
        said = "".join(self._said).strip()
        context.history.close(said or f"(The run ended here: {ending.stop_reason}.)")
        self.is_running = False
        context.emit(RunFinished(ending.stop_reason))
        message = (
            said if ending.stop_reason == "end_turn" and said else "\n\n".join(filter(None, (said, ending.message)))
        )
        return Outcome(ending.stop_reason, message.strip(), self._usage, ending.error, self._cost)

    async def _work(self, prompt: Sequence[Part], earlier: str) -> Ending:
        context = self.context
        self._agent, knows = await context.agents.ready(self.definition)
        self._cost_before = self._agent.session.cost
        self._unread, context.agents.unread = context.agents.unread, []
        content = [] if knows or not earlier else [_text_block(EARLIER.format(said=earlier))]
        content += [*map(_text_block, self._unread), *self._blocks(prompt)]
        self._unread.clear()
        check_prompts = 0
        while True:
            await asyncio.sleep(0)  # a stop takes effect here
            feedback = [*await context.take_feedback()]
            for part in feedback:
                context.emit(FeedbackSent("message" if isinstance(part, Prompt) else part.kind, part.text))
            context.history.add_to_user_message(feedback)
            content += self._blocks([*feedback, *self._reminder()])
            self._round += 1
            self._failed = None
            self._shown.clear()  # agents repeat the ids of earlier turns
            context.emit(RoundStarted(self._round))
            await self._sync()
            self._report_rest()
            async with self._taking_updates():
                answer = await self._ask(self._agent, content)
            self._usage += usage_of(answer)
            self._report_usage()
            await self._settle()
            self._note_silence()
            if limit := self._limit:
                return Ending("budget", f"Paused: {limit}. {NEW_BUDGET}")
            reason = _STOP_REASONS.get(str(answer.get("stopReason")), "end_turn")
            may_send = bool(self._unread) and check_prompts < context.max_check_prompts
            if reason != "end_turn" or not (may_send or context.has_user_message()):
                return Ending(reason, _ENDINGS.get(reason, ""))
            check_prompts += may_send
            context.history.add_reply([TextPart("".join(self._said).strip())])
            self._said.clear()
            context.history.add_user_message([Note("plan", text) for text in self._unread])
            content = [_text_block(text) for text in self._unread]
            self._unread.clear()

    async def _ask(self, agent: RunningAgent, content: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The agent's answer to a prompt; an empty one if the budget of the run is used up before."""
        asking = asyncio.ensure_future(agent.prompt(content, self))
        watching = asyncio.create_task(self._watch_budget(asking))
        try:
            return await asking
        except asyncio.CancelledError:
            if watching.done():
                return {}
            raise
        finally:
            watching.cancel()

    async def _watch_budget(self, asking: "asyncio.Future[dict[str, Any]]") -> None:
        """Returns when the budget is used up, after the agent was stopped."""
        while self._limit is None:  # noqa: ASYNC110  the budget's clock stops while the user is asked
            await asyncio.sleep(BUDGET_SECONDS)
        asking.cancel()

    @property
    def _limit(self) -> str | None:
        """Describes the limit of the budget that the run has reached; None if it has reached none."""
        return self.context.budget.reached_limit(self._usage, self._cost, self.context.clock() - self._began)

    @contextlib.asynccontextmanager
    async def _taking_updates(self) -> AsyncGenerator[None]:
        """Takes the agent's reports meanwhile, and those that are left."""
        taking = asyncio.create_task(self._take_all())
        try:
            yield
            await self._updates.join()
        finally:
            taking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await taking

    async def _take_all(self) -> None:
        while True:
            update = await self._updates.get()
            try:
                if isinstance(update, _ToolCall):
                    await self._take_tool_call(update)
                else:
                    await self._take(update)
            except Exception:
                log.exception("an update of an agent failed")
            finally:
                self._updates.task_done()

    def take(self, update: Update) -> None:
        """See `Turn`."""
        self._updates.put_nowait(update)

    async def call_tool(self, name: str, input: Mapping[str, Any]) -> ToolAnswer:
        """See `Turn`. The call waits for what the agent has reported before."""
        answer: asyncio.Future[ToolAnswer] = asyncio.get_running_loop().create_future()
        self._updates.put_nowait(_ToolCall(name, input, answer))
        return await answer

    async def _take_tool_call(self, called: _ToolCall) -> None:
        """Calls a tool of Fairlead on what the agent has written until now."""
        try:
            await self._sync()
            self._report_rest()
            self._tool_calls += 1
            self._silent_calls = 0
            call = Call(f"{self.id}.tool{self._tool_calls}", CALLED[called.name], dict(called.input))
            results: list[Result] = []
            await self.context.tools.run_all([call], results)
            [result] = results
            called.answer.set_result(ToolAnswer(result.text, result.is_error))
        except ToolError as error:
            called.answer.set_result(ToolAnswer(f"Error: {error}", is_error=True))
        finally:
            _stop(called)

    async def allows(self, call: CallState) -> bool:
        """See `Turn`. Asks by the user's rules for commands and for calls of tools.

        The agent is in a box without the machine's network, so by default nothing needs a question.
        """
        self.take(call)
        await self._updates.join()
        self._start(call)
        context, call_id = self.context, self._shown[call.id].call_id
        if context.mode != "agent" and call.kind in (*CHANGES_FILES, "other"):
            context.emit(ToolOutput(call_id, f"{NOT_IN_MODE[context.mode][1]}\n"))
            return False
        try:
            if call.kind == "execute" and call.command:
                command = RunCommand(call.command, context.roots.first.path, "sandboxed")
                await context.gate.check(command, call_id)
            elif call.kind not in ("read", "search", "edit", "delete", "move", "think"):
                tool = call.title or call.kind
                action = CallTool(self.definition.title, tool, call.input, self.definition.text, False, False)
                await context.gate.check(action, call_id)
        except NotAllowed as error:
            context.emit(ToolOutput(call_id, f"{error}\n"))
            return False
        return True

    def note_files(self) -> None:
        """The proposals or the user's documents may have changed: shows them to the agent while it works."""
        token = self.context.change_token()
        if self._agent is None or token == self._seen or (self._showing is not None and not self._showing.done()):
            return
        self._showing = asyncio.create_task(self._show())

    async def _show(self) -> None:
        try:
            while self.context.change_token() != self._seen:
                await self._sync(only_if_changed=True)
        except ToolError as error:
            log.info("the changed files could not be shown to an agent: %s", error)  # the end of its turn says so too

    async def _take(self, update: Update) -> None:
        context = self.context
        match update:
            case Said(text, is_thought):
                context.emit(Thinking(text) if is_thought else Text(text))
                if not is_thought:
                    self._said.append(text)
            case CallState():
                await self._take_call(update)
            case PlanEntries():
                await self._take_plan(update)
            case Used():
                self._used = update
                self._report_usage()
            case _:
                pass

    async def _take_call(self, call: CallState) -> None:
        if call.status in ("in_progress", *ENDED) or call.says_what:
            self._start(call)
        shown = self._shown.get(call.id)
        if shown is None or shown.is_finished:
            return
        # before it runs, its content may be a description
        if call.kind == "execute" and call.status in ("in_progress", *ENDED) and call.output != shown.output:
            added = call.output[len(shown.output) :] if call.output.startswith(shown.output) else f"\n{call.output}"
            self.context.emit(ToolOutput(shown.call_id, added))
            shown.output = call.output
        if call.status in ENDED:
            self._last = shown.author
            await self._finish(call, shown)
            shown.is_finished = True  # not before: a stop may end the line above, and then the call is unfinished
            self._silent_calls += 1
            if plan := plan_of_call(call):
                await self._take_plan(plan)

    def _start(self, call: CallState) -> None:
        """Shows a call, unless it is shown already."""
        if call.id in self._shown:
            return
        current = self.context.plan.snapshot().current
        call_id = f"{self.id}.{self._round}.{call.id}"
        self._shown[call.id] = _Shown(call_id, Author(current.id if current else None, call_id))
        title = self._relative(call.title or call.kind)
        given = {"command": call.command} if call.command else dict(call.input)
        if len(str(given)) > MAX_INPUT_CHARS:
            given = {}
        locations = tuple(Location(self._name_of(each.path), each.line) for each in call.locations)
        name = call.title or call.kind
        self.context.emit(ToolStarted(call_id, name, call.kind, title, given, locations, has_claimed_locations=True))

    async def _finish(self, call: CallState, shown: _Shown) -> None:
        await self._sync()
        has_failed = call.status == "failed"
        lines, paths = ([], []) if has_failed else self._take_report()  # a failed call is no evidence of its files
        text = "\n".join(filter(None, (call.output, *lines)))
        # an agent does not wait: what this call wrote may have been collected, and recorded, before it was reported
        claimed = {self._path_of(each) for each in (*(each.path for each in call.locations), *call.claims)}
        paths = list(dict.fromkeys((*paths, *sorted(claimed & self._written))))
        self.context.emit(ToolFinished(shown.call_id, has_failed, text, paths))

    def _take_report(self) -> tuple[list[str], list[str]]:
        """What the user has not read about the agent's files, and the paths of those that no call has on record."""
        taken, self._unreported = self._unreported, []
        return [line for each in taken for line in each.report], [path for each in taken for path in each.paths]

    def _report_rest(self, problem: str = "") -> None:
        """Shows what the agent has written apart from its calls, as a call of its own, so that it is on record too.

        Args:
            problem: why something of it is lost; empty: nothing is.
        """
        lines, paths = self._take_report()
        lines += filter(None, [problem])
        if not lines:
            return
        self._reports += 1
        call_id = f"{self.id}.files{self._reports}"
        self.context.emit(ToolStarted(call_id, OTHER_FILES, "edit", OTHER_FILES, {}, ()))
        self.context.emit(ToolFinished(call_id, not paths, "\n".join(lines), paths))

    async def _sync(self, *, only_if_changed: bool = False) -> None:
        """Proposes what the agent has written, then shows it what has changed for it.

        In this order, so that nothing that it has written is overwritten before it is proposed.

        Args:
            only_if_changed: whether to do nothing if it has been shown all changes meanwhile. Its own are changes too.
        """
        agent = self._agent
        if agent is None:
            return
        async with self._files:
            if only_if_changed and self.context.change_token() == self._seen:
                return
            await finish_uncancelled(self._propose(agent))
            self._seen = self.context.change_token()
            if agent.is_running:
                await finish_uncancelled(agent.show_files())

    async def _propose(self, agent: RunningAgent) -> None:
        changes = await agent.take_changes()
        if not (changes.files or changes.warnings or changes.folders.removed or changes.folders.empty):
            return
        proposed = await self.context.propose(changes, self._last)
        self._unreported.append(proposed)
        self._written.update(proposed.paths)

    async def _take_plan(self, plan: PlanEntries) -> None:
        """Takes over a plan, and runs the checks of the steps that it completes on what was written until then.

        What the agent reports meanwhile waits, so that its work belongs to the right step.
        """
        self._silent_calls = 0
        if plan.items == self._plan:  # some agents repeat it
            return
        if self._completes(plan):  # otherwise what was written since belongs to a call that comes next
            await self._sync()
            self._report_rest()
        attempt = (plan.items, self.context.change_token())
        if attempt == self._failed:
            return
        self._plans += 1
        call = Call(f"{self.id}.plan{self._plans}", "todo", {"items": self._with_checks(plan.items)})
        results: list[Result] = []
        await self.context.tools.run_all([call], results)
        [result] = results
        self._unread.clear()
        if result.is_error:
            self._unread.append(PLAN_REFUSED.format(problem=result.output))
        elif result.plan_update is not None and result.plan_update.open:
            self._unread.append(CHECKED.format(results=result.output))
        self._plan = () if self._unread else plan.items
        self._failed = attempt if self._unread else None

    def _note_silence(self) -> None:
        """Remembers to remind the agent of its plan, if it has worked without a change of it (docs/plan.md L6)."""
        plan, count = self.context.plan, self._silent_calls
        left = [item for item in plan.snapshot().items if item.status != "completed" and not item.held]
        if left and count >= plan.reminder_interval:
            self.context.agents.reminder = REMINDER.format(count=count, step=item_text(left[0]))

    def _reminder(self) -> Sequence[Note]:
        """A reminder for the next prompt, if one is due."""
        about, self.context.agents.reminder = self.context.agents.reminder, ""
        if not about or self.context.mode == "ask":
            return ()
        reminder = PlanReminder(about, REWRITE)
        self.context.emit(ReminderSent(reminder.about, reminder.text))
        return (Note("reminder", reminder.text),)

    def _with_checks(self, items: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """The items of a plan, which has no checks, with those that their steps have."""
        checks = {item.content: item.check for item in self.context.plan.snapshot().items if item.check}
        found = ((each, checks.get(each["content"])) for each in items)
        return [{**each, "check": check} if check else dict(each) for each, check in found]

    def _completes(self, plan: PlanEntries) -> bool:
        """Whether a plan completes steps, so that their checks run."""
        try:
            return bool(self.context.plan.completing(self._with_checks(plan.items)))
        except PlanError:
            return False

    async def _settle(self) -> None:
        """Proposes what the agent has written last, after its calls have ended."""
        for shown in self._unfinished():
            self.context.emit(ToolFinished(shown.call_id, False, UNENDED))
        await self._sync()
        self._report_rest()

    async def _end(self, ending: Ending) -> None:
        """Takes what the agent has written last. Ends it after a stop, because commands of it may still run."""
        agents, agent = self.context.agents, self._agent
        while not self._updates.empty():
            update = self._updates.get_nowait()
            if isinstance(update, _ToolCall):
                _stop(update)
            elif isinstance(update, Said):
                await self._take(update)
        problem = ""
        if agent is not None:
            try:
                async with self._files:
                    await self._propose(agent)
            except ToolError as error:
                problem = NOT_TAKEN.format(problem=error)
        for shown in self._unfinished():
            self.context.emit(ToolFinished(shown.call_id, True, STOPPED))
        self._report_rest(problem)
        agents.unread = self._unread
        if ending.stop_reason in ("cancelled", "budget") or (agent is not None and not agent.is_running):
            await agents.end()

    def _unfinished(self) -> Sequence[_Shown]:
        """The calls that have not ended. They count as ended from now on."""
        found = [each for each in self._shown.values() if not each.is_finished]
        for each in found:
            each.is_finished = True
        return found

    @property
    def _cost(self) -> float | None:
        """US dollars, None if the agent does not say it."""
        if self._used is None or self._used.cost is None:
            return None
        before = self._cost_before or 0.0
        return self._used.cost - before if self._used.cost >= before else self._used.cost

    def _report_usage(self) -> None:
        tokens, window = (self._used.tokens, self._used.window) if self._used is not None else (0, None)
        self.context.emit(UsageReported(self._usage, self._cost, tokens, window))

    def _blocks(self, parts: Sequence[Part]) -> list[Mapping[str, Any]]:
        """The parts of a message as content of ACP."""
        blocks: list[Mapping[str, Any]] = []
        for part in parts:
            if isinstance(part, Image):
                if self._agent is not None and self._agent.takes_images:
                    blocks.append({"type": "image", "mimeType": part.media_type, "data": part.data})
                else:
                    blocks.append(_text_block("(A picture that this agent does not take.)"))
            elif isinstance(part, Prompt | Note):
                blocks.append(_text_block(part.text))
        return blocks

    def _relative(self, text: str) -> str:
        """A text with the paths of the workspace's files as the user writes them."""
        roots = self.context.roots
        for root in roots.folders:
            text = text.replace(f"{root.path}/", f"{root.name}/" if roots.has_names else "")
        return text

    def _name_of(self, path: str) -> str:
        """The name of a file for the user, given its path from the agent, which works in the first folder."""
        return self.context.roots.relative(Path(self._path_of(path)))

    def _path_of(self, path: str) -> str:
        return os.path.normpath(self.context.roots.first.path / path)


def _stop(called: _ToolCall) -> None:
    if not called.answer.done():
        called.answer.set_result(ToolAnswer(STOPPED, is_error=True))


def usage_of(answer: Mapping[str, Any]) -> Usage:
    """What a prompt has used, if the agent's answer says it."""
    given = fields_of(answer.get("usage"))

    def count(*names: str) -> int:
        return next(filter(None, (read_count(given.get(name)) for name in names)), 0)

    return Usage(
        1,
        count("inputTokens"),
        count("cachedReadTokens", "cacheReadTokens"),
        count("cachedWriteTokens", "cacheWriteTokens"),
        count("outputTokens"),
    )


def _text_block(text: str) -> Mapping[str, Any]:
    return {"type": "text", "text": text}


def _earlier(history: History) -> str:
    """What was said in a session so far, the end of it, for an agent that does not know it; empty if nothing was."""
    lines: list[str] = []
    for message in history.messages:
        who = "Agent" if message.role == "assistant" else "User"
        for part in message.parts:
            text = part.said if isinstance(part, Prompt) else part.text if isinstance(part, TextPart) else ""
            if text.strip():
                lines.append(f"{who}: {shorten(text.strip(), MAX_EARLIER_PART)}")
    return "\n\n".join(lines)[-MAX_EARLIER:]
