"""The language servers of all sessions of this process: a few at once, and none that nobody asks."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from fairlead.code.servers.server import Server

MAX_SERVERS = 4
IDLE = 300.0
"""Seconds without a question after which a server is stopped."""


class Timer(Protocol):
    """What `asyncio.loop.call_later` returns."""

    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], None]], Timer]


def _call_later(seconds: float, callback: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, callback)


class ServerPool:
    """Counts the running servers, and stops the least recently used one."""

    def __init__(self, most: int = MAX_SERVERS, call_later: CallLater = _call_later) -> None:
        self._most, self._call_later = most, call_later
        self._timers: dict[Server, Timer] = {}  # the least recently used one first
        self._stopping: set[asyncio.Task[None]] = set()

    async def make_room(self) -> None:
        """Stops servers until one more may run."""
        while len(self._timers) >= self._most:
            oldest = next(iter(self._timers))
            self.remove(oldest)
            await oldest.end()

    def add(self, server: Server) -> None:
        self._timers[server] = self._call_later(IDLE, lambda: self._stop(server))

    def used(self, server: Server) -> None:
        """Begins the server's idle time again."""
        if server in self._timers:
            self.remove(server)
            self.add(server)

    def remove(self, server: Server) -> None:
        timer = self._timers.pop(server, None)
        if timer is not None:
            timer.cancel()

    def _stop(self, server: Server) -> None:
        self.remove(server)
        task = server.begin_end()
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
