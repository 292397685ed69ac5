"""When a session's state goes into its journal: with each event that may have changed it, before the event goes out."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from fairlead.agent.events import Event, FeedbackSent, ReminderSent, Retry, Text, Thinking, ToolOutput
from fairlead.session.state import Calls, SessionState, with_event
from fairlead.session.store.journal import Journal

OUTPUT_DELAY = 0.5  # seconds; what a command writes in between is one entry
RESERVED = 10_000

# these change nothing that is kept; behind what is told comes the message that holds it, in the same breath
_PASSING = (Text, Thinking, FeedbackSent, ReminderSent, Retry)


class Keeper:
    """One session's.

    Args:
        state: the session's state but for what is known here: the calls under way, the events told, the time.
        now: seconds since the epoch.
    """

    def __init__(self, journal: Journal, state: Callable[[], SessionState], now: Callable[[], float]) -> None:
        self.journal = journal
        self._state = state
        self._now = now
        self._calls: Calls = SessionState().calls
        self._told = self._reserved = 0
        self._output_due: asyncio.TimerHandle | None = None
        self._again_due: asyncio.TimerHandle | None = None

    def go_on(self, journal: Journal) -> None:
        """A restored session is whole: from now on its changes go into its journal."""
        self.journal = journal
        journal.go_on(self._whole())
        self.keep()

    def restore(self, told: int) -> None:
        """Goes on counting events where another process was at the most."""
        self._told = self._reserved = told

    def keep(self, event: Event | None = None) -> None:
        """Writes what has changed, with an event or without."""
        if event is not None:
            self._calls = with_event(self._calls, event, self._now())
            self._told += 1
        # how many events went out is written ahead, so that no delta needs an entry of its own
        reserved = self._told <= self._reserved
        if reserved and isinstance(event, _PASSING):
            return
        if reserved and isinstance(event, ToolOutput):
            if self._output_due is None:
                self._output_due = asyncio.get_running_loop().call_later(OUTPUT_DELAY, self.keep)
            return
        if self._output_due is not None:
            self._output_due.cancel()
            self._output_due = None
        if not reserved:
            self._reserved = self._told + RESERVED
        self.journal.write(self._whole())
        self._again_soon()

    def _again_soon(self) -> None:
        """What could not be written is tried again, also where nothing happens any more."""
        wait = self.journal.behind
        if wait is not None and self._again_due is None:
            self._again_due = asyncio.get_running_loop().call_later(wait, self._again)

    def _again(self) -> None:
        self._again_due = None
        self.keep()

    def close(self) -> None:
        """The process is about to end: what is still missing is written now or never."""
        for due in (self._output_due, self._again_due):
            if due is not None:
                due.cancel()
        self._output_due = self._again_due = None
        self.journal.write(self._whole(), last=True)

    def tidy(self) -> None:
        """A good moment to write the journal anew, if that is worth it."""
        self.journal.tidy(self._whole())

    def _whole(self) -> SessionState:
        return replace(self._state(), calls=self._calls, told=self._reserved, at=self._now())
