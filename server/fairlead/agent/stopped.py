"""Tool calls that were stopped and are still ending, so that the answer to a stop waits for none of them."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")


class StoppedCalls:
    """The owner of the calls that a session's runs left while they were ending: killing processes, closing a box."""

    def __init__(self) -> None:
        self._ending: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a call's work. A cancelled caller goes on at once; the work is cancelled and ends here."""
        task = asyncio.ensure_future(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            self._ending.add(task)
            task.add_done_callback(self._over)
            raise

    async def over(self) -> None:
        """Returns when all of them have ended."""
        while self._ending:
            await asyncio.wait(set(self._ending))

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._ending.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.info("a stopped call ended with an error", exc_info=task.exception())
