"""The agent loop (docs/plan.md L1 to L16).

    prompt → ask the model → append its answer → run its tool calls → append the results → ask again → ... → done

What is not here: providers (models/), what tools do (tools/), who watches (events go out through `emit`).
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from fairlead.agent.budget import Budget
from fairlead.agent.compaction import Room
from fairlead.agent.context import shortened, summary_request
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
from fairlead.agent.guard import IdleGuard, RepeatGuard
from fairlead.agent.messages import Block, History, Message, ToolCall, ToolResult, text_block
from fairlead.agent.model import Model, Reply, Request, Retrying, TextDelta, ThinkingDelta, Usage
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.tool import Mode, Tool
from fairlead.agent.window import Window, fixed_size
from fairlead.plan import TodoManager

log = logging.getLogger(__name__)

MAX_CUT_OFFS = 3
MAX_REFUSALS = 4  # of one request for its length: each time it is shorter, or allows a shorter answer
DONE = ("end_turn", "stop_sequence")
CUT_OFF = (
    "Not run: the answer was cut off by the output limit (max_tokens) before it was complete. "
    "Send the call again, in smaller pieces."
)
GO_ON = (
    "<cut_off>Your answer was cut off by the output limit (max_tokens). Go on exactly where it stopped, without "
    "repeating anything.</cut_off>"
)
PAUSED_TURN = "<cut_off>Go on.</cut_off>"
NO_CALL = "<cut_off>Your answer ended to have tools run, but there is no call in it. Send it again.</cut_off>"
STILL_NO_CALL = (
    "The model stopped to have tools run (stop reason tool_use), but its answer held no call and no text, twice in a "
    "row. Follow up to ask it again; a local model may need another template for tools."
)
ASKS_TO_GO_ON = "Continue to go on where it stands, with a fresh budget."
NOT_ASKED = "Not run: the answer ended with stop reason '{reason}' instead of asking for its tools. Send it again."


@dataclass(frozen=True)
class Limits:
    """When a run stops by itself: identical calls in a row (L10); rounds, those that lead nowhere, the budget (L14)."""

    max_repeats: int = 5
    max_rounds: int = 200
    max_idle_rounds: int = 25
    budget: Budget = field(default_factory=Budget)


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
    at this boundary of what the person did; `spoken_to` tells whether the person's own words are among it; `mode` says
    which tools may be run; `cost` prices a usage in US dollars, None where the price is not known; `proposals` says
    what is proposed now; `stopped` owns the calls that the session's earlier runs left behind; `clock` tells seconds.
    """

    model: Model
    system: str
    tools: Mapping[str, Tool]
    plan: TodoManager
    history: History
    emit: Callable[[Event], None]
    stamp: Callable[[], Hashable]
    notes: Callable[[], Awaitable[Sequence[str]]]
    spoken_to: Callable[[], bool]
    cost: Callable[[Usage], float | None]
    proposals: Callable[[], str]
    window: Window
    stopped: StoppedCalls
    mode: Mode = "agent"
    limits: Limits = field(default_factory=Limits)
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.specs = [tool.spec for tool in self.tools.values()]
        self.window.fixed = fixed_size(self.system, self.specs)

    def is_lasting(self, tool: str) -> bool:
        """Whether the results of a tool are no mere look at the files, that it could take again."""
        return tool in self.tools and self.tools[tool].kind in ("think", "other")


