"""One GET request, without cookies, sign-ins and redirects. What the server sends is limited before it is believed.

It imports the transport, so it is imported when the first page is needed.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

import httpx2

from fairlead import __version__
from fairlead.display import shorten
from fairlead.errors import ToolError
from fairlead.web.target import Target

USER_AGENT = f"Fairlead/{__version__} (coding agent)"
MAX_BODY = 5_000_000
"""Bytes, after decompression."""
CONNECT_SECONDS = 10.0
_ENCODINGS = ("", "identity", "gzip", "deflate")
_MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answered."""

    status: int
    content_type: str
    """As the server wrote it; empty if it did not."""
    location: str | None
    """Where a redirect leads; None: it is none."""
    body: bytes
    """Decompressed; empty for a redirect."""

    @property
    def phrase(self) -> str:
        """The status with its usual words, as in `404 Not Found`."""
        try:
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return str(self.status)


async def get(
    target: Target,
    addresses: Sequence[str],
    *,
    proxy: str | None,
    accept: str,
    seconds: float,
    tls: Callable[[], ssl.SSLContext],
) -> Response:
    """Asks a server for a page.

    Args:
        addresses: those of the host, all of them checked. The connection goes to one of them and nowhere else. Empty if
            there is a proxy, which finds the host itself.
        seconds: how long all of it may take.
        tls: returns the trusted certificates. The server's must be for the name in the URL.

    Raises:
        ToolError: there is no answer, or it is too large.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _first_answer(target, addresses, proxy, accept, tls())
    except TimeoutError as error:
        raise ToolError(f"{target.name} did not answer within {seconds:.0f} s. Try again later.") from error
    except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, ssl.SSLError, OSError) as error:
        raise ToolError(_why(error, target, proxy)) from error
    except ImportError as error:  # the optional library for SOCKS
        raise ToolError(f"The proxy cannot be used: {shorten(str(error), _MAX_SHOWN)}") from error


async def _first_answer(
    target: Target, addresses: Sequence[str], proxy: str | None, accept: str, tls: ssl.SSLContext
) -> Response:
    """The answer of the first address that accepts a connection."""
    hosts: Sequence[str | None] = [None] if proxy is not None else addresses
    for host in hosts[:-1]:
        try:
            return await _answer(target, host, proxy, accept, tls)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            continue
    return await _answer(target, hosts[-1], proxy, accept, tls)


async def _answer(target: Target, address: str | None, proxy: str | None, accept: str, tls: ssl.SSLContext) -> Response:
    url = httpx2.URL(target.url)
    request = httpx2.Request(
        "GET",
        url if address is None else url.copy_with(host=address),
        headers={
            "host": url.netloc.decode("ascii"),
            "user-agent": USER_AGENT,
            "accept": accept,
            "accept-encoding": "gzip",
            "connection": "close",
        },
        # the name whose certificate is checked: the URL of the request has the address
        extensions={
            "sni_hostname": target.host,
            "timeout": httpx2.Timeout(None, connect=CONNECT_SECONDS).as_dict(),
        },
    )
    async with _transport(proxy, tls) as transport:
        response = await transport.handle_async_request(request)
        response.request = request
        try:
            return Response(
                response.status_code,
                response.headers.get("content-type", ""),
                response.headers["location"] if response.has_redirect_location else None,
                b"" if response.has_redirect_location else await _body(response, target),
            )
        finally:
            await response.aclose()


@asynccontextmanager
async def _transport(proxy: str | None, tls: ssl.SSLContext) -> AsyncGenerator[httpx2.AsyncHTTPTransport]:
    # a client would add the cookies and the proxy of its own; a transport sends what it gets
    async with httpx2.AsyncHTTPTransport(verify=tls, trust_env=False, proxy=proxy) as transport:
        yield transport


async def _body(response: httpx2.Response, target: Target) -> bytes:
    """The body, decompressed.

    Raises:
        ToolError: it is too large, or compressed in another way than what was asked for.
    """
    too_large = ToolError(
        f"{target.name} answers with more than {MAX_BODY // 1_000_000} MB, which is too much for a page. Ask for a "
        "smaller one."
    )
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise ToolError(f"{target.name} compressed its answer with {shorten(encoding)}, which nobody asked for.")
    length = response.headers.get("content-length", "")
    if length.isdecimal() and len(length) < 20 and int(length) > MAX_BODY:
        raise too_large
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MAX_BODY:
            raise too_large
    return bytes(body)


def _why(error: Exception, target: Target, proxy: str | None) -> str:
    """Why there is no answer, for the model."""
    text = shorten(str(error).partition("\n")[0], _MAX_SHOWN)
    about = f" ({text})" if text else ""
    if isinstance(error, httpx2.ProxyError) or (proxy is not None and isinstance(error, httpx2.ConnectError)):
        return f"The proxy did not connect to {target.name}{about}."
    if isinstance(error, httpx2.ConnectTimeout):
        return f"{target.name} did not accept a connection within {CONNECT_SECONDS:.0f} s. Try again later."
    if isinstance(error, httpx2.ConnectError | ssl.SSLError | OSError):
        return f"{target.name} cannot be reached{about}. Check the URL."
    if isinstance(error, httpx2.DecodingError):
        return f"{target.name} sent an answer that cannot be decompressed."
    return f"{target.name} sent no valid answer{about}."
