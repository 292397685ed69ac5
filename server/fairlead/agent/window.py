"""The model's window: how large it is, how much of it a request takes, and what it leaves for the answer.

Sizes are in tokens where nothing else is said. Pure: values in, values out.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.agent.errors import Overflow
from fairlead.agent.messages import Block, Message
from fairlead.agent.model import ToolSpec, Usage

FULL = 0.8  # of the window: a longer request is shortened first; the rest is for the answer
NEAR = 0.7  # where the provider, which counts better, may clear results
ENOUGH = 0.65  # where clearing leaves more than this, only a summary helps
ROOM = 0.5  # as full as a shortened conversation may be
RESULTS = 0.5  # the most that the results of one round may take
WORTH = 0.1  # a summary that would free less is not asked for
CHARS_PER_TOKEN = 4  # a rough guess, until an answer or a refusal tells a request's size
MOST_CHARS = 10  # per token: a server that counts less has left out what it had cached
SLACK = 1.05  # estimates may be wrong by this much
LEAST_ANSWER = 256  # an answer with less room than this is of no use
LEAST_RESULTS = 1000  # characters


def size(messages: Sequence[Message]) -> int:
    """Characters, near enough."""
    return sum(_length(block) for message in messages for block in message["content"])


def _length(block: Block) -> int:
    match block:
        case {"type": "tool_use", "input": given}:
            return len(json.dumps(given, ensure_ascii=False))
        case {"type": "tool_result", "content": str(text)} | {"type": "text", "text": str(text)}:
            return len(text)
        case _:
            return sum(len(value) for value in block.values() if isinstance(value, str))


def fixed_size(system: str, tools: Sequence[ToolSpec]) -> int:
    """Characters of what every request begins with."""
    return len(system) + sum(
        len(tool.name) + len(tool.description) + len(json.dumps(tool.input_schema)) for tool in tools
    )


@dataclass
class Window:
    """The window of one model, and what is known of the tokens of a conversation in it."""

    known: int | None = None
    """As the settings or the list of models have it."""
    named: int | None = None
    """As a refusal in this run named it."""
    refused: int | None = None
    """Characters of the shortest request in this run that was refused although it should have fitted."""
    fixed: int = 0
    """Characters of the system prompt and the tools, which are in every request."""
    per_char: float = 1 / CHARS_PER_TOKEN
    """Tokens per character, as the last request was counted."""
    used: int = 0
    """What the last request and its answer took; 0 before the first."""

    def begin_run(self, known: int | None) -> None:
        """What refusals taught is forgotten: the server may have a larger window now."""
        self.known, self.named, self.refused = known, None, None

    @property
    def limit(self) -> int | None:
        """The window's size, None while nothing is known of it."""
        guess = round(self.refused * self.per_char) if self.refused is not None else None
        return min((limit for limit in (self.known, self.named, guess) if limit), default=None)

    def chars(self, messages: Sequence[Message]) -> int:
        """Characters of a whole request with these messages, at least one."""
        return max(1, self.fixed + size(messages))

    def expected(self, messages: Sequence[Message]) -> int:
        """About how many tokens a request with these messages takes."""
        return round(self.chars(messages) * self.per_char)

    def mark(self, share: float) -> int:
        """Where a share of the window is taken; what is in every request counts as taken, up to FULL."""
        beginning = self.fixed * self.per_char
        return round(beginning + share * max(0, (self.limit or 0) - beginning / FULL))

    def is_full(self, messages: Sequence[Message]) -> bool:
        return self.limit is not None and self.expected(messages) >= FULL * self.limit

    def left(self, messages: Sequence[Message]) -> int | None:
        """The most that the answer to these messages may take, None while the window is not known."""
        if self.limit is None:
            return None
        return max(LEAST_ANSWER, self.limit - round(self.expected(messages) * SLACK))

    def results(self) -> int | None:
        """Characters that the results of one round may have, None while the window is not known."""
        if self.limit is None:
            return None
        return max(LEAST_RESULTS, round((self.mark(RESULTS) - self.mark(0)) / self.per_char))

    def answered(self, messages: Sequence[Message], usage: Usage) -> None:
        """A request with these messages was answered: it was counted, and the window is no smaller."""
        chars, asked = self.chars(messages), usage.tokens - usage.output_tokens
        self.used = usage.tokens
        if asked > 0 and asked * MOST_CHARS >= chars:
            self.per_char = asked / chars
        if self.named is not None:
            self.named = max(self.named, self.used)
        if self.refused is not None and chars > self.refused:
            self.refused = None

    def filled(self, messages: Sequence[Message]) -> None:
        """The answer, which is the last message, was ended because it filled the window."""
        self.named = max(self.used, self.expected(messages))

    def was_refused(self, messages: Sequence[Message], overflow: Overflow, left: int | None) -> bool:
        """Learns from a refusal for length; `left` is the answer's limit that the request had.

        Returns:
            Whether the messages fit as they are, with the lower limit for the answer that there is now.
        """
        self.named = overflow.window or self.named
        if overflow.request:
            self.per_char = overflow.request / self.chars(messages)
        now = self.left(messages)
        if now is not None and (left is None or now < left) and not self.is_full(messages):
            return True
        if not self.is_full(messages):
            self.refused = self.chars(messages)
        return False
