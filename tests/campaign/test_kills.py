"""The short version of the campaign of kills (kills.py)."""

from pathlib import Path

import pytest

from campaign.kills import campaign


@pytest.mark.timeout(180)
async def test_fault_22_a_run_that_is_killed_again_and_again_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    """docs/faults.md 22: SIGKILL at random moments of 30 rounds with reviews in between; files and plan are in the end
    those of a run that nobody disturbed, and the API refused nothing."""
    assert await campaign(tmp_path, kills=6, seed=1) == []
