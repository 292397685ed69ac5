"""Fixtures for the tests of commands."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shell.boxes import boxes

# these modules can be imported only on Linux
collect_ignore_glob = (
    []
    if sys.platform == "linux"
    else [
        *("test_overlay*.py", "test_upper.py", "test_sandbox_walls.py", "test_shown_tools.py", "test_boxed.py"),
        *("test_build_outputs.py", "test_reads.py"),
    ]
)


@pytest.fixture
def backend() -> str:
    """The program that makes the boxes. Modules whose tests run with each program override this."""
    return "unshare"


@pytest.fixture
async def box(workspace: Path, tmp_path: Path, backend: str) -> AsyncIterator[object]:
    """The boxes of a layer over the workspace."""
    if sys.platform != "linux":
        pytest.skip("the sandbox needs Linux")
    async with boxes(workspace, tmp_path / "state", backend) as made:
        yield made
