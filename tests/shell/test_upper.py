"""The files that a command leaves may be hostile: links are not followed, large files are not read, and everything is
removed."""

import contextlib
import os
import threading
import time
from pathlib import Path

import pytest

from fairlead.shell.layer import Entry, View
from fairlead.shell.sandbox.layer import collect_changes, trees
from shell.boxes import boxes, on_disk, seen, write
from support.sandbox import needs_sandbox


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


DEEP = "import os\nfor n in range(3000):\n    os.mkdir('d' * 100); os.chdir('d' * 100)\nopen('end', 'w').close()\n"


async def test_files_that_are_not_regular_are_reported_and_discarded(workspace: Path, tmp_path: Path) -> None:
    """New links, pipes and sockets are reported, and so is a link that replaced a file. A touched link is no change."""
    write(workspace, {"a.txt": "a", "b.txt": "b"})
    os.symlink("a.txt", workspace / "old")
    make = "import socket; socket.socket(socket.AF_UNIX).bind('s')"
    async with boxes(workspace, tmp_path / "state") as box:
        links = "ln -s /etc l; ln -sf /etc/passwd a.txt; touch -h old"
        ran = await box.run(f'{links}; mkfifo p; python3 -c "{make}"; echo c > b.txt')
        assert ran.not_proposed.keys() == {"l", "p", "s", "a.txt"}
        assert ran.not_proposed["l"] == "it is a link"
        assert ran.contents == {"b.txt": b"c\n"}
        assert await box.output("ls; cat a.txt") == "a.txt\nb.txt\nold\na"


@pytest.mark.parametrize("ignored", [False, True])
async def test_no_link_leads_out_of_the_layer(workspace: Path, tmp_path: Path, ignored: bool) -> None:
    """If a command replaced a folder with a link, nothing is read, written or removed in the link's target.

    This is also true for later proposals in that folder.
    """
    outside = tmp_path / "outside"
    write(outside, {"a.txt": "theirs", "sub/b.txt": "theirs"})
    write(workspace, {".gitignore": "build\n" if ignored else "", "src/a.txt": "a"})
    async with boxes(workspace, tmp_path / "state") as box:
        ran = await box.run(f"rm -r src; ln -s {outside} src; ln -s {outside} build")
        assert ran.not_proposed.keys() == ({"src"} if ignored else {"src", "build"})
        assert ran.contents == {"src/a.txt": None}
        view = seen(**{"build/a.txt": "ours", "build/sub/b.txt": None, "src/c.txt": "c"})
        assert await box.output("cat build/a.txt; ls src", view) == "oursa.txt\nc.txt\n"
    assert on_disk(outside) == {"a.txt": "theirs", "sub/b.txt": "theirs"}


async def test_a_deep_tree_is_reported_and_removed(workspace: Path, tmp_path: Path) -> None:
    """A tree that is deeper than any path can be is reported in one line and removed. The layer is empty again."""
    async with boxes(workspace, tmp_path / "state") as box:
        ran = await box.run("python3 p.py", seen(**{"p.py": DEEP}))
        assert list(ran.not_proposed.values()) == ["the folders are nested too deeply"]
        assert await box.output("ls") == ""


async def test_large_files_are_reported_and_not_read(workspace: Path, tmp_path: Path) -> None:
    """A sparse file of 7 GB and a file that grew too large are reported. A large file that was only touched is not."""
    with (workspace / "same.bin").open("wb") as file:
        file.truncate(collect_changes.MAX_BYTES + 5)
    write(workspace, {"a.txt": "a"})
    start = time.monotonic()
    async with boxes(workspace, tmp_path / "state") as box:
        ran = await box.run(f"truncate -s 7G huge; truncate -s {collect_changes.MAX_BYTES + 1} a.txt; touch same.bin")
        assert ran.not_proposed == dict.fromkeys(["huge", "a.txt"], "it is larger than 20 MB")
        assert ran.contents == {}
        assert (await box.run("rm same.bin")).not_proposed == {"same.bin": "it was larger than 20 MB"}
    assert time.monotonic() - start < 10


async def test_files_beyond_the_limit_are_counted_and_discarded(workspace: Path, tmp_path: Path) -> None:
    """MAX_CHANGES files are returned, and a warning counts the others. Afterwards, the layer is empty."""
    async with boxes(workspace, tmp_path / "state") as box:
        ran = await box.run("for n in $(seq 2500); do echo x > f$n; done")
        assert len(ran.contents) == collect_changes.MAX_CHANGES
        assert ran.changes.warnings == ["Too many changes: those to 500 more files were discarded."]
        assert await box.output("ls") == ""


