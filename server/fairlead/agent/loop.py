"""The agent loop (docs/plan.md L1 to L13).

    prompt → ask the model → append its answer → run its tool calls → append the results → ask again → ... → done

What is not here: providers (models/), what tools do (tools/), who watches (events go out through `emit`).
"""

import asyncio
import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from fairlead.agent.dispatch import Dispatcher
from fairlead.agent.errors import ModelError
from fairlead.agent.events import (
    Event,
    ReminderSent,
    Retry,
    RoundStarted,
    RunFinished,
    RunStarted,
    StopReason,
    Text,
    Thinking,
    Told,
    UsageReported,
)
from fairlead.agent.guard import RepeatGuard
from fairlead.agent.messages import Block, History, ToolCall, ToolResult, text_block
from fairlead.agent.model import Model, Reply, Request, Retrying, TextDelta, ThinkingDelta, Usage
from fairlead.agent.tool import Mode, Tool
from fairlead.plan import TodoManager

log = logging.getLogger(__name__)

MAX_CUT_OFFS = 3
CUT_OFF = (
    "Not run: the answer was cut off by the output limit (max_tokens) before it was complete. "
    "Send the call again, in smaller pieces."
)
NOT_ASKED = "Not run: the answer ended with stop reason '{reason}' instead of asking for its tools. Send it again."


@dataclass(frozen=True)
class Limits:
    """When a run stops by itself: identical calls in a row (L10), and rounds."""

    max_repeats: int = 5
    max_rounds: int = 200


@dataclass(frozen=True)
class Outcome:
    """How a run ended; `message` is the model's last text, or what a person should know.

    `cost` is in US dollars, None where the model's price is not known.
    """

    stop_reason: StopReason
    message: str
    usage: Usage
    error: ModelError | None = None
    cost: float | None = None


@dataclass
class Agent:
    """All that a run works with.

    `stamp` changes with the files, the plan and the person's input (L10); `notes` hands out what the model should hear
    at this boundary of what the person did; `mode` says which tools may be run.
    """

    model: Model
    system: str
    tools: Mapping[str, Tool]
    plan: TodoManager
    history: History
    emit: Callable[[Event], None]
    stamp: Callable[[], Hashable]
    notes: Callable[[], Sequence[str]]
    mode: Mode = "agent"
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        self.specs = [tool.spec for tool in self.tools.values()]


async def run(agent: Agent, prompt: Sequence[Block]) -> Outcome:
    """Works on a prompt until the model ends its turn, or something else ends the run.

    Never raises for what can happen in a run, cancellation included: the outcome says it. Afterwards the history
    is valid for the next request, whatever happened.
    """
    run = _Run(agent)
    agent.plan.begin_run()
    agent.emit(RunStarted(agent.model.name))
    agent.history.add_prompt([*prompt, *map(text_block, run.news())])
    try:
        outcome = await run.rounds()
    except asyncio.CancelledError:
        outcome = run.ended("cancelled", "Stopped.")
    except ModelError as error:
        outcome = run.ended("error", error.message, error)
    except Exception as error:
        log.exception("the run failed")
        internal = ModelError("internal", f"Fairlead ran into a fault of its own: {error!r}. The log has the details.")
        outcome = run.ended("error", internal.message, internal)
    agent.history.close(f"{run.partial_text}\n\n(The run ended here: {outcome.stop_reason}.)".strip())
    agent.emit(RunFinished(outcome.stop_reason))
    return outcome


