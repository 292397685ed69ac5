"""What the tests of kept sessions are given."""

from pathlib import Path

import pytest


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    return tmp_path / "storage"
