"""An HTTP server on this machine for one agent, which proves with a password that a request is its own."""

import asyncio
import hmac
import secrets
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from typing import Any

import h11

from fairlead.shell.network import LOCALHOST, Service

PIECE = 1 << 16
MAX_CONNECTIONS = 100
"""How many connections an agent may have at once; further ones are closed."""


class LocalServer(ABC):
    """Listens on this machine alone. A subclass answers the requests."""

    def __init__(self) -> None:
        self.password = secrets.token_urlsafe(32)
        """What the agent sends with each request."""
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Starts listening. Raises OSError if it cannot."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    @property
    def service(self) -> Service:
        """What the agent's box must reach."""
        assert self._server is not None
        return Service(LOCALHOST, self._server.sockets[0].getsockname()[1])

    @property
    def address(self) -> str:
        """Where the agent finds it."""
        return f"http://127.0.0.1:{self.service.port}"

    async def aclose(self) -> None:
        """Ends all connections."""
        if self._server is not None:
            self._server.close()
        for each in self._connections:
            each.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    @abstractmethod
    async def answer(self, exchange: "Exchange", request: h11.Request) -> None:
        """Answers a request."""

    def is_password(self, given: bytes) -> bool:
        return hmac.compare_digest(given, self.password.encode())

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= MAX_CONNECTIONS:  # each takes a descriptor of this process
            writer.close()
            return
        self._connections.add(task)
        try:
            await Exchange(self, reader, writer).serve()
        except (OSError, h11.ProtocolError, asyncio.CancelledError):
            pass  # the agent has gone, or breaks the protocol in the middle of an answer
        finally:
            self._connections.discard(task)
            writer.close()


class Exchange:
    """One connection of the agent."""

    def __init__(self, server: LocalServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server, self._reader, self._writer = server, reader, writer
        self.http = h11.Connection(h11.SERVER)

    async def serve(self) -> None:
        while True:
            try:
                request = await self._next()
                if not isinstance(request, h11.Request):
                    return
                await self._server.answer(self, request)
            except h11.RemoteProtocolError as error:
                if self.http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                    await self.refuse(error.error_status_hint, f"This is no request: {error}")
                return
            if self.http.our_state is not h11.DONE or self.http.their_state is not h11.DONE:
                return
            self.http.start_next_cycle()

    async def body(self) -> AsyncIterator[bytes]:
        """The pieces of the request's body. The end of a request without a body must be read too."""
        while self.http.their_state is h11.SEND_BODY and isinstance(event := await self._next(), h11.Data):
            yield bytes(event.data)

    async def reply(self, status: int, body: bytes, headers: Sequence[tuple[str, str]]) -> None:
        """Sends a whole answer."""
        length = ("content-length", str(len(body)))
        await self.send(h11.Response(status_code=status, headers=[*headers, length]))
        await self.send(h11.Data(data=body))
        await self.send(h11.EndOfMessage())

    async def refuse(self, status: int, text: str) -> None:
        """Sends an answer that says why there is no other one, and ends the connection."""
        kind = ("content-type", "text/plain; charset=utf-8")
        await self.reply(status, text.encode(), [kind, ("connection", "close")])

    async def send(self, event: h11.Event) -> None:
        data = self.http.send(event)
        if data:
            self._writer.write(data)
            await self._writer.drain()

    async def _next(self) -> Any:
        while (event := self.http.next_event()) is h11.NEED_DATA:
            if self.http.they_are_waiting_for_100_continue:
                await self.send(h11.InformationalResponse(status_code=100, headers=[]))
            self.http.receive_data(await self._reader.read(PIECE))
        return event
