"""These tests need real agents from npm, which they install as Fairlead does for a user."""

import os
from pathlib import Path

import pytest

from support.sandbox import needs_sandbox

INSTALLED = "FAIRLEAD_AGENTS"
"""The folder into which the agents are installed."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.timeout(900))
        if INSTALLED not in os.environ:
            item.add_marker(pytest.mark.skip(reason="`npm run test:agents` installs what it needs"))


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


@pytest.fixture
def agents_home(home: Path) -> Path:
    """The home, whose packages of agents are those that earlier runs have installed."""
    folder = home / ".local" / "share" / "fairlead" / "agents"
    folder.mkdir(parents=True)
    packages = Path(os.environ[INSTALLED])
    packages.mkdir(parents=True, exist_ok=True)
    (folder / "packages").symlink_to(packages)
    return home
