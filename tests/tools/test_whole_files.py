"""`delete_file` and `rename_file` propose a change that the agent sees at once, or are refused with the reason."""

from pathlib import Path

import pytest

from fairlead.agent.tool import Location
from fairlead.edits.origins import Author
from fairlead.edits.proposal import Raw
from fairlead.errors import ToolError
from tools.stand_ins import Desk


async def refused(desk: Desk, name: str, **given: str) -> str:
    """The error of a call. Checks that the call proposed nothing."""
    before = desk.files.changes
    with pytest.raises(ToolError) as error:
        await desk.call(name, **given)
    assert desk.files.changes is before
    return str(error.value)


async def test_a_deleted_file_is_gone_for_the_agent_and_still_exists_for_the_user(desk: Desk) -> None:
    """No tool finds a file that is proposed to be deleted. If the agent writes it again, the proposal becomes a change
    to the existing file.
    """
    path = desk.write("a.txt", "needle\n")
    assert await desk.call("delete_file", path="a.txt") == "Proposed (deletion)."
    assert path.read_text() == "needle\n"
    for name, more in (("read_file", {}), ("delete_file", {}), ("edit_file", {"old_text": "n", "new_text": "m"})):
        said = await refused(desk, name, path="a.txt", **more)
        assert said == "No such file: a.txt. You deleted it (proposed)."
    assert "a.txt" not in await desk.call("list_files")
    assert await desk.call("search", pattern="needle") == "No matches."
    await desk.call("write_file", path="a.txt", content="thread\n")
    assert [proposal.kind for proposal in desk.files.changes] == ["modify"]


async def test_a_renamed_file_is_at_its_new_path(desk: Desk) -> None:
    """Tools find a renamed file at its new path, with its edits. The old path can be used for another file."""
    path = desk.write("a.txt", "needle\n")
    assert await desk.call("rename_file", path="a.txt", new_path="sub/b.txt") == "Proposed (now sub/b.txt)."
    assert (path.read_text(), desk.files.is_proposed(path)) == ("needle\n", False)
    await desk.call("edit_file", path="sub/b.txt", old_text="needle", new_text="needles")
    assert await desk.call("read_file", path="sub/b.txt") == "needles\n"
    for name, more in (("read_file", {}), ("delete_file", {}), ("edit_file", {"old_text": "n", "new_text": "m"})):
        said = await refused(desk, name, path="a.txt", **more)
        assert said == "No such file: a.txt. You renamed it to sub/b.txt (proposed)."
    listed = await desk.call("list_files")
    assert "sub/b.txt" in listed and "a.txt" not in listed
    assert "sub/b.txt" in await desk.call("search", pattern="needles")
    await desk.call("write_file", path="a.txt", content="new\n")
    found = {proposal.path.rsplit("/", 1)[-1]: proposal.kind for proposal in desk.files.changes}
    assert found == {"b.txt": "create", "a.txt": "modify"}


@pytest.mark.parametrize(
    ("data", "mode", "raw"),
    [
        (b"#!/bin/sh\n", 0o755, Raw(None, 0o755)),
        ("caf\u00e9\n".encode("latin-1"), 0o644, Raw("caf\u00e9\n".encode("latin-1"), None)),
        (b"\x89PNG\0\1", 0o644, Raw(b"\x89PNG\0\1", None)),
    ],
)
async def test_a_renamed_file_whose_old_path_gets_a_new_one_loses_nothing(
    desk: Desk, data: bytes, mode: int, raw: Raw
) -> None:
    """The renamed file keeps its bytes, its encoding and its executable permission."""
    path = desk.write("a", "")
    path.write_bytes(data)
    path.chmod(mode)
    await desk.call("rename_file", path="a", new_path="b")
    await desk.files.capture(path, None, "new\n", Author("1", "call"), Raw(b"new\n"))
    found = {Path(proposal.path).name: (proposal.kind, proposal.raw) for proposal in desk.files.changes}
    assert found == {"b": ("create", raw), "a": ("modify", Raw(b"new\n"))}


async def test_a_rename_back_ends_the_proposal(desk: Desk) -> None:
    """After two renames it has the last name; after a rename to the original name, nothing is proposed."""
    desk.write("a.txt", "x\n")
    await desk.call("rename_file", path="a.txt", new_path="b.txt")
    await desk.call("rename_file", path="b.txt", new_path="c.txt")
    [proposal] = desk.files.changes
    assert (proposal.path, proposal.new_path) == (str(desk.path / "a.txt"), str(desk.path / "c.txt"))
    await desk.call("rename_file", path="c.txt", new_path="a.txt")
    assert len(desk.files.changes) == 0


async def test_an_impossible_change_is_refused_with_the_reason(desk: Desk) -> None:
    """Nothing is overwritten, nothing is created below a file, and nothing outside is touched."""
    desk.write("a.txt", "a\n")
    desk.write("b.txt", "b\n")
    desk.write("folder/c.txt", "c\n")
    await desk.call("write_file", path="new.txt", content="x\n")
    assert "exists. Choose another name" in await refused(desk, "rename_file", path="a.txt", new_path="b.txt")
    assert "exists. Choose another name" in await refused(desk, "rename_file", path="a.txt", new_path="new.txt")
    assert "is a file, so no file can be created below it" in await refused(
        desk, "rename_file", path="a.txt", new_path="b.txt/a.txt"
    )
    assert "is a file, so no file can be created below it" in await refused(
        desk, "rename_file", path="a.txt", new_path="new.txt/a.txt"
    )
    assert (
        await refused(desk, "rename_file", path="a.txt", new_path="./a.txt")
        == "Both paths are the same file. Choose another new_path."
    )
    assert await refused(desk, "rename_file", path="gone", new_path="b") == "No such file: gone"
    assert "folder" in await refused(desk, "delete_file", path="folder")
    assert "folder" in await refused(desk, "rename_file", path="folder", new_path="other")
    for path in ("../x", "/etc/hostname"):
        assert await refused(desk, "delete_file", path=path) == f"Path escapes workspace: {path}"
        assert await refused(desk, "rename_file", path=path, new_path="b") == f"Path escapes workspace: {path}"
        assert await refused(desk, "rename_file", path="a.txt", new_path=path) == f"Path escapes workspace: {path}"


@pytest.mark.parametrize("remove", [("delete_file", {}), ("rename_file", {"new_path": "c.txt"})])
async def test_a_removed_path_is_not_free_for_a_rename(desk: Desk, remove: tuple[str, dict[str, str]]) -> None:
    """A file that is proposed to be deleted or renamed still exists, so a rename to its path is refused. The error says
    why, and what to do instead.
    """
    desk.write("a.txt", "a\n")
    desk.write("b.txt", "b\n")
    tool, more = remove
    await desk.call(tool, path="b.txt", **more)
    said = await refused(desk, "rename_file", path="a.txt", new_path="b.txt")
    assert said.startswith("b.txt exists until the user accepts its removal. ")
    assert said.endswith("write its new content with write_file and delete a.txt.")


def test_a_call_is_described_with_its_locations(desk: Desk) -> None:
    """The description of a rename has both paths, as locations that can be opened."""
    assert desk.tools["delete_file"].describe({"path": "a"}) == ("Delete a", (Location("a"),))
    told = desk.tools["rename_file"].describe({"path": "a", "new_path": "b"})
    assert told == ("Rename a to b", (Location("a"), Location("b")))
