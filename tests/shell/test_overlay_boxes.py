"""The boxes of the sandboxed layer: for which users and where they are made, several at once, and without leftovers."""

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.errors import ToolError
from fairlead.shell.layer import Change, Entry, View
from shell.boxes import Boxes, boxes, find_sandbox, has, on_disk, seen, start, write
from support.sandbox import needs_sandbox


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


async def test_a_command_in_the_background(workspace: Path, tmp_path: Path) -> None:
    """A background command sees the existing ignored files, and its own ignored files stay private.

    Other commands can run meanwhile. Its changes are returned at its end.
    """
    write(workspace, {".gitignore": "*.o\n", "a.txt": "a"})
    async with boxes(workspace, tmp_path / "state") as box:
        await box.run("echo kept > k.o")
        serve = "cat k.o a.txt; echo b > b.o; echo x > made.txt"
        opened = await box.layer.open(serve, seen(**{"a.txt": "A"}), background=True)
        process = await start(opened)
        ran = await box.run("echo front > f.txt; test ! -e b.o && cat a.txt")
        assert (ran.code, ran.output, ran.contents) == (0, "a", {"f.txt": b"front\n"})
        output, _ = await process.communicate()
        changes = await opened.close()
        assert output == b"kept\nA"
        assert changes.files == [Change("made.txt", None, Entry(b"x\n"))]
        assert await box.output("ls") == "a.txt\nk.o\n"


async def test_one_foreground_command_at_a_time(workspace: Path, tmp_path: Path) -> None:
    """A second foreground command is refused until the first is closed."""
    async with boxes(workspace, tmp_path / "state") as box:
        opened = await box.layer.open("true", View())
        with pytest.raises(ToolError, match="still running"):
            await box.layer.open("true", View())
        assert (await opened.close()).files == []
        assert await box.output("echo on") == "on\n"


