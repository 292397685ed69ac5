"""Folders that commands create, empty, move and remove: what the next command sees, and the disk after an accept."""

import asyncio
import subprocess
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from fairlead.session.review import decisions, undo
from fairlead.session.review.decisions import FOLDER_REMOVED
from fairlead.session.review.target import Target
from fairlead.tools.folders import NOT_PROPOSED, NOT_REMOVED, REMOVED_ON_ACCEPT, STAY_EMPTY
from session.boxed import BoxedSession, NoEditor, Tree, boxed_session, tree_of, write_tree
from session.harness import Editor
from support.sandbox import needs_sandbox

EDITORS = [Editor, NoEditor]
LIST = "find . -mindepth 1 '(' -type d -printf '%P/\\n' -o -printf '%P\\n' ')' | LC_ALL=C sort"


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


def run_plainly(folder: Path, command: str) -> None:
    subprocess.run(["bash", "-c", command], check=False, cwd=folder, capture_output=True)


def listing(folder: Path) -> str:
    return subprocess.run(["bash", "-c", LIST], cwd=folder, capture_output=True, text=True, check=True).stdout


async def seen(agent: BoxedSession) -> list[str]:
    """The files and folders that the next command sees. Folders end with `/`."""
    return [line for line in (await agent.bash(LIST)).splitlines() if not line.startswith("(exit code")]


def paths_in(tree: Tree) -> list[str]:
    return sorted(name + "/" * (text is None) for name, (_, text) in tree.items())


def without_new_empty_folders(tree: Tree, before: Collection[str]) -> Tree:
    """The tree without the empty folders that were not on disk: these are not proposed."""
    while True:
        parents = {Path(name).parent.as_posix() for name in tree}
        empty = {name for name, (_, text) in tree.items() if text is None} - parents - {*before}
        if not empty:
            return tree
        tree = {name: each for name, each in tree.items() if name not in empty}


@pytest.mark.parametrize("editor", EDITORS)
async def test_a_moved_and_a_removed_folder_are_gone(editor: type[Editor]) -> None:
    """The next command does not see them, the model learns what becomes of them, and an accept removes them from disk
    and says so. An undo restores them with their permissions, and a rejection shows them again, without a trace.
    """
    async with boxed_session(["src/a", "src/sub/b", "old/deep/c", "keep/d"], editor) as agent:
        (agent.folder / "old").chmod(0o700)
        before = agent.tree
        assert f"{REMOVED_ON_ACCEPT}: old/, src/." in await agent.bash("mv src lib; rm -rf old")
        after = ["keep/", "keep/d", "lib/", "lib/a", "lib/sub/", "lib/sub/b"]
        assert await seen(agent) == after
        assert agent.tree == before
        await decisions.reject(agent.session.review, Target(), None)
        assert await seen(agent) == paths_in(before)
        await undo.undo(agent.session.review)
        messages = [outcome.message for outcome in await agent.accept()]
        assert sorted(filter(None, messages)) == [FOLDER_REMOVED.format(name=name) for name in ("old", "src")]
        assert paths_in(agent.tree) == after
        await undo.undo(agent.session.review)
        assert agent.tree == before
        await undo.redo(agent.session.review)
        assert paths_in(agent.tree) == after


async def test_a_new_empty_folder_is_there_for_the_next_command() -> None:
    """The next command can write to a folder that an earlier one created. Without a file, an accept does not create it,
    and the model learns that."""
    async with boxed_session(["a"]) as agent:
        assert f"{NOT_PROPOSED}: gen/deep/, logs/." in await agent.bash("mkdir -p gen/deep logs")
        assert "new gen/deep/x" in await agent.bash("echo x > gen/deep/x")
        assert await seen(agent) == ["a", "gen/", "gen/deep/", "gen/deep/x", "logs/"]
        await agent.accept()
        assert paths_in(agent.tree) == ["a", "gen/", "gen/deep/", "gen/deep/x"]
        await agent.bash("rmdir logs")
        assert await seen(agent) == paths_in(agent.tree)


async def test_a_folder_that_a_command_empties_stays() -> None:
    """A command that deletes only the files of a folder leaves the folder, also on disk, until a command removes it."""
    async with boxed_session(["src/a", "src/b"]) as agent:
        assert f"{STAY_EMPTY}: src/." in await agent.bash("rm src/*")
        assert await seen(agent) == ["src/"]
        await agent.accept()
        assert paths_in(agent.tree) == ["src/"]
        await undo.undo(agent.session.review)
        await agent.bash("rmdir src")
        assert await seen(agent) == []
        await agent.accept()
        assert agent.tree == {}


async def test_fault_126_a_folder_with_anything_else_in_it_stays() -> None:
    """docs/faults.md 126: a folder with a file that Git ignores, or that was empty before, is neither hidden from the
    next command nor removed by an accept, whatever the commands did with it. The model and the user learn that."""
    paths = [".gitignore", "src/a", "src/x.o", "old/b", "old/empty/", "bare/", "mixed/c", "mixed/d"]
    async with boxed_session(paths) as agent:
        (agent.folder / ".gitignore").write_text("*.o\n")
        told = await agent.bash("mv src lib; rm -rf old; rmdir bare; rm mixed/c; printf end")
        assert f"{NOT_REMOVED}: bare/, old/, src/." in told
        assert "".join(agent.output) == f"end\n({NOT_REMOVED}: bare/, old/, src/.)\n"
        on_disk = [".gitignore", "bare/", "lib/", "lib/a", "mixed/", "mixed/d", "old/", "old/empty/", "src/", "src/x.o"]
        assert await seen(agent) == sorted([*on_disk, "lib/x.o"])
        await agent.accept("mixed/c")
        await agent.accept()
        assert paths_in(agent.tree) == on_disk


