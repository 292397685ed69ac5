"""The model port: requests to a model, and the events and the reply that come back."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from fairlead.agent.errors import ModelError
from fairlead.messages.parts import Call, Message, Part, Text, Thinking

Stop = Literal["done", "calls", "cut_off", "window_full", "paused", "refused", "unknown"]
"""Why an answer ended.

`done`: the model's turn is over. `calls`: it waits for results. `cut_off`: the limit for one answer. `window_full`: the
end of the window. `paused`: the provider interrupted the turn. `unknown`: the server said nothing that is known.
"""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    """A JSON Schema object."""
    checks_objects: bool = True
    """Whether objects in an input must have the schema's form too. If not, the tool reads them itself."""


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """What the pictures of one request may be in all."""

    count: int
    chars: int
    """Of all pictures in base64."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider can do that others cannot."""

    clears_results: bool = False
    """It clears old tool results from a long request, as `Request.clearing` says. Others ignore that field."""
    images: ImageLimits | None = None
    """None: it takes no pictures, or any number of them."""


@dataclass(frozen=True, slots=True)
class ServerClearing:
    """Allows the provider to clear old tool results from a long request, the oldest first (docs/plan.md L15)."""

    trigger: int
    """Tokens. Nothing is cleared from a shorter request."""
    min_cleared: int
    """Tokens. Nothing is cleared if it would free fewer."""
    keep: int
    """How many of the newest results stay."""
    excluded_tools: tuple[str, ...]
    """Tools whose results stay."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the model. `system` and `tools` stay the same throughout a run."""

    system: str
    tools: Sequence[ToolSpec]
    messages: Sequence[Message]
    clearing: ServerClearing | None = None
    """None: the provider may clear nothing."""
    answer_limit: int | None = None
    """The most tokens that the window leaves for the answer, None if unknown. The model may have a lower limit."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one or more requests."""

    requests: int = 0
    """The number of requests that got a complete answer.

    The tokens include those of answers that broke off or were stopped.
    """
    input_tokens: int = 0
    """Without the cached ones."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """US dollars, as the server said; None: it did not say it."""

    @property
    def tokens(self) -> int:
        """All tokens. For one request, this is what it and its answer took of the model's window."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.output_tokens + other.output_tokens,
            None if self.cost is None and other.cost is None else (self.cost or 0) + (other.cost or 0),
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            self.requests - other.requests,
            self.input_tokens - other.input_tokens,
            self.cache_read_tokens - other.cache_read_tokens,
            self.cache_write_tokens - other.cache_write_tokens,
            self.output_tokens - other.output_tokens,
            None if self.cost is None and other.cost is None else (self.cost or 0) - (other.cost or 0),
        )


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str
    restarts: bool = False
    """Whether it is a note that the answer starts again, so that the text before it is not part of the answer."""


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the answer's thinking."""

    text: str
    restarts: bool = False
    """As in `TextDelta`."""


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens to add to those that the request has used so far. Failed attempts count too.

    A number is negative if the count of the model's server replaces a higher estimate.
    """

    usage: Usage


@dataclass(frozen=True, slots=True)
class Retrying:
    """An attempt failed, and another one follows."""

    attempt: int
    """The number of failed attempts, from 1."""
    delay: float
    """Seconds until the next attempt."""
    error: ModelError
    """Why the attempt failed."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer whose stream ended properly. The text may still be cut off, as `stop` says."""

    parts: Sequence[Part]
    stop: Stop
    stop_name: str
    """The reason as the model's server names it; empty if it named none."""
    usage: Usage
    """The tokens of this answer alone. The preceding `Used` events already include them."""
    cleared_results: int = 0
    """How many of the oldest results the provider cleared from the request (`ServerClearing`)."""
    explanation: str = ""
    """Why the model refused, in the server's words; empty if there are none."""
    tagged_thinking: str = ""
    """Thinking that arrived in tags within the text. `parts` does not contain it."""

    @property
    def calls(self) -> Sequence[Call]:
        """Its calls, in order."""
        return [part for part in self.parts if isinstance(part, Call)]

    @property
    def text(self) -> str:
        """All text, as paragraphs."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def thinking(self) -> str:
        """All thinking, as paragraphs."""
        found = [part.text for part in self.parts if isinstance(part, Thinking)]
        return "\n\n".join(filter(None, [*found, self.tagged_thinking]))

    @property
    def prose(self) -> str:
        """The text, or the thinking if there is no text, for example because the answer was cut off."""
        return self.text if self.text.strip() else self.thinking


ModelEvent = TextDelta | ThinkingDelta | Used | Retrying | Reply


class Model(Protocol):
    """Something that answers requests. The tests in tests/models/test_contract.py hold for each.

    What another provider sealed (`Thinking`, `Foreign`), and what this one cannot take, it leaves out of its requests.
    """

    @property
    def name(self) -> str:
        """The name that is shown to the user."""
        ...

    @property
    def capabilities(self) -> Capabilities: ...

    def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """Yields deltas and `Used` as they arrive, then exactly one Reply as the last event.

        It must be safe to close or cancel at any moment. Text that was yielded is not yielded again after a retry,
        unless the new answer differs from it; a note then comes first.

        Raises:
            ModelError: no attempt produced an answer.
        """
        ...

    async def connect(self) -> None:
        """Prepares the next request, without sending any of the user's data. If it fails, that request reports it."""
        ...

    async def aclose(self) -> None:
        """Closes the connections. The model can be used again afterwards."""
        ...