async def test_a_killed_server_leaves_nothing_for_long(workspace: Path, tmp_path: Path) -> None:
    """The next layer removes a folder whose lock is no longer held; a folder in use stays."""
    code = (
        "import asyncio, os, sys, pathlib, fairlead.shell.sandbox.overlay as o, fairlead.shell.layer as l\n"
        "from fairlead.workspace.paths import Roots\n"
        "async def main():\n"
        "    layer = o.SandboxLayer(Roots.of(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2]))\n"
        "    await layer.open('true', l.View({'a': l.Entry(b'a')}))\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    layers_folder = (await find_sandbox(workspace, tmp_path / "state", "unshare")).layers_folder
    assert layers_folder is not None
    subprocess.run([sys.executable, "-c", code, str(workspace), str(layers_folder)], check=False)
    assert len(list(layers_folder.glob("layer-*"))) == 1
    async with boxes(workspace, tmp_path / "state") as box:
        assert list(layers_folder.glob("layer-*")) == [box.layer._folder]
        async with boxes(workspace, tmp_path / "state"):
            assert await box.output("echo still here") == "still here\n"
    assert list(layers_folder.glob("layer-*")) == []


async def test_names_in_any_script(tmp_path: Path) -> None:
    """The paths of the workspace, its files and the state folder may contain blanks, quotes, colons, commas and any
    script; the workspace's also backslashes."""
    workspace = tmp_path / "wörk: a,b\\c 'd\" 工作"
    write(workspace, {"ä ö.txt": "a", "工/作.txt": "b"})
    async with boxes(workspace, tmp_path / "stäte, :x") as box:
        ran = await box.run("cat *.txt 工/*; echo c > 'n\"é: ,.txt'; pwd", seen(**{"工/作.txt": "B"}))
    assert (ran.output, ran.contents) == (f"aB{workspace}\n", {'n"é: ,.txt': b"c\n"})


@pytest.mark.parametrize("background", [False, True])
async def test_a_box_that_is_never_started_leaves_nothing(workspace: Path, tmp_path: Path, background: bool) -> None:
    """Closing the box removes its files, and there are no changes."""
    async with boxes(workspace, tmp_path / "state") as box:
        opened = await box.layer.open("true", seen(**{"a.txt": "a"}), background=background)
        assert (await opened.close()).files == []
        left = {path.name for path in box.layer._folder.iterdir()}
        assert left <= {"caches", "lock", "no-file", "no-folder", "no-settings", "upper-1"}
        assert list((box.layer._folder / "upper-1").iterdir()) == []


async def test_as_the_owner_of_the_workspace(workspace: Path, tmp_path: Path) -> None:
    """If root runs the server, commands run as the workspace's owner: they can write that user's files, and cannot read
    root's."""
    if os.geteuid() != 0:
        pytest.skip("for root only")
    owned = Path("/var/tmp") / f"fairlead-test-{os.getpid()}"
    write(owned, {"a.txt": "a"})
    try:
        for path in (owned, owned / "a.txt"):
            os.chown(path, 1234, 1234)
        async with boxes(owned, tmp_path / "state") as box:
            look = "id -u; echo x >> a.txt; echo y > new/f; cat p; cat /etc/shadow"
            ran = await box.run(look, seen(**{"p": "p", "new/e": ""}))
        assert ran.output.startswith("1234\np")
        assert "Permission denied" in ran.output
        assert ran.contents == {"a.txt": b"ax\n", "new/f": b"y\n"}
    finally:
        subprocess.run(["rm", "-rf", str(owned)], check=True)


def test_the_umask_does_not_matter(workspace: Path, tmp_path: Path) -> None:
    """Proposed files have the mode that they would have on disk, so that reading them changes nothing."""
    before = os.umask(0o077)
    try:

        async def look() -> None:
            write(workspace, {"a.sh": "a"})
            (workspace / "a.sh").chmod(0o755)
            async with boxes(workspace, tmp_path / "state") as box:
                ran = await box.run("cat a.sh n.txt", seen(**{"a.sh": "b", "n.txt": "n"}))
                assert (ran.code, ran.changes.files) == (0, [])

        asyncio.run(look())
    finally:
        os.umask(before)
    assert stat.S_IMODE((workspace / "a.sh").stat().st_mode) == 0o755


@pytest.mark.skipif(not has("node"), reason="node is not installed")
async def test_node_starts_within_the_limits(box: Boxes, workspace: Path) -> None:
    """docs/faults.md 43: a large runtime with its threads starts within the limits."""
    write(workspace, {"a.js": "old"})
    assert await box.output("node a.js", seen(**{"a.js": "console.log(1 + 1)"})) == "2\n"


async def test_a_view_that_cannot_be_shown(workspace: Path, tmp_path: Path) -> None:
    """The command is not run, the error has the reason, and the next command sees nothing of that view."""
    async with boxes(workspace, tmp_path / "state") as box:
        with pytest.raises(ToolError, match=r"could not be written to its sandbox \(File name too long"):
            await box.layer.open("true", seen(**{"a.txt": "a", "x" * 300: "b"}))
        assert await box.output("ls") == ""


async def test_a_box_that_cannot_be_made_is_an_error(workspace: Path, tmp_path: Path) -> None:
    """The command is not run without the sandbox, and the error says so; the next box is made normally."""
    async with boxes(workspace, tmp_path / "state") as box:
        opened = await box.layer.open("echo ran > ran.txt", View())
        scratch = box.layer._folder / "box-1" / "scratch"
        scratch.rmdir()
        process = await start(opened)
        assert (await process.communicate())[0] == b""
        assert process.returncode != 0
        with pytest.raises(ToolError, match="was not run: its sandbox could not be created"):
            await opened.close()
        assert on_disk(workspace) == {}
        assert await box.output("echo on") == "on\n"


@pytest.mark.parametrize("times", [1, 3])
async def test_a_cancelled_start_is_closed(times: int, workspace: Path, tmp_path: Path) -> None:
    """A box whose opener was cancelled, once or several times, is closed when the opener ends."""
    async with boxes(workspace, tmp_path / "state") as box:
        for _ in range(5):
            opening = asyncio.ensure_future(box.layer.open("true", seen(**{"a.txt": "a"})))
            for _ in range(times):
                await asyncio.sleep(0)
                opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
        assert await box.output("ls") == ""
