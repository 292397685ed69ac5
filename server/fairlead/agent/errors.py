"""What can go wrong inside a run.

    FairleadError
    ├── ModelError      the model could not answer; ends the run with stop reason `error`
    └── ToolError       a tool could not do its work; becomes an error result that the model reads
        └── PlainToolError     ... whose text stands without "Error: " before it

Messages are written for people (ModelError) or for the model (ToolError): what happened, and what to do next.
"""

from dataclasses import dataclass
from typing import Literal

ErrorKind = Literal[
    "auth",
    "billing",
    "rate_limit",
    "overloaded",
    "network",
    "invalid_request",
    "context_overflow",
    "internal",
    "replay",
]


class FairleadError(Exception):
    """The root of the errors that Fairlead raises on purpose."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """What a refusal for a request's length names, in tokens; None where it names nothing."""

    window: int | None = None
    """All that the model takes at once."""
    request: int | None = None
    """The refused request, without its answer."""


class ModelError(FairleadError):
    """The model did not answer.

    `kind` is the wire's `Error.kind`; `retryable` says that the same request may work later; `retry_after` is
    what the server asked to wait, in seconds; `loading` that it said that its model is not loaded yet; `overflow`
    belongs to the kind `context_overflow`.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        loading: bool = False,
        overflow: Overflow = Overflow(),
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.retryable = retryable
        self.retry_after = retry_after
        self.loading = loading
        self.overflow = overflow


class ToolError(FairleadError):
    """A tool's failure that the model can act on (L3)."""


class PlainToolError(ToolError):
    """A failure whose text is the whole result: an unknown tool (L4), a command's output up to its time limit."""
