"""A long-lived process in the sandbox: what it sees, and what it has changed while it runs."""

import contextlib
from pathlib import Path

import pytest

from fairlead.shell.layer import BoxSettings, Change, Entry, ShownFolder, View
from fairlead.shell.sandbox.layer import trees
from shell.boxes import on_disk, seen, write
from shell.service_shell import shell
from support.sandbox import needs_sandbox


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


async def test_changes_are_collected_while_the_process_runs(workspace: Path) -> None:
    """Each is returned once, the process still sees them, and the disk does not change."""
    write(workspace, {"a.txt": "old", "b.txt": "b", "d/c.txt": "c", "e/f.txt": "f", ".gitignore": "*.o\n"})
    before = on_disk(workspace)
    async with shell(workspace, seen(**{"a.txt": "new", "p.txt": "p"})) as service:
        assert await service.contents() == {}
        await service.run("echo x >> a.txt; rm b.txt p.txt; echo n > n.sh; chmod +x n.sh; echo o > k.o")
        changes = await service.started.take_changes()
        assert Change("a.txt", Entry(b"new", 0o644), Entry(b"newx\n")) in changes.files
        assert {change.path for change in changes.files} == {"a.txt", "b.txt", "n.sh", "p.txt"}
        assert await service.contents() == {}
        await service.run("git init -q; echo y >> a.txt; echo m >> n.sh; echo back > b.txt")
        changes = await service.started.take_changes()
        assert list(changes.files) == [
            Change("a.txt", Entry(b"newx\n", 0o644), Entry(b"newx\ny\n")),
            Change("b.txt", None, Entry(b"back\n")),
            Change("n.sh", Entry(b"n\n", 0o755), Entry(b"n\nm\n")),
        ]
        assert len(changes.warnings) == 1
        await service.run("rm -r d; mkdir d; echo g > d/g.txt; mv e h; ln -s / link; mkfifo pipe; mkdir s; rm b.txt")
        changes = await service.started.take_changes()
        assert {change.path for change in changes.files if change.not_proposed} == {"link", "pipe"}
        assert not changes.warnings
        assert changes.folders.empty == ["s"]
        assert changes.folders.removed == ["e"]
        after = {change.path: change.after and change.after.data for change in changes.files}
        moved = {"d/c.txt": None, "d/g.txt": b"g\n", "e/f.txt": None, "h/f.txt": b"f"}
        assert after == {"b.txt": None, "link": None, "pipe": None, **moved}
        assert await service.contents() == {}
        assert await service.run("ls; cat a.txt h/f.txt") == ("a.txt\nd\nh\nk.o\nlink\nn.sh\npipe\ns\nnewx\ny\nf")
    assert on_disk(workspace) == before


async def test_what_the_mirror_wrote_is_no_change_of_the_process(workspace: Path) -> None:
    """A later proposal appears in the box. Only what the process makes of it is a change."""
    write(workspace, {"a.sh": "a", "gone.txt": "g"})
    (workspace / "a.sh").chmod(0o755)
    async with shell(workspace, View()) as service:
        await service.run("echo own > a.sh; echo own > own.txt")
        await service.started.show({"a.sh": b"A", "new/b.txt": b"b", "gone.txt": None, "own.txt": b"own\n"})
        assert await service.run("cat a.sh new/b.txt; ls") == "Aba.sh\nnew\nown.txt\n"
        assert await service.contents() == {}
        await service.run("echo c >> new/b.txt; rm a.sh; echo back > gone.txt")
        assert (await service.started.take_changes()).files == [
            Change("a.sh", Entry(b"A", 0o755), None),
            Change("gone.txt", None, Entry(b"back\n")),
            Change("new/b.txt", Entry(b"b", 0o644), Entry(b"bc\n")),
        ]


async def test_what_the_process_wrote_is_not_shown_to_it_again(workspace: Path) -> None:
    """It still has its own file, and not a copy: thousands of files would take long."""
    async with shell(workspace, View()) as service:
        await service.run("echo own > own.txt")
        assert await service.contents() == {"own.txt": b"own\n"}
        before = await service.run("stat -c %i own.txt")
        await service.started.show({"own.txt": b"own\n"})
        assert await service.run("stat -c %i own.txt") == before
        await service.started.show({"own.txt": b"other\n"})
        assert await service.run("cat own.txt") == "other\n"


async def test_what_only_one_program_may_use(workspace: Path, tmp_path: Path) -> None:
    """Its variables and folders. It does not get those of the user's settings for all commands."""
    shown, writable = tmp_path / "shown", tmp_path / "writable"
    write(shown, {"s.txt": "s"})
    write(writable, {"w.txt": "w"})
    own = BoxSettings(variables={"TOKEN": "secret"}, folders=[ShownFolder(shown), ShownFolder(writable, True)])
    async with shell(workspace, View(), own=own) as service:
        assert await service.run(f"echo $TOKEN; cat {shown}/s.txt {writable}/w.txt") == "secret\nsw"
        assert "Read-only" in await service.run(f"echo n > {shown}/s.txt")
        assert await service.run(f"echo n > {writable}/w.txt") == ""
    assert (shown / "s.txt").read_text() == "s"
    assert (writable / "w.txt").read_text() == "n\n"


async def test_a_process_in_one_of_several_folders(workspace: Path, tmp_path: Path) -> None:
    """The mirror names files as its folder does, the changes as the workspace does."""
    other = tmp_path / "other"
    write(workspace, {"a.txt": "a"})
    write(other, {"b.txt": "b"})
    async with shell(workspace, View(), other) as service:
        await service.started.show({"a.txt": b"A"})
        await service.run(f"echo x >> a.txt; echo y > {other}/b.txt")
        assert await service.contents() == {f"{workspace.name}/a.txt": b"Ax\n", "other/b.txt": b"y\n"}


def test_permissions_are_not_changed_through_a_link(tmp_path: Path) -> None:
    """A running command may replace a file that the server cannot read by a link to a file of the user."""
    write(tmp_path, {"secret": "s"})
    (tmp_path / "secret").chmod(0o000)
    (tmp_path / "link").symlink_to("secret")
    with contextlib.suppress(OSError):
        trees.allow_owner(tmp_path / "link", None, 0o700)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0
