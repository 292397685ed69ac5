"""Runs the user's hooks at the boundaries of a run."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from fairlead.agent.events import Event, FeedbackSent
from fairlead.agent.interceptors import Interceptor, Refusal, RunEnded
from fairlead.agent.outcome import Ending
from fairlead.agent.tool import Mode, RunningCall, Tool
from fairlead.gate.gate import Gate, NotAllowed
from fairlead.gate.request import ConfirmCall, call_text
from fairlead.messages.history import clean_text
from fairlead.messages.parts import Call, Note, Result
from fairlead.sentences import Sentence
from fairlead.session.hooks.texts import CHANGED, REFUSED, STOP, changed_files, said
from fairlead.user_hooks.events import Event as HookEvent
from fairlead.user_hooks.hooks import Happening, HooksResult, UserHooks
from fairlead.user_hooks.tool_names import call_fields, own_input
from fairlead.user_hooks.verdict import MAX_CHARS, Verdict
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import Roots

MAX_STOP_BLOCKS = 5
"""How often hooks may prolong a run, so that one that always does cannot keep it going."""


class CallHooks(Interceptor):
    """The hooks before and after the calls of one run, and before a compaction."""

    def __init__(
        self,
        hooks: UserHooks,
        gate: Gate,
        roots: Callable[[], Roots],
        mode: Mode = "agent",
        ending: Ending | None = None,
    ) -> None:
        """
        Args:
            ending: why the run must end before it asks the model; None: it need not.
        """
        self._hooks, self._gate, self._roots, self._mode, self._ending = hooks, gate, roots, mode, ending
        self._before: dict[str, list[str]] = {}
        """What the model is to read after the result of a call, by the call's id."""

    async def before_request(self) -> Sequence[Note]:
        self._end_if_asked()
        return ()

    async def before_compaction(self) -> None:
        await self._hooks.run(Happening("PreCompact", {"trigger": "auto", "custom_instructions": ""}))

    async def before_call(self, call: Call, tool: Tool | None, has_read_result: bool) -> Refusal | Call | None:
        if tool is None or call.problem is not None or (self._mode != "agent" and not tool.read_only):
            return None
        verdict = (await self._run("PreToolUse", call)).verdict
        if verdict.ends_run:
            return Refusal(REFUSED.format(said=said("PreToolUse", verdict.stop_reason)), ends_answer=True)
        if verdict.blocks:
            shown = Sentence("A hook refused this: {0}", verdict.reason)
            return Refusal(REFUSED.format(said=said("PreToolUse", verdict.reason)), shown)
        given = own_input(call.name, call.input, verdict.updated_input)
        if verdict.decision == "ask":
            reason = Sentence("A hook wants you to look at this: {0}", verdict.reason)
            try:
                await self._gate.check(ConfirmCall(call_text(call.name, given)), call.id, [reason])
            except NotAllowed as error:
                return Refusal(str(error), error.shown)
        texts = self._before[call.id] = [said("PreToolUse", verdict.context)] if verdict.context else []
        if given == call.input:
            return None
        shown = json.dumps(given, ensure_ascii=False)
        texts.append(CHANGED.format(given=shown if len(shown) <= MAX_CHARS else f"{shown[:MAX_CHARS]}…"))
        return replace(call, input=given)

    async def after_call(self, call: Call, running: RunningCall, result: str) -> str:
        texts = self._before.pop(call.id, [])
        if result:
            response = {"text": result, **({"stdout": result} if call.name == "bash" else {})}
            found = await self._run("PostToolUse", call, tool_response=response)
            verdict = found.verdict
            names = [self._roots().relative(Path(path)) for path in found.changed]
            texts += [changed_files(names)] if names else []
            texts += [said("PostToolUse", text) for text in (verdict.reason, verdict.context) if text]
        return "\n".join(texts)

    async def after_results(self, calls: Sequence[Call], results: Sequence[Result]) -> None:
        self._end_if_asked()

    async def _run(self, event: Literal["PreToolUse", "PostToolUse"], call: Call, **more: Any) -> HooksResult:
        fields = {**call_fields(call.id, call.name, call.input, self._path_of), **more}
        found = await self._hooks.run(Happening(event, fields))
        if found.verdict.ends_run:
            self._ending = self._ending or ending_of(found.verdict)
        return found

    def _path_of(self, given: str) -> str:
        try:
            return str(self._roots().resolve(given))
        except WorkspaceError:
            return given

    def _end_if_asked(self) -> None:
        if self._ending is not None:
            raise RunEnded(self._ending)


class StopHooks(Interceptor):
    """The hooks before the end of a run, or of a subagent."""

    def __init__(self, hooks: UserHooks, emit: Callable[[Event], None], agent: str | None = None) -> None:
        """
        Args:
            agent: the type of the subagent; None: the run is none of a subagent.
        """
        self._hooks, self._emit = hooks, emit
        self._event: HookEvent = "Stop" if agent is None else "SubagentStop"
        self._about = {} if agent is None else {"agent_type": agent}
        self._blocked = 0

    async def before_end(self) -> Sequence[Note]:
        happening = Happening(self._event, {"stop_hook_active": self._blocked > 0, **self._about})
        verdict = (await self._hooks.run(happening)).verdict
        if verdict.ends_run or not verdict.blocks or self._blocked >= MAX_STOP_BLOCKS:
            return ()
        self._blocked += 1
        text = clean_text(STOP.format(said=said(self._event, verdict.reason)))
        self._emit(FeedbackSent("hook", text))
        return (Note("hook", text),)


def ending_of(verdict: Verdict) -> Ending:
    """The end of a run that a hook wants to end."""
    return Ending("hook", Sentence("A hook ended the run: {0}", verdict.stop_reason or verdict.reason or "-"))
