"""The turns of a session: one at a time, in the order of their prompts."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any

from acp import schema

from fairlead.agent.errors import ModelError
from fairlead.session.errors import RequestRefused, WrongRequest

MAX_WAITING = 20
"""How many prompts can wait for the turns before them."""
TOO_MANY = f"{MAX_WAITING} prompts of this session wait already. Wait until one is done, or cancel them."


class RunFailed(Exception):
    """The model did not answer. The message is for the user."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(error.message)
        self.kind = error.kind


@dataclass(eq=False)
class Turn:
    """The work on a prompt, which may wait for the turns before it."""

    task: "asyncio.Task[schema.StopReason]"
    is_cancelled: bool = False

    async def end(self) -> schema.StopReason:
        """How the turn ends. `cancelled` if the client has cancelled it, whatever the work then did.

        Raises:
            WrongRequest, RequestRefused, RunFailed: as the work.
        """
        try:
            reason = await asyncio.shield(self.task)
        except (asyncio.CancelledError, RequestRefused, WrongRequest, RunFailed):
            if not self.is_cancelled:
                raise
            return "cancelled"
        return "cancelled" if self.is_cancelled else reason


class Turns:
    """Those of one session that have not ended. The first one works, the others wait."""

    def __init__(self) -> None:
        self._turns: list[Turn] = []

    @property
    def only(self) -> Turn | None:
        """The turn that works, if none waits and it was not cancelled."""
        return self._turns[0] if len(self._turns) == 1 and not self._turns[0].is_cancelled else None

    @property
    def is_cancelled(self) -> bool:
        """Whether the turn that works was cancelled. It may still have something to end."""
        return bool(self._turns) and self._turns[0].is_cancelled

    def add(self, work: Callable[[], Awaitable[schema.StopReason]]) -> Turn:
        """A turn that does this work after all the others. Raises RequestRefused if too many wait."""
        if len(self._turns) > MAX_WAITING:
            raise RequestRefused(TOO_MANY)
        turn = Turn(asyncio.ensure_future(_after([each.task for each in self._turns], work)))
        self._turns.append(turn)
        turn.task.add_done_callback(lambda _: self._turns.remove(turn))
        return turn

    def cancel(self) -> None:
        """Stops the turn that works, and discards those that wait."""
        for turn in self._turns:
            turn.is_cancelled = True
            turn.task.cancel()

    async def wait_for_end(self) -> None:
        """Waits until no turn is left."""
        if self._turns:
            await asyncio.wait([each.task for each in self._turns])


async def _after(others: Collection["asyncio.Task[Any]"], work: Callable[[], Awaitable[Any]]) -> Any:
    if others:
        await asyncio.wait(others)
    return await work()
