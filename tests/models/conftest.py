"""A fixture for the tests of the clouds: a user whose home folder is empty."""

from pathlib import Path

import pytest

from models.cloud_user import CloudUser


@pytest.fixture
def cloud_user(tmp_path: Path, workspace: Path) -> CloudUser:
    home = tmp_path / "home"
    home.mkdir()
    return CloudUser(home, workspace)
