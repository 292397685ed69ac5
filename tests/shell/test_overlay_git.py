"""The sandboxed layer and git: a command's repository is a copy whose hooks and settings are read-only."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fairlead.session.guarded_files import GuardedFiles, guarded_view
from fairlead.shell.layer import View
from fairlead.shell.sandbox.overlay import OMITTED_FILTERS
from fairlead.workspace.paths import Roots
from fairlead.workspace.protected import ProtectedFiles
from shell.boxes import Boxes, boxes, on_disk, seen, write
from support.sandbox import needs_sandbox


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


AUTHOR = "-c user.name=A -c user.email=a"
DISCARDED = "Changes to the repository itself (.git) were discarded."


def git(workspace: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    run = ["git", *identity, "-C", str(workspace), *arguments]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout


async def test_git_in_a_box(box: Boxes, workspace: Path) -> None:
    """docs/faults.md 43: git sees the proposals, `git mv` moves files, and the repository does not change."""
    write(workspace, {"a.txt": "a\n", "d/b.txt": "b\n"})
    git(workspace, "init", "-q")
    git(workspace, "add", ".")
    git(workspace, "commit", "-qm", "first")
    before = {path: path.read_bytes() for path in (workspace / ".git").rglob("*") if path.is_file()}
    view = seen(**{"a.txt": "changed\n"})
    look = "git status --short; git log --oneline | head -1 | cut -d' ' -f2; git diff --stat | tail -1"
    looked = await box.run(look, view)
    assert (looked.code, looked.changes.warnings) == (0, [])
    assert looked.output == " M a.txt\nfirst\n 1 file changed, 1 insertion(+), 1 deletion(-)\n"
    steps = ["git mv a.txt ä\\ b.txt", "git stash -q", "git stash pop -q", f"git {AUTHOR} commit -qm '$(x)'"]
    ran = await box.run(" && ".join([*steps, "git log -1 --format=%s"]), view)
    assert (ran.code, ran.output) == (0, "$(x)\n")
    assert ran.contents == {"a.txt": None, "ä b.txt": b"changed\n"}
    assert [line.startswith(DISCARDED) for line in ran.changes.warnings] == [True]
    assert before == {path: path.read_bytes() for path in (workspace / ".git").rglob("*") if path.is_file()}
    assert git(workspace, "log", "--format=%s") == "first\n"


@pytest.mark.parametrize("folder", ["~/.local/bin", "~/private"])
async def test_a_filter_of_the_user(box: Boxes, workspace: Path, folder: str) -> None:
    """Git runs it, as for the files of Git LFS, so a touched file is not shown as changed. If the box does not show its
    program, git works without it, and a command that uses git says so. The filter's own files are no changes."""
    program = Path(folder).expanduser() / "swap case"
    write(program.parent, {program.name: "#!/bin/sh\nmkdir -p .git/lfs && touch .git/lfs/x; tr a-z A-Z\n"})
    program.chmod(0o755)
    quoted = f'\\"{folder.replace("~", "$HOME")}/{program.name}\\"'
    settings = f'[filter "case"]\n\tclean = "{quoted} %f"\n\tsmudge = cat\n\trequired\n'
    write(Path.home(), {".gitconfig": settings, ".config/git/attributes": "*.case filter=case\n"})
    write(workspace, {"a.case": "text\n"})
    git(workspace, "init", "-q")
    git(workspace, "add", ".")
    git(workspace, "commit", "-qm", "first")
    assert git(workspace, "show", ":a.case") == "TEXT\n"
    os.utime(workspace / "a.case", (1, 1))
    looked = await box.run("git status --short")
    if folder == "~/private":
        assert (looked.output, looked.changes.warnings) == (" M a.case\n", [OMITTED_FILTERS.format(names="case")])
    else:
        assert (looked.output, looked.changes.warnings) == ("", [])
    assert (await box.run("true")).changes.warnings == []


@pytest.mark.parametrize("kind", ["repository", "worktree", "subfolder"])
async def test_a_tracked_file_that_is_hidden_is_unchanged_for_git(kind: str, tmp_path: Path) -> None:
    """Git neither shows the placeholder of a tracked `.env` as a change nor commits it."""
    main = tmp_path / "main"
    write(main, {"sub/.env": "KEY=1\n", "sub/a.txt": "a\n"})
    git(main, "init", "-q")
    git(main, "add", ".")
    git(main, "commit", "-qm", "first")
    workspace = main / "sub" if kind == "subfolder" else main
    if kind == "worktree":
        workspace = tmp_path / "other"
        git(main, "worktree", "add", "-q", str(workspace))
    view = View(hidden=[".env" if kind == "subfolder" else "sub/.env"])
    async with boxes(workspace, tmp_path / "state") as box:
        assert await box.output("git status --short; git diff --stat", view) == ""
        ran = await box.run(f"echo b > $(git ls-files '*a.txt'); git {AUTHOR} commit -qam second; git show", view)
        assert ("+b" in ran.output, "hidden" in ran.output) == (True, False)
        assert [len(each) for each in (ran.contents, ran.changes.warnings)] == [1, 1]


