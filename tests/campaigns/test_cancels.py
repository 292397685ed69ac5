"""The short version of the campaign cancels.py."""

import pytest

from campaigns.cancels import campaign

pytestmark = pytest.mark.slow


async def test_fault_20_after_a_cancel_at_any_event_the_next_prompt_is_sent_at_once() -> None:
    """docs/faults.md 20: a run is cancelled once or twice, also before the first byte, with parallel calls and between
    rounds. The next prompt is sent before the cancelled run has answered, the history is valid, and nothing of the old
    run arrives later."""
    assert len(await campaign(every=6)) >= 8
