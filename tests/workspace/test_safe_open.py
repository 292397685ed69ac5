"""docs/faults.md 33 and 34: what lies beneath the root when it is used, whatever was there a moment before."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.agent.errors import ToolError
from fairlead.workspace import safe_open
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.paths import PathEscape, Roots
from fairlead.workspace.safe_open import open_beneath
from fairlead.workspace.write import FileChange, write_files

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")

WAYS = [way for way in (safe_open._openat2(), safe_open._step_by_step) if way is not None]  # pyright: ignore[reportPrivateUsage]
SWAP = """
import ctypes, os, sys
os.chdir(sys.argv[1])
exchange = ctypes.CDLL(None).renameat2
print("swapping", flush=True)
while exchange(-100, b"sub", -100, b"link", 2) == 0:  # both names in one moment
    pass
"""


@pytest.fixture
def evil(workspace: Path) -> Path:
    """A sibling of the workspace; both hold `sub/a`, with their own words in it."""
    evil = workspace.parent / "ws-evil"
    for folder, words in ((workspace, "inside"), (evil, "outside")):
        (folder / "sub" / "deep").mkdir(parents=True)
        (folder / "sub" / "a").write_text(words)
    return evil


@pytest.fixture
def swapping(workspace: Path, evil: Path) -> Iterator[subprocess.Popen[str]]:
    """Somebody who puts a link to outside in the folder's place, and takes it away, as fast as they can."""
    if not sys.platform.startswith("linux"):
        pytest.skip("renameat2")
    (workspace / "link").symlink_to(evil / "sub")
    arguments = [sys.executable, "-c", SWAP, str(workspace)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "swapping\n"
        yield process
        process.kill()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["file", "folder/a", "proc/etc/passwd", "near/a"])
def test_fault_33_no_link_is_followed(workspace: Path, evil: Path, way: safe_open.OpenAt, name: str) -> None:
    """docs/faults.md 33: as the file or on the way, to outside or inside; the way of Linux and the one of others."""
    (workspace / "file").symlink_to(evil / "sub" / "a")
    (workspace / "folder").symlink_to(evil / "sub")
    (workspace / "proc").symlink_to("/proc/self/root")
    (workspace / "near").symlink_to("sub")
    top = os.open(workspace, os.O_RDONLY)
    try:
        with pytest.raises(OSError, match=r"Too many levels|Not a directory"):
            os.close(way(top, name, os.O_RDONLY))
        os.close(way(top, "sub/a", os.O_RDONLY))
    finally:
        os.close(top)


@pytest.mark.parametrize("name", ["file", "sub/a"])
def test_fault_34_a_link_that_came_after_the_look_is_an_error(workspace: Path, evil: Path, name: str) -> None:
    """docs/faults.md 34: a read fails with a clear message and reveals nothing from outside."""
    (workspace / "sub").rename(workspace / "was")
    (workspace / "sub").symlink_to(evil / "sub")
    (workspace / "file").symlink_to(evil / "sub" / "a")
    with pytest.raises(PathEscape, match=f"^{name} now leads elsewhere, through a symbolic link.$"):
        read_bytes(workspace / name, workspace)


def test_fault_34_a_write_goes_through_no_link(workspace: Path, evil: Path) -> None:
    """docs/faults.md 34: neither for a file that is there nor for a new one, nor is a folder made outside."""
    (workspace / "sub").rename(workspace / "was")
    (workspace / "sub").symlink_to(evil / "sub")
    for name, before in (("sub/a", b"outside"), ("sub/new", None), ("sub/deep/new", None), ("sub/further/new", None)):
        with pytest.raises(PathEscape):
            write_files([FileChange(workspace / name, before, b"written")], Roots.of(workspace))
    with pytest.raises(PathEscape):
        write_files([FileChange(workspace / "sub" / "a", b"outside", None)], Roots.of(workspace))
    assert sorted(path.name for path in evil.rglob("*")) == ["a", "deep", "sub"]
    assert (evil / "sub" / "a").read_text() == "outside"


def test_fault_34_a_link_in_the_files_own_place_is_not_written_through(workspace: Path, evil: Path) -> None:
    """docs/faults.md 34: the file that it leads to stays as it is, and so does the link."""
    (workspace / "a").symlink_to(evil / "sub" / "a")
    with pytest.raises(PathEscape):
        write_files([FileChange(workspace / "a", b"outside", b"written")], Roots.of(workspace))
    assert (evil / "sub" / "a").read_text() == "outside"
    assert (workspace / "a").is_symlink()


def test_fault_34_a_link_that_comes_and_goes_is_never_read(workspace: Path, swapping: subprocess.Popen[str]) -> None:
    """docs/faults.md 34: in thousands of reads beside somebody who swaps the folder all the time."""
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
    workspace: Path, evil: Path, swapping: subprocess.Popen[str]
) -> None:
    """docs/faults.md 34: each write ends inside, or nowhere with a reason; no temporary file stays."""
    done = refused = 0
    for number in range(5_000):
        try:
            write_files([FileChange(workspace / "sub" / f"n{number}", None, b"written")], Roots.of(workspace))
            done += 1
        except PathEscape:
            refused += 1
        if min(done, refused) > 50:
            break
    assert swapping.poll() is None
    assert done and refused
    assert sorted(path.name for path in evil.rglob("*")) == ["a", "deep", "sub"]
    assert not list(workspace.rglob(".*"))


def test_fault_32_a_sibling_with_the_same_beginning_is_outside(workspace: Path, evil: Path) -> None:
    """docs/faults.md 32: also for who asks with a path that was never resolved."""
    for path in (evil / "sub" / "a", Path("/etc/passwd")):
        with pytest.raises(PathEscape):
            open_beneath(path, workspace)


def test_fault_43_a_root_behind_a_link_is_the_users_own_choice(workspace: Path, evil: Path) -> None:
    """docs/faults.md 43: links above the root are followed; below it files are read, made and changed as ever."""
    named = workspace.parent / "named 日本"
    named.symlink_to(workspace)
    assert read_bytes(named / "sub" / "a", named) == b"inside"
    new = named / "new 日本" / "er" / "a b"
    write_files([FileChange(new, None, b"1"), FileChange(named / "sub" / "a", b"inside", b"2")], Roots.of(named))
    assert (workspace / "new 日本" / "er" / "a b").read_bytes() == b"1"
    assert (workspace / "sub" / "a").read_bytes() == b"2"
    assert read_bytes(named / "gone" / "x", named) is None
