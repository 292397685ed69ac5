"""The agent loop (docs/plan.md, rules L1 to L19).

    prompt ──> ask the model ──> no calls ──> end of the run
                    ^      └───> calls ─────> run them ──┐
                    └── results, feedback, reminder <────┘

`Run._rounds` is this diagram in code. What else can end or prolong a run are its interceptors (`interceptors.py`).
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from fairlead.agent.agent import Agent
from fairlead.agent.answers import UnfinishedAnswers, complete_if_text, with_thinking_to_continue
from fairlead.agent.compaction import Compactor
from fairlead.agent.dispatch import Dispatcher
from fairlead.agent.errors import ModelError
from fairlead.agent.events import RoundStarted, RunFinished, RunStarted
from fairlead.agent.interceptors import RunEnded
from fairlead.agent.model import Reply, Usage
from fairlead.agent.outcome import Ending, Outcome, failure
from fairlead.agent.requests import Requests
from fairlead.agent.shortening import shorten_results
from fairlead.messages.images import without_images
from fairlead.messages.parts import Call, Part, Result

log = logging.getLogger(__name__)


class Run:
    """One run of an agent. The agent's history, meter and interceptors belong to it alone."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.is_running = False
        """Set from the event of its start until the event of its end, not with the latter."""
        self._compactor = Compactor(agent)
        self._requests = Requests(agent, self._compactor, self._before_retry)
        self._answers = UnfinishedAnswers(agent.tools, agent.emit)
        self._dispatcher = Dispatcher(
            tools=agent.tools,
            interceptors=agent.interceptors,
            emit=agent.emit,
            current_item=self._current_item,
            already_shown=agent.history.already_shown,
            stopped=agent.stopped,
            mode=agent.mode,
        )

    @property
    def id(self) -> str:
        """Unique in its session."""
        return self._agent.run_id

    @property
    def usage(self) -> Usage:
        """What its requests have used so far."""
        return self._agent.meter.usage

    async def execute(self, prompt: Sequence[Part]) -> Outcome:
        """Works on a prompt until the model ends its turn or something else ends the run.

        Raises nothing: the outcome says how the run ended, even if it was cancelled. Afterwards the history is valid
        for the next request.
        """
        agent = self._agent
        agent.plan.begin_run()
        self.is_running = True
        agent.emit(RunStarted(agent.model.name, agent.checkpoint, agent.recording))
        agent.history.add_user_message(prompt)
        try:
            ending = await self._rounds()
        except asyncio.CancelledError:
            ending = Ending("cancelled", "Stopped.")
        except RunEnded as ended:
            ending = ended.ending
        except ModelError as error:
            self._remove_refused_images(error)
            ending = failure(error)
        except Exception as error:
            log.exception("the run failed")
            ending = failure(ModelError("internal", f"Internal error in Fairlead: {error!r}. The log has the details."))
        agent.meter.report_rest()
        agent.history.close(f"{self._requests.partial_text}\n\n(The run ended here: {ending.stop_reason}.)".strip())
        self.is_running = False
        agent.emit(RunFinished(ending.stop_reason))
        return Outcome(ending.stop_reason, ending.message, agent.meter.usage, ending.error, agent.meter.cost)

    async def _rounds(self) -> Ending:
        """Asks the model and runs its calls until something ends the run (L1)."""
        number = 0
        while True:
            await asyncio.sleep(0)  # a stop takes effect here even if neither the model nor a tool waits
            for interceptor in self._agent.interceptors:
                self._agent.history.add_to_user_message(await interceptor.before_request())
            number += 1
            self._agent.emit(RoundStarted(number))
            reply = await self._ask_model()
            ending = await self._run_calls(reply) if reply.calls else await self._end_turn(reply)
            if ending is not None:
                return ending

    async def _ask_model(self) -> Reply:
        """Gets the next answer and appends it to the history."""
        history = self._agent.history
        reply = await self._requests.answer()
        calls = iter(history.add_reply(with_thinking_to_continue(reply)))
        if reply.stop == "window_full":
            self._agent.window.record_full(history.messages)
        return replace(reply, parts=[next(calls) if isinstance(part, Call) else part for part in reply.parts])

    async def _run_calls(self, reply: Reply) -> Ending | None:
        """Runs or refuses an answer's calls (L13) and appends the results. Returns None if the run continues."""
        results: list[Result] = []
        try:
            if reply.stop == "calls":
                self._answers.reset()
                await self._dispatcher.run_all(reply.calls, results)
            else:
                refusal = self._answers.refuse_calls(reply)
                results += [self._dispatcher.refuse(call, refusal) for call in reply.calls]
        finally:
            self._agent.history.add_results(self._shorten(results))
        if reply.stop == "refused":
            return self._ending_of(reply)
        for interceptor in self._agent.interceptors:
            await interceptor.after_results(reply.calls, results)
        return self._ending_of(reply) if self._answers.are_too_many else None

    async def _end_turn(self, reply: Reply) -> Ending | None:
        """Handles an answer without calls. Returns None if the run continues.

        After a complete answer, the run continues if an interceptor has something that the model must read. After an
        incomplete or empty one, or one with a call as text (L19), it continues unless the previous answer was one too
        (L13). Any other answer ends the run.
        """
        reply, history = complete_if_text(reply), self._agent.history
        if reply.stop == "done":
            for interceptor in self._agent.interceptors:
                unread = await interceptor.before_end()
                if unread:
                    self._answers.reset()
                    history.add_user_message(unread)
                    return None
        continued = self._answers.continue_after(reply)
        if continued is None:
            return self._ending_of(reply)
        if isinstance(continued, Ending):
            return continued
        history.add_user_message([continued])
        return None

    def _shorten(self, results: Sequence[Result]) -> list[Result]:
        """The results for the model. If all together are too long, the middle of the longest ones is removed (L15)."""
        limit = self._agent.window.results_limit_chars()
        texts = [result.text for result in results]
        if limit is not None:
            texts = shorten_results(texts, limit)
        return [replace(result, output=text) for result, text in zip(results, texts, strict=True)]

    def _remove_refused_images(self, error: ModelError) -> None:
        """Removes the pictures that the model's server refused: it would also refuse all later requests with them."""
        history = self._agent.history
        if error.kind == "no_images" and history.messages:
            history.replace(without_images(history.messages))

    def _ending_of(self, reply: Reply) -> Ending:
        if reply.stop == "window_full":
            return failure(self._compactor.overflow_error("The answer fills the model's window."))
        return self._answers.ending(reply, self._requests.answer_limit)

    async def _before_retry(self) -> None:
        for interceptor in self._agent.interceptors:
            await interceptor.before_retry()

    def _current_item(self) -> str | None:
        current = self._agent.plan.snapshot().current
        return current.id if current else None
