"""docs/faults.md 102 and 103: later commands run despite odd links and commands that fail to start."""

import asyncio
import contextlib
import itertools
import os
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("the sandbox needs Linux", allow_module_level=True)

from fairlead.errors import ToolError
from fairlead.shell.layer import View
from shell.boxes import Boxes, boxes, find_sandbox, on_disk, seen, write
from support.client import Client
from support.sandbox import needs_sandbox

pytestmark = pytest.mark.slow

LONG = "x" * 300
# the names that a layer's folder may contain while no box is open
WITHOUT_BOXES = {"caches", "lock", "no-file", "no-folder", "no-settings", "upper-1"}


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


# name of a workspace: its links with their targets, and its files with their text
ODD_WORKSPACES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "a hidden file in a circle": ({".env": ".env"}, {}),
    "two hidden files in a circle": ({".env": ".env.local", ".env.local": ".env"}, {}),
    "a hidden file behind a circle": ({".env": "loop/.env", "loop": "loop"}, {}),
    "a protected file in a circle": ({"AGENTS.md": "AGENTS.md"}, {}),
    "a protected folder in a circle": ({".vscode": ".vscode"}, {}),
    "a repository in a circle": ({".git": ".git"}, {}),
    "an inner repository in a circle": ({"sub/.git": ".git"}, {}),
    "an inner repository that names a circle": ({"loop": "loop"}, {"sub/.git": "gitdir: ../loop/.git\n"}),
    "a repository that names a circle": ({"loop": "loop"}, {".git": "gitdir: loop/.git\n"}),
    "a worktree that names a circle": (
        {"loop": "loop"},
        {".git": "gitdir: own\n", "own/commondir": "../loop", "own/gitdir": "../loop/.git"},
    ),
    "a submodule that names a circle": (
        {"loop": "loop"},
        {".git": "gitdir: own\n", "own/config": "[core]\nworktree = ../loop\n"},
    ),
    "hooks in a circle": ({"loop": "loop"}, {".git/config": "[core]\nhooksPath = loop/hooks\n", ".git/HEAD": ""}),
    "a hidden file with a long target": ({".env": LONG}, {}),
    "a hidden file below a file": ({".env": "a.txt/.env"}, {"a.txt": ""}),
    "a protected file with a long target": ({"AGENTS.md": LONG}, {}),
    "a repository with a long target": ({".git": LONG}, {}),
    "an inner repository with a long target": ({"sub/.git": LONG}, {}),
    "a repository that names a long path": ({}, {".git": f"gitdir: {LONG}\n"}),
    "an inner repository that names a long path": ({}, {"sub/.git": f"gitdir: {LONG}\n"}),
    "a worktree that names a long path": (
        {},
        {".git": "gitdir: own\n", "own/commondir": LONG, "own/gitdir": f"{LONG}/.git"},
    ),
    "a repository that names a path with a NUL": ({}, {".git": "gitdir: own\0x\n", "own/HEAD": ""}),
    "an inner repository that names a path with a NUL": ({}, {"sub/.git": "gitdir: own\0x\n", "sub/own/HEAD": ""}),
    "a worktree that names a path with a NUL": (
        {},
        {".git": "gitdir: own\n", "own/commondir": "..\0", "own/gitdir": "../.git\0"},
    ),
    "a submodule that names a path with a NUL": (
        {},
        {".git": "gitdir: own\n", "own/config": "[core]\nworktree = ..\0x\n"},
    ),
    "hooks with a NUL": ({}, {".git/config": "[core]\nhooksPath = h\0x\n", ".git/HEAD": ""}),
    "a Python with a NUL": ({}, {".venv/pyvenv.cfg": "home = /usr/\0/bin\n"}),
    "rules of Git in a circle, and with a long target": ({".gitignore": ".gitignore", ".gitattributes": LONG}, {}),
    "a submodule's repository with a long target": ({".git/modules/m": LONG}, {".git/HEAD": ""}),
    "a submodule's repository in a circle": ({".git/modules/m": "m", ".git/worktrees": "worktrees"}, {".git/HEAD": ""}),
}


@pytest.mark.parametrize("name", ODD_WORKSPACES)
async def test_fault_102_links_and_paths_that_lead_nowhere(
    workspace: Path, replay: Callable[..., dict[str, Any]], name: str
) -> None:
    """docs/faults.md 102: links in a circle, and paths that no file can have, disturb no command and no search."""
    links, files = ODD_WORKSPACES[name]
    write(workspace, files)
    for link, target in links.items():
        (workspace / link).parent.mkdir(parents=True, exist_ok=True)
        (workspace / link).symlink_to(target)
    turns = [{"calls": [{"bash": {"command": f"echo ran {n}; echo {n} > made.txt"}}]} for n in range(2)]
    looks = {"calls": [{"list_files": {}}, {"search": {"pattern": "nothing"}}]}
    async with Client(workspace, settings=replay(*turns, looks, {"text": "."})) as client:
        assert (await client.run())["message"] == "."
        texts = [each["text"] for each in client.events("tool_finished")]
        assert [text.splitlines()[0] for text in texts[:2]] == ["ran 0", "ran 1"], texts
        assert not any(text.startswith("Error") for text in texts), texts


