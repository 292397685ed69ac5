"""The limits of connecting and of what a server sends, and the errors of the SDK and its transport meanwhile."""

import importlib
import logging
from collections.abc import AsyncIterable, AsyncIterator, Generator
from contextlib import aclosing, contextmanager
from typing import Any

from fairlead.agent.errors import ModelError
from fairlead.models.fields import nonsense

log = logging.getLogger(__name__)

CONNECT_TIMEOUT = 15.0  # seconds
MAX_ERROR_BODY = 64_000  # bytes; an error message quotes and searches less
MAX_ANSWER = 100_000_000
"""Bytes of a stream. The longest answer of a model takes far fewer, with all that its events repeat."""
MAX_ORIGIN = 300  # characters; the name of a host has at most 253
REDIRECTED = (
    "{origin} redirects to {target}. The conversation and the key were not sent there. If that is the right server, "
    "set it as the base URL."
)


def transport_errors() -> tuple[type[Exception], ...]:
    """The transport's errors. In the middle of a stream, the SDK does not wrap them in its own."""
    transport = importlib.import_module("httpx2")
    return (transport.HTTPError, transport.StreamError)


def check_redirect(response: Any) -> None:
    """Checks that a redirect stays within its origin. The next request would contain the conversation and the key.

    Raises:
        ModelError: it leads to another scheme, host or port.
    """
    if not response.has_redirect_location:
        return
    url = response.request.url
    try:
        target = url.join(response.headers["location"])
    except importlib.import_module("httpx2").InvalidURL:
        return  # the transport refuses it
    origin, other = (f"{each.scheme}://{each.netloc.decode('ascii')}"[:MAX_ORIGIN] for each in (url, target))
    if origin != other:
        raise ModelError("invalid_request", REDIRECTED.format(origin=origin, target=other))


async def bound_error_body(response: Any) -> None:
    """Replaces the body of an error by its beginning, decoded. The rest is not read.

    Raises what the transport raises while it reads and decodes.
    """
    if response.status_code < 400:
        return
    transport, body = importlib.import_module("httpx2"), b""
    whole = transport.Response(
        response.status_code, headers=response.headers, stream=response.stream, request=response.request
    )
    async with aclosing(whole.aiter_bytes()) as parts:
        async for part in parts:
            body += part[: MAX_ERROR_BODY - len(body)]
            if len(body) == MAX_ERROR_BODY:
                break
    response.stream = transport.ByteStream(body)
    for name in ("content-encoding", "content-length", "transfer-encoding"):
        response.headers.pop(name, None)


async def bounded(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The chunks of a body.

    Raises:
        ModelError: there are more than MAX_ANSWER bytes.
    """
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > MAX_ANSWER:
            raise nonsense(f"an answer of more than {MAX_ANSWER:,} bytes")
        yield chunk


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
