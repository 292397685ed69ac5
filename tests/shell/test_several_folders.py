"""A box over a workspace with several folders (docs/sandbox.md)."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from fairlead.session.guarded_files import GuardedFiles, guarded_view
from fairlead.shell.layer import HEAD_MOVED, REPOSITORY_DISCARDED, Entry, View
from fairlead.shell.sandbox.probe import probe
from fairlead.workspace.paths import Roots
from shell.boxes import Boxes, on_disk, seen, write

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux only")


@contextlib.asynccontextmanager
async def boxes(roots: Roots, state: Path) -> AsyncIterator[Boxes]:
    found = await probe(roots, state)
    if found.layers_folder is None:
        pytest.skip(found.reason)
    layer = await replace(found, bubblewrap="").layer()
    try:
        yield Boxes(layer)
    finally:
        await layer.aclose()


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    for name in ("api", "web"):
        write(tmp_path / name, {"a.txt": f"{name}\n", "sub/b.txt": "b\n", ".env": "TOKEN=1\n"})
    return Roots.of(tmp_path / "api", tmp_path / "web")


async def guarded(roots: Roots, *opened: str) -> View:
    return await guarded_view(roots, lambda root: GuardedFiles(root.path, lambda: opened))


async def test_a_command_sees_and_changes_all_folders(roots: Roots, tmp_path: Path) -> None:
    """A command starts in the first folder. Its changes in all folders are collected, and the disk stays as it is."""
    before = on_disk(tmp_path / "api") | {f"web/{name}": text for name, text in on_disk(tmp_path / "web").items()}
    async with boxes(roots, tmp_path / "state") as box:
        view = seen(**{"api/new.txt": "new api\n", "web/a.txt": "proposed\n", "web/sub/b.txt": None})
        ran = await box.run("cat a.txt new.txt ../web/a.txt; ls ../web/sub; pwd; echo 1 >> a.txt; rm ../web/a.txt; "
                            "echo x > ../web/made.txt", view)  # fmt: skip
        assert ran.output == f"api\nnew api\nproposed\n{tmp_path / 'api'}\n"
        assert ran.contents == {"api/a.txt": b"api\n1\n", "web/a.txt": None, "web/made.txt": b"x\n"}
        again = await box.run("cat a.txt ../web/a.txt ../web/made.txt; cd ../web && echo y > a.txt")
        assert "made.txt: No such file" in again.output
        assert again.contents == {"web/a.txt": b"y\n"}
    after = on_disk(tmp_path / "api") | {f"web/{name}": text for name, text in on_disk(tmp_path / "web").items()}
    assert after == before


async def test_secrets_and_protected_files_of_each_folder_are_closed(roots: Roots, tmp_path: Path) -> None:
    """The rules of each folder apply to its own files. Files beside the folders are read-only."""
    write(tmp_path / "web", {".fairleadignore": "sub/\n!.env\n", ".vscode/tasks.json": "{}"})
    write(tmp_path / "web", {"tests/.env": "OPENED\n"})
    write(tmp_path / "beside", {"c.txt": "c\n"})
    async with boxes(roots, tmp_path / "state") as box:
        ran = await box.run(
            "cat .env; cat ../web/.env; cat ../web/tests/.env; "
            "cat ../web/sub/b.txt; cat sub/b.txt; echo x > ../web/.vscode/tasks.json; "
            "echo x > ../beside/c.txt",
            await guarded(roots, "tests/.env"),
        )
    assert ran.output.startswith("# hidden by Fairlead\n# hidden by Fairlead\nOPENED\n")
    assert ran.output.count("Permission denied") + ran.output.count("Read-only") >= 2
    assert ran.contents == {}
    assert (tmp_path / "beside" / "c.txt").read_text() == "c\n"


async def test_a_folder_inside_another_one_is_shown_once(tmp_path: Path) -> None:
    """The inner folder's files are reported only under its name. The rules of the outer folder apply to them too."""
    write(tmp_path / "mono", {"a.txt": "a\n", "pkg/b.txt": "b\n", "pkg/key.txt": "KEY\n"})
    write(tmp_path / "mono", {".fairleadignore": "/pkg/key.txt\n"})
    roots = Roots.of(tmp_path / "mono" / "pkg", tmp_path / "mono")
    async with boxes(roots, tmp_path / "state") as box:
        assert "Permission denied" in (await box.run("cat key.txt", await guarded(roots))).output
        ran = await box.run(
            "cat b.txt; echo 1 > ../a.txt; echo 2 > b.txt; echo 3 > c.txt", seen(**{"pkg/b.txt": "p\n"})
        )
    assert ran.output == "p\n"
    assert ran.contents == {"mono/a.txt": b"1\n", "pkg/b.txt": b"2\n", "pkg/c.txt": b"3\n"}


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
async def test_two_folders_of_one_repository(tmp_path: Path) -> None:
    """Git reports no file as deleted because the box hides it. Changes to the repository itself are discarded."""
    mono = tmp_path / "mono"
    write(mono, {"api/a.txt": "a\n", "web/b.txt": "b\n", "rest/c.txt": "c\n"})
    git(mono, "init")
    git(mono, "add", ".")
    git(mono, "commit", "-m", "first")
    async with boxes(Roots.of(mono / "api", mono / "web"), tmp_path / "state") as box:
        view = View({"web/b.txt": Entry(b"changed\n")})
        assert (await box.output("git status --short", view)).split() == ["M", "../web/b.txt"]
        ran = await box.run("git switch -qc other; echo 1 > a.txt; echo 2 > ../web/b.txt", view)
        assert (ran.contents, list(ran.changes.warnings)) == ({}, [HEAD_MOVED])
        ran = await box.run("git add ../web/b.txt && git update-ref refs/heads/other HEAD", view)
        assert (ran.code, list(ran.changes.warnings)) == (0, [REPOSITORY_DISCARDED])


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
async def test_a_worktree_next_to_its_repository(tmp_path: Path) -> None:
    """Git works in both folders, although the git folder of the second one is in the first one."""
    api, web = tmp_path / "api", tmp_path / "web"
    write(api, {"a.txt": "a\n"})
    git(api, "init")
    git(api, "add", ".")
    git(api, "commit", "-m", "first")
    git(api, "worktree", "add", "-b", "topic", str(web))
    async with boxes(Roots.of(api, web), tmp_path / "state") as box:
        ran = await box.run(
            "git branch --show-current; cd ../web; git branch --show-current; echo 1 > a.txt; git diff --stat"
        )
        assert ran.output.split()[:2] == ["main", "topic"]
        assert ran.contents == {"web/a.txt": b"1\n"}
        moved = await box.run("echo 2 > a.txt; cd ../web; echo 2 > a.txt; git switch -qc other")
        assert (moved.contents, list(moved.changes.warnings)) == ({}, [HEAD_MOVED])


async def test_no_sandbox_is_used_if_one_folder_cannot_be_sandboxed(tmp_path: Path) -> None:
    """If one folder cannot be sandboxed, there is no sandbox, because it would not protect all folders."""
    home = Path.home()
    write(tmp_path / "api", {"a.txt": "a\n"})
    found = await probe(Roots.of(tmp_path / "api", home), tmp_path / "state")
    assert found.layers_folder is None
    assert found.reason
