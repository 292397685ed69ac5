"""The layer of Linux: what a command sees, what comes back of it, and what stays for the next one."""

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.agent.errors import ToolError
from fairlead.shell.layer import Change, Entry, View
from fairlead.workspace.protected import protected_files
from shell.boxes import Boxes, boxes, find, has, on_disk, seen, start, write
from support.sandbox import needs_sandbox


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


NAMED = "-c user.name=A -c user.email=a"
UNSEEN = "Changes of the repository itself (.git) are not kept."


def git(workspace: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    run = ["git", *identity, "-C", str(workspace), *arguments]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout


async def test_a_command_sees_the_proposed_files(box: Boxes, workspace: Path) -> None:
    """Changed, new and deleted files are seen as proposed, in the workspace's own folder."""
    write(workspace, {"a.txt": "old", "gone.txt": "x", "sub/b.txt": "b"})
    view = seen(**{"a.txt": "new", "gone.txt": None, "fresh/c.txt": "c", "sub/d.txt": "d"})
    assert await box.output("cat a.txt fresh/c.txt sub/b.txt sub/d.txt; pwd; test ! -e gone.txt", view) == (
        f"newcbd{workspace}\n"
    )


async def test_what_a_command_changes_comes_back_and_the_disk_stays(box: Boxes, workspace: Path) -> None:
    """New, changed and deleted files with what the command found before; the person's files keep bytes and times."""
    write(workspace, {"a.txt": "old", "b.txt": "b", "sub/c.txt": "c", "same.txt": "s"})
    times = {path: path.stat().st_mtime_ns for path in workspace.rglob("*")}
    change = "echo x >> a.txt; rm b.txt; mkdir -p n/m; echo n > n/m/e.txt; touch same.txt"
    ran = await box.run(change, seen(**{"a.txt": "new"}))
    assert (ran.code, ran.output) == (0, "")
    assert ran.left == {"a.txt": b"newx\n", "b.txt": None, "n/m/e.txt": b"n\n"}
    assert ran.change("a.txt").before == Entry(b"new", 0o644)
    assert ran.change("b.txt").before == Entry(b"b", 0o644)
    assert on_disk(workspace) == {"a.txt": "old", "b.txt": "b", "sub/c.txt": "c", "same.txt": "s"}
    assert times == {path: path.stat().st_mtime_ns for path in workspace.rglob("*")}


async def test_nothing_changed_is_no_change(box: Boxes, workspace: Path) -> None:
    """Files that are read, written anew with the same bytes, or made and removed again, and proposals left alone."""
    write(workspace, {"a.txt": "a", "sub/b.txt": "b"})
    view = View({"p.txt": Entry(b"p"), "x.sh": Entry(b"x", 0o755), "sub/b.txt": None})
    nothing = "cat a.txt p.txt; printf a > a.txt; touch t; rm t; cp -a a.txt c && mv c a.txt; mkdir empty"
    ran = await box.run(nothing, view)
    assert ran.code == 0
    assert ran.changes.files == []


async def test_a_deleted_proposal_comes_back_as_deleted(box: Boxes, workspace: Path) -> None:
    """Of a new file, of one over a file on the disk, and of a whole folder with both."""
    write(workspace, {"a.txt": "a", "d/b.txt": "b"})
    ran = await box.run("rm new.txt a.txt; rm -r d", seen(**{"new.txt": "n", "a.txt": "A", "d/new.txt": "n"}))
    assert ran.left == {"new.txt": None, "a.txt": None, "d/b.txt": None, "d/new.txt": None}
    assert ran.change("d/new.txt").before == Entry(b"n", 0o644)


async def test_a_deletion_that_is_proposed_is_no_change(box: Boxes, workspace: Path) -> None:
    """Not by itself, not where the folder around it goes; writing the file again is one, of a new file."""
    write(workspace, {"d/a.txt": "a", "d/b.txt": "b", "c.txt": "c"})
    ran = await box.run("rm -r d; echo again > c.txt", seen(**{"d/a.txt": None, "c.txt": None}))
    assert ran.left == {"d/b.txt": None, "c.txt": b"again\n"}
    assert ran.change("c.txt").before is None


async def test_permissions_are_changes(box: Boxes, workspace: Path) -> None:
    """`chmod +x` alone comes back, and a new script keeps its bit; setuid does not."""
    write(workspace, {"a.sh": "a", "b.sh": "b"})
    ran = await box.run("chmod +x a.sh; echo n > n.sh; chmod 4755 n.sh; echo t > t.txt; echo c >> b.sh")
    assert ran.change("a.sh").after == Entry(b"a", 0o755)
    assert ran.change("n.sh").after == Entry(b"n\n", 0o755)
    assert ran.change("t.txt").after == Entry(b"t\n", None)
    assert ran.change("b.sh").after == Entry(b"bc\n", None)


async def test_renames(box: Boxes, workspace: Path) -> None:
    """Files and folders: the old paths are gone, the new ones there."""
    write(workspace, {"a.txt": "a", "d/x.txt": "x", "d/e/y.txt": "y"})
    ran = await box.run("mv a.txt b.txt; mv d f; mv p.txt q.txt", seen(**{"p.txt": "p", "d/new.txt": "n"}))
    assert ran.code == 0, ran.output
    gone = dict.fromkeys(["a.txt", "d/x.txt", "d/e/y.txt", "p.txt", "d/new.txt"])
    assert ran.left == {**gone, "b.txt": b"a", "f/x.txt": b"x", "f/e/y.txt": b"y", "f/new.txt": b"n", "q.txt": b"p"}


async def test_a_folder_made_anew_hides_what_was_there(box: Boxes, workspace: Path) -> None:
    """`rm -r` and `mkdir`: what was not written again is deleted, the rest is compared."""
    write(workspace, {"out/a.txt": "a", "out/b.txt": "b"})
    ran = await box.run("rm -r out; mkdir out; printf a > out/a.txt; echo c > out/c.txt")
    assert ran.left == {"out/b.txt": None, "out/c.txt": b"c\n"}


async def test_a_file_in_a_folders_place_and_the_reverse(box: Boxes, workspace: Path) -> None:
    """Both come back as what went and what came, by a command and by a proposal."""
    write(workspace, {"d/a.txt": "a", "f": "f", "g": "g"})
    swap = "rm -r d; echo d > d; rm f; mkdir f; echo i > f/i.txt; cat g/in.txt"
    ran = await box.run(swap, seen(**{"g": None, "g/in.txt": "g"}))
    assert ran.left == {"d/a.txt": None, "d": b"d\n", "f": None, "f/i.txt": b"i\n"}
    assert ran.output == "g"


async def test_ignored_outputs_stay_in_the_layer(box: Boxes, workspace: Path) -> None:
    """A build and a folder of dependencies are there for the next command and are no changes; nor is cleaning them."""
    write(workspace, {".gitignore": "node_modules/\n*.o\n", "a.c": "a"})
    first = await box.run("mkdir -p node_modules/x; echo x > node_modules/x/i.js; ln -s x node_modules/y; echo o > a.o")
    assert (first.changes.files, first.changes.kept) == ([], 2)
    second = await box.run("cat node_modules/y/i.js a.o; rm a.o; echo z > node_modules/z.js")
    assert (second.output, second.changes.files, second.changes.kept) == ("x\no\n", [], 1)
    assert await box.output("ls node_modules; test ! -e a.o") == "x\ny\nz.js\n"
    assert on_disk(workspace) == {".gitignore": "node_modules/\n*.o\n", "a.c": "a"}


async def test_ignored_files_of_the_person_are_changed_in_the_layer_only(box: Boxes, workspace: Path) -> None:
    """A build over the person's own build stays; `make clean` of it too; what they build anew is seen again."""
    write(workspace, {".gitignore": "build/\n", "build/a.o": "theirs", "build/b.o": "theirs"})
    ran = await box.run("echo ours > build/a.o; rm build/b.o; echo c > build/c.o")
    assert ran.changes.files == []
    assert await box.output("cat build/a.o; ls build") == "ours\na.o\nc.o\n"
    write(workspace, {"build/a.o": "theirs, rebuilt", "build/b.o": "rebuilt"})
    assert await box.output("cat build/a.o; cat build/b.o") == "theirs, rebuiltrebuilt"


async def test_rules_that_a_command_writes_cannot_hide_its_edits(box: Boxes, workspace: Path) -> None:
    """A new environment ignores itself; a file that was there is judged by the rules that were there."""
    write(workspace, {"a.txt": "a"})
    ran = await box.run("mkdir env; echo '*' > env/.gitignore; echo 1 > env/x; echo '*' > .gitignore; echo b > a.txt")
    assert ran.left == {"a.txt": b"b\n"}


async def test_a_proposal_in_an_ignored_folder_is_one(box: Boxes, workspace: Path) -> None:
    """It is seen, its change comes back, and it does not stay in the layer."""
    write(workspace, {".gitignore": "out/\n", "a": ""})
    ran = await box.run("cat out/p.txt; echo x >> out/p.txt; echo y > out/y.txt", seen(**{"out/p.txt": "p"}))
    assert (ran.output, ran.left) == ("p", {"out/p.txt": b"px\n"})
    assert await box.output("ls out") == "y.txt\n"


async def test_the_view_is_made_anew_for_each_command(box: Boxes, workspace: Path) -> None:
    """What was proposed, or changed by a command, is not seen by the next one unless it is proposed then."""
    write(workspace, {"a.txt": "a", "b.txt": "b"})
    await box.run("echo c > c.txt; rm b.txt; echo x > a.txt", seen(**{"a.txt": "A", "d/p.txt": "p"}))
    assert await box.output("cat a.txt b.txt; ls") == "aba.txt\nb.txt\n"


async def test_what_the_person_saves_is_seen_by_the_next_command(box: Boxes, workspace: Path) -> None:
    """No copy that an earlier command made hides it."""
    write(workspace, {"a.txt": "a", "d/b.txt": "b"})
    await box.run("chmod 600 a.txt; touch d/b.txt; rm d/b.txt")
    write(workspace, {"a.txt": "theirs", "d/b.txt": "theirs", "d/new.txt": "new"})
    assert await box.output("cat a.txt d/b.txt d/new.txt") == "theirstheirsnew"


async def test_what_the_person_saves_meanwhile_is_not_undone(box: Boxes, workspace: Path) -> None:
    """A command's change of a file that the person saved while it ran cannot be proposed: it is of another text."""
    write(workspace, {"a.txt": "a"})
    opened = await box.layer.open("echo x >> a.txt; echo ready", View())
    process = await start(opened)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    write(workspace, {"a.txt": "saved meanwhile"})
    await process.communicate()
    changes = await opened.close()
    assert [(each.path, each.unfit) for each in changes.files] == [
        ("a.txt", "it was changed on the disk while the command ran")
    ]
    assert on_disk(workspace) == {"a.txt": "saved meanwhile"}


async def test_hidden_and_read_only_files(box: Boxes, workspace: Path) -> None:
    """Hidden ones cannot be read or replaced and are no changes; read-only ones can be read; others are passed over."""
    write(workspace, {".env": "KEY=1", "certs/x.pem": "k", "AGENTS.md": "a", ".vscode/s.json": "{}", "b.txt": "b"})
    os.symlink(".env", workspace / "link")
    view = View({"new.env": Entry(b"KEY=2")}, [".env", "certs", "new.env", "no.pem"], ["AGENTS.md", ".vscode", "no"])
    ran = await box.run(
        "cat .env; cat link; cat new.env; cat certs/x.pem; echo x > .env; mv .env e; rm new.env;"
        " cat AGENTS.md; echo x > AGENTS.md; mv AGENTS.md B.md; echo x > .vscode/s.json; touch .vscode/n;"
        " echo c > b.txt",
        view,
    )
    assert "KEY" not in ran.output
    assert ran.left == {"b.txt": b"c\n"}
    assert ran.unfit == {}


async def test_a_formatter_and_a_generator(box: Boxes, workspace: Path) -> None:
    """Tools of the machine work on the proposed text: an edit in place, and a program that writes programs."""
    write(workspace, {"a.py": "old", "gen.py": "for n in 'ab':\n    open(f'made/{n}.py', 'w').write(f'{n} = 1\\n')\n"})
    ran = await box.run("sed -i 's/ *= */ = /' a.py; mkdir -p made; python3 gen.py", seen(**{"a.py": "x=1\n"}))
    assert ran.code == 0, ran.output
    assert ran.left == {"a.py": b"x = 1\n", "made/a.py": b"a = 1\n", "made/b.py": b"b = 1\n"}


async def test_git_in_a_box(box: Boxes, workspace: Path) -> None:
    """docs/faults.md 43: git sees the proposals, `git mv` gives its files, and the repository is as it was."""
    write(workspace, {"a.txt": "a\n", "d/b.txt": "b\n"})
    git(workspace, "init", "-q")
    git(workspace, "add", ".")
    git(workspace, "commit", "-qm", "first")
    before = {path: path.read_bytes() for path in (workspace / ".git").rglob("*") if path.is_file()}
    view = seen(**{"a.txt": "changed\n"})
    look = "git status --short; git log --oneline | head -1 | cut -d' ' -f2; git diff --stat | tail -1"
    looked = await box.run(look, view)
    assert (looked.code, looked.changes.dropped) == (0, [])
    assert looked.output == " M a.txt\nfirst\n 1 file changed, 1 insertion(+), 1 deletion(-)\n"
    steps = ["git mv a.txt ä\\ b.txt", "git stash -q", "git stash pop -q", f"git {NAMED} commit -qm '$(x)'"]
    ran = await box.run(" && ".join([*steps, "git log -1 --format=%s"]), view)
    assert (ran.code, ran.output) == (0, "$(x)\n")
    assert ran.left == {"a.txt": None, "ä b.txt": b"changed\n"}
    assert [line.startswith(UNSEEN) for line in ran.changes.dropped] == [True]
    assert before == {path: path.read_bytes() for path in (workspace / ".git").rglob("*") if path.is_file()}
    assert git(workspace, "log", "--format=%s") == "first\n"


async def test_hooks_and_settings_of_the_repository_are_closed(box: Boxes, workspace: Path) -> None:
    """No command writes what git runs by itself later, not even in its layer."""
    write(workspace, {"a.txt": "a"})
    git(workspace, "init", "-q")
    ways = ["echo x > .git/hooks/pre-commit", "git config a.b x", "echo x >> .git/info/exclude", "mv .git/hooks h"]
    ran = await box.run("; ".join(ways))
    assert ran.output.count("Read-only file system") + ran.output.count("busy") >= 3
    assert ran.left == {}


@pytest.mark.parametrize("kind", ["file", "link", "bare"])
async def test_a_repository_in_another_folder_of_the_workspace(box: Boxes, workspace: Path, kind: str) -> None:
    """Its hooks and settings are closed, its changes are dropped, and its deletion is none."""
    write(workspace, {"a.txt": "a\n"})
    git(workspace, "init", "-q", *(["--bare", "store"] if kind == "bare" else ["--separate-git-dir", "store"]))
    if kind == "link":
        (workspace / ".git").unlink()
        (workspace / ".git").symlink_to("store")
    view = View(read_only=[name for name in protected_files(workspace) if name != ".git"])
    writes = ["echo x > store/hooks/pre-commit", "echo x >> store/config", "echo x > store/new", "echo b > a.txt"]
    ran = await box.run("; ".join(writes), view)
    assert ran.output.count("Read-only file system") == 2
    assert (ran.left, ran.unfit) == ({"a.txt": b"b\n"}, {})
    assert [line.startswith(UNSEEN) for line in ran.changes.dropped] == [True]
    gone = await box.run("rm -rf store")
    assert (gone.left, gone.unfit) == ({}, {})
    assert await box.output("git -C store rev-parse --git-dir") == ".\n"


async def test_what_git_did_to_the_files_is_not_taken_for_edits(box: Boxes, workspace: Path) -> None:
    """A stash or another branch is gone with the command; so are its changes, and the proposals stay."""
    write(workspace, {"a.txt": "a\n"})
    git(workspace, "init", "-q")
    git(workspace, "add", ".")
    git(workspace, "commit", "-qm", "first")
    git(workspace, "branch", "other")
    view = seen(**{"a.txt": "changed\n"})
    for command in (f"git {NAMED} stash -q", "git switch -q other; echo x > b.txt", "git checkout -q --detach"):
        ran = await box.run(command, view)
        assert (ran.code, list(ran.changes.files)) == (0, []), ran.output
        assert [line.startswith("Nothing of this command was taken over") for line in ran.changes.dropped] == [True]
        assert await box.output("cat a.txt; git stash list; git branch --show-current; ls", view) in (
            "changed\nmaster\na.txt\n",
            "changed\nmain\na.txt\n",
        )
    made = await box.run("mkdir n; cd n; git init -q; echo x > x.txt", view)
    assert made.left == {"n/x.txt": b"x\n"}


@pytest.mark.parametrize("kind", ["worktree", "submodule"])
async def test_a_repository_that_is_elsewhere(kind: str, tmp_path: Path) -> None:
    """A worktree and a submodule: git works, and what is elsewhere stays as it is too."""
    main, place = tmp_path / "main", tmp_path / "state"
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
    async with boxes(workspace, place) as box:
        commit = f"git add . && git {NAMED} commit -qm second && git log --format=%s"
        ran = await box.run(commit, seen(**{"b.txt": "b"}))
        assert (ran.code, ran.output) == (0, "second\nfirst\n")
        assert [line.startswith(UNSEEN) for line in ran.changes.dropped] == [True]
        stash = await box.run(f"git {NAMED} stash -q && echo x > c.txt", seen(**{"a.txt": "changed\n"}))
        assert (stash.code, list(stash.changes.files)) == (0, [])
        assert [line.startswith("Nothing of this command") for line in stash.changes.dropped] == [True]
        hooks = await box.run('echo x > "$(git rev-parse --git-common-dir)/hooks/pre-commit"')
        assert "Read-only file system" in hooks.output
    assert {name: text for name, text in on_disk(tmp_path).items() if not name.startswith("state")} == before


async def test_a_false_repository_opens_no_door(tmp_path: Path) -> None:
    """A `.git` file that names another place is not believed: what lies there is not shown, nor made writable."""
    write(tmp_path / "ws", {".git": f"gitdir: {tmp_path / 'private'}\n"})
    write(tmp_path / "private", {"HEAD": "ref: x", "config": "", "objects/x": "", "secret": "s"})
    async with boxes(tmp_path / "ws", tmp_path / "state") as box:
        ran = await box.run(f"cat {tmp_path}/private/secret; echo x > {tmp_path}/private/new")
    assert ran.code != 0
    assert not (tmp_path / "private/new").exists()


async def test_a_command_in_the_background(workspace: Path, tmp_path: Path) -> None:
    """Others run meanwhile; it has what is kept, what it writes stays its own, and its changes come back at its end."""
    write(workspace, {".gitignore": "*.o\n", "a.txt": "a"})
    async with boxes(workspace, tmp_path / "state") as box:
        await box.run("echo kept > k.o")
        serve = "cat k.o a.txt; echo b > b.o; echo x > made.txt"
        opened = await box.layer.open(serve, seen(**{"a.txt": "A"}), background=True)
        process = await start(opened)
        ran = await box.run("echo front > f.txt; test ! -e b.o && cat a.txt")
        assert (ran.code, ran.output, ran.left) == (0, "a", {"f.txt": b"front\n"})
        output, _ = await process.communicate()
        changes = await opened.close()
        assert output == b"kept\nA"
        assert changes.files == [Change("made.txt", None, Entry(b"x\n"))]
        assert await box.output("ls") == "a.txt\nk.o\n"


async def test_one_command_in_front_at_a_time(workspace: Path, tmp_path: Path) -> None:
    """A second one is refused until the first is closed."""
    async with boxes(workspace, tmp_path / "state") as box:
        opened = await box.layer.open("true", View())
        with pytest.raises(ToolError, match="still running"):
            await box.layer.open("true", View())
        assert (await opened.close()).files == []
        assert await box.output("echo on") == "on\n"


async def test_a_killed_server_leaves_nothing_for_long(workspace: Path, tmp_path: Path) -> None:
    """The next layer removes what one left whose lock nobody holds; one that is in use stays."""
    code = (
        "import asyncio, os, sys, pathlib, fairlead.shell.sandbox.overlay as o, fairlead.shell.layer as l\n"
        "async def main():\n"
        "    layer = o.SandboxLayer(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))\n"
        "    await layer.open('true', l.View({'a': l.Entry(b'a')}))\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    place = (await find(workspace, tmp_path / "state", "unshare")).place
    assert place is not None
    subprocess.run([sys.executable, "-c", code, str(workspace), str(place)], check=False)
    assert len(list(place.glob("layer-*"))) == 1
    async with boxes(workspace, tmp_path / "state") as box:
        assert list(place.glob("layer-*")) == [box.layer._folder]
        async with boxes(workspace, tmp_path / "state"):
            assert await box.output("echo still here") == "still here\n"
    assert list(place.glob("layer-*")) == []


async def test_names_in_any_script(tmp_path: Path) -> None:
    """Blanks, quotes, colons, commas, backslashes and other scripts, in the workspace's path and its files'."""
    workspace = tmp_path / "wörk: a,b\\c 'd\" 工作"
    write(workspace, {"ä ö.txt": "a", "工/作.txt": "b"})
    async with boxes(workspace, tmp_path / "stäte, :x") as box:
        ran = await box.run("cat *.txt 工/*; echo c > 'n\"é: ,.txt'; pwd", seen(**{"工/作.txt": "B"}))
    assert (ran.output, ran.left) == (f"aB{workspace}\n", {'n"é: ,.txt': b"c\n"})


@pytest.mark.parametrize("background", [False, True])
async def test_a_box_that_is_never_started_leaves_nothing(workspace: Path, tmp_path: Path, background: bool) -> None:
    """Closing it is enough; there are no changes."""
    async with boxes(workspace, tmp_path / "state") as box:
        opened = await box.layer.open("true", seen(**{"a.txt": "a"}), background=background)
        assert (await opened.close()).files == []
        assert {path.name for path in box.layer._folder.iterdir()} <= {"lock", "no-file", "no-folder", "upper"}
        assert list((box.layer._folder / "upper").iterdir()) == []


async def test_as_the_owner_of_the_workspace(workspace: Path, tmp_path: Path) -> None:
    """Root's server runs commands as whom the workspace belongs to: their files can be written, root's not read."""
    if os.geteuid() != 0:
        pytest.skip("for root only")
    with_tmp = Path("/var/tmp") / f"fairlead-test-{os.getpid()}"
    write(with_tmp, {"a.txt": "a"})
    try:
        for path in (with_tmp, with_tmp / "a.txt"):
            os.chown(path, 1234, 1234)
        async with boxes(with_tmp, tmp_path / "state") as box:
            look = "id -u; echo x >> a.txt; echo y > new/f; cat p; cat /etc/shadow"
            ran = await box.run(look, seen(**{"p": "p", "new/e": ""}))
        assert ran.output.startswith("1234\np")
        assert "Permission denied" in ran.output
        assert ran.left == {"a.txt": b"ax\n", "new/f": b"y\n"}
    finally:
        subprocess.run(["rm", "-rf", str(with_tmp)], check=True)


def test_the_umask_does_not_matter(workspace: Path, tmp_path: Path) -> None:
    """Proposed files have the mode that they would have on the disk, so that a look is no change."""
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
async def test_node(box: Boxes, workspace: Path) -> None:
    """docs/faults.md 43: a big runtime with its threads starts within the limits."""
    write(workspace, {"a.js": "old"})
    assert await box.output("node a.js", seen(**{"a.js": "console.log(1 + 1)"})) == "2\n"


async def test_a_view_that_cannot_be_shown(workspace: Path, tmp_path: Path) -> None:
    """The command is not run, the error says why, and nothing of that view is seen by the next one."""
    async with boxes(workspace, tmp_path / "state") as box:
        with pytest.raises(ToolError, match="cannot be shown to a command: File name too long"):
            await box.layer.open("true", seen(**{"a.txt": "a", "x" * 300: "b"}))
        assert await box.output("ls") == ""


async def test_a_box_that_cannot_be_made_is_an_error(workspace: Path, tmp_path: Path) -> None:
    """The command is not run in a weaker place, and the error says so; the next box is made again."""
    async with boxes(workspace, tmp_path / "state") as box:
        opened = await box.layer.open("echo ran > ran.txt", View())
        scratch = box.layer._folder / "box-1" / "scratch"
        scratch.rmdir()
        process = await start(opened)
        assert (await process.communicate())[0] == b""
        assert process.returncode != 0
        with pytest.raises(ToolError, match="was not run: its sandbox could not be made"):
            await opened.close()
        assert on_disk(workspace) == {}
        assert await box.output("echo on") == "on\n"


async def test_a_cancelled_start_is_closed(workspace: Path, tmp_path: Path) -> None:
    """A box that nobody waits for any more holds no place."""
    async with boxes(workspace, tmp_path / "state") as box:
        for _ in range(5):
            opening = asyncio.ensure_future(box.layer.open("true", seen(**{"a.txt": "a"})))
            await asyncio.sleep(0)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
        assert await box.output("ls") == ""
