"""Tool calls that were stopped and are still ending. A stop does not wait for them (docs/plan.md L16)."""

import asyncio
import logging
from typing import Any

log = logging.getLogger(__name__)


class StoppedCalls:
    """Owns the stopped calls of a session until they have killed their processes and closed their boxes."""

    def __init__(self) -> None:
        self._ending: set[asyncio.Task[Any]] = set()

    def stop(self, call: "asyncio.Task[Any]") -> None:
        """Cancels a call, which then ends in the background."""
        call.cancel()
        self._ending.add(call)
        call.add_done_callback(self._on_end)

    async def wait(self) -> None:
        """Waits until all stopped calls have ended."""
        while self._ending:
            await asyncio.wait(set(self._ending))

    def _on_end(self, task: asyncio.Task[Any]) -> None:
        self._ending.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.info("a stopped call ended with an error", exc_info=task.exception())
