"""The sandboxed layer: a command's view, its changes, and the files that remain for the next command."""

import errno
import os
from pathlib import Path

import pytest

from fairlead.shell.layer import Entry, View
from shell.boxes import Boxes, boxes, on_disk, seen, start, write
from support.sandbox import needs_sandbox


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


async def test_a_command_sees_the_proposed_files(box: Boxes, workspace: Path) -> None:
    """Changed, new and deleted files appear as proposed, at the workspace's own path."""
    write(workspace, {"a.txt": "old", "gone.txt": "x", "sub/b.txt": "b"})
    view = seen(**{"a.txt": "new", "gone.txt": None, "fresh/c.txt": "c", "sub/d.txt": "d"})
    assert await box.output("cat a.txt fresh/c.txt sub/b.txt sub/d.txt; pwd; test ! -e gone.txt", view) == (
        f"newcbd{workspace}\n"
    )


async def test_changes_are_returned_and_the_disk_does_not_change(box: Boxes, workspace: Path) -> None:
    """Changed and deleted files are returned with their earlier content. The user's files keep bytes and times."""
    write(workspace, {"a.txt": "old", "b.txt": "b", "sub/c.txt": "c", "same.txt": "s"})
    times = {path: path.stat().st_mtime_ns for path in workspace.rglob("*")}
    change = "echo x >> a.txt; rm b.txt; mkdir -p n/m; echo n > n/m/e.txt; touch same.txt"
    ran = await box.run(change, seen(**{"a.txt": "new"}))
    assert (ran.code, ran.output) == (0, "")
    assert ran.contents == {"a.txt": b"newx\n", "b.txt": None, "n/m/e.txt": b"n\n"}
    assert ran.change("a.txt").before == Entry(b"new", 0o644)
    assert ran.change("b.txt").before == Entry(b"b", 0o644)
    assert on_disk(workspace) == {"a.txt": "old", "b.txt": "b", "sub/c.txt": "c", "same.txt": "s"}
    assert times == {path: path.stat().st_mtime_ns for path in workspace.rglob("*")}


async def test_a_command_that_changes_nothing_returns_no_changes(box: Boxes, workspace: Path) -> None:
    """Reading files, rewriting them with the same bytes, and creating and removing a file are no changes, and neither
    are proposals that the command does not touch."""
    write(workspace, {"a.txt": "a", "sub/b.txt": "b"})
    view = View({"p.txt": Entry(b"p"), "x.sh": Entry(b"x", 0o755), "sub/b.txt": None})
    nothing = "cat a.txt p.txt; printf a > a.txt; touch t; rm t; cp -a a.txt c && mv c a.txt; mkdir empty"
    ran = await box.run(nothing, view)
    assert ran.code == 0
    assert ran.changes.files == []


async def test_a_deleted_proposal_is_returned_as_deleted(box: Boxes, workspace: Path) -> None:
    """A deleted proposal is returned as deleted, be it a new file, a changed file or one in a deleted folder."""
    write(workspace, {"a.txt": "a", "d/b.txt": "b"})
    ran = await box.run("rm new.txt a.txt; rm -r d", seen(**{"new.txt": "n", "a.txt": "A", "d/new.txt": "n"}))
    assert ran.contents == {"new.txt": None, "a.txt": None, "d/b.txt": None, "d/new.txt": None}
    assert ran.change("d/new.txt").before == Entry(b"n", 0o644)


async def test_a_proposed_deletion_is_not_returned_again(box: Boxes, workspace: Path) -> None:
    """A proposed deletion is not returned even if the command deletes the folder. If the command writes the file again,
    it is returned as new."""
    write(workspace, {"d/a.txt": "a", "d/b.txt": "b", "c.txt": "c"})
    ran = await box.run("rm -r d; echo again > c.txt", seen(**{"d/a.txt": None, "c.txt": None}))
    assert ran.contents == {"d/b.txt": None, "c.txt": b"again\n"}
    assert ran.change("c.txt").before is None


async def test_permissions_are_changes(box: Boxes, workspace: Path) -> None:
    """`chmod +x` alone is a change, and a new script keeps its executable bit; setuid is not proposed."""
    write(workspace, {"a.sh": "a", "b.sh": "b"})
    ran = await box.run("chmod +x a.sh; echo n > n.sh; chmod 4755 n.sh; echo t > t.txt; echo c >> b.sh")
    assert ran.change("a.sh").after == Entry(b"a", 0o755)
    assert ran.change("n.sh").after == Entry(b"n\n", 0o755)
    assert ran.change("t.txt").after == Entry(b"t\n", None)
    assert ran.change("b.sh").after == Entry(b"bc\n", None)


