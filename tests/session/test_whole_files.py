"""Files created, deleted and renamed, in any order: the agent's view, the user's folder, and undo."""

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from session.harness import SessionHarness, harness_with

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
    """A model of the session: the user's tree and the tree that the agent sees. The session must always match it."""

    def __init__(self, harness: SessionHarness, tree: dict[str, str]) -> None:
        self.harness = harness
        self.mine = dict(tree)
        self.view = dict(tree)
        # the states that undo and redo must restore, unless files are edited in between
        self.past: list[tuple[dict[str, str], dict[str, str]]] = []
        self.future: list[tuple[dict[str, str], dict[str, str]]] = []
        self.was_edited = False

    def check(self) -> None:
        assert self.harness.tree == self.mine
        assert {name: text for name in NAMES if (text := self.harness.view(name)) is not None} == self.view

    @property
    def has_conflict(self) -> bool:
        """Whether undoing a rejection led to a conflict with the user's file. Other tests cover conflicts."""
        changes = self.harness.session.files.changes
        return any(one.in_conflict or (one.new_path and Path(one.new_path).exists()) for one in changes)

    def write(self, name: str, text: str) -> None:
        assert self.harness.call("write_file", path=name, content=text) is not None
        self.view[name] = text
        self._note_edit()

    def delete(self, name: str) -> None:
        assert (self.harness.call("delete_file", path=name) is not None) == (name in self.view)
        self.view.pop(name, None)
        self._note_edit()

    def rename(self, name: str, new: str) -> None:
        """The agent renames a file. The new path must be free in both trees, or this must reverse an earlier rename."""
        own = self.harness.session.files.changes.for_target(str(self.harness.folder / name))
        reverses = own is not None and own.path == str(self.harness.folder / new) and own.new_path is not None
        free = new not in self.view and (new not in self.mine or reverses)
        done = self.harness.call("rename_file", path=name, new_path=new) is not None
        assert done == (name in self.view and free)
        if done:
            self.view[new] = self.view.pop(name)
        self._note_edit()

    def type(self, name: str, text: str) -> None:
        """The user saves a file, unless it has a proposal."""
        files = self.harness.session.files
        path = self.harness.folder / name
        if files.proposal(path) is None and not files.is_proposed(path):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            self.mine[name] = self.view[name] = text
            self._note_edit()

    def accept(self, name: str | None) -> None:
        before = dict(self.mine), dict(self.view)
        touched = self._touched(name)
        outcomes = self.harness.accept(name)
        if touched:
            assert set(outcomes) == {"applied"}
            for path in touched:
                self.mine.pop(path, None)
                self.mine |= {path: self.view[path]} if path in self.view else {}
            self._decided(before)

    def reject(self, name: str | None) -> None:
        before = dict(self.mine), dict(self.view)
        touched = self._touched(name)
        self.harness.reject(name)
        if touched:
            for path in touched:
                self.view.pop(path, None)
                self.view |= {path: self.mine[path]} if path in self.mine else {}
            self._decided(before)

    def undo(self) -> None:
        self._move(self.past, self.future, self.harness.undo())

    def redo(self) -> None:
        self._move(self.future, self.past, self.harness.redo())

    def _touched(self, name: str | None) -> set[str]:
        """The old and new paths of the proposals that a decision affects."""
        changes = self.harness.session.files.changes
        path = str(self.harness.folder / (name or ""))
        found = list(changes) if name is None else [changes.get(path) or changes.for_target(path)]
        paths = {path for one in found if one is not None for path in (one.path, one.target)}
        return {Path(path).relative_to(self.harness.folder).as_posix() for path in paths}

    def _decided(self, before: tuple[dict[str, str], dict[str, str]]) -> None:
        self.past.append(before)
        self.future.clear()

    def _note_edit(self) -> None:
        """Notes an edit after a decision. Other tests cover which files an undo of that decision then restores."""
        if self.past or self.future:
            self.was_edited = True

    def _move(self, source: list[Any], target: list[Any], done: bool) -> None:
        if self.was_edited:
            assert self.harness.tree == self.mine or done
            self.mine = self.harness.tree
            self.view = {name: text for name in NAMES if (text := self.harness.view(name)) is not None}
            return
        assert done == bool(source)
        if done:
            target.append((dict(self.mine), dict(self.view)))
            self.mine, self.view = map(dict, source.pop())


@settings(max_examples=150)
@given(st.dictionaries(NAME, TEXT, max_size=3), STEPS)
def test_any_sequence_of_steps_matches_the_model(tree: dict[str, str], steps: list[tuple[str, ...]]) -> None:
    """docs/faults.md 14: an accept gives the user the agent's files, a reject gives the agent the user's, and undo
    restores both."""
    with harness_with(tree) as harness:
        model = Model(harness, tree)
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
            if model.has_conflict:
                return


def test_fault_14_a_rejection_is_not_undone_if_another_file_is_proposed_there(tmp_path: Path) -> None:
    """docs/faults.md 14: if another file has been renamed to the path of a rejected new file, the rejection cannot be
    undone: two proposals for one path could never both be accepted."""
    (tmp_path / "b").write_text("b\n")
    harness = SessionHarness(tmp_path)
    harness.call("write_file", path="a", content="a\n")
    harness.reject()
    harness.call("rename_file", path="b", new_path="a")
    assert not harness.undo()
    assert harness.accept() == ["applied"]
    assert harness.tree == {"a": "b\n"}
