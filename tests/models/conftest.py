"""Shared by the tests of the clouds: an empty home folder."""

from pathlib import Path

import pytest

from models.clouds_at import At


@pytest.fixture
def at(tmp_path: Path, workspace: Path) -> At:
    home = tmp_path / "home"
    home.mkdir()
    return At(home, workspace)
