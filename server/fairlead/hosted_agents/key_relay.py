"""The relay between an agent in its box and its API, which puts the user's key into the requests.

The agent gets the relay's address and a password for it in place of the key. So neither it nor anything that it starts
can read the key, and the box needs no way to the internet. Only requests with the password are sent on.
"""

import asyncio
import hmac
import logging
import secrets
from collections.abc import AsyncIterator, Iterable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import h11

from fairlead.http_client import PIECE, certificates, without_proxy
from fairlead.shell.network import LOCALHOST, Service

log = logging.getLogger(__name__)

_KEY_HEADERS = (b"x-api-key", b"x-goog-api-key", b"api-key", b"authorization")
_KEY_PARAMETER = "key"
_OF_CONNECTION = frozenset(
    b"connection expect host keep-alive proxy-authorization proxy-connection te trailer "
    b"transfer-encoding upgrade".split()
)
_LENGTHS = frozenset((b"content-length", b"transfer-encoding"))
MAX_CONNECTIONS = 100
"""How many connections an agent may have at once; further ones are closed."""
_ANSWER_SECONDS = 600.0
"""How long an API may take until the next piece of its answer."""


class KeyRelay:
    """A server on this machine for one agent.

    Args:
        address: the address of the API.
        key: the user's key.
    """

    def __init__(self, address: str, key: str) -> None:
        self._base, self._key = address.rstrip("/"), key
        self.password = secrets.token_urlsafe(32)
        """What the agent sends in place of the key."""
        self._server: asyncio.Server | None = None
        self.client: Any = None
        """Asks the API; None before the start."""
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Starts listening. Raises OSError if it cannot."""
        import httpx2  # noqa: PLC0415  slow to import, and rarely needed

        self.client = httpx2.AsyncClient(
            verify=await asyncio.to_thread(certificates),
            mounts=without_proxy(self._base),
            timeout=httpx2.Timeout(_ANSWER_SECONDS, connect=30.0),
            follow_redirects=False,  # the key is for the API's host alone
        )
        self.client.headers.clear()  # an agent that asks for no encoding may not read one
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    @property
    def service(self) -> Service:
        """What the agent's box must reach."""
        assert self._server is not None
        return Service(LOCALHOST, self._server.sockets[0].getsockname()[1])

    @property
    def address(self) -> str:
        """The address of the API for the agent."""
        return f"http://127.0.0.1:{self.service.port}"

    async def aclose(self) -> None:
        """Ends all connections."""
        if self._server is not None:
            self._server.close()
        for each in self._connections:
            each.cancel()
        if self._connections:
            await asyncio.wait(self._connections)
        if self.client is not None:
            await self.client.aclose()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= MAX_CONNECTIONS:  # each takes a descriptor of this process
            writer.close()
            return
        self._connections.add(task)
        try:
            await _Exchange(self, reader, writer).serve()
        except (OSError, h11.ProtocolError, asyncio.CancelledError):
            pass  # the agent has gone, or breaks the protocol in the middle of an answer
        finally:
            self._connections.discard(task)
            writer.close()

    def with_key(
        self, headers: Iterable[tuple[bytes, bytes]], target: str
    ) -> tuple[list[tuple[bytes, bytes]], str] | None:
        """The headers and the URL for the API, with the key in place of the password; None: there is no password.

        Args:
            target: one that `is_below_api`.
        """
        found = False
        sent: list[tuple[bytes, bytes]] = []
        for name, value in headers:
            if name in _OF_CONNECTION:
                continue
            scheme, _, given = value.rpartition(b" ") if name == b"authorization" else (b"", b"", value)
            if name in _KEY_HEADERS and self._is_password(given):
                found, value = True, b" ".join(filter(None, (scheme, self._key.encode())))
            sent.append((name, value))
        parts = urlsplit(target)
        query = parse_qsl(parts.query, keep_blank_values=True)
        if any(name == _KEY_PARAMETER and self._is_password(value.encode()) for name, value in query):
            found = True
            query = [(name, self._key if name == _KEY_PARAMETER else value) for name, value in query]
            target = f"{parts.path}?{urlencode(query)}"
        return (sent, f"{self._base}{target}") if found else None

    def _is_password(self, given: bytes) -> bool:
        return hmac.compare_digest(given, self.password.encode())


def is_below_api(target: str) -> bool:
    """Whether the target of a request is a path that stays below the address of the API."""
    path = unquote(target.partition("?")[0]).replace("\\", "/")
    return path.startswith("/") and not path.startswith("//") and ".." not in path.split("/")


class _Exchange:
    """One connection of the agent."""

    def __init__(self, relay: KeyRelay, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._relay, self._reader, self._writer = relay, reader, writer
        self._http = h11.Connection(h11.SERVER)

    async def serve(self) -> None:
        while True:
            try:
                request = await self._next()
                if not isinstance(request, h11.Request):
                    return
                await self._answer(request)
            except h11.RemoteProtocolError as error:
                if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                    await self._refuse(error.error_status_hint, f"This is no request: {error}")
                return
            if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                return
            self._http.start_next_cycle()

    async def _answer(self, request: h11.Request) -> None:
        target, framing = request.target.decode("latin-1"), {name for name, _ in request.headers} & _LENGTHS
        if not is_below_api(target) or len(framing) > 1:
            await self._refuse(400, "This address takes only requests below the address of the API, with one length.")
            return
        known = self._relay.with_key(request.headers, target)
        if known is None:
            await self._refuse(401, "Not allowed: this address is for the agent that Fairlead has started.")
            return
        headers, url = known
        method = request.method.decode()
        try:
            body = self._body() if framing else None
            async with self._relay.client.stream(method, url, headers=headers, content=body) as answer:
                kept = [
                    (name.lower(), value) for name, value in answer.headers.raw if name.lower() not in _OF_CONNECTION
                ]
                await self._send(h11.Response(status_code=answer.status_code, headers=kept))
                async for piece in answer.aiter_raw(PIECE):
                    await self._send(h11.Data(data=piece))
                await self._send(h11.EndOfMessage())
            async for _ in self._body():
                pass  # the end of a request without a body is an event too
        except h11.ProtocolError:
            raise
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001  whatever the transport raises: it is imported late
            log.info("an agent's API does not answer: %s", error)
            if self._http.our_state is h11.SEND_RESPONSE and self._http.their_state is not h11.ERROR:
                await self._refuse(502, f"The API does not answer: {error}")

    async def _body(self) -> AsyncIterator[bytes]:
        while self._http.their_state is h11.SEND_BODY and isinstance(event := await self._next(), h11.Data):
            yield bytes(event.data)

    async def _refuse(self, status: int, text: str) -> None:
        body = text.encode()
        headers = [
            ("content-type", "text/plain; charset=utf-8"),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        await self._send(h11.Response(status_code=status, headers=headers))
        await self._send(h11.Data(data=body))
        await self._send(h11.EndOfMessage())

    async def _next(self) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await self._reader.read(PIECE))
        return event

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._writer.write(data)
            await self._writer.drain()
