"""The requests of a run: sends the conversation and returns the answer, if need be shortened (docs/plan.md L15)."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from io import StringIO

from fairlead.agent.agent import Agent
from fairlead.agent.compaction import Compactor
from fairlead.agent.errors import ModelError
from fairlead.agent.events import Retry, Text, Thinking
from fairlead.agent.model import Reply, Request, Retrying, TextDelta, ThinkingDelta, Used
from fairlead.agent.shortening import summary_request
from fairlead.agent.small_model import NO_ANSWER
from fairlead.agent.window import prefix_size
from fairlead.messages.history import without_thinking
from fairlead.messages.parts import Message

log = logging.getLogger(__name__)

MAX_OVERFLOW_RETRIES = 4
"""How often a request that was refused as too long is sent again, shortened or with a lower answer limit."""


class Requests:
    """Requests the answers of one run."""

    def __init__(self, agent: Agent, compactor: Compactor, before_retry: Callable[[], Awaitable[None]]) -> None:
        """
        Args:
            before_retry: called before a failed request is sent again; what it raises ends the request.
        """
        self._agent, self._compactor, self._before_retry = agent, compactor, before_retry
        self._tools = [tool.spec for tool in agent.tools.values()]
        agent.window.prefix_chars = prefix_size(agent.system, self._tools)
        self._text = StringIO()
        self.answer_limit: int | None = None
        """How many tokens the window left for the last answer; None if that is unknown."""

    @property
    def partial_text(self) -> str:
        """The text of an answer that is being streamed, or that broke off."""
        return self._text.getvalue()

    async def answer(self) -> Reply:
        """Requests the next answer. If the conversation is too long, compacts it first.

        If the request is refused as too long, lowers the answer's limit or compacts, and tries again.

        Raises:
            ModelError: there was no answer, or the conversation cannot be shortened any further.
        """
        history, window = self._agent.history, self._agent.window
        if window.needs_compaction(history.messages):
            await self._compactor.compact(self._summarize)
        for _ in range(MAX_OVERFLOW_RETRIES):
            try:
                return await self._send(history.messages)
            except ModelError as error:
                if error.kind != "context_overflow":
                    raise
                fits_now = window.record_refusal(history.messages, error.overflow, self.answer_limit)
                if not fits_now and not await self._compactor.compact(self._summarize):
                    raise self._compactor.overflow_error(error.message) from error
        return await self._send(history.messages)

    async def _summarize(self, messages: Sequence[Message]) -> str:
        """A summary by the small model; by the run's model if there is no small one, or if it fails."""
        asked, small = summary_request(messages), self._agent.small_model
        if small is not None:
            try:  # it may refuse the other model's thinking
                reply = await small.ask(Request(self._agent.system, self._tools, without_thinking(asked)))
            except ModelError as error:  # for example because its window is smaller
                log.info("the small model did not write a summary: %s", error)
            else:
                self._agent.meter.report()
                if reply.prose.strip():
                    return reply.prose
        return (await self._send(asked, is_shown=False)).prose

    async def _send(self, messages: Sequence[Message], is_shown: bool = True) -> Reply:
        """Sends a request and returns the answer. If earlier thinking is refused, removes it and sends the rest.

        The Messages API refuses thinking if anything before it has changed (compaction, other rules or tools), or if it
        comes from another server.

        Args:
            is_shown: whether to emit the deltas and to let the provider clear results. False for a summary. Retries
                and usage are always emitted.
        """
        try:
            return await self._send_once(messages, is_shown)
        except ModelError as error:
            history, stripped = self._agent.history, without_thinking(messages)
            if error.kind != "no_thinking" or stripped == list(messages):
                raise
            log.info("earlier thinking is removed from the conversation: %s", error)
        history.replace(without_thinking(history.messages))
        return await self._send_once(stripped, is_shown)

    async def _send_once(self, messages: Sequence[Message], is_shown: bool) -> Reply:
        self.answer_limit = self._agent.window.answer_limit(messages)
        clearing = self._compactor.server_clearing() if is_shown else None
        request = Request(self._agent.system, self._tools, messages, clearing, self.answer_limit)
        async with aclosing(self._agent.model.stream(request)) as stream:
            async for event in stream:
                match event:
                    case TextDelta(text, restarts) if is_shown:
                        self._text.write(text)
                        self._agent.emit(Text(text, restarts))
                    case ThinkingDelta(text, restarts) if is_shown:
                        self._agent.emit(Thinking(text, restarts))
                    case Used(usage):
                        self._agent.meter.main.add(usage)
                    case Retrying(attempt, delay, error):
                        await self._before_retry()
                        self._agent.emit(Retry(attempt, delay, error.failure))
                    case Reply():
                        self._record(event, messages)
                        return event
                    case _:
                        pass
        raise ModelError("internal", NO_ANSWER)

    def _record(self, reply: Reply, messages: Sequence[Message]) -> None:
        """Clears the results that the provider has cleared, updates the window, and emits the usage so far."""
        self._text = StringIO()
        if reply.cleared_results:
            self._compactor.apply_server_clearing(reply.cleared_results)
            messages = self._agent.history.messages
        self._agent.window.record_answer(messages, reply.usage)
        self._agent.meter.report()