async def test_files_whose_names_are_not_utf_8_are_reported(workspace: Path, tmp_path: Path) -> None:
    """A file whose name is not UTF-8 is reported with a printable form of its name."""
    async with boxes(workspace, tmp_path / "state") as box:
        ran = await box.run("echo x > $'a\\xff.txt'")
    assert ran.not_proposed == {"a�.txt": "its name is not UTF-8"}


async def test_ignore_rules_that_are_not_a_regular_file(workspace: Path, tmp_path: Path) -> None:
    """A pipe or a folder named .gitignore does not block the collection of changes."""
    write(workspace, {"d/.gitignore": "*.o\n", "d/a.o": "a"})
    async with boxes(workspace, tmp_path / "state") as box:
        ran = await box.run("mkfifo .gitignore; rm d/.gitignore; mkdir d/.gitignore; echo b > d/a.o; echo c > c.txt")
    assert ran.contents == {"d/.gitignore": None, "c.txt": b"c\n"}
    assert ran.not_proposed.keys() == {".gitignore"}


async def test_changes_to_unreadable_files_are_collected(workspace: Path, tmp_path: Path) -> None:
    """Changes are collected even if the command removed all permissions of the files and of their folder."""
    write(workspace, {"a.txt": "a"})
    async with boxes(workspace, tmp_path / "state") as box:
        ran = await box.run("mkdir d; echo x > d/x; chmod 0 d/x d; echo b > a.txt; chmod 0 a.txt")
    assert ran.contents == {"d/x": b"x\n", "a.txt": b"b\n"}


async def test_a_proposal_over_a_deleted_ignored_folder(workspace: Path, tmp_path: Path) -> None:
    """If a command deleted an ignored folder and a file is then proposed in it, commands see only that file there."""
    write(workspace, {".gitignore": "out/\n", "out/old.txt": "old"})
    async with boxes(workspace, tmp_path / "state") as box:
        await box.run("rm -r out")
        view = View({"out/new.txt": Entry(b"n")})
        assert await box.output("ls out", view) == "new.txt\n"


def test_a_tree_is_removed_whatever_its_modes(tmp_path: Path) -> None:
    """A tree without any permissions is removed. The target of a link in it stays. A second call does nothing."""
    write(tmp_path, {"outside/a.txt": "a", **{f"tree/{n}/{m}/f": "" for n in range(30) for m in range(3)}})
    os.symlink(tmp_path / "outside", tmp_path / "tree/1/link")
    for path in sorted((tmp_path / "tree").rglob("*"), reverse=True):
        if not path.is_symlink():
            path.chmod(0)
    trees.remove_all(tmp_path / "tree")
    trees.remove_all(tmp_path / "tree")
    assert on_disk(tmp_path) == {"outside/a.txt": "a"}


async def test_a_link_on_the_disk_is_not_followed(workspace: Path, tmp_path: Path) -> None:
    """docs/faults.md 34: files in a folder that replaced a link have no earlier content, wherever the link led."""
    outside = tmp_path / "outside"
    write(outside, {"secret.txt": "theirs", "big": "x", ".gitignore": "*\n"})
    with (outside / "big").open("wb") as file:
        file.truncate(collect_changes.MAX_BYTES + 5)
    write(workspace, {"a.txt": "a"})
    os.symlink(outside, workspace / "link")
    async with boxes(workspace, tmp_path / "state") as box:
        same = "printf theirs > link/secret.txt; echo k > link/new.txt; truncate -s 20000005 link/big"
        ran = await box.run(f"rm link && mkdir link && {same}; echo b > a.txt")
    assert ran.contents == {"a.txt": b"b\n"}
    assert ran.not_proposed.keys() == {"link", "link/secret.txt", "link/new.txt", "link/big"}
    assert {each.before for each in ran.changes.files if each.not_proposed} == {None}


