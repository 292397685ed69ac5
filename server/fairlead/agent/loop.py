"""The agent loop (docs/plan.md, rules L1 to L19).

    prompt ──> ask the model ──> no calls ──> end of the run
                    ^      └───> calls ─────> run them ──┐
                    └── results, feedback, reminder <────┘

`_Run.rounds` is this diagram in code. Everything else that can end or prolong a run is called from it.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from io import StringIO

from fairlead.agent.budget import Budget
from fairlead.agent.compaction import Compactor
from fairlead.agent.dispatch import Dispatcher
from fairlead.agent.errors import ModelError
from fairlead.agent.events import (
    Event,
    FeedbackSent,
    ReminderSent,
    Retry,
    RoundStarted,
    RunFinished,
    RunStarted,
    Text,
    Thinking,
    UsageReported,
)
from fairlead.agent.guard import IdleGuard, RepeatGuard
from fairlead.agent.model import Model, Reply, Request, Retrying, Stop, TextDelta, ThinkingDelta, Usage, Used
from fairlead.agent.outcome import NEW_BUDGET, REDIRECT, Ending, Outcome, call_as_text, ending_of, failure
from fairlead.agent.prompts import (
    CALL_AS_TEXT,
    CALL_AS_TEXT_SHOWN,
    CONTINUE,
    CONTINUE_PAUSED_TURN,
    CUT_OFF_CALL,
    EMPTY_ANSWER,
    MISSING_CALL,
    UNREQUESTED_CALL,
)
from fairlead.agent.shortening import shorten_results, summary_request
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.textual_calls import find_textual_call
from fairlead.agent.tool import KEEPS_RESULTS, Mode, Tool
from fairlead.agent.window import Window, prefix_size
from fairlead.display import end_sentence
from fairlead.messages import parts
from fairlead.messages.history import History, without_thinking
from fairlead.messages.images import without_images
from fairlead.messages.parts import Call, Message, Note, Part, Prompt, Result
from fairlead.plan import TodoManager

log = logging.getLogger(__name__)

MAX_CUT_OFFS = 3
"""The run ends when the calls of an answer are refused and `_Run.cut_offs` has reached this number (L13)."""
MAX_OVERFLOW_RETRIES = 4
"""How often a request that was refused as too long is sent again, shortened or with a lower answer limit."""
CONTINUATIONS: Mapping[Stop, str] = {
    "cut_off": CONTINUE,
    "window_full": CONTINUE,
    "paused": CONTINUE_PAUSED_TURN,
    "calls": MISSING_CALL,
}
"""The text that the model reads after an incomplete answer without calls, by stop reason (L13)."""


@dataclass(frozen=True)
class RunLimits:
    """When a run ends although the model would continue."""

    max_repeats: int = 5
    """Identical calls in a row with the same result (L10), or rounds in a row with only the same error (L14)."""
    max_rounds: int = 200
    """Rounds of the run (L14)."""
    max_idle_rounds: int = 25
    """Rounds in a row without progress (L14), or identical calls in a row (L10)."""
    budget: Budget = field(default_factory=Budget)


@dataclass
class Agent:
    """Everything that a run works with."""

    model: Model
    system: str
    """The system prompt."""
    tools: Mapping[str, Tool]
    """The tools by name, in the order in which the model sees them."""
    plan: TodoManager
    history: History
    emit: Callable[[Event], None]
    change_token: Callable[[], Hashable]
    """Returns the change token of the guards (`guard.py`, L10)."""
    take_feedback: Callable[[], Awaitable[Sequence[Prompt | Note]]]
    """Returns what is for the model and new since the last call.

    They are about what the user said, decided and changed (L6), the workspace's folders and rules, and new errors.
    """
    has_user_message: Callable[[], bool]
    """Returns whether a message from the user is waiting in the feedback."""
    check_proposals: Callable[[], Awaitable[bool]]
    """Checks the proposed texts; returns whether the feedback has new errors that the model must read (L18)."""
    cost_of: Callable[[Usage], float | None]
    """Returns the price in US dollars, None if the model's price is unknown."""
    proposals: Callable[[], str]
    """Renders the current proposals for the model; empty if there are none."""
    window: Window
    stopped: StoppedCalls
    """The stopped calls of the session's earlier runs (L16)."""
    checkpoint: int | None = None
    """See `RunStarted`."""
    mode: Mode = "agent"
    """Decides which tools may run. New errors prolong a run only in agent mode. Ask mode has no reminders."""
    limits: RunLimits = field(default_factory=RunLimits)
    clock: Callable[[], float] = time.monotonic
    """Returns seconds since an arbitrary start, without the time spent waiting for the user (L14)."""

    def __post_init__(self) -> None:
        self.specs = [tool.spec for tool in self.tools.values()]
        self.window.prefix_chars = prefix_size(self.system, self.specs)

    def keeps_results(self, tool: str) -> bool:
        """Whether compaction must keep a tool's results."""
        return tool in self.tools and self.tools[tool].kind in KEEPS_RESULTS


