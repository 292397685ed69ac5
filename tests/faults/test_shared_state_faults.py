"""Several servers on one state folder: they start, end and are killed at any moment, and none is in another's way."""

import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("processes are forked here", allow_module_level=True)

from fairlead.shell.sandbox import own_folder, trees
from fairlead.shell.sandbox.own_folder import OwnFolder, sweep
from support.forks import at_one_moment, killed_at_each_line


def test_fault_52_a_folder_that_is_made_is_not_swept(tmp_path: Path) -> None:
    """docs/faults.md 52: servers that make, use and sweep layers at one moment never lose a layer that is in use."""

    def many() -> None:
        for _ in range(40):
            sweep(tmp_path)
            own = OwnFolder(tmp_path)
            (own.path / "upper").mkdir()
            (own.path / "upper/a.txt").write_text("a")
            assert (own.path / "upper/a.txt").read_text() == "a"
            own.remove()

    assert set(at_one_moment(16, many)) == {0}
    assert list(tmp_path.iterdir()) == []


def test_fault_53_a_killed_servers_layer_is_swept_and_no_other(tmp_path: Path) -> None:
    """docs/faults.md 53: whatever a server leaves that is killed at any line of making, removing or sweeping layers,
    the next sweep removes it; a layer in use stays."""
    used = OwnFolder(tmp_path)
    (used.path / "upper").mkdir()

    def life() -> None:
        sweep(tmp_path)
        own = OwnFolder(tmp_path)
        (own.path / "upper/deep").mkdir(parents=True)
        (own.path / "upper/a.txt").write_text("a")
        own.remove()

    lines = 0
    for lines in killed_at_each_line(life, own_folder, trees):
        if lines % 3 == 0:  # so that most sweeps of `life` find what the last one left
            sweep(tmp_path)
            assert list(tmp_path.iterdir()) == [used.path]
    assert lines > 40
    sweep(tmp_path)
    assert (used.path / "upper").is_dir()
    used.remove()
    assert list(tmp_path.iterdir()) == []
