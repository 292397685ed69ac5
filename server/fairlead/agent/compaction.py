"""Decides when and how a conversation is shortened to fit into the model's context window (docs/plan.md L15)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from fairlead.agent.errors import ModelError
from fairlead.agent.events import Compacted, Event
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
from fairlead.agent.window import CLEAR_AT, COMPACT_AT, MIN_GAIN, SUMMARIZE_ABOVE, TARGET, Window, size
from fairlead.display import count_of
from fairlead.messages.history import History
from fairlead.messages.images import without_old_images
from fairlead.messages.parts import Message, Result

LARGE_WINDOW = 65_536
"""Tokens. From this size on, advice to enlarge the window does not help."""
TOO_LONG = (
    "{reason} The conversation cannot be shortened any further: the instructions and the tools take about {prefix:,} "
    "tokens and the rest {rest:,}{window}.{advice}"
)
OLD_IMAGES = (
    "Older pictures were removed from the conversation: a request can contain at most 20 pictures, and 20 MB in total."
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


@dataclass
class Compactor:
    """Shortens the history of a run when the window is nearly full."""

    history: History
    window: Window
    tools: Sequence[str]
    """The names of all tools."""
    keeps_results: Callable[[str], bool]
    """Returns whether a tool's results are never cleared."""
    summarize: Callable[[Sequence[Message]], Awaitable[str]]
    """Asks the model for a summary of the messages."""
    plan: Callable[[], str]
    """Renders the plan."""
    proposals: Callable[[], str]
    """Renders the proposals."""
    emit: Callable[[Event], None]

    def server_clearing(self) -> ServerClearing | None:
        """What the provider may clear from the next request.

        None if the conversation is short, or if the window's size is unknown. The provider clears about as much as
        `compact` would, a little earlier.
        """
        messages, window = self.history.messages, self.window
        if window.limit is None or window.estimate(messages) < window.tokens_at(SUMMARIZE_ABOVE):
            return None
        return ServerClearing(
            trigger=window.tokens_at(CLEAR_AT),
            min_cleared=window.tokens_at(MIN_GAIN) - window.tokens_at(0),
            keep=results_to_keep(messages, self._excess_chars(TARGET), self.keeps_results),
            excluded_tools=tuple(name for name in self.tools if self.keeps_results(name)),
        )

    def apply_server_clearing(self, count: int) -> None:
        """Clears the oldest `count` results in the history too, because the provider has cleared them."""
        self._replace(clear_oldest(self.history.messages, count, self.keeps_results))
        results = count_of(count, "old tool result")
        self.emit(Compacted(f"The model's service cleared {results} from the conversation."))

    def remove_old_images(self) -> None:
        """If not all pictures fit into one request, removes the oldest ones."""
        before = self.history.messages
        self._replace(without_old_images(before))
        if self.history.messages is not before:
            self.emit(Compacted(OLD_IMAGES))

    async def compact(self) -> bool:
        """Shortens the conversation.

        Clears old results first. Asks for a summary if too much is left and the summary would replace enough of it. If
        the conversation still does not fit, shortens the newest results, and clears them only if that is not enough.

        Returns:
            Whether the conversation is shorter now.

        Raises:
            ModelError: the model did not return a summary, for a reason other than the conversation's length.
        """
        window, before = self.window, size(self.history.messages)
        self._clear_results()
        cleared = before - size(self.history.messages)
        if cleared:
            tokens = cleared * window.tokens_per_char
            self.emit(Compacted(f"Old tool results were cleared from the conversation (about {tokens:,.0f} tokens)."))
        min_gain = (window.tokens_at(MIN_GAIN) - window.tokens_at(0)) / window.tokens_per_char
        gain = summary_gain(self.history.messages, self.keeps_results)
        if self._excess_chars(SUMMARIZE_ABOVE) > 0 and gain > min_gain:
            await self._summarize()
        if self._excess_chars(COMPACT_AT) > 0:  # only the last round is left to shorten
            self._shorten_last_results()
        if self._excess_chars(COMPACT_AT) > 0:
            self._clear_results(untouched=0)
        return size(self.history.messages) < before

    def overflow_error(self, reason: str) -> ModelError:
        """The error for a conversation that cannot be shortened any further. Adds sizes and advice to `reason`."""
        window, messages = self.window, self.history.messages
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
        window = self.window
        excess = window.estimate(self.history.messages) - window.tokens_at(share)
        return round(excess / window.tokens_per_char)

    def _clear_results(self, untouched: int = ROUND_LENGTH) -> None:
        excess = self._excess_chars(TARGET)
        self._replace(clear_results(self.history.messages, excess, self.keeps_results, untouched))

    def _shorten_last_results(self) -> None:
        """Shortens the results of the last round to what one round may take in this window."""
        *before, last = self.history.messages
        texts = [part.text for part in last.parts if isinstance(part, Result)]
        shortened = iter(shorten_results(texts, self.window.results_limit_chars() or 0))
        parts = (replace(part, output=next(shortened)) if isinstance(part, Result) else part for part in last.parts)
        self._replace([*before, replace(last, parts=tuple(parts))])

    async def _summarize(self) -> None:
        try:
            summary = await self.summarize(self.history.messages)
        except ModelError as error:
            if error.kind != "context_overflow":
                raise
            # the request for a summary was too long: of the older part, only the verbatim texts remain
            summary = ""
        messages = self.history.messages
        self._replace(with_summary(messages, summary, self.plan(), self.proposals(), self.keeps_results))
        self.emit(Compacted(SUMMARIZED if summary else NOT_SUMMARIZED))

    def _replace(self, messages: Sequence[Message]) -> None:
        if list(messages) != list(self.history.messages):
            self.history.replace(messages)
