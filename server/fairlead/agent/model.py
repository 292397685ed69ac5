"""The model port: what the loop asks of a model, and what it gets back."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fairlead.agent.messages import Block, Message, ToolCall


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `input_schema` is a JSON Schema object."""

    name: str
    description: str
    input_schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Clearing:
    """What the provider may clear by itself from a request longer than `at`: results of tools, the oldest first.

    `at` and `at_least` (less is not worth it) are tokens; so many of the newest uses stay as `keep` says, and all of
    the tools in `lasting`.
    """

    at: int
    at_least: int
    keep: int
    lasting: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """One question to the model. `system` and `tools` are the same objects through a session.

    `answer` is the most tokens that the answer may have, None where only the model's own limit counts.
    """

    system: str
    tools: Sequence[ToolSpec]
    messages: Sequence[Message]
    clearing: Clearing | None = None
    answer: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, summed over requests; `input_tokens` without the cached ones."""

    requests: int = 0
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All of them: of one request, how much of the model's window it and its answer took."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """The attempt failed and another follows after `delay` seconds; `attempt` counts the failed ones from 1."""

    attempt: int
    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer, from a stream that ended as it should.

    `content` is what goes into the history, thinking blocks as they came; `calls` are its tool_use blocks, in order.
    `cleared` is from how many of the oldest tool uses the provider cleared the results (`Clearing`).
    """

    content: Sequence[Block]
    calls: Sequence[ToolCall]
    stop_reason: str
    usage: Usage
    cleared: int = 0

    @property
    def text(self) -> str:
        return "\n\n".join(block["text"] for block in self.content if block["type"] == "text")


ModelEvent = TextDelta | ThinkingDelta | Retrying | Reply


class Model(Protocol):
    """Something that answers. `name` is shown to people."""

    @property
    def name(self) -> str: ...

    def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """Yields deltas as they come, then exactly one Reply as the last event.

        Must be safe to close or cancel at any moment. Text that was yielded is never yielded again after a retry.

        Raises:
            ModelError: no answer was to be had, retries included.
        """
        ...
