"""Files made, deleted and renamed, in any order: the agent's view, the person's folder, and the way back."""

import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from session.room import Room

NAMES = ("a", "b", "c", "sub/d")
NAME, TEXT = st.sampled_from(NAMES), st.sampled_from(["one\n", "two\n", "three\n", ""])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAME, TEXT),
        st.tuples(st.just("delete"), NAME),
        st.tuples(st.just("rename"), NAME, NAME),
        st.tuples(st.just("type"), NAME, TEXT),
        st.tuples(st.sampled_from(["accept", "reject", "accept", "undo", "redo"]), NAME),
        st.tuples(st.sampled_from(["accept all", "reject all", "undo", "redo"])),
    ),
    max_size=16,
)


class Model:
    """Two trees: what the person has, and what the agent sees. The room must always say the same."""

    def __init__(self, room: Room, tree: dict[str, str]) -> None:
        self.room = room
        self.mine = dict(tree)
        self.view = dict(tree)
        # what undo and redo must lead back to, as long as nobody does anything else
        self.past: list[tuple[dict[str, str], dict[str, str]]] = []
        self.future: list[tuple[dict[str, str], dict[str, str]]] = []
        self.meddled = False

    def check(self) -> None:
        assert self.room.tree == self.mine
        assert {name: text for name in NAMES if (text := self.room.view(name)) is not None} == self.view

    @property
    def in_the_way(self) -> bool:
        """A rejection was taken back on what the person wrote there meanwhile: other tests look at conflicts."""
        changes = self.room.session.files.changes
        return any(one.in_conflict or (one.new_path and Path(one.new_path).exists()) for one in changes)

    def write(self, name: str, text: str) -> None:
        assert self.room.call("write_file", path=name, content=text) is not None
        self.view[name] = text
        self._goes_on()

    def delete(self, name: str) -> None:
        assert (self.room.call("delete_file", path=name) is not None) == (name in self.view)
        self.view.pop(name, None)
        self._goes_on()

    def rename(self, name: str, new: str) -> None:
        """A path is free where neither side has a file; the way back of a rename is free as well."""
        own = self.room.session.files.changes.for_target(str(self.room.folder / name))
        back = own is not None and own.path == str(self.room.folder / new) and own.new_path is not None
        free = new not in self.view and (new not in self.mine or back)
        done = self.room.call("rename_file", path=name, new_path=new) is not None
        assert done == (name in self.view and free)
        if done:
            self.view[new] = self.view.pop(name)
        self._goes_on()

    def type(self, name: str, text: str) -> None:
        """The person saves a file that nothing is proposed for."""
        files = self.room.session.files
        path = self.room.folder / name
        if files.proposal(path) is None and not files.is_proposed(path):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            self.mine[name] = self.view[name] = text
            self._goes_on()

    def accept(self, name: str | None) -> None:
        before = dict(self.mine), dict(self.view)
        touched = self._touched(name)
        outcomes = self.room.accept(name)
        if touched:
            assert set(outcomes) == {"applied"}
            for one in touched:
                self.mine.pop(one, None)
                self.mine |= {one: self.view[one]} if one in self.view else {}
            self._decided(before)

    def reject(self, name: str | None) -> None:
        before = dict(self.mine), dict(self.view)
        touched = self._touched(name)
        self.room.reject(name)
        if touched:
            for one in touched:
                self.view.pop(one, None)
                self.view |= {one: self.mine[one]} if one in self.mine else {}
            self._decided(before)

    def undo(self) -> None:
        self._back(self.past, self.future, self.room.undo())

    def redo(self) -> None:
        self._back(self.future, self.past, self.room.redo())

    def _touched(self, name: str | None) -> set[str]:
        """The paths that the proposals of a decision are about."""
        changes = self.room.session.files.changes
        path = str(self.room.folder / (name or ""))
        found = list(changes) if name is None else [changes.get(path) or changes.for_target(path)]
        paths = {path for one in found if one is not None for path in (one.path, one.target)}
        return {Path(path).relative_to(self.room.folder).as_posix() for path in paths}

    def _decided(self, before: tuple[dict[str, str], dict[str, str]]) -> None:
        self.past.append(before)
        self.future.clear()

    def _goes_on(self) -> None:
        """From here on the state behind a decision is another; what an undo leads to is for the other tests."""
        if self.past or self.future:
            self.meddled = True

    def _back(self, source: list[Any], target: list[Any], done: bool) -> None:
        if self.meddled:
            assert self.room.tree == self.mine or done
            self.mine = self.room.tree
            self.view = {name: text for name in NAMES if (text := self.room.view(name)) is not None}
            return
        assert done == bool(source)
        if done:
            target.append((dict(self.mine), dict(self.view)))
            self.mine, self.view = map(dict, source.pop())


@settings(max_examples=150)
@given(st.dictionaries(NAME, TEXT, max_size=3), STEPS)
def test_any_sequence_ends_with_what_was_decided(tree: dict[str, str], steps: list[tuple[str, ...]]) -> None:
    """docs/faults.md 14: accepted, the folder is what the agent saw; rejected, it sees the folder; undone, back."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        for name, text in tree.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        model = Model(Room(folder), tree)
        for what, *given_values in steps:
            kind, _, everything = what.partition(" ")
            match kind:
                case "accept" | "reject":
                    getattr(model, kind)(None if everything else given_values[0])
                case "undo" | "redo":
                    getattr(model, kind)()
                case _:
                    getattr(model, kind)(*given_values)
            model.check()
            if model.in_the_way:
                return


def test_fault_14_a_rejection_is_not_taken_back_where_another_file_goes_by_now(tmp_path: Path) -> None:
    """docs/faults.md 14: two proposals for one path could never both be carried out."""
    (tmp_path / "b").write_text("b\n")
    room = Room(tmp_path)
    room.call("write_file", path="a", content="a\n")
    room.reject()
    room.call("rename_file", path="b", new_path="a")
    assert not room.undo()
    assert room.accept() == ["applied"]
    assert room.tree == {"a": "b\n"}


def test_fault_14_a_path_that_is_taken_meanwhile_is_left_alone(tmp_path: Path) -> None:
    """docs/faults.md 14: a rename, and a new file, where the person has made one: it stays, so does the proposal."""
    (tmp_path / "a").write_text("a\n")
    room = Room(tmp_path)
    room.call("rename_file", path="a", new_path="b")
    room.call("write_file", path="c", content="agent\n")
    for name in ("b", "c"):
        (tmp_path / name).write_text("person\n")
    assert sorted(room.accept()) == ["conflict", "failed"]
    assert room.tree == {"a": "a\n", "b": "person\n", "c": "person\n"}
    assert [proposal.kind for proposal in room.session.files.changes] == ["rename", "create"]
    (tmp_path / "b").unlink()
    assert sorted(room.accept()) == ["applied", "conflict"]
    assert room.tree == {"b": "a\n", "c": "person\n"}
