"""Long work beside the event loop, so that a stop and every other request is answered meanwhile (docs/faults.md 75)."""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

LONG = 200_000  # characters or bytes that take some ten milliseconds to compare
TURN = 0.01  # seconds; a request takes several turns of the loop until it is answered

T = TypeVar("T")


class Yielder:
    """For work in many small steps: gives the loop back again and again."""

    def __init__(self) -> None:
        self._began = monotonic()

    async def checkpoint(self) -> None:
        """Before each step."""
        if monotonic() - self._began > TURN:
            await asyncio.sleep(0)
            self._began = monotonic()


def is_long(*values: object) -> bool:
    """Whether the texts among some values are so long that the work on them belongs into a thread."""
    return sum(len(one) for one in values if isinstance(one, str)) > LONG


async def compute(work: Callable[..., T], *given: Any) -> T:
    """What a function of values returns; in a thread where the texts among the values are long."""
    return await asyncio.to_thread(work, *given) if is_long(*given) else work(*given)
