"""A remote tool server on loopback, strict about what MCP says, that tests can let misbehave."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

OLD, NEW = "2025-11-25", "2026-07-28"


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    """By name in lower case."""
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.target).query).items()}

    @property
    def form(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(self.body.decode()).items()}

    @property
    def message(self) -> dict[str, Any]:
        return json.loads(self.body)


class Reply:
    """Writes one answer."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, status: int, body: bytes = b"", **headers: str) -> None:
        await self.begin(status, **{"content-length": str(len(body))}, **headers)
        await self.write(body)

    async def json(self, value: Any, status: int = 200, **headers: str) -> None:
        await self.send(status, json.dumps(value).encode(), **{"content-type": "application/json"}, **headers)

    async def begin(self, status: int, **headers: str) -> None:
        """The head. Without a length, the body ends with the connection."""
        lines = [f"{name.replace('_', '-')}: {text}\r\n" for name, text in {**headers, "connection": "close"}.items()]
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{''.join(lines)}\r\n"
        await self.write(head.encode())

    async def begin_events(self, **headers: str) -> None:
        await self.begin(200, **{"content-type": "text/event-stream"}, **headers)

    async def event(self, message: Any, event_id: str = "") -> None:
        given = f"id: {event_id}\n" if event_id else ""
        data = json.dumps(message) if message is not None else ""
        await self.write(f"{given}data: {data}\n\n".encode())

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def hold(self) -> None:
        """Waits until the client leaves."""
        await self._writer.wait_closed()

    def break_off(self) -> None:
        self._writer.transport.abort()


Answer = Callable[[Request, Reply], Awaitable[None]]


class HttpServer:
    """An HTTP server with one function for all requests, over TLS if there is a context for it."""

    def __init__(self, answer: Answer, tls: ssl.SSLContext | None = None) -> None:
        self._answer, self._tls = answer, tls
        self.requests: list[Request] = []
        self.port = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listens, on the same port as before if it has been stopped."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ")
            headers = {name.lower(): text for name, _, text in (line.partition(": ") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            request = Request(method, target, headers, body)
            self.requests.append(request)
            await self._answer(request, Reply(writer))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            with suppress(Exception):
                writer.close()


@asynccontextmanager
async def http_server(answer: Answer) -> AsyncIterator[HttpServer]:
    server = HttpServer(answer)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


SAY: dict[str, Any] = {
    "name": "say",
    "description": "Answers with a text.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
}


class RemoteServer:
    """A tool server with the tool `say`. A request that breaks a rule of MCP gets an error, and is in `problems`."""

    def __init__(self, revision: str, *, events: bool = False) -> None:
        self.revision, self._events = revision, events
        self.faults: dict[str, Answer] = {}
        """What answers a method or `GET` instead."""
        self.allow: Callable[[Request], tuple[int, str] | None] = lambda _: None
        """Returns the status of a refusal and its `WWW-Authenticate`; None: the request is allowed."""
        self.pages: dict[str, Any] = {}
        """JSON that anyone may get, by path."""
        self.problems: list[str] = []
        self.session = 0
        self.http = HttpServer(self.answer)

    @property
    def url(self) -> str:
        return f"{self.http.origin}/mcp"

    @property
    def calls(self) -> list[Request]:
        """The requests that call a tool."""
        return [each for each in self.http.requests if each.body and b'"tools/call"' in each.body]

    async def answer(self, request: Request, reply: Reply) -> None:
        refusal = self.allow(request)
        if request.path in self.pages:
            await reply.json(self.pages[request.path])
        elif request.path.startswith("/.well-known/"):
            await reply.send(404)
        elif refusal is not None:
            status, challenge = refusal
            await reply.send(status, www_authenticate=challenge)
        elif request.method == "GET":
            await self.faults.get("GET", _not_allowed)(request, reply)
        elif request.method == "DELETE":
            await reply.send(200)
        else:
            await self._post(request, reply)

    async def _post(self, request: Request, reply: Reply) -> None:
        message = request.message
        method = message["method"]
        if method in self.faults:
            await self.faults[method](request, reply)
        elif problem := self._problem(request, message):
            self.problems.append(problem)
            await reply.send(400)
        elif self.revision == OLD and method != "initialize" and self._is_lost(request):
            await reply.send(404)
        elif "id" not in message:
            await reply.send(202)
        else:
            await self.send_result(request, reply)

    def _is_lost(self, request: Request) -> bool:
        return request.headers.get("mcp-session-id") != f"session-{self.session}"

    async def send_result(self, request: Request, reply: Reply) -> None:
        message = request.message
        answer = {"jsonrpc": "2.0", "id": message["id"], **self._result(message)}
        headers: dict[str, str] = {}
        if message["method"] == "initialize":
            self.session += 1
            headers["mcp_session_id"] = f"session-{self.session}"
        if self._events:
            await reply.begin_events(**headers)
            await reply.event(answer)
        else:
            await reply.json(answer, 200, **headers)

    def _result(self, message: dict[str, Any]) -> dict[str, Any]:
        info = {"name": "remote", "version": "1"}
        match message["method"]:
            case "server/discover" if self.revision == NEW:
                versions = {"supportedVersions": [NEW], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
                return {"result": {**versions, "capabilities": {"tools": {}}}}
            case "initialize" if self.revision == OLD:
                return {"result": {"protocolVersion": OLD, "capabilities": {"tools": {}}, "serverInfo": info}}
            case "tools/list":
                more = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if self.revision == NEW else {}
                return {"result": {"tools": [SAY], **more}}
            case "tools/call":
                text = message["params"]["arguments"]["text"]
                more = {"resultType": "complete"} if self.revision == NEW else {}
                return {"result": {"content": [{"type": "text", "text": text}], **more}}
            case method:
                return {"error": {"code": -32601, "message": f"Method not found: {method}"}}

    def _problem(self, request: Request, message: dict[str, Any]) -> str:
        """What is wrong with a request; empty: nothing."""
        headers, method = request.headers, message["method"]
        accepted = headers.get("accept", "")
        if "application/json" not in accepted or "text/event-stream" not in accepted:
            return f"{method}: accept is {accepted}"
        version = headers.get("mcp-protocol-version")
        if method == "server/discover":
            return "" if version == NEW else f"{method}: version is {version}"
        if self.revision == NEW:
            meta = message["params"].get("_meta", {}).get("io.modelcontextprotocol/protocolVersion")
            if (version, meta, headers.get("mcp-method")) != (NEW, NEW, method):
                return f"{method}: version is {version} and {meta}, Mcp-Method is {headers.get('mcp-method')}"
            if "mcp-session-id" in headers:
                return f"{method}: has a session"
        elif method != "initialize" and version != OLD:
            return f"{method}: version is {version}"
        return ""


async def _not_allowed(_: Request, reply: Reply) -> None:
    await reply.send(405)


@asynccontextmanager
async def remote_server(revision: str = NEW, *, events: bool = False) -> AsyncIterator[RemoteServer]:
    """A running server. Fails at the end if a request broke a rule of MCP."""
    server = RemoteServer(revision, events=events)
    await server.http.start()
    try:
        yield server
        assert server.problems == []
    finally:
        await server.http.stop()
