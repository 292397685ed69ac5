"""The short version of the campaign hands.py."""

import pytest

from campaigns.hands import campaign

pytestmark = pytest.mark.slow


async def test_fault_67_no_line_is_lost_or_doubled_whoever_writes_when() -> None:
    """docs/faults.md 67 to 69: agent, user and other programs change open and closed files in any order, and editors
    answer late, wrongly or not at all. After each step, every line occurs exactly once."""
    counts = await campaign(12)
    assert counts["accept: applied"] > 0
