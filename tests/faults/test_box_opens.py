"""docs/faults.md 103: however the start of a command fails, the next command runs."""

import asyncio
import contextlib
import os
import resource
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("the sandbox is Linux's", allow_module_level=True)

from fairlead.agent.errors import ToolError
from fairlead.shell.layer import View
from shell.boxes import Boxes, boxes, find_sandbox, on_disk, seen
from support.sandbox import needs_sandbox

LONG = "x" * 300
LEFT = {"lock", "no-file", "no-folder", "upper-1"}


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


@pytest.fixture
async def box(workspace: Path, tmp_path: Path) -> AsyncIterator[Boxes]:
    async with boxes(workspace, tmp_path / "state") as made:
        yield made


# views that cannot be written, with the errors: an expected one, and one that nobody expects
BAD_VIEWS: dict[str, tuple[View, type[Exception]]] = {
    "a long name": (seen(**{"a.txt": "a", LONG: "b"}), ToolError),
    "a long name of a folder": (seen(**{"a.txt": "a", f"b/c/{LONG}/d": "b"}), ToolError),
    "a NUL in a name": (seen(**{"a.txt": "a", "b\0": "b"}), ValueError),
}


def descriptors(folder: Path) -> list[str]:
    """What this process has open for layers in a folder, apart from pipes."""
    found: list[str] = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the one of the listing itself
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return sorted(path for path in found if path.startswith((str(folder), "/memfd:", "user:", "net:")))


async def is_usable(box: Boxes, workspace: Path) -> None:
    """No folder of a box is left, and the next command sees nothing of an earlier view."""
    assert {path.name for path in box.layer._folder.iterdir()} <= LEFT
    assert await box.output("ls") == ""
    assert on_disk(workspace) == {}


@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
@pytest.mark.parametrize("view", BAD_VIEWS)
async def test_fault_103_a_start_that_fails(box: Boxes, workspace: Path, view: str, background: bool) -> None:
    """docs/faults.md 103: whatever the error is, the layer stays usable and nothing of the box is left."""
    bad, error = BAD_VIEWS[view]
    await is_usable(box, workspace)
    before = descriptors(box.layer._folder)
    for _ in range(2):
        with pytest.raises(error):
            await box.layer.open("true", bad, background=background)
        await is_usable(box, workspace)
    assert descriptors(box.layer._folder) == before


async def test_fault_103_too_few_descriptors(workspace: Path, tmp_path: Path) -> None:
    """docs/faults.md 103: at whatever step the server reaches its limit of open files, nothing stays open."""
    sandbox = await find_sandbox(workspace, tmp_path / "state", "unshare")
    assert sandbox.layers_folder is not None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    failed = 0
    for more in range(30):
        layer = await sandbox.layer()
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + more, hard))
        try:
            opened = await layer.open("true", seen(**{"a/b/c.txt": "x"}))
        except ToolError:
            failed += 1
        else:
            await opened.close()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert await Boxes(layer).output("ls") == ""
        await layer.aclose()
        assert descriptors(sandbox.layers_folder) == []
    assert 0 < failed < 30


@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
@pytest.mark.parametrize("cancels", [1, 2, 3])
@pytest.mark.parametrize("view", ["a good one", *BAD_VIEWS])
async def test_fault_103_a_start_that_is_cancelled(
    box: Boxes, workspace: Path, view: str, cancels: int, background: bool
) -> None:
    """docs/faults.md 103: cancelled once or several times while it opens, the call ends as cancelled, whatever becomes
    of the box, and the box is removed."""
    good = seen(**{f"{n}.txt": "x" for n in range(300)})  # takes long enough for the cancels
    given = BAD_VIEWS[view][0] if view in BAD_VIEWS else good
    for _ in range(3):
        opening = asyncio.ensure_future(box.layer.open("true", given, background=background))
        for _ in range(cancels):
            await asyncio.sleep(0)
            opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        async with asyncio.timeout(20):
            while True:
                with contextlib.suppress(ToolError):
                    assert await box.output("ls") == ""
                    break
                await asyncio.sleep(0.01)
        if cancels == 1:
            await is_usable(box, workspace)


async def test_fault_103_a_layer_is_closed_while_a_box_is_made(workspace: Path, tmp_path: Path) -> None:
    """docs/faults.md 103: nothing is left in the folder of the layers."""
    async with boxes(workspace, tmp_path / "state") as box:
        opening = asyncio.ensure_future(box.layer.open("true", seen(**{f"{n}.txt": "x" for n in range(300)})))
        for _ in range(2):
            await asyncio.sleep(0)
            opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
    assert not box.layer._folder.exists()
