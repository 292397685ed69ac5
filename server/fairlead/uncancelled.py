"""Work that a cancellation does not interrupt, such as ending processes and closing a box."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def finish_uncancelled(work: Awaitable[T]) -> T:
    """Awaits the work. Cancellations, however many, take effect only when it is done.

    Then the caller gets the cancellation instead of the work's result or exception.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None or task.cancelled():
        return task.result()
    task.exception()  # marks it as read; the cancellation takes precedence
    raise cancelled