async def test_a_rename_is_a_deletion_and_a_creation(box: Boxes, workspace: Path) -> None:
    """This applies to files and folders, on disk or proposed."""
    write(workspace, {"a.txt": "a", "d/x.txt": "x", "d/e/y.txt": "y"})
    ran = await box.run("mv a.txt b.txt; mv d f; mv p.txt q.txt", seen(**{"p.txt": "p", "d/new.txt": "n"}))
    assert ran.code == 0, ran.output
    gone = dict.fromkeys(["a.txt", "d/x.txt", "d/e/y.txt", "p.txt", "d/new.txt"])
    assert ran.contents == {**gone, "b.txt": b"a", "f/x.txt": b"x", "f/e/y.txt": b"y", "f/new.txt": b"n", "q.txt": b"p"}


async def test_a_replaced_folder_hides_its_old_content(box: Boxes, workspace: Path) -> None:
    """After `rm -r` and `mkdir`, files that were not written again are deleted; the others are compared."""
    write(workspace, {"out/a.txt": "a", "out/b.txt": "b"})
    ran = await box.run("rm -r out; mkdir out; printf a > out/a.txt; echo c > out/c.txt")
    assert ran.contents == {"out/b.txt": None, "out/c.txt": b"c\n"}


async def test_a_file_replaces_a_folder_and_vice_versa(box: Boxes, workspace: Path) -> None:
    """Both are returned as a deletion and a creation. The command also sees a proposed replacement."""
    write(workspace, {"d/a.txt": "a", "f": "f", "g": "g"})
    swap = "rm -r d; echo d > d; rm f; mkdir f; echo i > f/i.txt; cat g/in.txt"
    ran = await box.run(swap, seen(**{"g": None, "g/in.txt": "g"}))
    assert ran.contents == {"d/a.txt": None, "d": b"d\n", "f": None, "f/i.txt": b"i\n"}
    assert ran.output == "g"


async def test_ignored_outputs_stay_in_the_layer(box: Boxes, workspace: Path) -> None:
    """Build outputs and dependencies remain for the next command. Neither they nor their removal are changes."""
    write(workspace, {".gitignore": "node_modules/\n*.o\n", "a.c": "a"})
    first = await box.run("mkdir -p node_modules/x; echo x > node_modules/x/i.js; ln -s x node_modules/y; echo o > a.o")
    assert (first.changes.files, first.changes.ignored) == ([], ["a.o", "node_modules/"])
    second = await box.run("cat node_modules/y/i.js a.o; rm a.o; echo z > node_modules/z.js")
    assert (second.output, second.changes.files, second.changes.ignored) == ("x\no\n", [], [])
    assert await box.output("ls node_modules; test ! -e a.o") == "x\ny\nz.js\n"
    assert on_disk(workspace) == {".gitignore": "node_modules/\n*.o\n", "a.c": "a"}


async def test_ignored_files_of_the_user_change_in_the_layer_only(box: Boxes, workspace: Path) -> None:
    """Later commands see what a command built or deleted, until the user builds again."""
    write(workspace, {".gitignore": "build/\n", "build/a.o": "theirs", "build/b.o": "theirs"})
    ran = await box.run("echo ours > build/a.o; rm build/b.o; echo c > build/c.o")
    assert ran.changes.files == []
    assert await box.output("cat build/a.o; ls build") == "ours\na.o\nc.o\n"
    write(workspace, {"build/a.o": "theirs, rebuilt", "build/b.o": "rebuilt"})
    assert await box.output("cat build/a.o; cat build/b.o") == "theirs, rebuiltrebuilt"


async def test_rules_that_a_command_writes_cannot_hide_its_edits(box: Boxes, workspace: Path) -> None:
    """A new environment ignores itself; an existing file is judged by the rules from before the command."""
    write(workspace, {"a.txt": "a"})
    ran = await box.run("mkdir env; echo '*' > env/.gitignore; echo 1 > env/x; echo '*' > .gitignore; echo b > a.txt")
    assert ran.contents == {"a.txt": b"b\n"}


async def test_a_proposal_in_an_ignored_folder_remains_a_proposal(box: Boxes, workspace: Path) -> None:
    """The proposal is visible, the command's change to it is returned, and it does not stay in the layer."""
    write(workspace, {".gitignore": "out/\n", "a": ""})
    ran = await box.run("cat out/p.txt; echo x >> out/p.txt; echo y > out/y.txt", seen(**{"out/p.txt": "p"}))
    assert (ran.output, ran.contents) == ("p", {"out/p.txt": b"px\n"})
    assert await box.output("ls out") == "y.txt\n"


