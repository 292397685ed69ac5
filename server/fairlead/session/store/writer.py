"""Decides when a session's state is saved: with the events that may have changed it, before they are sent."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from fairlead.agent.events import Event, FeedbackSent, ReminderSent, Retry, Text, Thinking, ToolOutput
from fairlead.session.state import Calls, SessionState, with_event
from fairlead.session.store.journal import Journal

STREAM_DELAY = 1.0  # seconds; what a command or the model writes within this time is saved in one entry
RESERVED_EVENTS = 10_000  # how many further events a saved number includes in advance

# events that do not need an entry of their own: what they change is saved with the next one
_NOT_SAVED = (FeedbackSent, ReminderSent, Retry)
_STREAMED = (ToolOutput, Text, Thinking)


class JournalWriter:
    """Saves one session.

    Args:
        state: returns the session's state without what the writer adds: the calls, the number of events and the time.
        now: seconds since the epoch.
    """

    def __init__(self, journal: Journal, state: Callable[[], SessionState], now: Callable[[], float]) -> None:
        self.journal = journal
        self._state = state
        self._now = now
        self._calls: Calls = SessionState().calls
        self.events = self._reserved = 0
        """The number of events so far, or after a restart a higher number."""
        self._stream_timer: asyncio.TimerHandle | None = None
        self._retry_timer: asyncio.TimerHandle | None = None

    def resume(self, journal: Journal) -> None:
        """Continues a loaded journal. Call it after its session is restored."""
        self.journal = journal
        journal.resume(self._full_state())
        self.save()

    def restore(self, events_sent: int) -> None:
        """Continues the count of events of an earlier process."""
        self.events = self._reserved = events_sent

    def note(self, event: Event) -> None:
        """Counts an event, and updates the calls of the round, so that the next save contains them."""
        self._calls = with_event(self._calls, event, self._now())
        self.events += 1

    def save(self, events: Sequence[Event] = ()) -> None:
        """Writes what has changed, before these events are sent. Without events, writes at once.

        Does not write for events that change no saved state, and writes what streams in after STREAM_DELAY.
        """
        # a higher number of events is saved in advance, so that these need no entry
        is_reserved = self.events <= self._reserved
        saved = [event for event in events if not isinstance(event, _NOT_SAVED)]
        if events and is_reserved and not saved:
            return
        if events and is_reserved and all(isinstance(event, _STREAMED) for event in saved):
            if self._stream_timer is None:
                self._stream_timer = asyncio.get_running_loop().call_later(STREAM_DELAY, self.save)
            return
        if self._stream_timer is not None:
            self._stream_timer.cancel()
            self._stream_timer = None
        if not is_reserved:
            self._reserved = self.events + RESERVED_EVENTS
        self.journal.write(self._full_state())
        self._schedule_retry()

    def _schedule_retry(self) -> None:
        """Retries a failed write, even if nothing else happens in the session."""
        delay = self.journal.retry_delay
        if delay is not None and self._retry_timer is None:
            self._retry_timer = asyncio.get_running_loop().call_later(delay, self._retry)

    def _retry(self) -> None:
        self._retry_timer = None
        self.save()

    def close(self) -> None:
        """Writes what is missing, because the process is about to end."""
        for timer in (self._stream_timer, self._retry_timer):
            if timer is not None:
                timer.cancel()
        self._stream_timer = self._retry_timer = None
        self.journal.write(self._full_state(), force=True)

    def compact(self) -> None:
        """Rewrites the journal if it has grown a lot."""
        self.journal.compact(self._full_state())

    def _full_state(self) -> SessionState:
        return replace(self._state(), calls=self._calls, events_sent=self._reserved, at=self._now())
