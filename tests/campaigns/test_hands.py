"""The short version of the campaign hands.py."""

from campaigns.hands import campaign


async def test_fault_67_no_line_is_lost_or_doubled_whoever_writes_when() -> None:
    """docs/faults.md 67 to 69: agent, user, other programs and decisions in any order, files open and closed, with
    editors that answer late, wrongly or not at all."""
    counts = await campaign(12)
    assert counts["accept: applied"] > 0
