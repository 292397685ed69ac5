"""The short version of the campaign of cancels."""

from campaigns.cancels import campaign


async def test_fault_20_cancelled_anywhere_the_next_prompt_comes_at_once() -> None:
    """docs/faults.md 20: with parallel calls, once and twice, before the first byte and between rounds: the next prompt
    is sent before the cancelled run has answered, the history is valid, and nothing of the old run comes late."""
    assert len(await campaign(every=6)) >= 8
