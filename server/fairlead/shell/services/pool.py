"""Limits the long-lived processes of all sessions: only a few run at once, and idle ones are stopped."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

MAX_RUNNING = 4
IDLE = 300.0
"""The seconds without use after which a process is stopped."""


class Pooled(Protocol):
    """A running process."""

    @property
    def is_busy(self) -> bool:
        """Whether somebody waits for it, so that it must not be stopped to make room for another one."""
        ...

    def start_ending(self) -> asyncio.Task[None]:
        """Starts ending it, unless that has begun. Returns the task, which is done when its processes have ended."""
        ...


class Timer(Protocol):
    """The part of `asyncio.TimerHandle` that the pool needs."""

    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], None]], Timer]


def _call_later(seconds: float, callback: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, callback)


class ServicePool:
    """Limits the number of running processes, and stops idle ones."""

    def __init__(self, most: int = MAX_RUNNING, call_later: CallLater = _call_later) -> None:
        self._most, self._call_later = most, call_later
        self._timers: dict[Pooled, Timer] = {}  # the least recently used one first
        self._stopping: set[asyncio.Task[None]] = set()
        self._starting = 0
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def slot(self) -> AsyncGenerator[None]:
        """Reserves one of the slots for running processes. The block starts a process and calls `add`.

        If no slot is free, stops the least recently used process that is not busy. If there is none, waits until one is
        used, started or removed, and tries again.
        """
        while len(self._timers) + self._starting >= self._most:
            idle = next((process for process in self._timers if not process.is_busy), None)
            if idle is not None:
                await asyncio.shield(idle.start_ending())
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

    def add(self, process: Pooled) -> None:
        """Adds a process that has started. It is stopped once it has been idle for `IDLE` seconds."""
        self._timers[process] = self._call_later(IDLE, lambda: self._stop(process))

    def note_use(self, process: Pooled) -> None:
        """Restarts the idle time of a process that is used. A waiting `slot` then looks for an idle one again."""
        self._changed.set()
        if process in self._timers:
            self.remove(process)
            self.add(process)

    def remove(self, process: Pooled) -> None:
        """Removes a process that has ended, so that another one can start."""
        self._changed.set()
        timer = self._timers.pop(process, None)
        if timer is not None:
            timer.cancel()

    def _stop(self, process: Pooled) -> None:
        task = process.start_ending()
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
        task.add_done_callback(lambda _: self.remove(process))
