"""A desk to work at for each test of a tool."""

from pathlib import Path

import pytest

from tools.stand_ins import Desk


@pytest.fixture
def desk(workspace: Path) -> Desk:
    """An empty workspace without open documents, and a user who allows every command."""
    return Desk(workspace)
