"""An HTTP server on loopback that plays a script of answers, and records the requests. APIs are subclasses."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import sys
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Condition, Thread
from threading import Event as Signal
from typing import Any, Self

from .fake_api.ask import Json, read_body
from .fake_api.turns import Answer, End, Event, Hold, HttpError, Page, Raw, Step, Streamed, with_ids


@dataclass(frozen=True)
class Request:
    """One received request.

    `headers` has lower-case names, `body` is {} if `raw` is not a JSON object, `at` is the `time.monotonic()` at which
    all of it had arrived, `path` is without the query.
    """

    headers: Mapping[str, str]
    body: Json
    raw: bytes
    at: float
    method: str
    path: str

    @property
    def system(self) -> str:
        """The text of the system prompt."""
        given = self.body["system"]
        return given if isinstance(given, str) else "".join(block["text"] for block in given)


class ScriptedServer(ABC):
    """Plays `turns`, one for each request that it accepts, while its `with` block lasts.

    - `key`: the only accepted key. Other keys get a 401. `require_key=False` accepts any key or none.

    All methods may be called from any thread.
    """

    stream_type = "text/event-stream; charset=utf-8"
    call_prefix = "toolu"
    """How the ids of calls begin."""

    def __init__(self, turns: Iterable[Answer] = (), *, key: str = "test-key", require_key: bool = True) -> None:
        self.answers_once = False  # closes a connection at its second request, without an answer
        self.connections = 0
        self.heads: list[Json] = []
        """The headers of the HEAD requests, which ask for nothing but a connection."""
        self._turns = list(turns)
        self._key = key if require_key else None
        self._minted: Counter[str] = Counter()
        self._requests: list[Request] = []
        self._refusals: list[str] = []
        self._changed = Condition()
        self._server: _Server | None = None

    def __enter__(self) -> Self:
        self._server = _Server(self)
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.stop()

    @property
    def url(self) -> str:
        """The base URL, "http://127.0.0.1:PORT". AssertionError outside the `with` block."""
        assert self._server is not None, "a server has a URL only inside its `with` block"
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> list[Request]:
        """All requests so far, in order, including refused ones and those to other paths."""
        with self._changed:
            return list(self._requests)

    @property
    def refusals(self) -> list[str]:
        """The reason of each refusal of a rule, in order. Tests assert that it is []."""
        with self._changed:
            return list(self._refusals)

    def push(self, turn: Answer) -> None:
        """Appends `turn` to the script."""
        with self._changed:
            self._turns.append(turn)

    def wait_for_requests(self, n: int, timeout: float = 100.0) -> list[Request]:
        """Blocks until `n` complete requests have arrived, and returns all. TimeoutError after `timeout` seconds.

        On the client's event loop use `await asyncio.to_thread(api.wait_for_requests, n)`.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._requests) >= n, timeout):
                raise TimeoutError(f"{len(self._requests)} of {n} requests came within {timeout} s")
            return list(self._requests)

    def respond(
        self, method: str, path: str, headers: Mapping[str, str], raw: bytes
    ) -> HttpError | Page | Raw | Json | list[Step]:
        """Records a request and decides its answer: an error, a page, bytes, JSON, or the steps of a stream.

        An empty object asks which API is there, and GET which models. They count neither as requests nor as refusals.
        """
        body, fault = read_body(raw)
        request = Request(headers, body, raw, time.monotonic(), method, path)
        if raw == b"{}" or method == "GET":
            with self._changed:
                known = len(self._refusals)
                error = self._check(request, fault)
                del self._refusals[known:]
            return error or HttpError(400, "invalid_request_error", "model: Field required")
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
            if (error := self._check(request, fault)) is not None:
                return error
            if not self._turns:
                return self._refuse("the script has no more turns")
            answer = self._turns.pop(0)
        try:
            scripted = answer(self._as_read(body)) if callable(answer) else answer
            if isinstance(scripted, HttpError | Page | Raw):
                return scripted
            return self._play(with_ids(scripted, self.mint, self.call_prefix), request)
        except Exception as error:  # the script is the test's code, and the test checks the refusals
            with self._changed:
                return self._refuse(f"the script failed: {type(error).__name__}: {error}")

    @abstractmethod
    def _check(self, request: Request, fault: str | None) -> HttpError | Json | None:
        """The error for a request that is refused, or an answer that takes no turn; None for the next turn.

        `fault` says why its body is no JSON object; None if it is one.
        """

    @abstractmethod
    def _play(self, scripted: Streamed, request: Request) -> Json | list[Step]:
        """The answer to a request."""

    @abstractmethod
    def error(self, error: HttpError, request_id: str) -> tuple[Any, Mapping[str, str]]:
        """The body of an error, and the headers that are sent in addition to `error.headers`."""

    def frames(self, event: Event) -> list[bytes]:
        """An event's bytes on the wire, in parts that are written separately."""
        return event.encode()

    def mint(self, prefix: str) -> str:
        """A new id, such as "toolu_fake_0001"."""
        with self._changed:
            self._minted[prefix] += 1
            return f"{prefix}_fake_{self._minted[prefix]:04}"

    def _as_read(self, body: Json) -> Json:
        """A body as the model reads it."""
        return body

    def _refuse(self, reason: str) -> HttpError:
        self._refusals.append(reason)
        return HttpError(400, "invalid_request_error", reason)