async def run(agent: Agent, prompt: Sequence[Part]) -> Outcome:
    """Works on a prompt until the model ends its turn or something else ends the run.

    Raises nothing: the outcome says how the run ended, even if it was cancelled. Afterwards the history is valid for
    the next request.
    """
    run = _Run(agent)
    agent.plan.begin_run()
    agent.emit(RunStarted(agent.model.name, agent.checkpoint))
    try:
        await run.add_prompt(prompt)
        ending = await run.rounds()
    except asyncio.CancelledError:
        ending = Ending("cancelled", "Stopped.")
    except _BudgetReached as reached:
        ending = Ending("budget", f"Paused: {reached}. {NEW_BUDGET}")
    except ModelError as error:
        run.remove_refused_images(error)
        ending = failure(error)
    except Exception as error:
        log.exception("the run failed")
        ending = failure(ModelError("internal", f"Internal error in Fairlead: {error!r}. The log has the details."))
    if run.usage != run.reported_usage:  # an answer broke off or was stopped
        run.report_usage()
    agent.history.close(f"{run.partial_text.getvalue()}\n\n(The run ended here: {ending.stop_reason}.)".strip())
    agent.emit(RunFinished(ending.stop_reason))
    return Outcome(ending.stop_reason, ending.message, run.usage, ending.error, run.cost)


class _BudgetReached(Exception):
    """The run has used up its budget. The message describes the limit that it has reached."""


