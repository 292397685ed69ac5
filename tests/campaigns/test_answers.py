"""The short version of the campaign answers.py."""

import sys
from pathlib import Path

import pytest

from campaigns.answers import MEMORY, attack
from faults.answers import ANSWERS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]
HEAVY = [
    "a gzip bomb",
    "a redirect whose body never ends",
    "more after a gzip",
    "600,000 edits",
    "unknown blocks of 900 kB",
    "a call with 200,000 objects",
    "a text in frames without end",
]


@pytest.mark.parametrize("name", HEAVY)
async def test_fault_160_the_memory_of_the_server_is_bounded(tmp_path: Path, name: str) -> None:
    """docs/faults.md 160: the answers that once took the most memory. The next task works."""
    [answer] = [answer for answer in ANSWERS if answer.name == name]
    figures = await attack(answer, tmp_path)
    assert figures.memory < MEMORY
    assert not figures.ended.startswith("THE NEXT TASK")
