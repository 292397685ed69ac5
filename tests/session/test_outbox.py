"""What must be saved when events are sent."""

from collections.abc import Sequence

from fairlead.agent.events import Event, FeedbackSent, Text
from fairlead.session.outbox import Outbox


async def test_a_change_without_an_event_is_saved_whatever_events_wait() -> None:
    """docs/faults.md 263: events that need no entry in the journal do not put off what has changed with them."""
    sent: list[tuple[Sequence[Event], bool]] = []
    outbox = Outbox(lambda events, has_changed: sent.append((events, has_changed)))
    read, said = FeedbackSent("message", "Go on."), Text("Yes.")
    outbox.add(read)
    outbox.add(None)
    outbox.add(said)
    outbox.flush()
    outbox.add(None, may_wait=True)
    outbox.add(said)
    outbox.flush()
    assert sent == [([read], True), ([said], False), ([said], True)]
