"""What a write preserves, restores after a failure, and leaves when it is killed (ARCHITECTURE.md, Writes)."""

import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import Roots
from fairlead.workspace.write import FileChange, FileWriter
from support.workspace_edit import apply_workspace_edit

KILLED = """
import os, signal, sys
from pathlib import Path
from fairlead.workspace.write import FileChange, FileWriter
path, event, after = Path(sys.argv[1]), sys.argv[2], None if sys.argv[3] == "None" else b"new"
changes = [FileChange(path, b"old", after)]
if after is None:
    changes.append(FileChange(path.with_name("other"), None, b"other"))
sys.addaudithook(lambda name, _: os.kill(os.getpid(), signal.SIGKILL) if name == event else None)
FileWriter().write(changes)
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")


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
    """A leftover is removed only if it is too old to be still in use by another process. The user's files stay."""
    path = workspace / "a.txt"
    path.write_bytes(b"old")
    [first] = kill_while_writing(path, "os.rename")
    assert (path.read_bytes(), first.read_bytes()) == (b"old", b"new")
    make_old(first)
    [second] = kill_while_writing(path, "os.rename")
    assert not first.exists(), "the next write, which was killed too, removed it"
    other = f".b.{first.name.removeprefix('.a.txt.')}"
    users = [workspace / name for name in (".a.txt.12345678", ".a.txt.fairlead-new-1", other)]
    for name in users:
        name.write_bytes(b"mine")
        make_old(name)
    FileWriter(Roots.of(workspace)).write([FileChange(path, b"old", b"newer")])
    assert sorted(workspace.iterdir()) == sorted([path, second, *users])


def test_a_deleted_file_that_was_set_aside_stays(workspace: Path) -> None:
    """A file that was set aside is not removed later, because it may be the only copy of the user's text."""
    path = workspace / "a.txt"
    path.write_bytes(b"old")
    left, other = kill_while_writing(path, "os.remove", "None")
    assert (left.read_bytes(), other.read_bytes(), path.exists()) == (b"old", b"other", False)
    make_old(left)
    FileWriter(Roots.of(workspace)).write([FileChange(path, None, b"newer")])
    assert left.read_bytes() == b"old"


def test_fault_111_a_deleted_file_is_restored_after_its_name_became_a_folder(workspace: Path) -> None:
    """docs/faults.md 111: the folder is removed first."""
    deleted, other = workspace / "a", workspace / "c"
    deleted.write_bytes(b"old")
    other.write_bytes(b"other")
    changes = [
        FileChange(deleted, b"old", None),
        FileChange(deleted / "b" / "new", None, b"new"),
        FileChange(other, b"old", b"new"),
    ]
    with pytest.raises(WorkspaceError, match=r"^c changed at the same time\.$"):
        FileWriter(Roots.of(workspace)).write(changes)
    assert {path: path.read_bytes() for path in workspace.iterdir()} == {deleted: b"old", other: b"other"}


OCCUPIED = """
import sys
from pathlib import Path
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.write import FileChange, FileWriter
deleted, changed, other = map(Path, sys.argv[1:])
occupy = lambda name, _: deleted.write_bytes(b"theirs") if name == "os.rename" and not deleted.exists() else None
sys.addaudithook(occupy)
changes = [FileChange(deleted, b"old", None), FileChange(changed, b"old", b"new"), FileChange(other, b"old", b"new")]
try:
    FileWriter().write(changes)
except WorkspaceError as error:
    print(error)
"""