class _Server(ThreadingTCPServer):
    """Tracks its open connections, so that no handler outlives it."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, api: ScriptedServer) -> None:
        self.api = api
        self.stopping = Signal()
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def stop(self) -> None:
        """Stops accepting, then ends every connection; handlers see the end of their input."""
        self.stopping.set()
        self.shutdown()
        self.server_close()
        for connection in tuple(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # a client may disconnect at any moment; everything else is a bug here
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One connection: reads requests and writes the responses of `ScriptedServer.respond`."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        assert isinstance(self.server, _Server)
        self.api, self.stopping, self.answered = self.server.api, self.server.stopping, False
        self.api.connections += 1

    def _serve(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(length)
        if len(raw) < length or (self.api.answers_once and self.answered):
            self.close_connection = True
            return
        self.answered = True
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.api.respond(self.command, self.path.partition("?")[0], headers, raw)
        if isinstance(answer, HttpError):
            self._send_error(answer)
        elif isinstance(answer, Page):
            self._send(200, answer.body.encode(), {"content-type": answer.content_type})
        elif isinstance(answer, Raw):
            # The header says so too, because otherwise the client may send its next request while this server closes.
            headers = {"content-type": self.api.stream_type, "connection": "close", **answer.headers}
            self._send(answer.status, answer.body, headers)
            self.close_connection = True
        elif isinstance(answer, list):
            self._send_stream(answer)
        else:
            self._send_json(200, answer, {"request-id": self.api.mint("req")})

    def do_HEAD(self) -> None:
        self.api.heads.append({name.lower(): value for name, value in self.headers.items()})
        self.answered = True
        self._send_head(404, {"content-length": "0"})

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def log_message(self, format: str, *args: Any) -> None:
        """Does nothing, because `ScriptedServer.requests` is the log."""

    def _send_error(self, error: HttpError) -> None:
        body, headers = self.api.error(error, self.api.mint("req"))
        if isinstance(body, str):
            self._send(error.status, body.encode(), {"content-type": "text/html", **error.headers})
        else:
            self._send_json(error.status, body, {**headers, **error.headers})

    def _send_json(self, status: int, body: Any, headers: Mapping[str, str]) -> None:
        self._send(status, json.dumps(body).encode(), {"content-type": "application/json", **headers})

    def _send(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
        self._send_head(status, {"content-length": str(len(data)), **headers})
        self.wfile.write(data)

    def _send_head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_stream(self, answer: list[Step]) -> None:
        head = {"content-type": self.api.stream_type, "cache-control": "no-cache", "transfer-encoding": "chunked"}
        self._send_head(200, {**head, "request-id": self.api.mint("req")})
        for step in answer:
            match step:
                case Event():
                    for data in self.api.frames(step):
                        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                case Hold():
                    while not step.event.wait(0.01):
                        if self.stopping.is_set() or self._client_is_gone():
                            self.close_connection = True
                            return
                case End(how="close"):
                    break
                case End():
                    self.close_connection = True
                    self._break_off(step.how)
                    return
        self.wfile.write(b"0\r\n\r\n")

    def _break_off(self, how: str) -> None:
        if how == "hang":
            while self.connection.recv(4096):
                pass
        elif how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            # closed here, because the server would shut it down first, which sends a FIN
            os.close(self.connection.detach())

    def _client_is_gone(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