class _Run:
    """The state of one run."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.began = agent.clock()
        self.usage = self.reported_usage = Usage()
        self.partial_text = StringIO()  # of the answer that is being streamed
        self.cut_offs = 0  # answers in a row that were incomplete or empty, or whose calls were refused (L13)
        self.cut_off_text = ""  # the text of these answers, without those that have calls
        self.answer_limit: int | None = None  # tokens that the window left for the last answer; None: unknown
        self.compactor = Compactor(
            history=agent.history,
            window=agent.window,
            tools=list(agent.tools),
            keeps_results=agent.keeps_results,
            summarize=self.summarize,
            plan=agent.plan.render,
            proposals=agent.proposals,
            emit=agent.emit,
        )
        self.idle = IdleGuard(agent.change_token, agent.limits.max_repeats, agent.limits.max_idle_rounds)
        self.dispatcher = Dispatcher(
            tools=agent.tools,
            guard=RepeatGuard(agent.change_token, agent.limits.max_repeats, agent.limits.max_idle_rounds),
            emit=agent.emit,
            current_item=self.current_item,
            already_shown=agent.history.already_shown,
            stopped=agent.stopped,
            mode=agent.mode,
        )

    async def add_prompt(self, prompt: Sequence[Part]) -> None:
        """Appends the prompt and the waiting feedback to the history. Removes earlier pictures if there are too many.

        If reading the feedback is cancelled or fails, appends only the prompt.
        """
        feedback: Sequence[Part] = ()
        try:
            feedback = await self.take_feedback()
        finally:
            self.agent.history.add_user_message([*prompt, *feedback])
            self.compactor.remove_old_images()

    async def rounds(self) -> Ending:
        """Asks the model and runs its calls until something ends the run (L1)."""
        for number in range(1, self.agent.limits.max_rounds + 1):
            await asyncio.sleep(0)  # a stop takes effect here even if neither the model nor a tool waits
            if number > 1:  # a run sends at least one request, however small its budget
                self.check_budget()
            self.agent.emit(RoundStarted(number))
            reply = await self.ask_model()
            ending = await self.run_calls(reply) if reply.calls else await self.end_turn(reply)
            if ending is not None:
                return ending
        limit = f"the run reached its limit of {self.agent.limits.max_rounds} rounds (setting loop.maxRounds)"
        return Ending("max_turn_requests", f"Paused: {limit}. {NEW_BUDGET}")

    async def ask_model(self) -> Reply:
        """Gets the next answer and appends it to the history.

        If an answer was cut off within thinking that arrived in tags, the history gets this thinking as the answer's
        text, so that the model can continue it.
        """
        history = self.agent.history
        reply = await self.request_answer()
        content = reply.parts
        if not content and reply.tagged_thinking and CONTINUATIONS.get(reply.stop) == CONTINUE:
            content = [parts.Text(reply.tagged_thinking)]
        calls = iter(history.add_reply(content))
        reply = replace(reply, parts=[next(calls) if isinstance(part, Call) else part for part in reply.parts])
        if reply.stop == "window_full":
            self.agent.window.record_full(history.messages)
        return reply

    async def run_calls(self, reply: Reply) -> Ending | None:
        """Runs or refuses an answer's calls (L13) and appends the results. Returns None if the run continues."""
        results = await self.answer_calls(reply)
        if reply.stop == "refused":
            return self.ending_of(reply)
        if self.dispatcher.is_looping:
            count = self.dispatcher.guard.in_a_row
            return Ending("loop", f"Paused: the model made the same call {count} times in a row. {REDIRECT}")
        reason = self.idle.check_round(reply.calls, results, self.dispatcher.has_polled)
        if reason is not None:
            return Ending("loop", f"Paused: {end_sentence(reason)} {REDIRECT}")
        return self.ending_of(reply) if self.cut_offs >= MAX_CUT_OFFS else None

    async def end_turn(self, reply: Reply) -> Ending | None:
        """Handles an answer without calls. Returns None if the run continues.

        After a complete answer, the run continues if the model must read something (`must_continue`). After an
        incomplete or empty one, or one with a call as text (L19), it continues unless `cut_offs` already counts the
        previous answer (L13). Any other answer ends the run.
        """
        if reply.stop == "calls" and reply.text:  # without calls, the text is a complete answer
            reply = replace(reply, stop="done")
        is_done = reply.stop == "done"
        text = self.cut_off_text + reply.text
        textual_call = find_textual_call(text, self.agent.tools) if is_done else ""
        if is_done and await self.must_continue():
            feedback = await self.take_feedback()
            if feedback:  # empty if the proposals with the errors were replaced meanwhile
                self.cut_offs, self.cut_off_text = 0, ""
                self.agent.history.add_user_message(feedback)
                return None
        continuation = CONTINUATIONS.get(reply.stop)
        if is_done and not text:
            continuation = EMPTY_ANSWER
        if textual_call:
            continuation = CALL_AS_TEXT.format(name=textual_call)
        if continuation is None or self.cut_offs:
            return call_as_text(textual_call) if textual_call else self.ending_of(reply)
        self.cut_offs += 1
        if textual_call:
            self.agent.emit(Text(CALL_AS_TEXT_SHOWN.format(name=textual_call)))
        else:
            self.cut_off_text = text
        notes = [Note("continuation", continuation), *await self.take_feedback()]
        self.agent.history.add_user_message(notes)
        return None

    async def must_continue(self) -> bool:
        """Whether the model must read something before its turn ends: a user message (L6), or new errors (L18).

        Checks the proposals for new errors only in agent mode, and only while the run's budget is not used up.
        """
        if self.agent.has_user_message():
            return True
        return self.agent.mode == "agent" and self.reached_limit() is None and await self.agent.check_proposals()

    async def request_answer(self) -> Reply:
        """Requests the next answer. If the conversation is too long, compacts it first (L15).

        If the request is refused as too long, lowers the answer's limit or compacts, and tries again.

        Raises:
            ModelError: there was no answer, or the conversation cannot be shortened any further.
        """
        history, window = self.agent.history, self.agent.window
        if window.needs_compaction(history.messages):
            await self.compactor.compact()
        for _ in range(MAX_OVERFLOW_RETRIES):
            try:
                return await self.send(history.messages)
            except ModelError as error:
                if error.kind != "context_overflow":
                    raise
                fits_now = window.record_refusal(history.messages, error.overflow, self.answer_limit)
                if not fits_now and not await self.compactor.compact():
                    raise self.compactor.overflow_error(error.message) from error
        return await self.send(history.messages)

    def remove_refused_images(self, error: ModelError) -> None:
        """Removes the pictures that the model's server refused: it would also refuse all later requests with them."""
        history = self.agent.history
        if error.refuses == "images" and history.messages:
            history.replace(without_images(history.messages))

    async def send(self, messages: Sequence[Message], is_shown: bool = True) -> Reply:
        """Sends a request and returns the answer. If earlier thinking is refused, removes it and sends the rest.

        The Messages API refuses thinking if anything before it has changed (compaction, other rules or tools), or if it
        comes from another server.

        Args:
            is_shown: whether to emit the deltas and to let the provider clear results. False for a summary. Retries
                and usage are always emitted.
        """
        try:
            return await self.send_once(messages, is_shown)
        except ModelError as error:
            history, stripped = self.agent.history, without_thinking(messages)
            if error.refuses != "thinking" or stripped == list(messages):
                raise
            log.info("earlier thinking is removed from the conversation: %s", error)
        history.replace(without_thinking(history.messages))
        return await self.send_once(stripped, is_shown)

    async def send_once(self, messages: Sequence[Message], is_shown: bool) -> Reply:
        agent = self.agent
        self.answer_limit = agent.window.answer_limit(messages)
        clearing = self.compactor.server_clearing() if is_shown else None
        request = Request(agent.system, agent.specs, messages, clearing, self.answer_limit)
        async with aclosing(agent.model.stream(request)) as stream:
            async for event in stream:
                match event:
                    case TextDelta(text) if is_shown:
                        self.partial_text.write(text)
                        agent.emit(Text(text))
                    case ThinkingDelta(text) if is_shown:
                        agent.emit(Thinking(text))
                    case Used(usage):
                        self.usage += usage
                    case Retrying(attempt, delay, reason):
                        self.check_budget()
                        agent.emit(Retry(attempt, delay, reason))
                    case Reply():
                        self.record(event, messages)
                        return event
                    case _:
                        pass
        raise ModelError("internal", "The model's stream ended without an answer.")

    def record(self, reply: Reply, messages: Sequence[Message]) -> None:
        """Clears the results that the provider has cleared, updates the window, and emits the usage so far."""
        self.partial_text = StringIO()
        if reply.cleared_results:
            self.compactor.apply_server_clearing(reply.cleared_results)
            messages = self.agent.history.messages
        self.agent.window.record_answer(messages, reply.usage)
        self.report_usage()

    def report_usage(self) -> None:
        window, self.reported_usage = self.agent.window, self.usage
        self.agent.emit(UsageReported(self.usage, self.cost, window.used, window.limit))

    async def summarize(self, messages: Sequence[Message]) -> str:
        """The model's summary, or its thinking if it wrote nothing else, for example because it was cut off."""
        reply = await self.send(summary_request(messages), is_shown=False)
        return reply.text if reply.text.strip() else reply.thinking

    async def answer_calls(self, reply: Reply) -> Sequence[Result]:
        """Runs or refuses the calls, and appends a user message: a result for each call, feedback and a reminder (L6).

        If this is cancelled or fails, appends only the results. Returns the results in full, although the message
        contains them shortened.
        """
        results: list[Result] = []
        try:
            if reply.stop == "calls":
                self.cut_offs, self.cut_off_text = 0, ""
                await self.dispatcher.run_all(reply.calls, results)
            else:
                results += self.refuse_calls(reply)
            feedback = await self.take_feedback()
        except BaseException:
            self.agent.history.add_results(results)
            raise
        self.agent.history.add_results(self.shorten(results), [*feedback, *self.reminders(reply.calls)])
        return results

    def refuse_calls(self, reply: Reply) -> list[Result]:
        """Refuses the calls of an answer that ended for another reason than to run them (L13). Returns errors."""
        self.cut_offs += 1
        text = CUT_OFF_CALL if reply.stop == "cut_off" else UNREQUESTED_CALL.format(reason=reply.stop_name)
        return [self.dispatcher.refuse(call, text) for call in reply.calls]

    def shorten(self, results: Sequence[Result]) -> list[Result]:
        """The results for the model. If all together are too long, the middle of the longest ones is removed (L15)."""
        limit = self.agent.window.results_limit_chars()
        texts = [result.text for result in results]
        if limit is not None:
            texts = shorten_results(texts, limit)
        return [replace(result, output=text) for result, text in zip(results, texts, strict=True)]

    async def take_feedback(self) -> Sequence[Prompt | Note]:
        feedback = await self.agent.take_feedback()
        for part in feedback:
            self.agent.emit(FeedbackSent(part.text))
        return feedback

    def reminders(self, calls: Sequence[Call]) -> list[Note]:
        """Counts a round without `todo` (L5), and returns a reminder if one is due (L6 to L8). Ask mode has none."""
        if not any(call.name == "todo" for call in calls):
            self.agent.plan.note_round_without_update()
        reminder = self.agent.plan.reminder() if self.agent.mode != "ask" else None
        if reminder is None:
            return []
        self.agent.emit(ReminderSent(reminder))
        return [Note("reminder", reminder)]

    def ending_of(self, reply: Reply) -> Ending:
        if reply.stop == "window_full":
            return failure(self.compactor.overflow_error("The answer fills the model's window."))
        return ending_of(reply, self.cut_off_text + reply.text, self.answer_limit)

    @property
    def cost(self) -> float | None:
        return self.agent.cost_of(self.usage)

    def reached_limit(self) -> str | None:
        return self.agent.limits.budget.reached_limit(self.usage, self.cost, self.agent.clock() - self.began)

    def check_budget(self) -> None:
        """Raises _BudgetReached if the budget is used up."""
        limit = self.reached_limit()
        if limit is not None:
            raise _BudgetReached(limit)

    def current_item(self) -> str | None:
        current = self.agent.plan.snapshot().current
        return current.id if current else None
