"""Runs the tool calls of one answer: every call gets exactly one result, whatever happens."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairlead.agent.errors import PlainToolError, ToolError
from fairlead.agent.events import Event, ToolFinished, ToolOutput, ToolStarted
from fairlead.agent.guard import RepeatGuard
from fairlead.agent.messages import ToolCall, ToolResult, clean_text
from fairlead.agent.schema import check_input
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.tool import CHANGES_FILES, Mode, RunningCall, Tool

log = logging.getLogger(__name__)

REPEATED = (
    "Not run: the same call was made just before, and nothing has changed since. "
    "Use the result you have, try another way, or finish."
)
LOOPING = "Not run: the same call came {count} times in a row. The run stops here."
NOT_NOW = {
    "plan": "Not run: for now the user wants the plan only. Write it with the todo tool and end your turn.",
    "ask": "Not run: the user wants an answer only. Look around as you need to, answer, and end your turn.",
}
NOT_REACHED = "Not run: {reason}."


@dataclass
class Dispatcher:
    """The dispatch table at work (L2).

    `current_item` names the plan item in progress; `told` says whether a call of this name and input had this text as
    its last result, which can still be read in the conversation. After a round `looping` says that the same call came
    too often, and `fresh` that one of its calls may tell something else the next time.
    """

    tools: Mapping[str, Tool]
    guard: RepeatGuard
    max_repeats: int
    emit: Callable[[Event], None]
    current_item: Callable[[], str | None]
    told: Callable[[str, Mapping[str, Any], str], bool]
    stopped: StoppedCalls
    mode: Mode = "agent"
    looping: bool = False
    fresh: bool = False

    async def run_all(self, calls: Sequence[ToolCall], results: list[ToolResult]) -> None:
        """Runs the calls in order and fills `results`, one for each, also when it is cancelled half-way."""
        self.fresh = False
        reason = "the run was cancelled before this call"
        try:
            for call in calls:
                results.append(await self._run(call, results))
                if self.looping:
                    reason = "the run was stopped before this call"
                    break
        finally:
            for call in calls[len(results) :]:
                results.append(ToolResult(call.id, NOT_REACHED.format(reason=reason), is_error=True))

    def refuse(self, call: ToolCall, text: str) -> ToolResult:
        """A call that is not to be run is seen all the same, with its reason."""
        tool = self.tools.get(call.name)
        self.emit(ToolStarted(call.id, call.name, tool.kind if tool else "other", call.name, call.input, ()))
        self.emit(ToolFinished(call.id, True, text))
        return ToolResult(call.id, text, is_error=True)

    async def _run(self, call: ToolCall, results: list[ToolResult]) -> ToolResult:
        running = RunningCall(
            call.id,
            self.current_item(),
            lambda text: self.emit(ToolOutput(call.id, text)),
            told=lambda text: self.told(call.name, call.input, text),
        )
        try:
            text, is_error = await self._outcome(call, running), False
        except asyncio.CancelledError:
            result = ToolResult(call.id, running.told_when_stopped(), is_error=True)
            results.append(result)
            self.emit(ToolFinished(call.id, True, result.text))
            raise
        except PlainToolError as error:
            text, is_error = str(error), True
        except Exception as error:  # the one broad except: the loop never dies of a tool (L3)
            if not isinstance(error, ToolError):
                log.exception("tool %s failed", call.name)
            text, is_error = f"Error: {str(error) or type(error).__name__}", True
        result = ToolResult(call.id, clean_text(text), is_error)
        self.emit(ToolFinished(call.id, result.is_error, result.text))
        return result

    async def _outcome(self, call: ToolCall, running: RunningCall) -> str:
        tool = self.tools.get(call.name)
        verdict = self.guard.check(call, tool is not None and tool.read_only)
        self.looping = verdict == "stop"
        title, locations = call.name, ()
        try:
            known = self._checked(call, tool)
            title, locations = known.describe(call.input)
        finally:
            kind = tool.kind if tool is not None else "other"
            self.emit(ToolStarted(call.id, call.name, kind, title, call.input, locations))
        if verdict == "stop":
            raise ToolError(LOOPING.format(count=self.max_repeats))
        if verdict == "refuse":
            raise ToolError(REPEATED)
        if known.kind in CHANGES_FILES:
            await self.stopped.over()  # else two calls would change files at the same time (L16)
        try:
            return await self.stopped.run(known.run(call.input, running))
        finally:
            self.guard.forget() if running.fresh else self.guard.ran()
            self.fresh = self.fresh or running.fresh

    def _checked(self, call: ToolCall, tool: Tool | None) -> Tool:
        if tool is None:
            raise PlainToolError(f"Unknown tool: {call.name}")
        if call.problem is not None:
            raise ToolError(call.problem)
        if self.mode != "agent" and (not tool.read_only or (self.mode == "ask" and call.name == "todo")):
            raise ToolError(NOT_NOW[self.mode])
        check_input(tool.spec.input_schema, call.input)
        return tool
