"""The short version of the campaign hogs.py: two of the commands with small limits."""

from pathlib import Path

import pytest

from campaigns.hogs import HOGS, attack
from support.sandbox import needs_sandbox

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


@pytest.mark.parametrize("name", ["stubborn fork loop in Python", "memory in 50 processes"])
async def test_fault_48_the_server_answers_while_a_command_uses_all_resources(tmp_path: Path, name: str) -> None:
    """docs/faults.md 48 and 49: the server answers within two seconds. The model reads why the command was ended, its
    changes are proposed, and none of its processes is left.

    On a busy machine, the command gets so little time that it may reach its time limit before its other limits
    (docs/sandbox.md, Limits), and its last process may end some seconds later: the campaign measures when.
    """
    figures = await attack(tmp_path, HOGS[name], {"processes": 60, "memoryMb": 200})
    assert figures.last.startswith(("Ended", "Killed at the time limit")), figures.last
    assert (figures.kept, figures.problems) == (True, [])
    assert figures.slowest < 2
