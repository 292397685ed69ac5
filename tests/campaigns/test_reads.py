"""The short version of the campaign reads.py."""

import shutil
from pathlib import Path

import pytest

from campaigns.reads import measure
from session.checked_projects import projects
from support.sandbox import needs_sandbox

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["unittest", "make"])
async def test_strace_sees_nothing_in_a_project_that_is_not_recorded(tmp_path: Path, name: str) -> None:
    needs_sandbox()
    [project] = [each for each in projects() if each.name == name]
    if missing := project.missing() or ("" if shutil.which("strace") else "strace"):
        pytest.skip(f"not installed: {missing}")
    row = await measure(project, tmp_path.resolve(), runs=1, copies=2)
    assert row.missing_inside == frozenset()