@pytest.mark.parametrize("name", [".git", "other.git"])
async def test_a_deep_tree_in_a_repository(workspace: Path, tmp_path: Path, name: str) -> None:
    """A deep tree that a command creates in a repository is removed like any other, and the next command works."""
    write(workspace, {f"{name}/HEAD": "ref: refs/heads/main\n", f"{name}/objects/x": "", f"{name}/refs/x": ""})
    async with boxes(workspace, tmp_path / "state") as box:
        view = seen(**{"p.py": f"import os\nos.chdir('{name}')\n{DEEP}"})
        ran = await box.run("python3 p.py; echo b > b.txt", view)
        assert (ran.code, ran.contents, ran.not_proposed) == (0, {"b.txt": b"b\n"}, {})
        assert await box.output(f"ls {name}") == "HEAD\nobjects\nrefs\n"


async def test_a_workspace_without_permissions_is_usable_again(workspace: Path, tmp_path: Path) -> None:
    """When a command that changed the permissions of the workspace folder has ended, they are restored."""
    write(workspace, {"a.txt": "a"})
    workspace.chmod(0o750)
    async with boxes(workspace, tmp_path / "state") as box:
        await box.run("chmod 000 .")
        assert await box.output("stat -c %a .; cat a.txt; echo x > b.txt") == "750\na"


async def test_a_virtual_environment_stays_in_the_layer(workspace: Path, tmp_path: Path) -> None:
    """A new virtual environment stays in the layer, whatever its name. A new `pyvenv.cfg` in a user's folder does not
    hide that folder's changes.
    """
    write(workspace, {"src/a.py": "a"})
    async with boxes(workspace, tmp_path / "state") as box:
        make = "mkdir -p my-env/lib; touch my-env/pyvenv.cfg my-env/lib/x src/pyvenv.cfg"
        ran = await box.run(f"{make}; echo b > src/a.py")
        assert (ran.contents, ran.changes.ignored) == ({"src/a.py": b"b\n", "src/pyvenv.cfg": b""}, ["my-env/"])
        assert await box.output("ls my-env") == "lib\npyvenv.cfg\n"


async def test_changed_ignored_files_of_the_user_are_named(workspace: Path, tmp_path: Path) -> None:
    """The user's ignored files are named once, after the command that changed them. Caches of tools are not named."""
    write(workspace, {".gitignore": "*.o\n", "a.o": "a", "b.o": "b", "__pycache__/a.pyc": "a"})
    async with boxes(workspace, tmp_path / "state") as box:
        ran = await box.run("echo x > a.o; rm b.o; echo x > new.o; echo x > __pycache__/a.pyc")
        assert [line.partition(": ")[2] for line in ran.changes.warnings] == ["a.o, b.o."]
        assert (await box.run("cat a.o")).changes.warnings == []


def test_no_folder_is_created_through_a_link(tmp_path: Path) -> None:
    """A server that runs as root creates folders for another user, who may have put a link into the path."""
    write(tmp_path, {"outside/a.txt": "a", "ours/box/b.txt": "b"})
    os.symlink(tmp_path / "outside", tmp_path / "ours/link")
    trees.make_folder(tmp_path / "ours", "box/upper", os.getuid(), os.getgid())
    assert (tmp_path / "ours/box/upper").is_dir()
    with pytest.raises(NotADirectoryError):
        trees.make_folder(tmp_path / "ours", "link/upper", os.getuid(), os.getgid())
    assert os.listdir(tmp_path / "outside") == ["a.txt"]


def test_fault_74_a_folder_that_is_moved_away_while_it_is_removed(tmp_path: Path) -> None:
    """docs/faults.md 74: if another user moves a part of the folder away, nothing else in the new place is removed."""
    names = [f"x{n}" for n in range(20)]
    write(tmp_path, {f"elsewhere/{name}/keep.txt": "k" for name in names})
    write(tmp_path, {f"layer/{name}/a.txt": "a" for name in names} | {f"layer/moved/{n}.txt": "" for n in range(2000)})
    moved = tmp_path / "layer/moved"
    before = moved.stat().st_mtime_ns
    removing = threading.Thread(target=_remove, args=(tmp_path / "layer",))
    removing.start()
    with contextlib.suppress(FileNotFoundError):  # it was already removed
        while moved.stat().st_mtime_ns == before:
            time.sleep(0)
        moved.rename(tmp_path / "elsewhere/moved")
    removing.join()
    assert on_disk(tmp_path / "elsewhere") == {f"{name}/keep.txt": "k" for name in names}


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):  # raised if a folder was moved away; the rest stays for the next sweep
        trees.remove_all(folder)
