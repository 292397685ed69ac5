"""The limits of connecting and of what a server sends, and the errors of the SDK and its transport meanwhile."""

import asyncio
import importlib
import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Generator
from contextlib import aclosing, contextmanager
from functools import cache
from typing import Any
from urllib.request import getproxies

from fairlead.agent.errors import ModelError
from fairlead.http_client import PIECE, without_proxy
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.fields import nonsense
from fairlead.workspace.long_work import Yielder

log = logging.getLogger(__name__)

# seconds
CONNECT_TIMEOUT = 15.0
HEAD_TIMEOUT = 15.0
"""For the rest of a response's head, after the time for the model. All of it usually comes in one packet."""
ERROR_BODY_TIMEOUT = 5.0
# bytes
MAX_ERROR_BODY = 64_000  # an error message quotes and searches less
MAX_ANSWER = 100_000_000
"""Decoded. The longest answer of a model takes far fewer, with all that its events repeat."""
MAX_COMPRESSED = 25_000_000
"""Of a compressed body, as sent. A stream of events shrinks to less than a quarter."""
MAX_ORIGIN = 300  # characters; the name of a host has at most 253
REDIRECTED = (
    "{origin} redirects to {target}. The conversation and the key were not sent there. If that is the right server, "
    "set it as the base URL."
)
Filter = Callable[[AsyncIterable[bytes]], AsyncIterator[bytes]]


def transport_errors() -> tuple[type[Exception], ...]:
    """The transport's errors. In the middle of a stream, the SDK does not wrap them in its own."""
    transport = importlib.import_module("httpx2")
    return (transport.HTTPError, transport.StreamError)


def is_proxied(endpoint: Endpoint) -> bool:
    """Whether requests may go through a proxy of the environment or the system."""
    return not without_proxy(endpoint.base_url or "") and bool({"http", "https", "all"} & getproxies().keys())


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
        raise ModelError("wrong_server", REDIRECTED.format(origin=origin, target=other))


async def limit_body(response: Any, limit_frames: Filter | None) -> None:
    """Replaces the body by one that is decoded and limited. That of an error or a redirect becomes its beginning.

    Args:
        response: the response, before its body is read.
        limit_frames: checks a body that consists of frames.

    Raises what the transport raises while it reads and decodes the beginning.
    """
    transport = importlib.import_module("httpx2")
    is_compressed = "content-encoding" in response.headers
    source = response.stream
    sent = _stream_of(_limited(source, MAX_COMPRESSED if is_compressed else MAX_ANSWER), source.aclose)
    whole = transport.Response(response.status_code, headers=response.headers, stream=sent, request=response.request)
    if response.is_success:
        chunks = _pieces(_limited(whole.aiter_bytes(), MAX_ANSWER))
        response.stream = _stream_of(limit_frames(chunks) if limit_frames else chunks, whole.aclose)
    else:
        response.stream = transport.ByteStream(await _beginning(whole))
    for name in ("content-encoding", "content-length", "transfer-encoding"):
        response.headers.pop(name, None)


async def _beginning(response: Any) -> bytes:
    """The first MAX_ERROR_BODY bytes of a body, or what has arrived of them within ERROR_BODY_TIMEOUT."""
    body = bytearray()
    try:
        async with asyncio.timeout(ERROR_BODY_TIMEOUT), aclosing(response.aiter_bytes()) as parts:
            async for part in parts:
                body += part[: MAX_ERROR_BODY - len(body)]
                if len(body) == MAX_ERROR_BODY:
                    break
    except TimeoutError:
        log.info("the body of an error did not end within %s seconds", ERROR_BODY_TIMEOUT)
    finally:
        await response.aclose()
    return bytes(body)


async def _limited(chunks: AsyncIterable[bytes], limit: int) -> AsyncIterator[bytes]:
    """The chunks of a body. Lets other work run meanwhile, also if they contain nothing that anyone waits for.

    Raises:
        ModelError: there are more than `limit` bytes.
    """
    size, yielder = 0, Yielder()
    async for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise nonsense(f"an answer of more than {limit:,} bytes")
        await yielder.yield_if_due()
        yield chunk


async def _pieces(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    yielder = Yielder()
    async for chunk in chunks:
        for at in range(0, len(chunk), PIECE):
            await yielder.yield_if_due()
            yield chunk[at : at + PIECE]


def _stream_of(chunks: AsyncIterator[bytes], aclose: Callable[[], Awaitable[None]]) -> Any:
    """The chunks as a body of the transport, which `aclose` closes."""
    return _stream_type()(chunks, aclose)


@cache
def _stream_type() -> Any:
    base: Any = importlib.import_module("httpx2").AsyncByteStream

    class Stream(base):
        def __init__(self, chunks: AsyncIterator[bytes], aclose: Callable[[], Awaitable[None]]) -> None:
            self._chunks, self.aclose = chunks, aclose

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._chunks

    return Stream


class HeadTimeout:
    """Limits the time for the head of a response, which a server could send byte by byte, or after endless 1xx ones.

    The time runs only while the transport waits for a head: neither while it connects nor while it sends the request.

    Args:
        seconds: how long the server may send nothing, which the transport limits itself.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds + min(seconds, HEAD_TIMEOUT)
        self._timeout = asyncio.Timeout(None)

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        """Raises a TimeoutError if the head took too long."""
        await self._timeout.__aexit__(*error)

    async def trace(self, step: str, _: object) -> None:
        """The transport's extension `trace` for requests."""
        if step.endswith("receive_response_headers.started"):
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._seconds)
        elif ".receive_response_headers." in step and not self._timeout.expired():
            self._timeout.reschedule(None)


@contextmanager
def decoding_errors(sdk_error: type[Exception]) -> Generator[None]:
    """Converts the errors of libraries that cannot decode a response, for example because of a wrong charset or frame.

    Each decoder raises its own exceptions, so all exceptions are converted. The block must only call the libraries.
    `sdk_error` is the base class of the SDK's errors.

    Raises:
        ModelError: an error that is neither the SDK's nor the transport's.
    """
    try:
        yield
    except (ModelError, sdk_error, *transport_errors()):
        raise
    except Exception as error:
        log.warning("a response that cannot be decoded", exc_info=True)
        raise nonsense(f"a response that could not be read ({error!r})") from error
