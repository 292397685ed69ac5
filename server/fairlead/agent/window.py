"""The model's context window: its size, how much a request takes, and how much is left for the answer.

Sizes are in tokens unless a name says `chars`. No I/O.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from fairlead.agent.errors import Overflow
from fairlead.agent.images import image_tokens
from fairlead.agent.messages import Block, Message
from fairlead.agent.model import ToolSpec, Usage
from fairlead.per_item import PerItem

# shares of the window (docs/plan.md L15)
COMPACT_AT = 0.8
"""A request that takes more is compacted first. The rest is for the answer."""
CLEAR_AT = 0.7
"""From here on the provider may clear results. It counts exactly, so it can start earlier than Fairlead."""
SUMMARIZE_ABOVE = 0.65
"""If clearing leaves more than this, a summary is needed."""
TARGET = 0.5
"""What a compacted conversation may take."""
MAX_RESULTS = 0.5
"""What the results of one round may take."""
MIN_GAIN = 0.1
"""A summary that frees less is not requested."""

CHARS_PER_TOKEN = 4
"""A guess, used until the first answer or refusal names the size of a request."""
MAX_CHARS_PER_TOKEN = 10
"""A server that counts fewer tokens than this implies has left out the cached ones."""
MAX_TOKENS_PER_CHAR = 10
"""A server that counts more tokens than this implies has not counted tokens."""
ESTIMATE_MARGIN = 1.05
MIN_ANSWER = 256
"""A shorter answer would be useless."""
MIN_RESULTS_CHARS = 1000


def size(messages: Sequence[Message]) -> int:
    """The approximate length of the messages in characters."""
    return sum(map(_message_size, messages))


def _message_size(message: Message) -> int:
    return sum(map(_length, message["content"]))


def _length(block: Block) -> int:
    match block:
        case {"type": "tool_use", "input": given}:
            return len(json.dumps(given, ensure_ascii=False))
        case {"type": "tool_result", "content": str(text)} | {"type": "text", "text": str(text)}:
            return len(text)
        case {"type": "image"}:
            return image_tokens(block) * CHARS_PER_TOKEN
        case _:
            return sum(len(value) for value in block.values() if isinstance(value, str))


def prefix_size(system: str, tools: Sequence[ToolSpec]) -> int:
    """The length of the system prompt and the tools, which begin every request, in characters."""
    return len(system) + sum(
        len(tool.name) + len(tool.description) + len(json.dumps(tool.input_schema)) for tool in tools
    )


@dataclass
class Window:
    """The window of one model, and the estimate of how many tokens a conversation takes in it."""

    is_hosted: bool = False
    """Whether the provider runs the model, so that the user cannot enlarge the window."""
    configured: int | None = None
    """The size from the settings or the list of models."""
    reported: int | None = None
    """The size that a refusal in this run named."""
    refused_chars: int | None = None
    """The length of the last request in this run that was refused although it should have fitted."""
    prefix_chars: int = 0
    """The length of the system prompt and the tools."""
    tokens_per_char: float = 1 / CHARS_PER_TOKEN
    """Measured on the last request that was counted."""
    _sizes: PerItem[Message, int] = field(default_factory=lambda: PerItem(_message_size))
    used: int = 0
    """What the last request and its answer took; 0 before the first request."""

    def begin_run(self, configured: int | None) -> None:
        """Forgets the sizes from the last run's refusals: the server may have been restarted with a larger window."""
        self.configured, self.reported, self.refused_chars = configured, None, None

    @property
    def limit(self) -> int | None:
        """The size of the window, None if it is unknown. A guess if only the length of a refused request is known."""
        guess = round(self.refused_chars * self.tokens_per_char) if self.refused_chars is not None else None
        return min((limit for limit in (self.configured, self.reported, guess) if limit), default=None)

    def request_chars(self, messages: Sequence[Message]) -> int:
        """The length of a request with these messages, at least 1."""
        return max(1, self.prefix_chars + sum(self._sizes.of(messages)))

    def estimate(self, messages: Sequence[Message]) -> int:
        """The approximate size of a request with these messages."""
        return round(self.request_chars(messages) * self.tokens_per_char)

    def tokens_at(self, share: float) -> int:
        """The size of a request at a share of the window.

        The scale begins at the prefix: share 0 is the prefix alone, and `COMPACT_AT` is 80% of the whole window.
        """
        prefix = self.prefix_chars * self.tokens_per_char
        return round(prefix + share * max(0, (self.limit or 0) - prefix / COMPACT_AT))

    def needs_compaction(self, messages: Sequence[Message]) -> bool:
        """Whether the conversation must be shortened before the next request (docs/plan.md L15)."""
        return self.limit is not None and self.estimate(messages) >= COMPACT_AT * self.limit

    def answer_limit(self, messages: Sequence[Message]) -> int | None:
        """What the window leaves for the answer to these messages, None if its size is unknown."""
        if self.limit is None:
            return None
        return max(MIN_ANSWER, self.limit - round(self.estimate(messages) * ESTIMATE_MARGIN))

    def results_limit_chars(self) -> int | None:
        """How long the results of one round may be together, None if the window's size is unknown."""
        if self.limit is None:
            return None
        share = self.tokens_at(MAX_RESULTS) - self.tokens_at(0)
        return max(MIN_RESULTS_CHARS, round(share / self.tokens_per_char))

    def record_answer(self, messages: Sequence[Message], usage: Usage) -> None:
        """Learns from an answered request: its exact size, and that the window holds at least as much."""
        chars, asked = self.request_chars(messages), usage.tokens - usage.output_tokens
        self.used = usage.tokens
        if asked * MAX_CHARS_PER_TOKEN >= chars:
            self._measure(asked, chars)
        if self.reported is not None:
            self.reported = max(self.reported, self.used)
        if self.refused_chars is not None and chars > self.refused_chars:
            self.refused_chars = None

    def record_full(self, messages: Sequence[Message]) -> None:
        """Learns from an answer that ended because it filled the window. The answer is the last of the messages."""
        self.reported = max(self.used, self.estimate(messages))

    def record_refusal(self, messages: Sequence[Message], overflow: Overflow, answer_limit: int | None) -> bool:
        """Learns from a refusal of a request for its length.

        Args:
            messages: the messages of the refused request.
            overflow: the sizes that the refusal named.
            answer_limit: the answer's limit in that request.

        Returns:
            Whether the same messages fit now, with a lower limit for the answer.
        """
        self.reported = overflow.window or self.reported
        if overflow.request:
            self._measure(overflow.request, self.request_chars(messages))
        now = self.answer_limit(messages)
        if now is not None and (answer_limit is None or now < answer_limit) and not self.needs_compaction(messages):
            return True
        if not self.needs_compaction(messages):
            self.refused_chars = self.request_chars(messages)
        return False

    def _measure(self, tokens: int, chars: int) -> None:
        """Learns how many tokens a character takes, unless the server's number is impossible."""
        if 0 < tokens <= MAX_TOKENS_PER_CHAR * chars:
            self.tokens_per_char = tokens / chars
