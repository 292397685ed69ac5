"""Holds a session's events briefly, so that many events need only one journal entry and one update to the client."""

import asyncio
from collections.abc import Callable, Sequence

from fairlead.agent.events import CommandEnded, CommandStarted, Event, RunFinished, RunStarted

HOLD_SECONDS = 0.033
_SENT_AT_ONCE = (RunStarted, RunFinished, CommandStarted, CommandEnded)


class Outbox:
    """The events that have not been saved and sent yet.

    Most wait for at most `HOLD_SECONDS`, so that the next request to the model is sent first. The start and the end of
    a run or a command, and most changes without an event, are sent at once, together with the events that wait.
    """

    def __init__(self, send: Callable[[Sequence[Event], bool], None]) -> None:
        """
        Args:
            send: saves the session, then sends its states and these events. The second argument says whether something
                has changed without an event, so that the session must be saved whatever the events are.
        """
        self._send = send
        self._events: list[Event] = []
        self._has_changed = False
        self._timer: asyncio.TimerHandle | None = None

    def add(self, event: Event | None, *, may_wait: bool = False) -> None:
        """Queues an event.

        Args:
            event: None: something has changed without an event.
            may_wait: for None, whether it waits as most events do. Otherwise everything is sent at once.
        """
        if event is not None:
            self._events.append(event)
        self._has_changed |= event is None
        if isinstance(event, _SENT_AT_ONCE) or (event is None and not may_wait):
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(HOLD_SECONDS, self._flush)

    def flush(self) -> None:
        """Sends the held events, if there are any."""
        if self._timer is not None:
            self._flush()

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        events, self._events = self._events, []
        has_changed, self._has_changed = self._has_changed, False
        self._send(events, has_changed)