async def test_hooks_and_settings_of_the_repository_are_read_only(box: Boxes, workspace: Path) -> None:
    """No command can write programs that git runs later, not even in its layer."""
    write(workspace, {"a.txt": "a"})
    git(workspace, "init", "-q")
    ways = ["echo x > .git/hooks/pre-commit", "git config a.b x", "echo x >> .git/info/exclude", "mv .git/hooks h"]
    ran = await box.run("; ".join(ways))
    assert ran.output.count("Read-only file system") + ran.output.count("busy") >= 3
    assert ran.contents == {}


@pytest.mark.parametrize("kind", ["file", "link", "bare"])
async def test_a_repository_in_another_folder_of_the_workspace(box: Boxes, workspace: Path, kind: str) -> None:
    """Its hooks and settings are read-only, its changes are discarded, and its deletion is not a change."""
    write(workspace, {"a.txt": "a\n"})
    git(workspace, "init", "-q", *(["--bare", "store"] if kind == "bare" else ["--separate-git-dir", "store"]))
    if kind == "link":
        (workspace / ".git").unlink()
        (workspace / ".git").symlink_to("store")
    view = View(read_only=[name for name in ProtectedFiles(workspace).find() if name != ".git"])
    writes = ["echo x > store/hooks/pre-commit", "echo x >> store/config", "echo x > store/new", "echo b > a.txt"]
    ran = await box.run("; ".join(writes), view)
    assert ran.output.count("Read-only file system") == 2
    assert (ran.contents, ran.not_proposed) == ({"a.txt": b"b\n"}, {})
    assert [line.startswith(DISCARDED) for line in ran.changes.warnings] == [True]
    deleted = await box.run("rm -rf store")
    assert (deleted.contents, deleted.not_proposed) == ({}, {})
    assert await box.output("git -C store rev-parse --git-dir") == ".\n"


async def test_changes_by_git_are_not_taken_for_edits(box: Boxes, workspace: Path) -> None:
    """A stash or a switch of branches is discarded with all changes by its command, and the proposals stay."""
    write(workspace, {"a.txt": "a\n"})
    git(workspace, "init", "-q")
    git(workspace, "add", ".")
    git(workspace, "commit", "-qm", "first")
    git(workspace, "branch", "other")
    view = seen(**{"a.txt": "changed\n"})
    for command in (f"git {AUTHOR} stash -q", "git switch -q other; echo x > b.txt", "git checkout -q --detach"):
        ran = await box.run(command, view)
        assert (ran.code, list(ran.changes.files)) == (0, []), ran.output
        assert [line.startswith("All changes by this command were discarded") for line in ran.changes.warnings] == [
            True
        ]
        assert await box.output("cat a.txt; git stash list; git branch --show-current; ls", view) in (
            "changed\nmaster\na.txt\n",
            "changed\nmain\na.txt\n",
        )
    made = await box.run("mkdir n; cd n; git init -q; echo x > x.txt", view)
    assert made.contents == {"n/x.txt": b"x\n"}


@pytest.mark.parametrize("kind", ["worktree", "submodule"])
async def test_a_repository_that_is_elsewhere(kind: str, tmp_path: Path) -> None:
    """A worktree and a submodule: git works, and the repository elsewhere does not change."""
    main, state = tmp_path / "main", tmp_path / "state"
    write(main, {"a.txt": "a\n"})
    git(main, "init", "-q")
    git(main, "add", ".")
    git(main, "commit", "-qm", "first")
    workspace = tmp_path / "other"
    if kind == "worktree":
        git(main, "worktree", "add", "-q", str(workspace))
    else:
        write(tmp_path / "super", {})
        git(tmp_path / "super", "init", "-q")
        git(tmp_path / "super", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(main), "sub")
        workspace = tmp_path / "super" / "sub"
    before = on_disk(tmp_path)
    async with boxes(workspace, state) as box:
        commit = f"git add . && git {AUTHOR} commit -qm second && git log --format=%s"
        ran = await box.run(commit, seen(**{"b.txt": "b"}))
        assert (ran.code, ran.output) == (0, "second\nfirst\n")
        assert [line.startswith(DISCARDED) for line in ran.changes.warnings] == [True]
        stash = await box.run(f"git {AUTHOR} stash -q && echo x > c.txt", seen(**{"a.txt": "changed\n"}))
        assert (stash.code, list(stash.changes.files)) == (0, [])
        assert [line.startswith("All changes by this command") for line in stash.changes.warnings] == [True]
        hooks = await box.run('echo x > "$(git rev-parse --git-common-dir)/hooks/pre-commit"')
        assert "Read-only file system" in hooks.output
    assert {name: text for name, text in on_disk(tmp_path).items() if not name.startswith("state")} == before


