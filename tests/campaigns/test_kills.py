"""The short version of the campaign kills.py."""

from pathlib import Path

import pytest

from campaigns.kills import campaign

pytestmark = pytest.mark.slow


@pytest.mark.timeout(180)
@pytest.mark.parametrize("window", [0, 6000])
async def test_fault_22_a_run_that_is_killed_again_and_again_ends_as_an_undisturbed_one(
    tmp_path: Path, window: int
) -> None:
    """docs/faults.md 22: the server is killed at random moments of 30 rounds, with reviews in between. At the end,
    files and plan are those of an undisturbed run, and the API refused nothing. With the small window, the conversation
    is compacted meanwhile."""
    assert await campaign(tmp_path, kills=4, seed=1, window=window) == []