def test_fault_111_a_deleted_file_whose_name_was_taken_is_not_lost(workspace: Path) -> None:
    """docs/faults.md 111: another program writes a file of this name before the group fails. Both files stay."""
    deleted, changed, other = paths = [workspace / name for name in "abc"]
    for path in paths:
        path.write_bytes(b"other" if path == other else b"old")
    ended = subprocess.run([sys.executable, "-c", OCCUPIED, *paths], capture_output=True, text=True, check=True)
    [left] = set(workspace.iterdir()) - {*paths}
    assert ended.stdout == f"c changed at the same time. a could not be restored. To get it back, rename {left}.\n"
    contents = {path: path.read_bytes() for path in workspace.iterdir()}
    assert contents == {deleted: b"theirs", left: b"old", changed: b"old", other: b"other"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may set the owner")
def test_a_written_file_keeps_its_owner(workspace: Path) -> None:
    """If root writes or renames a file, as in a container, the file still belongs to the user."""
    path, moved = workspace / "a.txt", workspace / "b.txt"
    path.write_bytes(b"old")
    path.chmod(0o640)
    os.chown(path, 1000, 1001)
    FileWriter(Roots.of(workspace)).write([FileChange(path, b"old", b"new")])
    rename = {"kind": "rename", "oldUri": path.as_uri(), "newUri": moved.as_uri()}
    assert path.read_bytes() == b"new"
    for file in (path, moved):
        if file == moved:
            assert apply_workspace_edit({"edit": {"documentChanges": [rename]}}) == {"applied": True}
        status = file.stat()
        assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (1000, 1001, 0o640)
    assert list(workspace.iterdir()) == [moved]


def test_permissions_change_together_with_the_bytes(workspace: Path) -> None:
    """A file has its new permissions as soon as it has its new bytes, and neither if the group fails."""
    script, other = workspace / "a.sh", workspace / "b.sh"
    changes = [FileChange(script, b"old", b"new", 0o755), FileChange(other, b"old", b"new", 0o755)]
    script.write_bytes(b"old")
    script.chmod(0o640)
    other.write_bytes(b"changed")
    with pytest.raises(WorkspaceError):
        FileWriter(Roots.of(workspace)).write(changes)
    assert (script.read_bytes(), script.stat().st_mode & 0o7777) == (b"old", 0o640)
    other.write_bytes(b"old")
    FileWriter(Roots.of(workspace)).write(changes)
    assert (script.read_bytes(), script.stat().st_mode & 0o7777) == (b"new", 0o755)


@pytest.mark.skipif(sys.platform != "linux", reason="the attribute exists only on Linux")
def test_a_written_file_keeps_its_access_control_list(workspace: Path) -> None:
    path, name = workspace / "a.txt", "system.posix_acl_access"
    path.write_bytes(b"old")
    nobody = 0xFFFFFFFF
    entries = [(1, 6, nobody), (2, 6, 1234), (4, 4, nobody), (16, 6, nobody), (32, 0, nobody)]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(path, name, acl)
    except OSError:
        pytest.skip("the file system has no access control lists")
    FileWriter(Roots.of(workspace)).write([FileChange(path, b"old", b"new")])
    assert (path.read_bytes(), os.getxattr(path, name)) == (b"new", acl)
    FileWriter(Roots.of(workspace)).write([FileChange(path, b"new", b"run", 0o775)])
    assert (path.read_bytes(), path.stat().st_mode & 0o777, len(os.getxattr(path, name))) == (b"run", 0o775, len(acl))


def test_a_file_with_hard_links_is_replaced(workspace: Path) -> None:
    """The other names, such as those in a package manager's store, keep their bytes."""
    path, other = workspace / "a.txt", workspace / "other.txt"
    path.write_bytes(b"old")
    os.link(path, other)
    FileWriter(Roots.of(workspace)).write([FileChange(path, b"old", b"new")])
    assert (path.read_bytes(), other.read_bytes()) == (b"new", b"old")


MOUNTED = """
mount --bind "$1/host" "$1/a.txt" || exit 9
exec "$2" -c 'import sys
from pathlib import Path
from fairlead.workspace.write import FileChange, FileWriter
FileWriter().write([FileChange(Path(sys.argv[1]), b"old", b"new")])' "$1/a.txt"
"""


def test_a_mounted_file_is_written_in_place(workspace: Path) -> None:
    """A file that a container gets from its host is written in place, because the system refuses to replace it."""
    path, host = workspace / "a.txt", workspace / "host"
    path.write_bytes(b"")
    host.write_bytes(b"old")
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    command = ["unshare", "--mount", "sh", "-c", MOUNTED, "sh", str(workspace), sys.executable]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode in (1, 9) and "Traceback" not in ended.stderr:
        pytest.skip("mounts are not allowed here")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (path.read_bytes(), host.read_bytes()) == (b"", b"new")
    assert sorted(workspace.iterdir()) == [path, host]
