"""The time limit for connecting, and the errors of the SDK and its transport while they send and receive."""

import importlib
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from fairlead.agent.errors import ModelError
from fairlead.models.fields import nonsense

log = logging.getLogger(__name__)

CONNECT_TIMEOUT = 15.0  # seconds


def transport_errors() -> tuple[type[Exception], ...]:
    """The transport's errors. In the middle of a stream, the SDK does not wrap them in its own."""
    transport = importlib.import_module("httpx2")
    return (transport.HTTPError, transport.StreamError)


@contextmanager
def decoding_errors(sdk: Any) -> Generator[None]:
    """Converts the errors of libraries that cannot decode a response, for example because of a wrong charset or frame.

    Each decoder raises its own exceptions, so all exceptions are converted. The block must only call the libraries.

    Raises:
        ModelError: an error that is neither the SDK's nor the transport's.
    """
    try:
        yield
    except (ModelError, sdk.AnthropicError, *transport_errors()):
        raise
    except Exception as error:
        log.warning("a response that cannot be decoded", exc_info=True)
        raise nonsense(f"a response that could not be read ({error!r})") from error
