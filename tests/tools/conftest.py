"""The fixture of the tools' tests: a desk."""

from pathlib import Path

import pytest

from tools.stand_ins import Desk


@pytest.fixture
def desk(workspace: Path) -> Desk:
    """An empty workspace without open documents, and a user who allows every command."""
    return Desk(workspace)
