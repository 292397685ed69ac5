"""Limits the language servers of all sessions: only a few run at once, and idle ones are stopped."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from fairlead.code.servers.server import Server

MAX_SERVERS = 4
IDLE = 300.0
"""The seconds without a question after which a server is stopped."""


class Timer(Protocol):
    """The part of `asyncio.TimerHandle` that the pool needs."""

    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], None]], Timer]


def _call_later(seconds: float, callback: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, callback)


class ServerPool:
    """Limits the number of running servers, and stops idle ones."""

    def __init__(self, most: int = MAX_SERVERS, call_later: CallLater = _call_later) -> None:
        self._most, self._call_later = most, call_later
        self._timers: dict[Server, Timer] = {}  # the least recently used one first
        self._stopping: set[asyncio.Task[None]] = set()
        self._starting = 0
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def slot(self) -> AsyncGenerator[None]:
        """Reserves one of the slots for running servers. The block starts a server and calls `add`.

        If no slot is free, stops the least recently used server that has no open question. If there is no such server,
        waits until a question or a start has ended, and tries again.
        """
        while len(self._timers) + self._starting >= self._most:
            idle = next((server for server in self._timers if not server.is_busy), None)
            if idle is not None:
                await idle.end()
                self.remove(idle)
            else:
                self._changed.clear()
                await self._changed.wait()
        self._starting += 1
        try:
            yield
        finally:
            self._starting -= 1
            self._changed.set()

    def add(self, server: Server) -> None:
        """Adds a server that has started. It is stopped once it has been idle for `IDLE` seconds."""
        self._timers[server] = self._call_later(IDLE, lambda: self._stop(server))

    def note_use(self, server: Server) -> None:
        """Restarts the idle time of a server that is used. A waiting `slot` then looks for an idle server again."""
        self._changed.set()
        if server in self._timers:
            self.remove(server)
            self.add(server)

    def remove(self, server: Server) -> None:
        """Removes a server that has ended, so that another one can start."""
        self._changed.set()
        timer = self._timers.pop(server, None)
        if timer is not None:
            timer.cancel()

    def _stop(self, server: Server) -> None:
        task = server.start_ending()
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
        task.add_done_callback(lambda _: self.remove(server))
