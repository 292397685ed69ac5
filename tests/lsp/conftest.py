"""Fixtures of the tests of saved sessions."""

from pathlib import Path

import pytest


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    return tmp_path / "storage"
