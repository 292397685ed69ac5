"""Tool calls that were stopped and are still ending. A stop does not wait for them (docs/plan.md L16)."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")


class StoppedCalls:
    """Owns the stopped calls of a session until they have killed their processes and closed their boxes."""

    def __init__(self) -> None:
        self._ending: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits a call and returns its result.

        If the caller is cancelled, so is the call. The call then ends in the background, and the caller does not wait.
        """
        task = asyncio.ensure_future(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            self._ending.add(task)
            task.add_done_callback(self._on_end)
            raise

    async def wait(self) -> None:
        """Waits until all stopped calls have ended."""
        while self._ending:
            await asyncio.wait(set(self._ending))

    def _on_end(self, task: asyncio.Task[Any]) -> None:
        self._ending.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.info("a stopped call ended with an error", exc_info=task.exception())
