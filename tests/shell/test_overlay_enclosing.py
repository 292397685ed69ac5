"""A workspace inside a repository: commands see the rest of it, and change nothing there (docs/sandbox.md)."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fairlead.session.guarded_files import GuardedFiles, guarded_view
from fairlead.shell.layer import HIDDEN_TEXT, REPOSITORY_DISCARDED, Entry, View
from fairlead.shell.sandbox.overlay_folders import OUTSIDE
from fairlead.shell.sandbox.probe import probe
from fairlead.workspace.paths import Roots
from shell.boxes import Boxes, boxes, has, on_disk, write
from support.sandbox import needs_sandbox


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    run = ["git", *identity, "-C", str(folder), *arguments]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout


def repository(top: Path, files: dict[str, str]) -> Path:
    """A repository with these files in one commit, apart from those that it ignores."""
    write(top, files)
    git(top, "init", "-q")
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    return top


async def guarded(*folders: Path, **files: str) -> View:
    """The view for commands in a workspace with these folders and proposed files."""
    view = await guarded_view(Roots.of(*folders), lambda root: GuardedFiles(root.path))
    return replace(view, proposed={**{name: Entry(text.encode()) for name, text in files.items()}, **view.proposed})


async def test_a_package_sees_its_repository(tmp_path: Path) -> None:
    """Hoisted dependencies, manifests and sibling packages are visible, and git reports no deleted files."""
    top = repository(
        tmp_path / "mono",
        {
            "package.json": "{}",
            "packages/app/a.js": "a\n",
            "packages/lib/index.js": "module.exports = 'lib'\n",
            "packages/lib/package.json": '{"name": "lib"}',
            ".gitignore": "node_modules/\n",
        },
    )
    write(top, {"node_modules/hoisted/index.js": "module.exports = 'hoisted'\n"})
    (top / "node_modules/lib").symlink_to("../packages/lib")
    before, workspace = on_disk(top), top / "packages/app"
    async with boxes(workspace, tmp_path / "state") as box:
        view = await guarded(workspace, **{"a.js": "changed\n"})
        looked = await box.output("cat a.js ../../node_modules/hoisted/index.js ../../node_modules/lib/index.js", view)
        assert looked == "changed\nmodule.exports = 'hoisted'\nmodule.exports = 'lib'\n"
        assert await box.output("cd ../..; ls; git status --short", view) == (
            "node_modules\npackage.json\npackages\n M packages/app/a.js\n"
        )
        if has("node"):
            assert await box.output("node -p \"require('lib') + require('hoisted')\"", view) == "libhoisted\n"
    assert on_disk(top) == before


async def test_changes_in_the_rest_of_the_repository_are_discarded(tmp_path: Path) -> None:
    """A warning names the changed files. Ignored files, such as builds, stay in the layer."""
    files = {"Cargo.toml": "t", "app/a.rs": "a\n", "lib/b.rs": "b\n", "lib/c.rs": "c\n", ".gitignore": "/target\n"}
    top = repository(tmp_path / "mono", files)
    write(top, {"target/old": "old\n"})
    before, workspace = on_disk(top), top / "app"
    async with boxes(workspace, tmp_path / "state") as box:
        view = await guarded(workspace)
        build = "mkdir -p ../target/debug && echo built > ../target/debug/app && echo new > ../target/old"
        ran = await box.run(
            f"{build} && echo x > a.rs && echo x > ../lib/b.rs && rm ../lib/c.rs && echo x > ../n", view
        )
        assert (ran.code, ran.contents) == (0, {"a.rs": b"x\n"}), ran.output
        assert ran.changes.ignored == []
        assert list(ran.changes.warnings) == [f"{OUTSIDE} {top}/lib/b.rs, {top}/lib/c.rs, {top}/n."]
        assert ran.changes.discarded_outside
        again = await box.run("cat ../target/debug/app ../target/old ../lib/b.rs ../lib/c.rs; ls ../n", view)
        assert again.output.startswith("built\nnew\nb\nc\n")
        assert not again.changes.discarded_outside
        assert "No such file" in again.output
        background = await box.run("cat ../target/old; echo y > ../target/old", view, background=True)
        assert (background.output, await box.output("cat ../target/old", view)) == ("new\n", "new\n")
        (top / "target/old").write_text("newer\n")
        assert await box.output("cat ../target/old", view) == "newer\n"
        (top / "target/old").write_text("old\n")
        moved = await box.run("echo y > ../lib/b.rs; git checkout -q --detach", view)
        assert [line.startswith("All changes by this command") for line in moved.changes.warnings] == [True]
        busy = await box.run("rm -rf ../app; cd ../..; mv mono m; ls mono/app", view)
        assert busy.output.endswith("a.rs\n") or "busy" in busy.output
    assert on_disk(top) == before


async def test_each_discarded_change_outside_has_a_message(tmp_path: Path) -> None:
    """A moved HEAD of a nested repository has a message, and so have changes past the limit."""
    top = repository(tmp_path / "mono", {"app/a.txt": "a\n"})
    inner = repository(top / "vendored", {"b.txt": "b\n"})
    git(inner, "branch", "other")
    async with boxes(top / "app", tmp_path / "state") as box:
        view = await guarded(top / "app")
        ran = await box.run("git -C ../vendored checkout -q other; echo x > a.txt", view)
        assert (list(ran.changes.warnings), ran.contents) == ([REPOSITORY_DISCARDED], {"a.txt": b"x\n"})
        assert ran.changes.discarded_outside
        ran = await box.run("cd ..; for n in {1..2010}; do echo > $n; done", view)
        named, omitted = ran.changes.warnings
        assert named.startswith(OUTSIDE)
        assert omitted == "Too many changes: those to 10 more files were discarded."


async def test_git_works_with_tracked_files_that_are_hidden(tmp_path: Path) -> None:
    """To git in a box, hidden tracked files are unchanged, including those that the user adds later."""
    files = {"a.txt": "a\n", "app/a.txt": "a\n", "lib/key.pem": "k\n", ".npmrc": "n\n"}
    top = repository(tmp_path / "mono", files)
    async with boxes(top / "app", tmp_path / "state") as box:
        view = await guarded(top / "app")
        ran = await box.run("cat ../.npmrc; echo b >> a.txt; git status --short; git diff --name-only", view)
        assert ran.output == f"{HIDDEN_TEXT} M a.txt\napp/a.txt\n"
        author = "-c user.name=A -c user.email=a@example.org"
        for change in ("add -A", "commit -qam b", "diff --quiet HEAD -- lib"):
            assert await box.output(f"cd .. && echo b >> app/a.txt && git {author} {change}", view) == ""
        write(top, {"a.txt": "b\n", "new/id_rsa": "k\n"})
        git(top, "add", ".")
        assert await box.output("git status --short", await guarded(top / "app")) == ("M  ../a.txt\nA  ../new/id_rsa\n")


async def test_folders_of_one_repository_and_of_nested_ones(tmp_path: Path) -> None:
    """Each repository is added to the view once, even if it contains several folders of the workspace."""
    top = repository(tmp_path / "mono", {"api/a.txt": "a\n", "web/b.txt": "b\n", "rest/c.txt": "c\n"})
    inner = repository(top / "vendor", {"x/d.txt": "d\n", "rest/e.txt": "e\n"})
    folders = [top / "api", top / "web", inner / "x"]
    view = await guarded(*folders)
    assert list(view.enclosing) == [top, inner]
    layer = await (await probe(Roots.of(*folders), tmp_path / "state")).layer()
    try:
        ran = await Boxes(layer).run("cat ../rest/c.txt ../vendor/rest/e.txt; for d in a ../web/b ../vendor/x/d; do "
                                     "echo 1 >> $d.txt; done; echo 2 > ../rest/c.txt", view)  # fmt: skip
    finally:
        await layer.aclose()
    assert ran.output == "c\ne\n"
    assert ran.contents == {"api/a.txt": b"a\n1\n", "web/b.txt": b"b\n1\n", "x/d.txt": b"d\n1\n"}
    assert list(ran.changes.warnings) == [f"{OUTSIDE} {top}/rest/c.txt."]


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
async def test_cargo_builds_a_package_of_a_workspace(tmp_path: Path) -> None:
    """The lock file and the target folder are at the top of the repository; a second build compiles nothing."""
    package = '[package]\nname = "{0}"\nversion = "0.1.0"\nedition = "2021"\n'
    top = repository(
        tmp_path / "mono",
        {
            "Cargo.toml": '[workspace]\nmembers = ["app", "lib"]\nresolver = "2"\n',
            "app/Cargo.toml": package.format("app") + '[dependencies]\nlib = { path = "../lib" }\n',
            "app/src/main.rs": "fn main() {}\n#[test]\nfn adds() { assert_eq!(lib::two(), 2) }\n",
            "lib/Cargo.toml": package.format("lib"),
            "lib/src/lib.rs": "pub fn two() -> i32 { 2 }\n",
            ".gitignore": "/target\nCargo.lock\n",
        },
    )
    before = on_disk(top)
    async with boxes(top / "app", tmp_path / "state") as box:
        view = await guarded(top / "app")
        first = await box.run("cargo test --offline", view)
        if "no default is configured" in first.output or "linker" in first.output:
            pytest.skip("cargo cannot build here")
        assert (first.code, first.changes.files) == (0, []), first.output
        assert "1 passed" in first.output
        assert "Compiling" not in (await box.run("cargo test --offline", view)).output
    assert on_disk(top) == before


async def test_fault_154_builds_in_the_repository_around_the_workspace(tmp_path: Path) -> None:
    """docs/faults.md 154: what stays there is never used for other texts of files in the workspace."""
    top, command = tmp_path / "top", "make -s && cat ../out/prog"
    makefile = "../out/prog: a.txt ../b.txt\n\tmkdir -p ../out; cat $^ > $@\n"
    repository(top, {".gitignore": "out/\n", "b.txt": "b\n", "ws/a.txt": "1\n", "ws/Makefile": makefile})
    for path in top.rglob("*"):
        os.utime(path, (1_000_000, 1_000_000))
    workspace = top / "ws"
    async with boxes(workspace, tmp_path / "state") as box:
        assert await box.output(command, await guarded(workspace)) == "1\nb\n"
        assert await box.output(command, await guarded(workspace, **{"a.txt": "2\n"})) == "2\nb\n"
        assert await box.output(command, await guarded(workspace)) == "1\nb\n"  # after a rejection
        await box.output("true", proposal := await guarded(workspace, **{"a.txt": "3\n"}))
        subprocess.run(["bash", "-c", command], cwd=workspace, check=True)  # by the user
        assert await box.output(command, proposal) == "3\nb\n"
        write(tmp_path, {"old.txt": "older\n"})
        os.utime(tmp_path / "old.txt", (1, 1))
        (tmp_path / "old.txt").replace(top / "b.txt")
        assert await box.output(command, proposal) == "3\nolder\n"
