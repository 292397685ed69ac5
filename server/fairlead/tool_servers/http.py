"""The transport to a remote server (MCP, "Streamable HTTP"). The server is not trusted.

It imports the SDK, so it is imported when the first remote server is needed.
"""

import ipaddress
import json
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.streamable_http import streamable_http_client
from pydantic import ValidationError

from fairlead.display import escape_to_one_line, shorten
from fairlead.http_client import certificates, is_loopback, without_proxy
from fairlead.json_values import fields_of
from fairlead.shell.services.message_lines import MAX_FLOOD, MAX_MESSAGE
from fairlead.tool_servers.pipes import ServerFailed, SessionEnded

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

log = logging.getLogger(__name__)

CONNECT_SECONDS, SEND_SECONDS = 15.0, 30.0
"""How long connecting may take, and how long the server may read nothing. `Connection` limits the time for answers."""
_OPTIONAL = ("server/discover", "subscriptions/listen")
"""Requests that many servers do not know. The SDK goes on without an answer to them."""
_EVENTS = "text/event-stream"
_MAX_SHOWN = 200
_HEADER, _HEADER_TEXT = re.compile(r"[!#-'*+\-.0-9A-Z^-z|~]+"), re.compile(r"[\t -~]*")
# what these log is in the reasons too, without tracebacks and without what the server sent
for _name in ("mcp.client.streamable_http", "mcp.client.auth.oauth2"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


def origin_of(url: str) -> str:
    """The scheme, host and port of an address, as in `https://example.com:8443`."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    usual = {"https": 443, "http": 80}.get(parts.scheme)
    port = "" if parts.port in (None, usual) else f":{parts.port}"
    return f"{parts.scheme}://[{host}]{port}" if ":" in host else f"{parts.scheme}://{host}{port}"


def check_address(url: str) -> None:
    """Raises ServerFailed if a server must not be used at this address."""
    try:
        parts, origin = urlsplit(url), origin_of(url)
        httpx2.URL(url)
    except (ValueError, httpx2.InvalidURL):
        raise ServerFailed("its address is not valid") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ServerFailed("its address must begin with https:// or http:// and contain no password")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ServerFailed(
            f"{origin} is not encrypted, so nothing was sent to it. Use its https address; http is only for servers on "
            "this machine"
        )


def check_target(url: str, server: str) -> None:
    """Raises ServerFailed if a server has named an address for the sign-in that must not be asked."""
    target, own = httpx2.URL(url), httpx2.URL(server)
    if _origin(target) == _origin(own) or is_loopback(own.host):
        return
    if target.scheme != "https":
        raise ServerFailed(f"its sign-in is at {_shown(target)}, which is not encrypted")
    if _is_private(target.host) and not _is_private(own.host):
        raise ServerFailed(f"its sign-in is at {_shown(target)}, which is in a private network")


class HttpStreams:
    """The HTTP requests to a server.

    Args:
        headers: sent with each request to the server, but to no other one.
        on_end: called once when the server can no longer be used, with the reason.
        auth: adds the user's sign-in; None: the server gets none.

    Raises:
        ServerFailed: as `check_address`, or a header cannot be sent.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        on_end: Callable[[ServerFailed], None] = lambda _: None,
        auth: httpx2.Auth | None = None,
    ) -> None:
        check_address(url)
        for name, text in headers.items():
            if not _HEADER.fullmatch(name) or not _HEADER_TEXT.fullmatch(text):  # the transport would quote the text
                raise ServerFailed(f"its header {escape_to_one_line(name)} contains a character that cannot be sent")
        self._url, self._headers, self._on_end, self._auth = url, headers, on_end, auth
        self._received = 0
        self.failure: ServerFailed | None = None
        """Why the server can no longer be used; None while it can."""

    def expect(self) -> None:
        """Something is asked of the server, so that it may send more."""
        self._received = 0

    @asynccontextmanager
    async def streams(self) -> "AsyncGenerator[TransportStreams]":
        """The streams of messages for the SDK."""
        headers = {**self._headers, "accept-encoding": "identity"}  # so that what arrives is what is counted
        async with (
            _Client(self, self._url, headers, self._auth) as client,
            # `_limited` limits the events
            streamable_http_client(self._url, http_client=client, max_sse_event_size=None) as streams,
        ):
            yield streams

    def end(self, failure: ServerFailed) -> ServerFailed:
        """The server can no longer be used. Returns the first reason, which is the one to raise."""
        if self.failure is None:
            self.failure = failure
            self._on_end(failure)
        return self.failure

    async def limited(self, chunks: AsyncIterator[bytes], *, is_stream: bool) -> AsyncIterator[bytes]:
        """The chunks of a body, which is a message or a stream of events.

        Raises:
            ServerFailed: a message is too long, or too much was sent that nobody asked for.
        """
        message, rest = 0, b""
        async for chunk in chunks if is_stream else self._whole(chunks):
            self._received += len(chunk)
            message += len(chunk)
            if is_stream:
                last = rest + chunk
                ends = (last.rfind(end) + len(end) for end in (b"\n\n", b"\r\r", b"\r\n\r\n") if end in last)
                message = min((message, *(len(last) - end for end in ends)))
                rest = last[-3:]
            if message > MAX_MESSAGE:
                raise self.end(ServerFailed(f"it sent a message of more than {MAX_MESSAGE >> 20} MB"))
            if self._received > MAX_FLOOD:
                raise self.end(ServerFailed(f"it sent more than {MAX_FLOOD >> 20} MB that nobody asked for"))
            yield chunk

    async def _whole(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The chunks of a body that is of no use if it breaks off. The SDK resumes streams of events."""
        try:
            async for chunk in chunks:
                yield chunk
        except httpx2.HTTPError as error:
            raise self.end(ServerFailed(_why(error, origin_of(self._url)))) from error


class _Client(httpx2.AsyncClient):
    """Sends the SDK's requests, and says in plain words why one failed."""

    def __init__(self, owner: HttpStreams, url: str, headers: Mapping[str, str], auth: httpx2.Auth | None) -> None:
        self._owner, self._server = owner, httpx2.URL(url)
        super().__init__(
            headers=headers,
            auth=auth,
            verify=certificates(),
            mounts=without_proxy(url),
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS, write=SEND_SECONDS),
            event_hooks={"request": [self._check_target], "response": [self._limit]},
        )

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            response = await super().send(request, **options)
        except ServerFailed as failure:
            raise self._owner.end(failure) from None
        except (OAuthFlowError, ValidationError) as error:
            reason = shorten(str(error).partition("\n")[0], _MAX_SHOWN)
            raise self._owner.end(ServerFailed(f"the sign-in failed: {reason}")) from error
        except httpx2.HTTPError as error:
            if request.method != "POST":  # the SDK does without the stream of a GET
                raise
            raise self._owner.end(ServerFailed(_why(error, origin_of(str(request.url))))) from error
        try:
            await self._check(request, response)
        except ServerFailed as failure:
            await response.aclose()
            raise self._owner.end(failure) from None
        return response

    async def _check_target(self, request: httpx2.Request) -> None:
        check_target(str(request.url), str(self._server))

    async def _limit(self, response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ServerFailed("it compressed an answer that must not be compressed")
        source = response.stream
        assert isinstance(source, httpx2.AsyncByteStream)
        is_stream = _type_of(response) == _EVENTS
        response.stream = _Body(self._owner.limited(aiter(source), is_stream=is_stream), source)

    async def _check(self, request: httpx2.Request, response: httpx2.Response) -> None:
        """Raises ServerFailed if an answer is none of MCP."""
        if response.has_redirect_location:
            target = request.url.join(response.headers["location"])
            if _origin(target) != _origin(request.url):
                raise ServerFailed(
                    f"it redirects to {_shown(target)}, and nothing was sent there. If that is the right server, use "
                    "its address"
                )
        elif request.method == "POST" and response.status_code != HTTPStatus.ACCEPTED:
            message = _json(await request.aread())  # that of a redirected request is not read yet
            if "id" in message and "method" in message:
                await self._check_answer(request, response, str(message["method"]))

    async def _check_answer(self, request: httpx2.Request, response: httpx2.Response, method: str) -> None:
        status, kind = response.status_code, _type_of(response)
        if response.is_success:
            if kind not in ("application/json", _EVENTS):
                shown = f"with {shorten(kind, _MAX_SHOWN)}" if kind else "without a content type"
                raise ServerFailed(f"it answered {shown} instead of a message of MCP. Check its address")
            return
        if status == HTTPStatus.UNAUTHORIZED:
            refused = "the key in its headers" if "authorization" in request.headers else "the request"
            raise ServerFailed(f"it refused {refused} (HTTP 401)")
        if kind == "application/json" and "error" in _json(await response.aread()):
            return  # the SDK reads it
        if status == HTTPStatus.NOT_FOUND and "mcp-session-id" in request.headers:
            raise SessionEnded("it has ended the session")
        if method not in _OPTIONAL:
            raise ServerFailed(f"it answered with HTTP {status} {response.reason_phrase}".rstrip())


class _Body(httpx2.AsyncByteStream):
    def __init__(self, chunks: AsyncIterator[bytes], source: httpx2.AsyncByteStream) -> None:
        self._chunks, self._source = chunks, source

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def aclose(self) -> None:
        await self._source.aclose()


def _why(error: httpx2.HTTPError, origin: str) -> str:
    """Why a request failed, in the middle of a sentence."""
    text = shorten(str(error).partition("\n")[0], _MAX_SHOWN)
    if isinstance(error, httpx2.ConnectTimeout):
        return f"{origin} did not accept a connection within {CONNECT_SECONDS:.0f} s"
    if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
        return f"{origin} cannot be reached ({text})" if text else f"{origin} cannot be reached"
    if isinstance(error, httpx2.TimeoutException):
        return f"{origin} did not read the request within {SEND_SECONDS:.0f} s"
    return f"the connection to {origin} broke ({text})" if text else f"the connection to {origin} broke"


def _type_of(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _json(data: bytes) -> dict[str, Any]:
    try:
        return fields_of(json.loads(data))
    except (ValueError, RecursionError):
        return {}


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port  # httpx2 leaves out the usual port


def _shown(url: httpx2.URL) -> str:
    return shorten(f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}", _MAX_SHOWN)


def _is_private(host: str) -> bool:
    """Whether a host is in the user's own network, judged by its name or address."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return is_loopback(host)