async def run(agent: Agent, prompt: Sequence[Block]) -> Outcome:
    """Works on a prompt until the model ends its turn, or something else ends the run.

    Never raises for what can happen in a run, cancellation included: the outcome says it. Afterwards the history
    is valid for the next request, whatever happened.
    """
    run = _Run(agent)
    agent.plan.begin_run()
    agent.emit(RunStarted(agent.model.name))
    try:
        await run.begin(prompt)
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
    """The state of one run: what was used, what was cut off, and the texts of an answer under way or `unfinished`."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.usage = Usage()
        self.cut_offs = 0
        self.partial_text = ""
        self.unfinished = ""
        self.left: int | None = None  # what the window leaves for the answer that was asked for last
        self.began = agent.clock()
        self.room = Room(
            history=agent.history,
            window=agent.window,
            tools=list(agent.tools),
            lasting=agent.is_lasting,
            summarise=self.summary,
            plan=agent.plan.render,
            proposals=agent.proposals,
            emit=agent.emit,
        )
        self.idle = IdleGuard(agent.stamp, agent.limits.max_repeats, agent.limits.max_idle_rounds)
        self.dispatcher = Dispatcher(
            tools=agent.tools,
            guard=RepeatGuard(agent.stamp, agent.limits.max_repeats),
            max_repeats=agent.limits.max_repeats,
            emit=agent.emit,
            current_item=self._current_item,
            told=agent.history.tells,
            stopped=agent.stopped,
            mode=agent.mode,
        )

    async def begin(self, prompt: Sequence[Block]) -> None:
        """Puts the prompt into the history, with what the model should hear; also where it is stopped meanwhile."""
        notes: Sequence[str] = ()
        try:
            notes = await self.news()
        finally:
            self.agent.history.add_prompt([*prompt, *map(text_block, notes)])

    async def rounds(self) -> Outcome:
        """The loop itself (L1)."""
        for number in range(1, self.agent.limits.max_rounds + 1):
            # a stop is heard here, also where neither the model nor a tool waits for anything
            await asyncio.sleep(0)
            reached = self.agent.limits.budget.reached(self.usage, self.cost, self.agent.clock() - self.began)
            if reached is not None and number > 1:  # each run gets somewhere, however small its budget is
                return self.ended("budget", f"Paused: {reached}. {ASKS_TO_GO_ON}")
            self.agent.emit(RoundStarted(number))
            reply = await self.answer()
            reply = replace(reply, calls=self.agent.history.add_reply(reply.content, reply.calls))
            if reply.stop_reason == "model_context_window_exceeded":
                self.agent.window.filled(self.agent.history.messages)
            if not reply.calls:
                if reply.stop_reason == "tool_use" and reply.text:  # the calls are what counts: there is nothing to run
                    reply = replace(reply, stop_reason="end_turn")
                if reply.stop_reason in DONE and self.agent.spoken_to():
                    self.agent.history.add_prompt(map(text_block, await self.news()))
                    continue
                if await self.goes_on(reply):
                    continue
                return self.finished(reply)
            results = await self.answer_calls(reply)
            if self.dispatcher.looping:
                return self.ended("loop", f"Stopped: the model made the same call again and again. {results[-1].text}")
            nowhere = self.idle.round(reply.calls, results, self.dispatcher.fresh)
            if nowhere is not None:
                return self.ended("loop", f"Paused: {nowhere}. Say what it should do instead, or continue to go on.")
            if self.cut_offs >= MAX_CUT_OFFS:
                return self.finished(reply)
        limit = self.agent.limits.max_rounds
        done = f"Paused: {limit} rounds were made, the most of one run (setting loop.maxRounds)."
        return self.ended("max_turn_requests", f"{done} {ASKS_TO_GO_ON}")

    async def answer(self) -> Reply:
        """The next answer. Where the conversation is too long for the model, room is made and it is asked again."""
        history, window = self.agent.history, self.agent.window
        if window.is_full(history.messages):
            await self.room.make()
        for _ in range(MAX_REFUSALS):
            left = window.left(history.messages)
            try:
                return await self.ask(history.messages)
            except ModelError as error:
                if error.kind != "context_overflow":
                    raise
                if not window.was_refused(history.messages, error.overflow, left) and not await self.room.make():
                    raise self.room.too_long(error.message) from error
        return await self.ask(history.messages)

    async def ask(self, messages: Sequence[Message], shown: bool = True) -> Reply:
        """One request; deltas go out as they come, where they are `shown`."""
        agent = self.agent
        self.left = agent.window.left(messages)
        request = Request(agent.system, agent.specs, messages, self.room.offer() if shown else None, self.left)
        async with aclosing(agent.model.stream(request)) as stream:
            async for event in stream:
                match event:
                    case TextDelta(text) if shown:
                        self.partial_text += text
                        agent.emit(Text(text))
                    case ThinkingDelta(text) if shown:
                        agent.emit(Thinking(text))
                    case Retrying(attempt, delay, reason):
                        agent.emit(Retry(attempt, delay, reason))
                    case Reply():
                        self.partial_text = ""
                        self.usage += event.usage
                        if event.cleared:
                            self.room.took(event.cleared)
                            messages = agent.history.messages
                        agent.window.answered(messages, event.usage)
                        agent.emit(UsageReported(self.usage, self.cost, agent.window.used, agent.window.limit))
                        return event
                    case _:
                        pass
        raise ModelError("internal", "The model's stream ended without an answer.")

    @property
    def cost(self) -> float | None:
        return self.agent.cost(self.usage)

    async def summary(self, messages: Sequence[Message]) -> str:
        return (await self.ask(summary_request(messages), shown=False)).text

    async def answer_calls(self, reply: Reply) -> Sequence[ToolResult]:
        """One user message with a result for each call, and what else the model should hear, behind them (L6)."""
        results: list[ToolResult] = []
        try:
            if reply.stop_reason == "tool_use":
                self.cut_offs, self.unfinished = 0, ""
                await self.dispatcher.run_all(reply.calls, results)
            else:
                results += self.refused(reply)
            notes = await self.news()
        except BaseException:
            self.agent.history.add_results(results)
            raise
        self.agent.history.add_results(self.fitted(results), [*notes, *self.reminders(reply.calls)])
        return results

    def fitted(self, results: Sequence[ToolResult]) -> list[ToolResult]:
        """The results as the model reads them: the long ones without their middle where the window is small."""
        total = self.agent.window.results()
        texts = [result.text for result in results]
        if total is not None:
            texts = shortened(texts, total)
        return [replace(result, text=text) for result, text in zip(results, texts, strict=True)]

    def refused(self, reply: Reply) -> list[ToolResult]:
        """Results for calls of an answer that is not whole: none is run (L13)."""
        self.cut_offs += 1
        reason = reply.stop_reason
        text = CUT_OFF if reason == "max_tokens" else NOT_ASKED.format(reason=reason)
        return [self.dispatcher.refuse(call, text) for call in reply.calls]

    async def news(self) -> Sequence[str]:
        """What the person did meanwhile."""
        notes = await self.agent.notes()
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

    async def goes_on(self, reply: Reply) -> bool:
        """Whether an answer without calls that is not at its end is worth another request: two in a row at most."""
        words = {
            "max_tokens": GO_ON,
            "model_context_window_exceeded": GO_ON,
            "pause_turn": PAUSED_TURN,
            "tool_use": NO_CALL,
        }
        if reply.stop_reason not in words or self.cut_offs:
            return False
        self.cut_offs += 1
        self.unfinished += reply.text
        notes = await self.news()
        self.agent.history.add_prompt([text_block(words[reply.stop_reason]), *map(text_block, notes)])
        return True

    def finished(self, reply: Reply) -> Outcome:
        """What an answer that ends the run means (L13: cut off is never finished)."""
        text = self.unfinished + reply.text
        match reply.stop_reason:
            case reason if reason in DONE and not reply.calls:
                return self.ended("end_turn", text)
            case "max_tokens":
                limit = "the output limit (setting maxTokens)"
                if self.left is not None and self.left <= reply.usage.output_tokens:
                    limit = f"the model's window, which left {self.left:,} tokens for it"
                hint = f"The answer was cut off by {limit}. Follow up to let it go on."
                return self.ended("max_tokens", f"{text}\n\n{hint}".strip())
            case "pause_turn":
                hint = f"Paused: the API itself paused the model's turn again and again. {ASKS_TO_GO_ON}"
                return self.ended("max_turn_requests", f"{text}\n\n{hint}".strip())
            case "refusal":
                hint = "The model refused to go on. Put the task in other words, or start a new one."
                return self.ended("refusal", f"{text}\n\n{hint}".strip())
            case "tool_use":
                empty = ModelError("network", STILL_NO_CALL, retryable=True)
                return self.ended("error", empty.message, empty)
            case "model_context_window_exceeded":
                full = self.room.too_long("The answer fills the model's window.")
                return self.ended("error", full.message, full)
            case reason:
                odd = ModelError("internal", f"The model stopped in a way that Fairlead cannot go on from: {reason}.")
                return self.ended("error", odd.message, odd)

    def ended(self, stop_reason: StopReason, message: str, error: ModelError | None = None) -> Outcome:
        return Outcome(stop_reason, message, self.usage, error, self.cost)

    def _current_item(self) -> str | None:
        current = self.agent.plan.snapshot().current
        return current.id if current else None
