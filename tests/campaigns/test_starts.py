"""The short version of the campaign starts.py."""

from pathlib import Path

import pytest

from campaigns.starts import campaign
from support.sandbox import needs_sandbox

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


async def test_fault_52_servers_that_start_at_the_same_time_run_every_command(tmp_path: Path) -> None:
    """docs/faults.md 52: real servers share one state folder, and some are killed before others start. No command is
    refused, and no folder is left."""
    assert await campaign(tmp_path, starts=2, servers=4, seed=0) == []
