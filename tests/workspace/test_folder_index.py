"""The folder index's notes stay correct while names change."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.workspace.folder_index import SETTLED_NS, Entries, FolderIndex
from fairlead.workspace.secrets import SecretFinder

NAMES = ("a", "b", ".env")


def later() -> int:
    """A time at which every change of a test is settled."""
    return time.time_ns() + 2 * SETTLED_NS


def tick(folder: Path) -> None:
    """Returns when the file system's clock has moved, so that the next change gets another time."""
    probe = folder / "probe"
    probe.touch()
    before = probe.stat().st_mtime_ns
    while probe.stat().st_mtime_ns == before:
        probe.touch()


class Names:
    """Notes the names in each folder, and lists the folders that were read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, folder: str, entries: Entries) -> tuple[Sequence[str], Sequence[str]]:
        self.read.append(folder)
        return sorted(entries), [name for name, entry in entries.items() if entry.is_dir(follow_symlinks=False)]


def test_only_folders_whose_names_changed_are_read_again(tmp_path: Path, workspace: Path) -> None:
    """A folder is not read again if only the text of a file in it has changed."""
    for name in ("one/x", "two/deep/y"):
        (workspace / name).parent.mkdir(parents=True)
        (workspace / name).touch()
    names = Names()
    index = FolderIndex(workspace, names, later)
    assert index.current_notes() == {"": ["one", "two"], "one": ["x"], "two": ["deep"], "two/deep": ["y"]}
    names.read.clear()
    tick(tmp_path)
    (workspace / "one/x").write_text("changed")
    assert index.current_notes()["two"] == ["deep"]
    assert names.read == []
    (workspace / "two/new").touch()
    assert index.current_notes()["two"] == ["deep", "new"]
    assert names.read == ["two"]


def test_a_folder_that_has_just_changed_is_read_again(workspace: Path) -> None:
    """A folder that has just changed is read again: a second change may get the same time as the first one."""
    names = Names()
    index = FolderIndex(workspace, names)
    for _ in range(2):
        index.current_notes()
    assert names.read == ["", ""]


OPERATIONS = st.tuples(
    st.sampled_from(("file", "folder", "link", "remove", "rename")),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join),
)


def apply(root: Path, operation: str, path: str, other: str) -> None:
    """Does one thing to the tree, or nothing if it is not possible."""
    try:
        match operation:
            case "file":
                (root / path).touch(exist_ok=False)
            case "folder":
                (root / path).mkdir()
            case "link":
                (root / path).symlink_to(root / other)
            case "remove":
                (root / path).rmdir() if (root / path).is_dir() else (root / path).unlink()
            case _:
                (root / path).rename(root / other)
    except OSError:
        pass


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trees")


@settings(max_examples=60, deadline=None)
@given(rounds=st.lists(st.lists(OPERATIONS, min_size=1, max_size=4), min_size=1, max_size=5))
def test_updated_notes_equal_those_of_a_new_index(trees: Path, rounds: list[list[tuple[str, str, str]]]) -> None:
    """The notes are correct after any changes of names, even if folders are moved, replaced, or become links."""
    root = Path(trees, str(len(os.listdir(trees))))
    root.mkdir()
    index = FolderIndex(root, Names(), later)
    for operations in rounds:
        for operation in operations:
            apply(root, *operation)
        assert index.current_notes() == FolderIndex(root, Names()).current_notes()
        tick(trees)


async def test_a_secret_is_found_at_once(workspace: Path) -> None:
    """No command can read a secret that exists when the command is requested, even if the rules have just changed."""
    finder = SecretFinder(workspace)
    (workspace / "sub").mkdir()
    assert (await finder.find()).names == set()
    (workspace / "sub/.env").touch()
    assert (await finder.find()).names == {"sub/.env"}
    (workspace / "sub").rename(workspace / "other")
    assert (await finder.find()).names == {"other/.env"}
    (workspace / ".fairleadignore").write_text("plans\n")
    (workspace / "plans").touch()
    assert (await finder.find()).names == {"other/.env", "plans"}
    (workspace / "plans").unlink()
    (workspace / "plans").symlink_to("other")
    (workspace / "other/x").touch()
    assert (await finder.find()).names == {"other/.env", "plans"}