async def test_a_folder_goes_with_the_last_file_that_a_tool_deletes_or_moves() -> None:
    """With the last accepted one; the others leave it."""
    async with boxed_session(["src/a", "src/b", "src/sub/c"]) as agent:
        assert await agent.call("delete_file", path="src/a") == "Proposed (deletion)."
        await agent.call("rename_file", path="src/sub/c", new_path="lib/c")
        last = await agent.call("rename_file", path="src/b", new_path="lib/b")
        assert last == f"Proposed (now lib/b). {REMOVED_ON_ACCEPT}: src/."
        assert await seen(agent) == ["lib/", "lib/b", "lib/c"]
        await agent.accept("src/a")
        assert paths_in(agent.tree) == ["src/", "src/b", "src/sub/", "src/sub/c"]
        await agent.accept()
        assert paths_in(agent.tree) == ["lib/", "lib/b", "lib/c"]


@pytest.mark.parametrize("editor", EDITORS)
async def test_a_folder_takes_the_place_of_a_file(editor: type[Editor]) -> None:
    """An accept replaces the file with the folder, and an undo the folder with the file. If the folder has other files,
    they stay.
    """
    async with boxed_session(["src/deep/a", "lib"], editor) as agent:
        before = agent.tree
        await agent.bash("rm lib; mv src lib")
        assert {each.outcome for each in await agent.accept()} == {"applied"}
        assert paths_in(agent.tree) == ["lib/", "lib/deep/", "lib/deep/a"]
        assert {each.outcome for each in await undo.undo(agent.session.review)} == {"applied"}
        assert agent.tree == before
        await undo.redo(agent.session.review)
        (agent.folder / "lib" / "mine").write_text("mine\n")
        outcomes = {each.path.name: (each.outcome, each.message) for each in await undo.undo(agent.session.review)}
        assert outcomes == {"lib": ("failed", "lib is a folder, not a file."), "a": ("applied", "")}
        assert paths_in(agent.tree) == ["lib/", "lib/mine", "src/", "src/deep/", "src/deep/a"]


@pytest.mark.parametrize("command", ["mkdir -p made/deep", "mkdir -p made/deep; touch made/deep/x.o"])
async def test_fault_125_a_file_in_place_of_a_folder_is_not_deleted(command: str) -> None:
    """docs/faults.md 125: the user's file takes the place of a folder that only the commands saw, also if that was a
    parent of the empty folder or of the ignored file that they left."""
    async with boxed_session([".gitignore"]) as agent:
        (agent.folder / ".gitignore").write_text("*.o\n")
        await agent.bash(command)
        (agent.folder / "made").write_text("theirs")
        assert "theirs" in await agent.bash("cat made")
        assert await seen(agent) == [".gitignore", "made"]
        assert not len(agent.session.files.changes)


NAMES = st.sampled_from(["a", "b", "a/c", "b/d", "a/c/e", "x", "x/y"])
FILES = NAMES.map(lambda name: f"{name}/f")
COMMAND = st.one_of(
    st.builds("mkdir -p {}".format, NAMES),
    st.builds("rmdir {}".format, NAMES),
    st.builds("rm -rf {}".format, NAMES),
    st.builds("rm -f {}/*".format, NAMES),
    st.builds("mv {} {}".format, NAMES, NAMES),
    st.builds("echo {} > {}".format, st.sampled_from("12"), FILES),
)
COMMANDS = st.lists(COMMAND, min_size=1, max_size=2).map("; ".join)
TREES = st.lists(st.sampled_from(["a/f", "a/g", "a/c/f", "b/f", "b/d/f", "x"]), unique=True)


@settings(max_examples=15)
@example(["a/f", "b/d/f"], ["rm -rf a", "mv b/d a"], EDITORS[0])
@given(TREES, st.lists(COMMANDS, min_size=1, max_size=4), st.sampled_from(EDITORS))
def test_folders_are_those_of_a_plain_copy(paths: list[str], commands: list[str], editor: type[Editor]) -> None:
    """Each command sees the folders that the commands before it left. After all is accepted, the disk has the same
    files and folders as if the commands had run there, except for new empty folders. An undo restores the old tree."""
    asyncio.run(_compare(paths, commands, editor))


async def _compare(paths: list[str], commands: list[str], editor: type[Editor]) -> None:
    with TemporaryDirectory() as home:
        plain = Path(home)
        write_tree(plain, paths)
        before = tree_of(plain)
        async with boxed_session(paths, editor) as agent:
            for command in commands:
                run_plainly(plain, command)
                await agent.bash(command)
                assert await seen(agent) == listing(plain).splitlines()
            assert {each.outcome for each in await agent.accept()} <= {"applied"}
            folders = {name for name, (_, text) in before.items() if text is None}
            wanted = without_new_empty_folders(tree_of(plain), folders)
            assert agent.tree == wanted
            assert await seen(agent) == listing(plain).splitlines()
            if agent.session.review.decisions.done:
                await undo.undo(agent.session.review)
                assert agent.tree == before
                await undo.redo(agent.session.review)
                assert agent.tree == wanted
