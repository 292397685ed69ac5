"""Fixtures for the tests of commands."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shell.boxes import EACH_BACKEND, boxes, is_installed

# these modules can be imported only on Linux
collect_ignore_glob = (
    []
    if sys.platform == "linux"
    else [
        *("test_overlay*.py", "test_upper.py", "test_sandbox_walls.py", "test_shown_tools.py", "test_boxed.py"),
        "test_build_outputs.py",
    ]
)


@pytest.fixture(params=EACH_BACKEND)
async def box(request: pytest.FixtureRequest, workspace: Path, tmp_path: Path) -> AsyncIterator[object]:
    """The boxes of a layer over the workspace, once with each program that makes them."""
    if sys.platform != "linux":
        pytest.skip("the sandbox needs Linux")
    if not is_installed(request.param):
        pytest.skip(f"{request.param} is not installed")
    async with boxes(workspace, tmp_path / "state", request.param) as made:
        yield made
