"""Paths as models write them make no oddly named files (docs/plan.md L11)."""

import sys
from pathlib import Path

import pytest

from fairlead.agent.tool import Location
from fairlead.errors import ToolError
from fairlead.gate.request import UseSecretFile
from tools.stand_ins import Desk

posix = pytest.mark.skipif(sys.platform == "win32", reason="on Windows, a backslash is a separator")
FILE_TOOLS = {
    "read_file": {},
    "edit_file": {"old_text": "a", "new_text": "b"},
    "write_file": {"content": "new\n"},
    "delete_file": {},
    "rename_file": {"new_path": "other.txt"},
}
# what the model writes, and the right form that the error names
ODD = {
    r"src\main.py": "src/main.py",
    r".\src\deep\main.py": "./src/deep/main.py",
    "{home}/ws/src/main.py": "src/main.py",
    r"{home}\ws\src\main.py": "src/main.py",
    "$PWD/src/main.py": "src/main.py",
    "${{workspaceFolder}}/src/main.py": "src/main.py",
    "file://{workspace}/src/main.py": "src/main.py",
}
OUTSIDE = ["{home}/main.py", "{home}", r"C:\ws\main.py", "c:/main.py", "file:///etc/passwd"]
HOMES = ["~", "$HOME", "${HOME}"]
IN_HOME = [(given, home) for given in (*ODD, *OUTSIDE) for home in (HOMES if "{home}" in given else HOMES[:1])]


@pytest.fixture
def desk(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """The workspace is the folder `ws` of the user's home."""
    monkeypatch.setenv("HOME", str(workspace.parent))
    desk = Desk(workspace)
    desk.write("a.txt", "a\n")
    return desk


@pytest.mark.parametrize("tool", FILE_TOOLS)
@pytest.mark.parametrize("given", ["a.txt\n", " a.txt", "\t./a.txt \r\n"])
async def test_l11_blanks_around_a_path_are_removed(desk: Desk, tool: str, given: str) -> None:
    """docs/plan.md L11: the call, its title and its locations are about the file that is meant."""
    await desk.call(tool, path=given, **FILE_TOOLS[tool])
    assert {Path(proposal.path).name for proposal in desk.files.changes} <= {"a.txt"}
    title, locations = desk.tools[tool].describe({"path": given, **FILE_TOOLS[tool]})
    assert title == title.strip()
    assert locations[0] == Location(given.strip())


async def test_l11_a_secret_is_asked_for_whatever_is_around_its_path(desk: Desk) -> None:
    """docs/plan.md L11: the path that is read is the one that the user is asked about."""
    desk.write(".env", "KEY=1")
    assert await desk.call("read_file", path=" .env\n") == "KEY=1"
    assert [request.action for request in desk.user.asked] == [UseSecretFile(desk.path / ".env")]


@posix
@pytest.mark.parametrize(("given", "home"), IN_HOME)
async def test_l11_a_path_in_another_form_is_refused_with_the_right_one(desk: Desk, given: str, home: str) -> None:
    """docs/plan.md L11: every tool refuses it, and proposes nothing; a path outside has no right form."""
    written = given.format(home=home, workspace=desk.path)
    said = f"Write {ODD[given]} instead of {written}: " if given in ODD else "Path escapes workspace: "
    for tool, more in FILE_TOOLS.items():
        with pytest.raises(ToolError) as error:
            await desk.call(tool, path=written, **more)
        assert str(error.value).startswith(said)
    with pytest.raises(ToolError) as error:
        await desk.call("rename_file", path="a.txt", new_path=written)
    assert str(error.value).startswith(said)
    assert len(desk.files.changes) == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("newdir/", "Add the name of the file, as in newdir/NAME."),
        ("newdir/.", "Add the name of the file, as in newdir/NAME."),
        ("a.py\nb.py", "Name one file, on one line."),
    ],
)
async def test_l11_a_path_that_names_no_file_is_refused(desk: Desk, given: str, said: str) -> None:
    """docs/plan.md L11: a folder cannot be written, and neither can two files at once."""
    for call, more in (("write_file", {"path": given, "content": ""}), ("rename_file", {"path": "a.txt"})):
        with pytest.raises(ToolError) as error:
            await desk.call(call, **{"new_path": given, **more} if call == "rename_file" else more)
        assert said in str(error.value)
    assert len(desk.files.changes) == 0


@posix
@pytest.mark.parametrize("name", [r"a\b", "~", "$HOME/x", "~/x", r"src\deep/new.txt", " x ", "x\n", "a\nb", "C:/x"])
async def test_l11_what_exists_under_an_odd_name_is_meant(desk: Desk, name: str) -> None:
    """docs/plan.md L11: on disk or proposed, and a file next to it can be created if its folder has such a name."""
    desk.write(name, "odd\n")
    assert await desk.call("read_file", path=name) == "odd\n"
    await desk.call("edit_file", path=name, old_text="odd", new_text="even")
    assert desk.proposed(name) == "even\n"
    if "/" in name:
        await desk.call("write_file", path=f"{name}2", content="new\n")
        assert desk.proposed(f"{name}2") == "new\n"


async def test_l11_an_existing_folder_may_end_with_a_slash(desk: Desk) -> None:
    """docs/plan.md L11: also with blanks around it."""
    desk.write("src/b.txt", "needle\n")
    assert await desk.call("list_files", path="src/\n") == "src/b.txt"
    assert await desk.call("search", pattern="needle", path=" src/") == "src/b.txt:1:needle"
    with pytest.raises(ToolError, match="No such file or folder: lib/"):
        await desk.call("list_files", path="lib/")


@pytest.mark.parametrize("tool", ["read_file", "list_files", "write_file"])
async def test_fault_162_a_path_of_a_megabyte_is_refused(desk: Desk, tool: str) -> None:
    """docs/faults.md 162: such a path is refused before it is looked up, because each of its parts would be."""
    with pytest.raises(ToolError, match="The path is too long: 1,800,000 characters"):
        await desk.call(tool, path="a/" * 900_000, **({"content": "x"} if tool == "write_file" else {}))
