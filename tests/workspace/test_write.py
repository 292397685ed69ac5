"""What a killed process leaves beside the files that it wrote (ARCHITECTURE.md, Writes)."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairlead.workspace.paths import Roots
from fairlead.workspace.write import FileChange, write_files

KILLED = """
import os, signal, sys
from pathlib import Path
from fairlead.workspace.write import FileChange, write_files
path, event, after = Path(sys.argv[1]), sys.argv[2], None if sys.argv[3] == "None" else b"new"
changes = [FileChange(path, b"old", after)]
if after is None:
    changes.append(FileChange(path.with_name("other"), None, b"other"))
sys.addaudithook(lambda name, _: os.kill(os.getpid(), signal.SIGKILL) if name == event else None)
write_files(changes)
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the signal")


def kill_while_writing(path: Path, event: str, after: str = "new") -> list[Path]:
    """Kills a process at an audit event while it writes a file. Returns the files that it left."""
    before = set(path.parent.iterdir())
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path), event, after], check=False)
    assert ended.returncode == -signal.SIGKILL
    return sorted(set(path.parent.iterdir()) - before)


def make_old(path: Path) -> None:
    before = time.time() - 4000
    os.utime(path, (before, before))


def test_a_leftover_is_removed_with_the_next_write_of_the_file(workspace: Path) -> None:
    """Only an old one of the same file, which no other process can still be writing, and nothing of the user's."""
    path = workspace / "a.txt"
    path.write_bytes(b"old")
    [first] = kill_while_writing(path, "os.rename")
    assert (path.read_bytes(), first.read_bytes()) == (b"old", b"new")
    make_old(first)
    [second] = kill_while_writing(path, "os.rename")
    assert not first.exists(), "the next write, which was killed too, removed it"
    users = [workspace / name for name in (".a.txt.12345678", ".a.txt.fairlead-new-1", ".b.fairlead-new-12345678")]
    for name in users:
        name.write_bytes(b"mine")
        make_old(name)
    write_files([FileChange(path, b"old", b"newer")], Roots.of(workspace))
    assert sorted(workspace.iterdir()) == sorted([path, second, *users])


def test_a_deleted_file_that_was_set_aside_stays(workspace: Path) -> None:
    """It may be the only copy of what the user had."""
    path = workspace / "a.txt"
    path.write_bytes(b"old")
    left, other = kill_while_writing(path, "os.remove", "None")
    assert (left.read_bytes(), other.read_bytes(), path.exists()) == (b"old", b"other", False)
    make_old(left)
    write_files([FileChange(path, None, b"newer")], Roots.of(workspace))
    assert left.read_bytes() == b"old"