async def test_each_command_gets_a_new_view(box: Boxes, workspace: Path) -> None:
    """The next command sees an earlier proposal or a command's changes only if they are still proposed."""
    write(workspace, {"a.txt": "a", "b.txt": "b"})
    await box.run("echo c > c.txt; rm b.txt; echo x > a.txt", seen(**{"a.txt": "A", "d/p.txt": "p"}))
    assert await box.output("cat a.txt b.txt; ls") == "aba.txt\nb.txt\n"


async def test_the_next_command_sees_what_the_user_saved(box: Boxes, workspace: Path) -> None:
    """An earlier command's copy of a file in the layer does not hide the text that the user has saved since."""
    write(workspace, {"a.txt": "a", "d/b.txt": "b"})
    await box.run("chmod 600 a.txt; touch d/b.txt; rm d/b.txt")
    write(workspace, {"a.txt": "theirs", "d/b.txt": "theirs", "d/new.txt": "new"})
    assert await box.output("cat a.txt d/b.txt d/new.txt") == "theirstheirsnew"


async def test_a_file_that_the_user_saves_meanwhile_is_not_overwritten(box: Boxes, workspace: Path) -> None:
    """A change to a file that the user saved while the command ran cannot be proposed, because the base differs."""
    write(workspace, {"a.txt": "a"})
    opened = await box.layer.open("echo x >> a.txt; echo ready", View())
    process = await start(opened)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    write(workspace, {"a.txt": "saved meanwhile"})
    await process.communicate()
    changes = await opened.close()
    assert [(each.path, each.not_proposed) for each in changes.files] == [
        ("a.txt", "it was changed on disk while the command ran")
    ]
    assert on_disk(workspace) == {"a.txt": "saved meanwhile"}


async def test_hidden_and_read_only_files_cannot_be_changed(box: Boxes, workspace: Path) -> None:
    """Attempts to change them return no changes. In addition, hidden files cannot be read."""
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
    assert ran.contents == {"b.txt": b"c\n"}
    assert ran.not_proposed == {}


async def test_a_formatter_and_a_generator_can_run(box: Boxes, workspace: Path) -> None:
    """`sed` edits a proposed file in place, and a Python script writes other files."""
    write(workspace, {"a.py": "old", "gen.py": "for n in 'ab':\n    open(f'made/{n}.py', 'w').write(f'{n} = 1\\n')\n"})
    ran = await box.run("sed -i 's/ *= */ = /' a.py; mkdir -p made; python3 gen.py", seen(**{"a.py": "x=1\n"}))
    assert ran.code == 0, ran.output
    assert ran.contents == {"a.py": b"x = 1\n", "made/a.py": b"a = 1\n", "made/b.py": b"b = 1\n"}


async def test_compilers_find_what_earlier_commands_compiled(box: Boxes, home: Path) -> None:
    """Their cache stays in the session, also from a background command. The user's own is not seen, and not changed.

    The rest of `~/.cache` is empty again, among it Go's cache, which contains results of tests.
    """
    write(home / ".cache", {"ccache/own": "mine", "pip/own": "mine"})
    fill = "for cache in ccache go-build pip; do test ! -e $cache/own && echo x > $cache/first; done"
    await box.output(f"cd ~/.cache && mkdir go-build pip && {fill}")
    assert (await box.run("echo x > ~/.cache/ccache/second", background=True)).code == 0
    assert (await box.output("cd ~/.cache; find * -type f | sort")).split() == ["ccache/first", "ccache/second"]
    assert on_disk(home) == {".cache/ccache/own": "mine", ".cache/pip/own": "mine"}


async def test_a_new_session_has_empty_caches(workspace: Path, tmp_path: Path) -> None:
    """Nothing of an earlier session affects its checks, and nothing is left on the disk."""
    for _ in range(2):
        async with boxes(workspace, tmp_path / "state") as box:
            assert await box.output("cd ~/.cache/ccache && ls -A && mkdir -p a/b && echo x > a/b/c") == ""
            await box.output("ln -s / ~/.cache/ccache/link; chmod 0 ~/.cache/ccache/a ~/.cache/ccache")
    assert on_disk(tmp_path / "state") == {}


async def test_the_caches_are_emptied_if_the_disk_is_full(workspace: Path, tmp_path: Path) -> None:
    """They may be what fills it."""
    async with boxes(workspace, tmp_path / "state") as box:
        await box.output("mkdir -p ~/.cache/ccache/a && echo x > ~/.cache/ccache/a/b")
        box.layer.box_failed(os.strerror(errno.ENOSPC))
        assert await box.output("ls -A ~/.cache/ccache") == ""
