"""A server that answers with bytes, which need not be HTTP, and reads requests strictly."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
from collections.abc import Callable, Iterable
from math import isinf
from socketserver import ThreadingTCPServer
from threading import Condition, Event, Thread
from typing import Any, Self

Parts = Callable[[], Iterable[bytes | float]]
"""Returns what is sent one after the other: bytes, and pauses in seconds (infinite: until the client leaves)."""
HOLD = float("inf")


class RawServer:
    """Answers request after request with `answers`, and then with `default`. Each answer has its own connection.

    `requests` counts the requests, and `problems` says what is wrong with them. A HEAD request, which only opens a
    connection, gets a 404. All methods may be called from any thread.
    """

    def __init__(self, default: Parts) -> None:
        self.default = default
        self.answers: list[Parts] = []
        self.requests = 0
        self.problems: list[str] = []
        self.changed = Condition()
        self.stopping = Event()

    def __enter__(self) -> Self:
        self._server = _Server(self)
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        for connection in tuple(self._server.open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def wait_for_requests(self, count: int, timeout: float = 100.0) -> None:
        """Blocks until so many requests have arrived. Raises TimeoutError."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.requests >= count, timeout):
                raise TimeoutError(f"{self.requests} of {count} requests came within {timeout} s")

    def take(self) -> Parts:
        """Counts a request and returns its answer."""
        with self.changed:
            self.requests += 1
            self.changed.notify_all()
            return self.answers.pop(0) if self.answers else self.default


class _Server(ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, owner: RawServer) -> None:
        self.owner = owner
        self.open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _serve)  # type: ignore[arg-type]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Reports what is wrong, so that the test fails."""
        self.owner.problems.append(repr(sys.exc_info()[1]))


def _serve(connection: socket.socket, _: object, server: _Server) -> None:
    """Reads one request, and answers it unless the client leaves first."""
    owner = server.owner
    server.open.add(connection)
    try:
        method = _read_request(connection, owner)
        if method == "HEAD":
            connection.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        elif method is not None:
            for part in owner.take()():
                if isinstance(part, bytes):
                    connection.sendall(part)
                elif not _pause(connection, part, owner):
                    return
    except OSError:
        pass  # the client has left
    finally:
        server.open.discard(connection)


def _pause(connection: socket.socket, seconds: float, owner: RawServer) -> bool:
    """Waits. Returns whether the client is still there."""
    connection.settimeout(None if isinf(seconds) else seconds)
    try:
        return bool(connection.recv(1)) and not owner.stopping.is_set()
    except TimeoutError:
        return not owner.stopping.is_set()
    finally:
        connection.settimeout(None)


def _read_request(connection: socket.socket, owner: RawServer) -> str | None:
    """Reads a request and returns its method; None if the client sent nothing."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
        if data[0] == 0x16:  # TLS
            return "TLS"
        if len(data) > 100_000:
            raise ValueError("the head of a request is too long")
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("ascii").split("\r\n")
    method, path, version = first.split(" ")
    headers = [line.split(": ", 1) for line in lines]
    names = [name.lower() for name, _ in headers]
    if version != "HTTP/1.1" or len(set(names)) != len(names) or "host" not in names:
        raise ValueError(f"an invalid request: {first}")
    if method == "HEAD":
        return method
    length = int(dict(zip(names, (value for _, value in headers), strict=True))["content-length"])
    while len(body) < length:
        more = connection.recv(65536)
        if not more:
            return None
        body += more
    if len(body) != length or not path.startswith("/") or not isinstance(json.loads(body), dict):
        raise ValueError(f"an invalid body of {len(body)} bytes")
    return method
