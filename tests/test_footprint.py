"""The record of what the tests create outside of the folder of their run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.footprint import RECORD, WATCHED

SCRIPT = """
import os, sys
from support import footprint
footprint.install()
shared, own = sys.argv[1:]
os.mkdir(f"{shared}/made")
open(f"{shared}/written", "w").close()
os.rename(f"{shared}/written", f"{shared}/moved")
open(f"{shared}/moved", "w").close()
open(f"{own}/kept", "w").close()
if os.fork() == 0:
    os.symlink("made", f"{shared}/linked by a fork")
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")
def test_only_what_the_tests_create_outside_of_their_folder_is_recorded(tmp_path: Path) -> None:
    """What other programs create at the same time, and what is in the run's own folder, is not."""
    shared, own = tmp_path / "shared", tmp_path / "run"
    shared.mkdir()
    own.mkdir()
    (shared / "fairlead-demo-of-another-program").mkdir()
    env = {**os.environ, RECORD: str(own / "record"), WATCHED: str(shared), "PYTHONPATH": str(Path(__file__).parent)}
    subprocess.run([sys.executable, "-c", SCRIPT, shared, own], env=env, check=True)
    created = [Path(line).name for line in (own / "record").read_text().splitlines()]
    assert created == ["made", "written", "moved", "linked by a fork"]
