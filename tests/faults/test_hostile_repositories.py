"""A task in repositories that are made to hang an agent or to use up the machine (hostile_repositories.py)."""

import sys
from pathlib import Path

import pytest

from support.sandbox import needs_sandbox

if sys.platform == "win32":
    pytest.skip("Windows has neither such links nor pipes with names", allow_module_level=True)

from campaigns.repositories import remove, work_in
from faults.hostile_repositories import REPOSITORIES


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


ALWAYS = {
    ".gitignore is endless",
    "sub/.gitignore is a pipe",
    "AGENTS.md is a pipe",
    ".git/config is endless",
    "odd names",
}


@pytest.mark.parametrize(
    "name", [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.slow) for name in REPOSITORIES]
)
async def test_fault_195_a_task_in_a_hostile_repository(name: str, tmp_path: Path) -> None:
    """docs/faults.md 195: the agent lists, searches, reads, runs commands and proposes; the server answers."""
    folder = tmp_path / "work"
    folder.mkdir()
    try:
        work = await work_in(name, folder)
    finally:
        remove(folder)  # pytest cannot remove very deep folders
    assert work.is_done, work
    assert work.answers > 5
    assert work.memory < 400_000_000
