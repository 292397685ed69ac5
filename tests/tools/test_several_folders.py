"""The tools in a workspace with two folders that have files of the same names."""

from pathlib import Path

import pytest

from fairlead.errors import ToolError
from fairlead.workspace.paths import Roots
from tools.stand_ins import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    for folder in ("api", "web"):
        desk.write(f"{folder}/src/main.py", f"print('{folder}')\n")
        desk.write(f"{folder}/.env", "TOKEN=1\n")
    desk.write("web/only.ts", "main\n")
    desk.write("outside.py", "main\n")
    desk.files.roots = Roots.of(tmp_path / "api", tmp_path / "web")
    return desk


async def test_list_files_lists_all_folders(desk: Desk) -> None:
    """It lists the paths that the other tools take, and only counts secrets."""
    listed = await desk.call("list_files")
    assert listed.splitlines()[:3] == ["api/src/main.py", "web/only.ts", "web/src/main.py"]
    assert "2 files" in listed
    for everything in (".", "./"):
        assert await desk.call("list_files", path=everything) == listed
    assert (await desk.call("list_files", path="web/src")).splitlines() == ["web/src/main.py"]


@pytest.mark.parametrize("glob", ["src/*.py", "/src/*.py", "*.py", "**/main.py"])
async def test_a_glob_is_relative_to_each_folder(desk: Desk, glob: str) -> None:
    """A glob may also begin with the name of a folder, be absolute, or be relative to `path`."""
    assert (await desk.call("list_files", glob=glob)).splitlines() == ["api/src/main.py", "web/src/main.py"]
    for of_web in ("web/**/*.py", "./web/src/*.py", f"{desk.path.as_posix()}/web/src/*.py"):
        assert (await desk.call("list_files", glob=of_web)).splitlines() == ["web/src/main.py"]
    for within in ("src/*.py", "main.py", "web/src/*.py", "./main.py"):
        assert (await desk.call("list_files", path="web/src", glob=within)).splitlines() == ["web/src/main.py"]


async def test_search_covers_all_folders(desk: Desk) -> None:
    """It finds text on disk and in proposals, and names the folder of each file."""
    await desk.call("write_file", path="web/src/new.py", content="print('new')\n")
    found = await desk.call("search", pattern="print")
    assert found.splitlines()[:-1] == [
        "api/src/main.py:1:print('api')",
        "web/src/main.py:1:print('web')",
        "web/src/new.py:1:print('new')",
    ]
    assert "2 files that look like secrets" in found
    only = await desk.call("search", pattern="print", path="api/src")
    assert only.splitlines() == ["api/src/main.py:1:print('api')"]
    assert "TOKEN" not in await desk.call("search", pattern="TOKEN")


async def test_edits_apply_to_the_file_in_the_named_folder(desk: Desk) -> None:
    """The file of the same name in the other folder stays as it is."""
    await desk.call("read_file", path="web/src/main.py")
    await desk.call("edit_file", path="web/src/main.py", old_text="'web'", new_text="'edited'")
    assert desk.proposed("web/src/main.py") == "print('edited')\n"
    assert desk.proposed("api/src/main.py") is None
    moved = await desk.call("rename_file", path="web/only.ts", new_path="api/only.ts")
    assert "api/only.ts" in moved
    await desk.call("delete_file", path="api/src/main.py")
    assert "api/src/main.py" not in await desk.call("list_files")


@pytest.mark.parametrize("name", ["read_file", "delete_file"])
async def test_a_path_without_a_folder_is_refused(desk: Desk, name: str) -> None:
    """The error names the folders, and nothing is proposed."""
    with pytest.raises(ToolError, match=r"does not begin with the name of a folder.*: api, web"):
        await desk.call(name, path="src/main.py")
    with pytest.raises(ToolError, match=r"does not begin with the name of a folder.*: api, web"):
        await desk.call("write_file", path="src/main.py", content="x")
    assert not len(desk.files.changes)


async def test_a_folder_inside_another_one_is_listed_once(desk: Desk, tmp_path: Path) -> None:
    """The inner folder's files are found once, under its name, even if the search begins at the outer folder."""
    desk.files.roots = Roots.of(tmp_path / "web", tmp_path / "web" / "src")
    assert (await desk.call("list_files")).splitlines()[:2] == ["src/main.py", "web/only.ts"]
    assert (await desk.call("search", pattern="print", path="web")).splitlines()[:-1] == ["src/main.py:1:print('web')"]
    assert (await desk.call("read_file", path="web/src/main.py")).endswith("print('web')\n")


async def test_a_proposal_of_a_removed_folder_stays_as_it_is(desk: Desk, tmp_path: Path) -> None:
    """The proposal is neither lost nor in conflict, but no tool can reach it until the folder is added again."""
    both = desk.files.roots
    await desk.call("write_file", path="web/src/new.py", content="new\n")
    before = desk.files.changes
    desk.files.roots = both.with_folders([(tmp_path / "api", "")])
    await desk.files.observe_all()
    assert desk.files.changes == before
    with pytest.raises(ToolError, match="The folder web is not part of the workspace anymore"):
        await desk.call("write_file", path="web/src/new.py", content="other\n")
    with pytest.raises(ToolError):
        await desk.call("read_file", path=str(tmp_path / "web" / "src" / "new.py"))
    assert "new.py" not in await desk.call("list_files")
    desk.files.roots = both
    assert "web/src/new.py" in await desk.call("list_files")
