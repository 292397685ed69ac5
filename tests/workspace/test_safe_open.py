"""docs/faults.md 33 and 34: a path is checked when it is used, so a link that replaces a folder is not followed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from fairlead.errors import ToolError
from fairlead.workspace import safe_open
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.paths import PathEscape, Roots
from fairlead.workspace.safe_open import Folder, open_beneath
from fairlead.workspace.write import FileChange, FileWriter

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")

IMPLEMENTATIONS = [each for each in (safe_open._openat2(), safe_open._step_by_step) if each is not None]  # pyright: ignore[reportPrivateUsage]
SWAP = """
import ctypes, os, sys
os.chdir(sys.argv[1])
exchange = ctypes.CDLL(None).renameat2
print("swapping", flush=True)
while exchange(-100, b"sub", -100, b"link", 2) == 0:  # swaps both names atomically
    pass
"""


@pytest.fixture
def outside(workspace: Path) -> Path:
    """A sibling of the workspace. Both contain `sub/a`, with different texts."""
    outside = workspace.parent / "ws-evil"
    for folder, text in ((workspace, "inside"), (outside, "outside")):
        (folder / "sub" / "deep").mkdir(parents=True)
        (folder / "sub" / "a").write_text(text)
    return outside


@pytest.fixture
def swapping(workspace: Path, outside: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that replaces `sub` with a link to the outside and swaps it back, as fast as it can."""
    if not sys.platform.startswith("linux"):
        pytest.skip("needs renameat2")
    (workspace / "link").symlink_to(outside / "sub")
    arguments = [sys.executable, "-c", SWAP, str(workspace)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "swapping\n"
        yield process
        process.kill()


@pytest.mark.parametrize("open_at", IMPLEMENTATIONS)
@pytest.mark.parametrize("name", ["file", "folder/a", "proc/etc/passwd", "near/a"])
def test_fault_33_no_link_is_followed(workspace: Path, outside: Path, open_at: safe_open.OpenAt, name: str) -> None:
    """docs/faults.md 33: no link is followed, to a file or a folder, outside or inside, with `openat2` and without."""
    (workspace / "file").symlink_to(outside / "sub" / "a")
    (workspace / "folder").symlink_to(outside / "sub")
    (workspace / "proc").symlink_to("/proc/self/root")
    (workspace / "near").symlink_to("sub")
    top = os.open(workspace, os.O_RDONLY)
    try:
        with pytest.raises(OSError, match=r"Too many levels|Not a directory"):
            os.close(open_at(top, name, os.O_RDONLY))
        os.close(open_at(top, "sub/a", os.O_RDONLY))
    finally:
        os.close(top)


@pytest.mark.parametrize("name", ["file", "sub/a"])
def test_fault_34_reading_through_a_new_link_is_an_error(workspace: Path, outside: Path, name: str) -> None:
    """docs/faults.md 34: a read fails with a clear message and reveals nothing from outside."""
    (workspace / "sub").rename(workspace / "was")
    (workspace / "sub").symlink_to(outside / "sub")
    (workspace / "file").symlink_to(outside / "sub" / "a")
    with pytest.raises(PathEscape, match=f"^{name} now leads elsewhere, through a symbolic link.$"):
        read_bytes(workspace / name, workspace)


def test_fault_34_nothing_is_written_through_a_new_link(workspace: Path, outside: Path) -> None:
    """docs/faults.md 34: existing files are not changed, and no file or folder is created outside."""
    (workspace / "sub").rename(workspace / "was")
    (workspace / "sub").symlink_to(outside / "sub")
    for name, before in (("sub/a", b"outside"), ("sub/new", None), ("sub/deep/new", None), ("sub/further/new", None)):
        with pytest.raises(PathEscape):
            FileWriter(Roots.of(workspace)).write([FileChange(workspace / name, before, b"written")])
    with pytest.raises(PathEscape):
        FileWriter(Roots.of(workspace)).write([FileChange(workspace / "sub" / "a", b"outside", None)])
    assert sorted(path.name for path in outside.rglob("*")) == ["a", "deep", "sub"]
    assert (outside / "sub" / "a").read_text() == "outside"


def test_fault_34_a_file_that_became_a_link_is_not_written_through(workspace: Path, outside: Path) -> None:
    """docs/faults.md 34: the file that it leads to stays as it is, and so does the link."""
    (workspace / "a").symlink_to(outside / "sub" / "a")
    with pytest.raises(PathEscape):
        FileWriter(Roots.of(workspace)).write([FileChange(workspace / "a", b"outside", b"written")])
    assert (outside / "sub" / "a").read_text() == "outside"
    assert (workspace / "a").is_symlink()


def test_fault_34_a_link_that_comes_and_goes_is_never_read(workspace: Path, swapping: subprocess.Popen[str]) -> None:
    """docs/faults.md 34: while another process keeps swapping a folder and a link, a read returns the text inside or
    fails.
    """
    seen: set[bytes | None] = set()
    refused = 0
    for _ in range(20_000):
        try:
            seen.add(read_bytes(workspace / "sub" / "a", workspace))
        except ToolError:
            refused += 1
        if refused > 50 and b"inside" in seen:
            break
    assert swapping.poll() is None
    assert b"inside" in seen and seen == {b"inside"}
    assert refused


def test_fault_34_a_link_that_comes_and_goes_is_never_written_through(
    workspace: Path, outside: Path, swapping: subprocess.Popen[str]
) -> None:
    """docs/faults.md 34: each write ends inside or fails with an error; no temporary file remains."""
    done = refused = 0
    for number in range(5_000):
        try:
            FileWriter(Roots.of(workspace)).write([FileChange(workspace / "sub" / f"n{number}", None, b"written")])
            done += 1
        except PathEscape:
            refused += 1
        if min(done, refused) > 50:
            break
    assert swapping.poll() is None
    assert done and refused
    assert sorted(path.name for path in outside.rglob("*")) == ["a", "deep", "sub"]
    assert not list(workspace.rglob(".*"))


def test_fault_32_a_sibling_with_the_same_beginning_is_outside(workspace: Path, outside: Path) -> None:
    """docs/faults.md 32: a path outside is refused even if the caller did not resolve the path first."""
    for path in (outside / "sub" / "a", Path("/etc/passwd")):
        with pytest.raises(PathEscape):
            open_beneath(path, workspace)


def test_fault_43_a_root_may_be_a_link(workspace: Path, outside: Path) -> None:
    """docs/faults.md 43: the link is followed; below it, files are read, created and changed as usual."""
    named = workspace.parent / "named 日本"
    named.symlink_to(workspace)
    assert read_bytes(named / "sub" / "a", named) == b"inside"
    new = named / "new 日本" / "er" / "a b"
    FileWriter(Roots.of(named)).write([FileChange(new, None, b"1"), FileChange(named / "sub" / "a", b"inside", b"2")])
    assert (workspace / "new 日本" / "er" / "a b").read_bytes() == b"1"
    assert (workspace / "sub" / "a").read_bytes() == b"2"
    assert read_bytes(named / "gone" / "x", named) is None


def test_a_folder_in_place_of_a_file_leaves_no_descriptor_open(workspace: Path, outside: Path) -> None:
    """Reading a folder as a file fails each time without leaving a descriptor open, and a file can still be read."""
    folder = Folder(workspace / "sub", workspace)
    before = psutil.Process().num_fds()
    for _ in range(100):
        with pytest.raises(IsADirectoryError):
            folder.read("deep")
    assert folder.read("a") == b"inside"
    assert psutil.Process().num_fds() < before + 100
    folder.close()