@pytest.mark.parametrize("separate", ["\n", "\0x\n"], ids=["", "and a NUL"])
async def test_fault_102_the_hooks_of_a_repository_that_git_finds_are_read_only(
    workspace: Path, replay: Callable[..., dict[str, Any]], separate: str
) -> None:
    """docs/faults.md 102: as in Git, the path in a `.git` file ends at a NUL."""
    subprocess.run(["git", "init", "-q", str(workspace / "real")], check=True)
    (workspace / "real/.git").rename(workspace / "own")
    (workspace / ".git").write_text(f"gitdir: own{separate}")
    call = {"bash": {"command": "git rev-parse --git-dir; echo x > own/hooks/pre-commit; true"}}
    async with Client(workspace, settings=replay({"calls": [call]}, {"text": "."})) as client:
        await client.run()
        [finished] = client.events("tool_finished")
        assert finished["text"].startswith(f"{workspace}/own\n"), finished["text"]
        assert "Read-only file system" in finished["text"]


@pytest.fixture
async def box(workspace: Path, tmp_path: Path) -> AsyncIterator[Boxes]:
    async with boxes(workspace, tmp_path / "state") as made:
        yield made


# views that cannot be written, with the errors that `open` raises: a ToolError, or a ValueError as an unforeseen error
BAD_VIEWS: dict[str, tuple[View, type[Exception]]] = {
    "a long name": (seen(**{"a.txt": "a", LONG: "b"}), ToolError),
    "a long name of a folder": (seen(**{"a.txt": "a", f"b/c/{LONG}/d": "b"}), ToolError),
    "a NUL in a name": (seen(**{"a.txt": "a", "b\0": "b"}), ValueError),
}


def descriptors(folder: Path) -> list[str]:
    """The targets of the descriptors that this process has open for layers in a folder, apart from pipes."""
    found: list[str] = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the descriptor of the listing itself is closed
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return sorted(path for path in found if path.startswith((str(folder), "/memfd:", "user:", "net:")))


async def check_usable(box: Boxes, workspace: Path) -> None:
    """Checks that no folder of a box is left, that the next command sees nothing of an earlier view, and that nothing
    was written into the workspace.
    """
    assert {path.name for path in box.layer._folder.iterdir()} <= WITHOUT_BOXES
    assert await box.output("ls") == ""
    assert on_disk(workspace) == {}


@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
@pytest.mark.parametrize("view", BAD_VIEWS)
async def test_fault_103_a_start_that_fails(box: Boxes, workspace: Path, view: str, background: bool) -> None:
    """docs/faults.md 103: whatever the error is, the layer stays usable and nothing of the box is left."""
    bad, error = BAD_VIEWS[view]
    await check_usable(box, workspace)
    before = descriptors(box.layer._folder)
    for _ in range(2):
        with pytest.raises(error):
            await box.layer.open("true", bad, background=background)
        await check_usable(box, workspace)
    assert descriptors(box.layer._folder) == before


def limit_after(more: int) -> int:
    """The limit of open files with which this process can open at least `more` further files."""
    used = set(map(int, os.listdir("/proc/self/fd")))
    free = (number for number in itertools.count() if number not in used)
    return next(itertools.islice(free, more, None))


async def test_fault_103_too_few_descriptors(workspace: Path, tmp_path: Path) -> None:
    """docs/faults.md 103: at whatever step the server reaches its limit of open files, nothing stays open."""
    sandbox = await find_sandbox(workspace, tmp_path / "state", "unshare")
    assert sandbox.layers_folder is not None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    failed = 0
    for more in range(30):
        layer = await sandbox.layer()
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit_after(more), hard))
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
    """docs/faults.md 103: a call that is cancelled once or several times while the box opens ends as cancelled, and
    later commands run. After a single cancel, nothing is left of the box."""
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
            await check_usable(box, workspace)


async def test_fault_103_a_layer_is_closed_while_a_box_is_made(workspace: Path, tmp_path: Path) -> None:
    """docs/faults.md 103: the layer's folder is removed even if the call that opens a box was cancelled just before."""
    async with boxes(workspace, tmp_path / "state") as box:
        opening = asyncio.ensure_future(box.layer.open("true", seen(**{f"{n}.txt": "x" for n in range(300)})))
        for _ in range(2):
            await asyncio.sleep(0)
            opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
    assert not box.layer._folder.exists()
