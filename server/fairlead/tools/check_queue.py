"""Runs a session's checks one at a time, whether the model or the user requested them (docs/plan.md P18)."""

import asyncio
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any, TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """The user stopped the request, or the queue was closed."""


class CheckQueue:
    """Runs work in the order of the requests. Each request has a handle, by which the user can stop it."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._numbers = count(1)
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._ended: set[str] = set()
        self._in_background: set[asyncio.Task[Any]] = set()

    async def run(self, work: Callable[[str], Coroutine[Any, Any, T]], *, is_background: bool = False) -> T:
        """Runs the work after all earlier requests have ended, and returns its result.

        Cancelling the caller cancels the request.

        Args:
            work: is called with the handle of the request.
            is_background: whether any later request stops it, because nobody waits for it.

        Raises:
            Stopped: the request was stopped (`stop`, `aclose`), before or during its work.
        """
        self.stop_background()
        handle = f"check-{next(self._numbers)}"
        task = asyncio.ensure_future(self._in_turn(work, handle))
        self._tasks[handle] = task
        if is_background:
            self._in_background.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller is not None and caller.cancelling():
                raise
            raise Stopped from None
        finally:
            del self._tasks[handle]
            self._in_background.discard(task)
            self._ended.add(handle)

    async def stop(self, handle: str) -> bool:
        """Stops a request, if it has not ended, and waits for its end. Returns whether the handle is known."""
        task = self._tasks.get(handle)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        return task is not None or handle in self._ended

    def stop_background(self) -> None:
        """Stops the request that runs in the background, if there is one, without waiting for its end."""
        for task in self._in_background:
            task.cancel()

    @property
    def is_empty(self) -> bool:
        """Whether all requests have ended."""
        return not self._tasks

    async def settle(self) -> None:
        """Waits until the requests that were made before this call have ended. Stops the one in the background."""
        self.stop_background()
        if tasks := list(self._tasks.values()):
            await asyncio.wait(tasks)

    async def aclose(self) -> None:
        """Stops all requests and waits until their processes have ended."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _in_turn(self, work: Callable[[str], Coroutine[Any, Any, T]], handle: str) -> T:
        async with self._turn:
            return await work(handle)
