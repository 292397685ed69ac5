"""Decides when and how a conversation is shortened to fit into the model's context window (docs/plan.md L15)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from fairlead.agent.agent import Agent
from fairlead.agent.errors import ModelError
from fairlead.agent.events import Compacted
from fairlead.agent.model import ServerClearing
from fairlead.agent.shortening import (
    ROUND_LENGTH,
    clear_oldest,
    clear_results,
    results_to_keep,
    shorten_results,
    summary_gain,
    with_summary,
)
from fairlead.agent.window import CLEAR_AT, COMPACT_AT, MIN_GAIN, SUMMARIZE_ABOVE, TARGET, size
from fairlead.display import count_of
from fairlead.messages.parts import Message, Result

LARGE_WINDOW = 65_536
"""Tokens. From this size on, advice to enlarge the window does not help."""
TOO_LONG = (
    "{reason} The conversation cannot be shortened any further: the instructions and the tools take about {prefix:,} "
    "tokens and the rest {rest:,}{window}.{advice}"
)
SUMMARIZED = "The older part of the conversation was too long and was replaced by a summary."
NOT_SUMMARIZED = (
    "The older part of the conversation was removed, because it was too long to be summarized. Your messages, the plan "
    "and the proposals remain."
)
SHORTEN_TASK = " Start a new task, or make this one shorter."
ENLARGE_WINDOW = (
    " If you run the model yourself, give it a larger window, such as 16,384 tokens: `-c 16384` for llama.cpp, "
    "OLLAMA_CONTEXT_LENGTH=16384 for Ollama, Context Length in LM Studio, `--max-model-len 16384` for vLLM."
)


class Compactor:
    """Shortens the history of a run when the window is nearly full."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._history, self._window, self._emit = agent.history, agent.window, agent.emit
        self._keeps_results, self._interceptors = agent.keeps_results, agent.interceptors

    def server_clearing(self) -> ServerClearing | None:
        """What the provider may clear from the next request.

        None if it cannot do that, if the conversation is short, or if the window's size is unknown. The provider clears
        about as much as `compact` would, a little earlier.
        """
        messages, window = self._history.messages, self._window
        if not self._agent.model.capabilities.clears_results or window.limit is None:
            return None
        if window.estimate(messages) < window.tokens_at(SUMMARIZE_ABOVE):
            return None
        return ServerClearing(
            trigger=window.tokens_at(CLEAR_AT),
            min_cleared=window.tokens_at(MIN_GAIN) - window.tokens_at(0),
            keep=results_to_keep(messages, self._excess_chars(TARGET), self._keeps_results),
            excluded_tools=tuple(name for name in self._agent.tools if self._keeps_results(name)),
        )

    def apply_server_clearing(self, count: int) -> None:
        """Clears the oldest `count` results in the history too, because the provider has cleared them."""
        self._replace(clear_oldest(self._history.messages, count, self._keeps_results))
        results = count_of(count, "old tool result")
        self._emit(Compacted(f"The model's service cleared {results} from the conversation."))

    async def compact(self, summarize: Callable[[Sequence[Message]], Awaitable[str]]) -> bool:
        """Shortens the conversation.

        Clears old results first. Asks for a summary if too much is left and the summary would replace enough of it. If
        the conversation still does not fit, shortens the newest results, and clears them only if that is not enough.

        Args:
            summarize: asks the model for a summary of the messages.

        Returns:
            Whether the conversation is shorter now.

        Raises:
            ModelError: the model did not return a summary, for a reason other than the conversation's length.
        """
        for interceptor in self._interceptors:
            await interceptor.before_compaction()
        window, before = self._window, size(self._history.messages)
        self._clear_results()
        cleared = before - size(self._history.messages)
        if cleared:
            tokens = cleared * window.tokens_per_char
            self._emit(Compacted(f"Old tool results were cleared from the conversation (about {tokens:,.0f} tokens)."))
        min_gain = (window.tokens_at(MIN_GAIN) - window.tokens_at(0)) / window.tokens_per_char
        gain = summary_gain(self._history.messages, self._keeps_results)
        if self._excess_chars(SUMMARIZE_ABOVE) > 0 and gain > min_gain:
            await self._summarize(summarize)
        if self._excess_chars(COMPACT_AT) > 0:  # only the last round is left to shorten
            self._shorten_last_results()
        if self._excess_chars(COMPACT_AT) > 0:
            self._clear_results(untouched=0)
        return size(self._history.messages) < before

    def overflow_error(self, reason: str) -> ModelError:
        """The error for a conversation that cannot be shortened any further. Adds sizes and advice to `reason`."""
        window, messages = self._window, self._history.messages
        limit, prefix = window.reported or window.configured, round(window.prefix_chars * window.tokens_per_char)
        advice = ENLARGE_WINDOW if not window.is_hosted and (limit or 0) < LARGE_WINDOW else ""
        if limit is None or prefix < COMPACT_AT * limit:  # else not even the shortest task would fit
            advice = SHORTEN_TASK + advice
        text = TOO_LONG.format(
            reason=reason,
            prefix=prefix,
            rest=round(size(messages) * window.tokens_per_char),
            window=f", and the window has {limit:,}" if limit else "",
            advice=advice,
        )
        return ModelError("context_overflow", text)

    def _excess_chars(self, share: float) -> int:
        """By how many characters the next request would exceed a share of the window; negative if it would not."""
        window = self._window
        excess = window.estimate(self._history.messages) - window.tokens_at(share)
        return round(excess / window.tokens_per_char)

    def _clear_results(self, untouched: int = ROUND_LENGTH) -> None:
        excess = self._excess_chars(TARGET)
        self._replace(clear_results(self._history.messages, excess, self._keeps_results, untouched))

    def _shorten_last_results(self) -> None:
        """Shortens the results of the last round to what one round may take in this window."""
        *before, last = self._history.messages
        texts = [part.text for part in last.parts if isinstance(part, Result)]
        shortened = iter(shorten_results(texts, self._window.results_limit_chars() or 0))
        parts = (replace(part, output=next(shortened)) if isinstance(part, Result) else part for part in last.parts)
        self._replace([*before, replace(last, parts=tuple(parts))])

    async def _summarize(self, summarize: Callable[[Sequence[Message]], Awaitable[str]]) -> None:
        try:
            summary = await summarize(self._history.messages)
        except ModelError as error:
            if error.kind != "context_overflow":
                raise
            # the request for a summary was too long: of the older part, only the verbatim texts remain
            summary = ""
        messages = self._history.messages
        self._replace(
            with_summary(messages, summary, self._agent.plan.render(), self._agent.proposals(), self._keeps_results)
        )
        self._emit(Compacted(SUMMARIZED if summary else NOT_SUMMARIZED))

    def _replace(self, messages: Sequence[Message]) -> None:
        if list(messages) != list(self._history.messages):
            self._history.replace(messages)
