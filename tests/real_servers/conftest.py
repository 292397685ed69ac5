"""These tests need real tool servers from npm and PyPI, which they install as Fairlead does for a user."""

import os
from pathlib import Path

import pytest

from support.sandbox import needs_sandbox

INSTALLED = "FAIRLEAD_TOOL_SERVERS"
"""The folder into which `npm run test:tool-servers` installs uv. The servers are installed next to it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.timeout(600))
        if INSTALLED not in os.environ:
            item.add_marker(pytest.mark.skip(reason="`npm run test:tool-servers` installs what it needs"))


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the packages, which later runs use again."""
    folder = Path(os.environ[INSTALLED])
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return folder / "packages"
