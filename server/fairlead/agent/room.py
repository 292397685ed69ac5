"""Makes room in a conversation that outgrows the model's window (docs/plan.md L15). What gives way: `context.py`."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from fairlead.agent.context import (
    ENOUGH,
    FULL,
    NEAR,
    ROOM,
    WORTH,
    Window,
    cleared,
    cleared_first,
    gained,
    size,
    summarised,
    to_keep,
)
from fairlead.agent.errors import ModelError
from fairlead.agent.events import Event, RoomMade
from fairlead.agent.messages import History, Message
from fairlead.agent.model import Clearing


@dataclass
class Room:
    """What is needed to make room.

    `tools` names all of them, and `lasting` tells of one whether its results stay; `summarise` asks the model for a
    summary of messages; `plan` and `proposals` say how these stand.
    """

    history: History
    window: Window
    tools: Sequence[str]
    lasting: Callable[[str], bool]
    summarise: Callable[[Sequence[Message]], Awaitable[str]]
    plan: Callable[[], str]
    proposals: Callable[[], str]
    emit: Callable[[Event], None]

    def offer(self) -> Clearing | None:
        """What the provider may clear from the next request by itself; None while there is no need.

        It would clear as much as `make` does at FULL, only a little earlier.
        """
        messages, limit = self.history.messages, self.window.limit
        if limit is None or (expected := self.window.expected(messages)) < ENOUGH * limit:
            return None
        per_char = expected / max(1, size(messages))
        keep = to_keep(messages, round(size(messages) - ROOM * limit / per_char), self.lasting)
        lasting = tuple(name for name in self.tools if self.lasting(name))
        return Clearing(round(NEAR * limit), round(WORTH * limit), keep, lasting)

    def took(self, count: int) -> None:
        """The provider has cleared the results of the oldest so many uses: the conversation is the one that it read."""
        self._put(cleared_first(self.history.messages, count, self.lasting))
        self.emit(RoomMade(f"The model's service cleared {count} old results to make room."))

    async def make(self) -> bool:
        """Makes the conversation shorter; False where nothing can give way.

        Raises:
            ModelError: the summary was not to be had, for another reason than that it does not fit either.
        """
        before = size(self.history.messages)
        expected = self.window.expected(self.history.messages)
        limit = self.window.limit or expected
        per_char = expected / max(1, before)

        def excess(share: float) -> int:
            """Characters beyond a share of the window."""
            return round(size(self.history.messages) - share * limit / per_char)

        self._put(cleared(self.history.messages, excess(ROOM), self.lasting))
        freed = before - size(self.history.messages)
        if freed:
            self.emit(RoomMade(f"Old results were cleared to make room, about {freed * per_char:,.0f} tokens."))
        if excess(ENOUGH) > 0 and gained(self.history.messages, self.lasting) >= WORTH * limit / per_char:
            await self._summarise()
        if excess(FULL) > 0:  # what came last is too long by itself
            self._put(cleared(self.history.messages, excess(ROOM), self.lasting, last_round=0))
        after = size(self.history.messages)
        self.window.used = round(after * per_char)
        return after < before

    async def _summarise(self) -> None:
        try:
            summary = await self.summarise(self.history.messages)
        except ModelError as error:
            if error.kind != "context_overflow":
                raise
            summary = ""  # even that was too long: what stays are the person's words, the plan and the proposals
        self._put(summarised(self.history.messages, summary, self.plan(), self.proposals(), self.lasting))
        self.emit(RoomMade("A summary stands for the older part of the conversation now, which was too long."))

    def _put(self, messages: Sequence[Message]) -> None:
        if list(messages) != list(self.history.messages):
            self.history.restore(messages)
