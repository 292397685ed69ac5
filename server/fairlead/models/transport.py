"""What the SDK and its transport raise while they send a request and read the response."""

import importlib
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from fairlead.agent.errors import ModelError
from fairlead.models.fields import nonsense

log = logging.getLogger(__name__)


def transport_errors() -> tuple[type[Exception], ...]:
    """The transport's errors. In the middle of a stream they come without the SDK's around them."""
    transport = importlib.import_module("httpx2")
    return (transport.HTTPError, transport.StreamError)


@contextmanager
def decoding_errors(sdk: Any) -> Generator[None]:
    """Convert the libraries' own errors in decoding a response, such as a wrong charset or a wrong frame.

    Only calls of the libraries belong inside, because each of their decoders fails in its own way.

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