@pytest.mark.parametrize("kind", ["repository", "worktree"])
async def test_a_folder_of_a_repository(kind: str, tmp_path: Path) -> None:
    """A monorepo's package as the workspace: git works on it, and nothing above it can be changed."""
    top = tmp_path / "main"
    write(top, {"pkg/a.txt": "a\n", "other/b.txt": "b\n", ".gitignore": "made/\n"})
    git(top, "init", "-q")
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    git(top, "config", "core.hooksPath", "pkg/my-hooks")
    write(top, {"pkg/my-hooks/pre-commit": "true\n"})
    (top / "pkg/my-hooks/pre-commit").chmod(0o755)
    if kind == "worktree":
        top = tmp_path / "second"
        git(tmp_path / "main", "worktree", "add", "-q", str(top))
        write(top, {"pkg/my-hooks/pre-commit": "true\n"})
        (top / "pkg/my-hooks/pre-commit").chmod(0o755)
    before = on_disk(tmp_path)
    workspace = top / "pkg"
    assert "my-hooks" in ProtectedFiles(workspace).find()
    async with boxes(workspace, tmp_path / "state") as box:
        guarded = await guarded_view(Roots.of(workspace), lambda root: GuardedFiles(root.path))
        view = replace(guarded, proposed=seen(**{"a.txt": "changed\n", "new.txt": "n\n"}).proposed)
        looked = await box.run("git status --short; git log --format=%s; git diff --name-only", view)
        assert (looked.output, looked.changes.warnings) == (
            " M a.txt\n?? my-hooks/\n?? new.txt\nfirst\npkg/a.txt\n",
            [],
        )
        assert (await box.run("mkdir made && echo x > made/x && echo y > y", view)).contents == {"y": b"y\n"}
        commit = await box.run(f"git add . && git {AUTHOR} commit -qm second && git log -1 --format=%s", view)
        assert (commit.output, [line.startswith(DISCARDED) for line in commit.changes.warnings]) == ("second\n", [True])
        assert "other" in (await box.output(f"ls -A {top}", view)).split()
        assert "other" not in await box.output(f"ls -A {top}")
        hooks = 'echo x > "$(git rev-parse --git-common-dir)/hooks/pre-commit"'
        closed = await box.run(f"{hooks}; echo x > ../other/b.txt; echo x > ../new; git config a.b c", view)
        assert closed.output.count("Read-only file system") + closed.output.count("busy") == 2
    assert {name: text for name, text in on_disk(tmp_path).items() if not name.startswith("state")} == before


async def test_the_nearest_repository_above_the_workspace_counts(tmp_path: Path) -> None:
    """A repository does not count if it is the home folder or a folder above it. None counts if the workspace has its
    own, even a damaged one."""
    write(tmp_path / "home/repo/pkg/own", {"x": ""})
    for folder in ("", "home", "home/repo", "home/repo/pkg/own"):
        git(tmp_path / folder, "init", "-q")
    (tmp_path / "home/project").mkdir()
    (tmp_path / "home/broken/.git").mkdir(parents=True)
    places = ["home/repo/pkg", "home/repo/pkg/own", "home/repo", "home/project", "home/broken", "home"]
    code = "import sys, pathlib; from fairlead.workspace.repositories import enclosing_repository; "
    code += "print(*(enclosing_repository(pathlib.Path(path)) for path in sys.argv[1:]), sep='\\n')"
    argv = [sys.executable, "-c", code, *(str(tmp_path / place) for place in places)]
    env = {**os.environ, "HOME": str(tmp_path / "home")}
    said = subprocess.run(argv, capture_output=True, text=True, check=True, env=env).stdout.splitlines()
    assert said == [str(tmp_path / "home/repo"), "None", "None", "None", "None", "None"]


async def test_a_false_repository_is_not_trusted(tmp_path: Path) -> None:
    """A `.git` file that names another folder does not make that folder writable."""
    write(tmp_path / "ws", {".git": f"gitdir: {tmp_path / 'private'}\n"})
    write(tmp_path / "private", {"HEAD": "ref: x", "config": "", "objects/x": "", "secret": "s"})
    async with boxes(tmp_path / "ws", tmp_path / "state") as box:
        ran = await box.run(f"cat {tmp_path}/private/secret; echo x > {tmp_path}/private/new")
    assert ran.code != 0
    assert not (tmp_path / "private/new").exists()
