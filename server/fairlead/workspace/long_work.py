"""Keeps the event loop responsive during long work, so that a stop takes effect at once (docs/faults.md 75)."""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import TypeVar, TypeVarTuple

LONG = 200_000  # characters or bytes; comparing so many takes tens of milliseconds
MAX_BLOCKED = 0.01  # seconds; short, because answering a request takes several turns of the loop

T = TypeVar("T")
Inputs = TypeVarTuple("Inputs")


class Yielder:
    """Yields to the event loop during work that has many short steps.

    Args:
        ignores_cancellation: for work that must not stop halfway. A cancellation that arrives meanwhile has no effect.
    """

    def __init__(self, *, ignores_cancellation: bool = False) -> None:
        self._ignores_cancellation = ignores_cancellation
        self._began = monotonic()

    async def yield_if_due(self) -> None:
        """Yields if enough time has passed. Call it before each step."""
        if monotonic() - self._began > MAX_BLOCKED:
            await self.sleep(0)
            self._began = monotonic()

    async def sleep(self, seconds: float) -> None:
        """Yields for some time."""
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._ignores_cancellation or task is None:
                raise
            task.uncancel()


def is_long(*values: object) -> bool:
    """Whether the texts among the values are together so long that work on them should run in a thread."""
    return sum(len(value) for value in values if isinstance(value, str)) > LONG


async def compute(work: Callable[[*Inputs], T], *arguments: *Inputs) -> T:
    """The result of a pure function. It runs in a thread if the texts among its arguments are long."""
    return await asyncio.to_thread(work, *arguments) if is_long(*arguments) else work(*arguments)
