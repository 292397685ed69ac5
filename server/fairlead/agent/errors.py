"""The failure of a model's server. It ends the run with stop reason `error`, unless compaction helps."""

from dataclasses import dataclass
from typing import Literal

from fairlead.errors import FairleadError
from fairlead.sentences import Phrase, phrases_of

ErrorKind = Literal[
    "auth",
    "billing",
    "rate_limit",
    "overloaded",
    "network",
    "invalid_request",
    "unknown_model",
    "wrong_server",
    "proxy",
    "region",
    "no_tools",
    "no_images",
    "no_thinking",
    "context_overflow",
    "internal",
    "replay",
    "replay_ended",
    "hosted_agent",
    "hosted_sign_in",
]


@dataclass(frozen=True, slots=True)
class Overflow:
    """The sizes, in tokens, that the model's server named when it refused a request as too long.

    A size is None if the server did not name it.
    """

    window: int | None = None
    """The model's window."""
    request: int | None = None
    """The size of the refused request, without room for the answer."""


@dataclass(frozen=True, slots=True)
class Help:
    """What can help after a failure, in addition to what its kind says."""

    models: tuple[str, ...] = ()
    """After `unknown_model`: similar names that the model's server has, the most similar first."""
    key_endpoint: str = ""
    """After `auth`: the name of the endpoint to which the refused key belongs by its form."""
    account_url: str = ""
    """After `billing`: the page where the user adds credit."""
    key_refusal: str = ""
    """After `auth`: what the model's server said about the key; empty if it did not refuse one."""


@dataclass(frozen=True, slots=True)
class ModelFailure:
    """What the user learns of a `ModelError`."""

    kind: ErrorKind
    phrases: tuple[Phrase, ...]
    """What happened and what to do."""
    retryable: bool
    """Whether the same request may work later."""
    help: Help


class ModelError(FairleadError):
    """The model did not answer, or its answer cannot be used."""

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        max_attempts: int | None = None,
        loading: bool = False,
        overflow: Overflow = Overflow(),
        help: Help = Help(),
    ) -> None:
        """
        Args:
            kind: as in `Error.kind` on the wire (docs/protocol.md).
            message: for the user; translated as far as it consists of sentences (`Text`).
            retryable: whether the same request may work later.
            retry_after: the pause that the model's server asked for, in seconds; None if it asked for none.
            max_attempts: how many attempts may end with such an error before another attempt is useless; None: the
                usual number.
            loading: whether the model's server is still loading the model.
            overflow: the sizes that a refusal of the kind `context_overflow` named.
            help: what can help.
        """
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.retryable = retryable
        self.retry_after = retry_after
        self.max_attempts = max_attempts
        self.loading = loading
        self.overflow = overflow
        self.help = help

    @property
    def failure(self) -> ModelFailure:
        """What the user learns of it."""
        return ModelFailure(self.kind, phrases_of(self.message), self.retryable, self.help)