class _Run:
    """The state of one run: what was used, what was cut off, and the text of an answer under way."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.usage = Usage()
        self.cut_offs = 0
        self.partial_text = ""
        self.dispatcher = Dispatcher(
            tools=agent.tools,
            guard=RepeatGuard(agent.stamp, agent.limits.max_repeats),
            max_repeats=agent.limits.max_repeats,
            emit=agent.emit,
            current_item=self._current_item,
            mode=agent.mode,
        )

    async def rounds(self) -> Outcome:
        """The loop itself (L1)."""
        for number in range(1, self.agent.limits.max_rounds + 1):
            self.agent.emit(RoundStarted(number))
            reply = await self.ask()
            reply = replace(reply, calls=self.agent.history.add_reply(reply.content, reply.calls))
            if not reply.calls:
                return self.finished(reply)
            results = await self.answer_calls(reply)
            if self.dispatcher.looping:
                return self.ended("loop", f"Stopped: the model made the same call again and again. {results[-1].text}")
            if self.cut_offs >= MAX_CUT_OFFS:
                return self.finished(reply)
        limit = self.agent.limits.max_rounds
        return self.ended("max_turn_requests", f"Stopped after {limit} rounds without an end. Follow up to go on.")

    async def ask(self) -> Reply:
        """One request; deltas go out as they come."""
        request = Request(self.agent.system, self.agent.specs, self.agent.history.messages)
        async with aclosing(self.agent.model.stream(request)) as stream:
            async for event in stream:
                match event:
                    case TextDelta(text):
                        self.partial_text += text
                        self.agent.emit(Text(text))
                    case ThinkingDelta(text):
                        self.agent.emit(Thinking(text))
                    case Retrying(attempt, delay, reason):
                        self.agent.emit(Retry(attempt, delay, reason))
                    case Reply():
                        self.partial_text = ""
                        self.usage += event.usage
                        self.agent.emit(UsageReported(self.usage))
                        return event
        raise ModelError("internal", "The model's stream ended without an answer.")

    async def answer_calls(self, reply: Reply) -> Sequence[ToolResult]:
        """One user message with a result for each call, and what else the model should hear, behind them (L6)."""
        results: list[ToolResult] = []
        try:
            if reply.stop_reason == "tool_use":
                self.cut_offs = 0
                await self.dispatcher.run_all(reply.calls, results)
            else:
                results += self.refused(reply)
        except BaseException:
            self.agent.history.add_results(results)
            raise
        self.agent.history.add_results(results, [*self.news(), *self.reminders(reply.calls)])
        return results

    def refused(self, reply: Reply) -> list[ToolResult]:
        """Results for calls of an answer that is not whole: none is run (L13)."""
        self.cut_offs += 1
        reason = reply.stop_reason
        text = CUT_OFF if reason == "max_tokens" else NOT_ASKED.format(reason=reason)
        return [self.dispatcher.refuse(call, text) for call in reply.calls]

    def news(self) -> Sequence[str]:
        """What the person did meanwhile."""
        notes = self.agent.notes()
        for note in notes:
            self.agent.emit(Told(note))
        return notes

    def reminders(self, calls: Sequence[ToolCall]) -> list[str]:
        """Counts the round (L5: a rewrite that succeeded has reset the counter) and returns at most one reminder."""
        if not any(call.name == "todo" for call in calls):
            self.agent.plan.note_round_without_update()
        reminder = self.agent.plan.reminder() if self.agent.mode != "ask" else None
        if reminder is None:
            return []
        self.agent.emit(ReminderSent(reminder))
        return [reminder]

    def finished(self, reply: Reply) -> Outcome:
        """What an answer that ends the run means (L13: cut off is never finished)."""
        match reply.stop_reason:
            case "end_turn" | "stop_sequence" if not reply.calls:
                return self.ended("end_turn", reply.text)
            case "max_tokens":
                hint = "The answer was cut off by the output limit (setting maxTokens). Follow up to let it go on."
                return self.ended("max_tokens", f"{reply.text}\n\n{hint}".strip())
            case "refusal":
                return self.ended("refusal", reply.text or "The model refused this task.")
            case "model_context_window_exceeded":
                full = ModelError("context_overflow", "The conversation no longer fits the model. Start a new task.")
                return self.ended("error", full.message, full)
            case reason:
                odd = ModelError("internal", f"The model stopped in a way that Fairlead cannot go on from: {reason}.")
                return self.ended("error", odd.message, odd)

    def ended(self, stop_reason: StopReason, message: str, error: ModelError | None = None) -> Outcome:
        return Outcome(stop_reason, message, self.usage, error)

    def _current_item(self) -> str | None:
        current = self.agent.plan.snapshot().current
        return current.id if current else None
