"""The model's context window: its size, how much a request takes, and how much is left for the answer.

Sizes are in tokens unless a name or a docstring says characters. No I/O.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from fairlead.agent.errors import Overflow
from fairlead.agent.model import ToolSpec, Usage
from fairlead.messages.images import image_tokens
from fairlead.messages.parts import Call, Foreign, Image, Message, Part, Result, Thinking
from fairlead.per_item import PerItem

# shares of the window (docs/plan.md L15), as `Window.tokens_at` converts them
COMPACT_AT = 0.8
"""The conversation is compacted before a request that takes this much or more. The rest is for the answer."""
CLEAR_AT = 0.7
"""From here on the provider may clear results. It counts exactly, so it can start earlier than Fairlead."""
SUMMARIZE_ABOVE = 0.65
"""If clearing leaves more than this, a summary is needed."""
TARGET = 0.5
"""Results are cleared until the conversation takes no more than this."""
MAX_RESULTS = 0.5
"""The results of one round together may take no more than this."""
MIN_GAIN = 0.1
"""A summary that replaces less is not requested, and the provider does not clear less."""

CHARS_PER_TOKEN = 4
"""A guess, used until the first answer or refusal names the size of a request.

Also converts the tokens of a picture to characters.
"""
MAX_CHARS_PER_TOKEN = 10
"""A server that counts fewer than one token per this many characters has left out the cached tokens."""
MAX_TOKENS_PER_CHAR = 10
"""A server that counts more than this has counted something other than tokens."""
ESTIMATE_MARGIN = 1.05
"""By how much a request may exceed its estimate, as a factor."""
SMALL = 8192
"""Tokens of a window in which a request begins with brief instructions and few tools (docs/plan.md L9)."""
MIN_ANSWER = 256
"""A shorter answer would be useless."""
MIN_RESULTS_CHARS = 1000
"""The results of one round may always have this many characters, however small the window is."""


def size(messages: Sequence[Message]) -> int:
    """The approximate length of the messages in characters."""
    return sum(map(_message_size, messages))


def _message_size(message: Message) -> int:
    return sum(map(part_size, message.parts))


def part_size(part: Part) -> int:
    """The approximate length of a part in characters."""
    match part:
        case Call(input=given):
            return len(json.dumps(given, ensure_ascii=False))
        case Image():
            return image_tokens(part) * CHARS_PER_TOKEN
        case Result(images=images):
            return len(part.text) + sum(map(part_size, images))
        case Thinking(text, _, rest):
            return len(text) + sum(len(value) for value in rest.values() if isinstance(value, str))
        case Foreign(_, data):
            return sum(len(value) for value in data.values() if isinstance(value, str))
        case _:
            return len(part.text)


def prefix_size(system: str, tools: Sequence[ToolSpec]) -> int:
    """The length in characters of the system prompt and the tools, with which every request begins."""
    return len(system) + sum(
        len(tool.name) + len(tool.description) + len(json.dumps(tool.input_schema)) for tool in tools
    )


@dataclass
class Window:
    """The window of one model, and the estimate of how many tokens a conversation takes in it."""

    is_hosted: bool = False
    """Whether the provider runs the model, so that the user cannot enlarge the window."""
    configured: int | None = None
    """The size from the settings or the list of models; None if neither has one."""
    reported: int | None = None
    """The size that a refusal in this run named, or at which an answer filled the window; None without either.

    It grows when a larger request is answered.
    """
    refused_chars: int | None = None
    """The length of the last request in this run that was refused although it should have fitted.

    None without such a request, and after a longer one was answered.
    """
    prefix_chars: int = 0
    """The length of the system prompt and the tools."""
    tokens_per_char: float = 1 / CHARS_PER_TOKEN
    """Measured on the last request whose size a server named; a guess before that."""
    _sizes: PerItem[Message, int] = field(default_factory=lambda: PerItem(_message_size))
    used: int = 0
    """What the last answered request and its answer took; 0 before the first answer."""

    def begin_run(self, configured: int | None) -> None:
        """Sets the configured size. Forgets the sizes that the last run learned from refusals and full windows.

        The server may have been restarted with a larger window.
        """
        self.configured, self.reported, self.refused_chars = configured, None, None

    @property
    def limit(self) -> int | None:
        """The size of the window: the smallest that is configured, reported or guessed; None if it is unknown.

        The guess is the size of a request that was refused although it should have fitted.
        """
        guess = round(self.refused_chars * self.tokens_per_char) if self.refused_chars is not None else None
        return min((limit for limit in (self.configured, self.reported, guess) if limit), default=None)

    @property
    def is_small(self) -> bool:
        """Whether the usual instructions and tools would take a fifth of the window or more."""
        return self.limit is not None and self.limit <= SMALL

    def request_chars(self, messages: Sequence[Message]) -> int:
        """The length of a request with these messages, at least 1."""
        return max(1, self.prefix_chars + sum(self._sizes.of(messages)))

    def estimate(self, messages: Sequence[Message]) -> int:
        """The approximate size of a request with these messages."""
        return round(self.request_chars(messages) * self.tokens_per_char)

    def tokens_at(self, share: float) -> int:
        """The size of a request at a share of the window.

        The scale begins at the prefix: share 0 is the prefix alone, and `COMPACT_AT` is 80% of the whole window. If the
        window's size is unknown, every share is the prefix alone.
        """
        prefix = self.prefix_chars * self.tokens_per_char
        return round(prefix + share * max(0, (self.limit or 0) - prefix / COMPACT_AT))

    def needs_compaction(self, messages: Sequence[Message]) -> bool:
        """Whether the conversation must be shortened before the next request (L15). False if the size is unknown."""
        return self.limit is not None and self.estimate(messages) >= COMPACT_AT * self.limit

    def answer_limit(self, messages: Sequence[Message]) -> int | None:
        """What the window leaves for the answer to these messages; None if the window's size is unknown.

        At least `MIN_ANSWER`, even if the messages fill the window.
        """
        if self.limit is None:
            return None
        return max(MIN_ANSWER, self.limit - round(self.estimate(messages) * ESTIMATE_MARGIN))

    def results_limit_chars(self) -> int | None:
        """The most characters that the results of one round may have together; None if the window's size is unknown."""
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
        """Learns from the refusal of a request that was too long.

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
        """Learns how many tokens a character takes, unless the server's number of tokens is impossible."""
        if 0 < tokens <= MAX_TOKENS_PER_CHAR * chars:
            self.tokens_per_char = tokens / chars
