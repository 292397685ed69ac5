"""Editing through a server process, from the agent's call to the user's file (tests/scenarios/edits)."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.client import Client
from support.fake_api import FakeApi
from support.scenario import Player, Scenario, scenarios, tree

SCENARIOS = scenarios("edits")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
async def test_a_scenario_ends_with_the_expected_files(
    scenario: Scenario, workspace: Path, tmp_path: Path, connect: Callable[..., Client]
) -> None:
    """The scenario's `rule` holds, and only the intended bytes change. The test's id contains the fault's number."""
    if sys.platform == "win32" and (scenario.modes or scenario.links):
        pytest.skip("permissions and links are POSIX")
    scenario.lay_out(workspace)
    (tmp_path / "outside").write_bytes(b"outside\n")
    before = tree(workspace)
    times = {name: (workspace / name).stat().st_mtime_ns for name in scenario.untouched}
    with FakeApi() as api:
        async with connect(api) as client:
            player = Player(client, api, workspace)
            await player.play(scenario.steps)
            asked = time.monotonic()
            await client.request("agent/cancel", {"sessionId": player.session})
            assert time.monotonic() - asked < 10
        assert api.refusals == []
    assert tree(workspace) == scenario.wanted(before)
    assert {name: (workspace / name).stat().st_mtime_ns for name in scenario.untouched} == times
    for name, mode in scenario.modes.items():
        assert (workspace / name).stat().st_mode & 0o777 == int(mode, 8)
    assert (tmp_path / "outside").read_bytes() == b"outside\n"
    assert {path.name for path in tmp_path.iterdir()} == {"ws", "outside"}
