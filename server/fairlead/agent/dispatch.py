"""Runs the tool calls of one answer. Every call gets exactly one result, whatever happens."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from fairlead.agent.events import Event, ToolFinished, ToolStarted
from fairlead.agent.interceptors import Interceptor, Refusal
from fairlead.agent.prompts import NOT_IN_MODE, NOT_REACHED
from fairlead.agent.schema import read_input
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.tool import CHANGES_FILES, SIMULTANEOUS, Mode, RunningCall, Tool
from fairlead.errors import ToolError, VerbatimToolError
from fairlead.messages.history import call_key, clean_text
from fairlead.messages.parts import Call, Result
from fairlead.sentences import Sentence

log = logging.getLogger(__name__)

MAX_NAME = 100  # characters of an unknown tool's name that are compared


@dataclass
class _Started:
    """A call that the user sees as started."""

    call: Call
    running: RunningCall
    work: asyncio.Task[str] | Exception
    """What its tool does, or why it is not run."""

    @property
    def ends_answer(self) -> bool:
        return isinstance(self.work, Refusal) and self.work.ends_answer


@dataclass
class Dispatcher:
    """Finds each call's tool in a table and runs it (docs/plan.md L2)."""

    tools: Mapping[str, Tool]
    interceptors: Sequence[Interceptor]
    emit: Callable[[Event], None]
    current_item: Callable[[], str | None]
    """Returns the id of the plan item in progress; None if there is none."""
    already_shown: Callable[[str, Mapping[str, Any], str], bool]
    """Returns whether the last call with this name and input returned this text, and the model can still read it."""
    stopped: StoppedCalls
    mode: Mode = "agent"

    async def run_all(self, calls: Sequence[Call], results: list[Result]) -> None:
        """Runs the calls and appends one result for each to `results`, in order, even if cancelled halfway.

        Successive calls that only read, or are the work of subagents, run at the same time; any other call runs alone.
        `results` must be empty at first. After a refusal that ends the answer, the later calls are not run.
        """
        reason = "the run was cancelled before this call"
        try:
            for group in self._groups(calls):
                if await self._run_group(group, results):
                    reason = "the run was stopped before this call"
                    break
        finally:
            for call in calls[len(results) :]:
                results.append(Result(call.id, NOT_REACHED.format(reason=reason), is_error=True))

    def refuse(self, call: Call, reason: str) -> Result:
        """Answers a call with an error instead of running it. The user sees it like any other call."""
        tool = self.tools.get(call.name)
        self.emit(
            ToolStarted(call.id, call.name, tool.kind if tool else "other", call.name, call.input, (), refused=True)
        )
        self.emit(ToolFinished(call.id, True, reason))
        return Result(call.id, reason, is_error=True)

    def _groups(self, calls: Sequence[Call]) -> Iterator[Sequence[Call]]:
        """The calls in order, those together that may run at the same time. Identical calls never do (L10)."""
        group: dict[str, Call] = {}
        for call in calls:
            tool, key = self.tools.get(call.name), call_key(call.name, call.input)
            is_simultaneous = (
                tool is not None and tool.kind in SIMULTANEOUS and (tool.read_only or tool.kind == "agent")
            )
            if group and (not is_simultaneous or key in group):
                yield list(group.values())
                group = {}
            if is_simultaneous:
                group[key] = call
            else:
                yield [call]
        if group:
            yield list(group.values())

    async def _run_group(self, calls: Sequence[Call], results: list[Result]) -> bool:
        """Runs calls at the same time and appends their results. Returns whether the later calls must not run."""
        started: list[_Started] = []
        before = len(results)
        try:
            for call in calls:
                started.append(await self._start(call, has_read_result=not before and not started))
                if started[-1].ends_answer:
                    break
            for each in started:
                if isinstance(each.work, asyncio.Task):
                    await asyncio.wait({each.work})
                self._report(each, await self._finish(each), results)
        except asyncio.CancelledError:
            for each in started[len(results) - before :]:
                self._report(each, self._stop(each), results)
            raise
        return started[-1].ends_answer

    async def _start(self, call: Call, *, has_read_result: bool) -> _Started:
        tool = self.tools.get(call.name)
        call, refusal = await self._intercepted(call, tool, has_read_result=has_read_result)
        running = RunningCall(
            call.id,
            self.current_item(),
            self.emit,
            already_shown=lambda text: self.already_shown(call.name, call.input, text),
        )
        title, locations = call.name, ()
        work: asyncio.Task[str] | Exception
        try:
            known, given = self._checked(call, tool)
            title, locations = known.describe(given)
            self._check_mode(known)
            if refusal is not None:
                raise refusal
            work = asyncio.ensure_future(self._work(known, given, running))
        except Exception as error:  # noqa: BLE001  `_finish` handles it
            work = error
        kind, shown = tool.kind if tool else "other", title.parts if isinstance(title, Sentence) else ()
        self.emit(ToolStarted(call.id, call.name, kind, str(title), call.input, locations, shown=shown))
        return _Started(call, running, work)

    async def _intercepted(
        self, call: Call, tool: Tool | None, *, has_read_result: bool
    ) -> tuple[Call, Refusal | None]:
        """The call that runs instead of a call, and why it does not run; None if it does."""
        for interceptor in self.interceptors:
            answer = await interceptor.before_call(call, tool, has_read_result)
            if isinstance(answer, Refusal):
                return call, answer
            call = answer or call
        return call, None

    async def _work(self, tool: Tool, given: dict[str, Any], running: RunningCall) -> str:
        if tool.kind in CHANGES_FILES:
            await self.stopped.wait()  # a stopped call and this one must not change files at the same time (L16)
        return await tool.run(given, running)

    async def _finish(self, started: _Started) -> Result:
        """The result of a call that has ended or was refused."""
        call, running = started.call, started.running
        result = self._result(started)
        if isinstance(started.work, asyncio.Task):
            running.progress = result.output  # a cancellation from now on does not undo what the tool did
            text = "" if result.is_error else result.output
            added = [await each.after_call(call, running, text) for each in self.interceptors]
            result = replace(result, output=clean_text("\n".join(filter(None, (result.output, *added)))))
        return result

    def _stop(self, started: _Started) -> Result:
        """Stops a call, if it has not ended. Returns its result, which one that has ended keeps."""
        call, work = started.call, started.work
        if isinstance(work, Exception) or (work.done() and not work.cancelled()):
            return self._result(started)
        self.stopped.stop(work)
        return Result(call.id, started.running.result_when_stopped(), is_error=True)

    def _result(self, started: _Started) -> Result:
        """The result of a call that has ended or was refused, without what interceptors add."""
        call, running, work = started.call, started.running, started.work
        try:
            if isinstance(work, Exception):
                raise work
            text, is_error = work.result(), False
        except VerbatimToolError as error:
            text, is_error = str(error), True
        except Exception as error:  # broad on purpose: no tool may end the loop (L3)
            if isinstance(error, ToolError):
                running.shown = error.shown
            else:
                log.exception("tool %s failed", call.name)
            text, is_error = f"Error: {str(error) or type(error).__name__}", True
        images = () if is_error else tuple(running.images)
        return Result(call.id, clean_text(text), is_error, images, running.plan_update)

    def _report(self, started: _Started, result: Result, results: list[Result]) -> None:
        results.append(result)
        running = started.running
        shown, paths = running.shown.parts if running.shown else (), tuple(running.changed_paths)
        self.emit(
            ToolFinished(
                result.call_id,
                result.is_error,
                result.text,
                paths,
                result.plan_update,
                shown,
                running.server_call,
            )
        )

    def _checked(self, call: Call, tool: Tool | None) -> tuple[Tool, dict[str, Any]]:
        """The tool of a call, and the input as the tool's schema describes it."""
        if tool is None:
            raise VerbatimToolError(f"Unknown tool: {call.name}. The tools are {', '.join(self._nearest(call.name))}.")
        if call.problem is not None:
            raise ToolError(call.problem)
        return tool, read_input(tool.spec, call.input)

    def _check_mode(self, tool: Tool) -> None:
        """Raises ToolError if the mode does not allow calls of the tool."""
        if self.mode != "agent" and (not tool.read_only or (self.mode == "ask" and tool.spec.name == "todo")):
            raise ToolError(*NOT_IN_MODE[self.mode])

    def _nearest(self, name: str) -> list[str]:
        """The names of the tools, the most similar one first."""
        similarity = SequenceMatcher(b=name[:MAX_NAME].lower(), autojunk=False)

        def ratio(known: str) -> float:
            similarity.set_seq1(known)
            return similarity.ratio()

        return sorted(self.tools, key=ratio, reverse=True)
