"""Runs the tool calls of one answer. Every call gets exactly one result, whatever happens."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from fairlead.agent.events import Event, ToolFinished, ToolOutput, ToolStarted
from fairlead.agent.guard import RepeatGuard
from fairlead.agent.prompts import LOOPING_CALL, NOT_IN_MODE, NOT_REACHED, REPEATED_CALL
from fairlead.agent.schema import read_input
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.tool import CHANGES_FILES, Mode, RunningCall, Tool
from fairlead.errors import ToolError, VerbatimToolError
from fairlead.messages.history import clean_text
from fairlead.messages.parts import Call, Result

log = logging.getLogger(__name__)

MAX_NAME = 100  # characters of an unknown tool's name that are compared


@dataclass
class Dispatcher:
    """Finds each call's tool in a table and runs it (docs/plan.md L2)."""

    tools: Mapping[str, Tool]
    guard: RepeatGuard
    emit: Callable[[Event], None]
    current_item: Callable[[], str | None]
    """Returns the id of the plan item in progress; None if there is none."""
    already_shown: Callable[[str, Mapping[str, Any], str], bool]
    """Returns whether the last call with this name and input returned this text, and the model can still read it."""
    stopped: StoppedCalls
    mode: Mode = "agent"
    is_looping: bool = False
    """After a round: whether the model has repeated the same call too often."""
    has_polled: bool = False
    """After a round: whether one of its calls polled background work (`RunningCall.polls`)."""

    async def run_all(self, calls: Sequence[Call], results: list[Result]) -> None:
        """Runs the calls in order and appends one result for each to `results`, even if cancelled halfway.

        `results` must be empty at first. A call that is repeated too often ends the round: neither this call nor the
        later ones are run.
        """
        self.has_polled = False
        reason = "the run was cancelled before this call"
        try:
            for call in calls:
                results.append(await self._run(call, results))
                if self.is_looping:
                    reason = "the run was stopped before this call"
                    break
        finally:
            for call in calls[len(results) :]:
                results.append(Result(call.id, NOT_REACHED.format(reason=reason), is_error=True))

    def refuse(self, call: Call, reason: str) -> Result:
        """Answers a call with an error instead of running it. The user sees it like any other call."""
        tool = self.tools.get(call.name)
        self.emit(ToolStarted(call.id, call.name, tool.kind if tool else "other", call.name, call.input, ()))
        self.emit(ToolFinished(call.id, True, reason))
        return Result(call.id, reason, is_error=True)

    async def _run(self, call: Call, results: list[Result]) -> Result:
        running = RunningCall(
            call.id,
            self.current_item(),
            lambda text: self.emit(ToolOutput(call.id, text)),
            already_shown=lambda text: self.already_shown(call.name, call.input, text),
        )
        try:
            text, is_error = await self._execute(call, running, is_first=not results), False
        except asyncio.CancelledError:
            result = Result(call.id, running.result_when_stopped(), is_error=True)
            results.append(result)
            self.emit(ToolFinished(call.id, True, result.text))
            raise
        except VerbatimToolError as error:
            text, is_error = str(error), True
        except Exception as error:  # broad on purpose: no tool may end the loop (L3)
            if not isinstance(error, ToolError):
                log.exception("tool %s failed", call.name)
            text, is_error = f"Error: {str(error) or type(error).__name__}", True
        result = Result(call.id, clean_text(text), is_error)
        self.emit(ToolFinished(call.id, result.is_error, result.text, tuple(running.changed_paths)))
        return result

    async def _execute(self, call: Call, running: RunningCall, *, is_first: bool) -> str:
        tool = self.tools.get(call.name)
        is_exempt = tool is not None and tool.read_only
        # a call that is not the first of its answer directly follows one of the same answer
        verdict = self.guard.check(call, is_exempt, has_read_result=is_first)
        self.is_looping = verdict == "stop"
        title, locations = call.name, ()
        try:
            known, given = self._checked(call, tool)
            title, locations = known.describe(given)
        finally:
            kind = tool.kind if tool is not None else "other"
            self.emit(ToolStarted(call.id, call.name, kind, title, call.input, locations))
        if verdict == "stop":
            raise ToolError(LOOPING_CALL.format(count=self.guard.in_a_row))
        if verdict == "refuse":
            raise ToolError(REPEATED_CALL)
        if known.kind in CHANGES_FILES:
            await self.stopped.wait()  # a stopped call and this one must not change files at the same time (L16)
        result = ""  # a call that fails again has not changed
        try:
            result = await self.stopped.run(known.run(given, running))
            return result
        finally:
            self.guard.forget() if running.polls else self.guard.note_result(result, running.repeat)
            self.has_polled = self.has_polled or running.polls

    def _checked(self, call: Call, tool: Tool | None) -> tuple[Tool, dict[str, Any]]:
        """The tool of a call, and the input as the tool's schema describes it."""
        if tool is None:
            raise VerbatimToolError(f"Unknown tool: {call.name}. The tools are {', '.join(self._nearest(call.name))}.")
        if call.problem is not None:
            raise ToolError(call.problem)
        if self.mode != "agent" and (not tool.read_only or (self.mode == "ask" and call.name == "todo")):
            raise ToolError(NOT_IN_MODE[self.mode])
        return tool, read_input(tool.spec.input_schema, call.input)

    def _nearest(self, name: str) -> list[str]:
        """The names of the tools, the most similar one first."""
        similarity = SequenceMatcher(b=name[:MAX_NAME].lower(), autojunk=False)

        def ratio(known: str) -> float:
            similarity.set_seq1(known)
            return similarity.ratio()

        return sorted(self.tools, key=ratio, reverse=True)
