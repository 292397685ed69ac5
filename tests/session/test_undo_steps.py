"""The undo of a plan item between other decisions: a model of one file, and properties of several files."""

import contextlib
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from edits.both import CONTENTS, SLOTS, SOME, STARTS
from edits.slots import Content, Model, content
from fairlead.edits.origins import Author
from fairlead.edits.proposal import Raw
from fairlead.edits.review_outcomes import hunk_outcomes
from fairlead.edits.selection import Change
from fairlead.session.errors import RequestRefused
from fairlead.session.review import decisions
from fairlead.session.review.target import Target
from fairlead.session.review.undo_item import undo_item
from fairlead.workspace.errors import WorkspaceError
from session.harness import SessionHarness, harness_with, run_sync
from session.test_hunks import Desk
from session.test_whole_files import NAME, NAMES, TEXT

pytestmark = pytest.mark.slow

ITEM = st.sampled_from(["1", "2"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("propose"), ITEM, SLOTS, CONTENTS),
        st.tuples(st.just("propose"), ITEM, SLOTS, CONTENTS),
        st.tuples(st.just("propose_mode"), ITEM, st.sampled_from([0o644, 0o755, None])),
        st.tuples(st.just("type"), SLOTS, CONTENTS),
        st.tuples(st.just("accept"), SOME, st.booleans()),
        st.tuples(st.just("accept"), st.just({0, 1, 2}), st.booleans()),
        st.tuples(st.just("reject"), SOME),
        st.tuples(st.just("undo_item"), ITEM),
    ),
    min_size=8,
    max_size=24,
)


@dataclass(frozen=True)
class State:
    """The user's file: the lines of each slot, and the permissions."""

    slots: tuple[Content, ...]
    mode: int


@dataclass(frozen=True, eq=False)
class Accept:
    """An accept that is in effect."""

    before: State
    after: State
    authors: dict[int, str]
    """The item of each accepted slot."""
    as_whole: bool


class File:
    """One file in a session and in a model of slots. The agent also proposes permissions for it."""

    def __init__(self, folder: Path, start: list[int]) -> None:
        self.model = Model(start)
        self.desk = Desk(folder, self.model.text("mine"))
        self.session, self.path = self.desk.session, self.desk.path
        self.path.chmod(0o644)
        self.mode = 0o644
        self.proposed_mode: tuple[int, str] | None = None
        """With its item."""
        self.authors: dict[int, str] = {}
        self.accepts: list[tuple[str, Accept]] = []
        """Those in effect, once for each of their items."""

    @property
    def state(self) -> State:
        return State(tuple(slot.mine for slot in self.model.slots), self.mode)

    def has_mode(self, mode: int) -> bool:
        """Whether the user's file has these permissions. On Windows, which has no such permissions, always true."""
        return sys.platform == "win32" or self.path.stat().st_mode & 0o777 == mode

    def propose(self, item: str, number: int, variant: int) -> None:
        number %= len(self.model.slots)
        new = content(number, variant)
        if self.model.slots[number].proposed != new:
            self.authors[number] = item
            self.model.propose(number, new)
            self.desk.harness.item_id = item
            self.desk.propose(self.model.text("proposed"))

    def propose_mode(self, item: str, mode: int | None) -> None:
        """A command sets permissions, or resets them to those of the user's file (None)."""
        text = self.model.text("proposed")
        if mode is None or self.proposed_mode is None or self.proposed_mode[0] != mode:
            self.proposed_mode = None if mode is None else (mode, item)
        for _ in range(2):  # after a rejection, the second attempt succeeds
            try:
                run_sync(self.session.files.capture(self.path, text, text, Author(item, "call"), Raw(mode=mode)))
                return
            except WorkspaceError:
                continue

    def type(self, number: int, variant: int) -> None:
        number %= len(self.model.slots)
        self.model.type(number, content(number, variant))
        self.desk.type(self.model.text("mine"))

    def accept(self, numbers: set[int], over_mine: bool) -> None:
        before, states, as_whole = self.state, self.model.states(), self.proposed_mode is not None
        chosen = set(states) if as_whole else numbers & states.keys()
        if not (as_whole or chosen):
            return
        run_sync(decisions.accept(self.session.review, self._target(chosen), None, over_mine))
        if as_whole and "conflict" in states.values() and not over_mine:
            return
        self.model.accept(chosen, over_mine)
        taken = {number: self.authors[number] for number in chosen if over_mine or states[number] == "pending"}
        items = set(taken.values())
        if self.proposed_mode is not None:
            self.mode, item = self.proposed_mode
            items.add(item)
        self.proposed_mode = None
        accepted = Accept(before, self.state, taken, as_whole)
        self.accepts += ((item, accepted) for item in items)

    def reject(self, numbers: set[int]) -> None:
        as_whole = self.proposed_mode is not None
        chosen = set(self.model.states()) if as_whole else numbers & self.model.states().keys()
        if as_whole or chosen:
            run_sync(decisions.reject(self.session.review, self._target(chosen), None))
            self.model.reject(chosen)
            self.proposed_mode = None

    def _target(self, numbers: Iterable[int]) -> Target:
        """The file if it is decided as a whole, else the hunks in some slots."""
        if self.proposed_mode is not None:
            return Target((Change(str(self.path)),))
        ids = dict(zip(self.model.states(), (hunk.id for hunk in self.desk.proposal.hunks), strict=True))
        return Target(tuple(Change(str(self.path), ids[number]) for number in numbers))

    def undo_item(self, item: str) -> None:
        """Also undoes and redoes the undo."""
        undone = self._accepts_to_undo(item)
        wanted = self._without(undone, item)
        before = self.state
        try:
            outcomes = [each.outcome for each in run_sync(undo_item(self.session.review, item))]
        except RequestRefused:
            assert wanted == before
            return
        assert outcomes == (["failed"] if wanted is None else ["applied"])
        if wanted is None:
            return
        for number, lines in enumerate(wanted.slots):
            self.model.type(number, lines)
        self.mode = wanted.mode
        self.accepts = [
            (of, accept) for of, accept in self.accepts if accept not in undone or (of != item and not accept.as_whole)
        ]
        for move, state in ((self.desk.harness.undo, before), (self.desk.harness.redo, wanted)):
            assert move()
            assert self.desk.disk == text_of(state)
            assert self.has_mode(state.mode)

    def _accepts_to_undo(self, item: str) -> list[Accept]:
        """The last accept of the item if it was as a whole, else all that were by hunk."""
        of_item = [accept for of, accept in self.accepts if of == item]
        return of_item[-1:] if of_item and of_item[-1].as_whole else [one for one in of_item if not one.as_whole]

    def _without(self, undone: list[Accept], item: str) -> State | None:
        """The user's file without an item's part in some accepts; None if later changes would be lost."""
        if undone and undone[-1].as_whole:
            return undone[-1].before if self.state.slots == undone[-1].after.slots else None
        slots = list(self.state.slots)
        for accept in reversed(undone):
            for number in (number for number, of in accept.authors.items() if of == item):
                before, after = accept.before.slots[number], accept.after.slots[number]
                if slots[number] not in (before, after):
                    return None
                slots[number] = before
        return State(tuple(slots), self.mode)

    def check(self) -> None:
        """Compares the file, its proposal, the items of the hunks and the outcomes with the model."""
        proposal = self.desk.proposal
        assert self.desk.disk == self.model.text("mine")
        assert self.has_mode(self.mode)
        assert (proposal.base, proposal.proposed) == (self.model.text("base"), self.model.text("proposed"))
        assert proposal.raw.mode == (None if self.proposed_mode is None else self.proposed_mode[0])
        self.authors = {number: self.authors[number] for number in self.model.states()}
        origins = map(proposal.origin, proposal.hunks)
        assert [origin.item_id for origin in origins if origin is not None] == [*self.authors.values()]
        outcomes = hunk_outcomes(self.session.files.changes, self.session.review.decisions)
        accepted = {each.item_id for each in outcomes if each.outcome == "accepted"}
        assert accepted == {item for item, _ in self.accepts}

    @property
    def seen(self) -> tuple[Any, ...]:
        """The file, and its proposal with the ids of the hunks."""
        proposal = self.desk.proposal
        ids = [(hunk.id, hunk.id in proposal.conflicts) for hunk in proposal.hunks]
        return self.desk.disk, self.path.stat().st_mode & 0o777, proposal.base, proposal.proposed, proposal.raw, ids


def text_of(state: State) -> str:
    parts = ["frame\n"]
    for number, lines in enumerate(state.slots):
        parts += [*lines, f"frame {number}\n"]
    return "".join(parts)


@settings(max_examples=200)
@given(STARTS, STEPS)
def test_any_sequence_of_steps_on_a_file_ends_where_the_model_does(
    start: list[int], steps: list[tuple[Any, ...]]
) -> None:
    """The undo of an item removes its accepted lines, and nothing of other items or of the user. Permissions are
    accepted as a whole: the last accept of the item is undone with all that was in it, an earlier one stays."""
    with tempfile.TemporaryDirectory() as home:
        file = File(Path(home), start)
        for what, *given_values in steps:
            getattr(file, what)(*given_values)
            file.check()


@settings(max_examples=200)
@given(STARTS, STEPS)
def test_each_decision_can_be_undone_and_redone(start: list[int], steps: list[tuple[Any, ...]]) -> None:
    """If only decisions follow the proposals and the typing, each undo and redo restores all of the file."""
    with tempfile.TemporaryDirectory() as home:
        file = File(Path(home), start)
        writes = [step for step in steps if step[0] in ("propose", "propose_mode", "type")]
        states: list[tuple[Any, ...]] = []
        for what, *given_values in [*writes, *(step for step in steps if step not in writes)]:
            getattr(file, what)(*given_values)
            states = [*states[: len(file.session.review.decisions.done)], file.seen]
        for state in reversed(states[:-1]):
            assert file.desk.harness.undo()
            assert file.seen == state
        for state in states[1:]:
            assert file.desk.harness.redo()
            assert file.seen == state


FILE_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write_file"), ITEM, NAME, TEXT),
        st.tuples(st.just("delete_file"), ITEM, NAME),
        st.tuples(st.just("rename_file"), ITEM, NAME, NAME),
        st.tuples(st.just("type"), NAME, TEXT),
        st.tuples(st.sampled_from(["accept", "reject"]), NAME | st.none()),
        st.tuples(st.just("accept"), st.none()),
        st.tuples(st.sampled_from(["undo", "redo"])),
        st.tuples(st.just("undo_item"), ITEM),
    ),
    min_size=4,
    max_size=16,
)


@settings(max_examples=200)
@given(st.dictionaries(NAME, TEXT, max_size=3), FILE_STEPS)
def test_the_undo_of_an_item_can_be_undone_and_ends(tree: dict[str, str], steps: list[tuple[Any, ...]]) -> None:
    """Files are created, deleted and renamed under two items. An undo of an item changes files or is refused, an undo
    and a redo of it restore all files and proposals, and what it undid is not undone again."""
    with harness_with(tree) as harness:
        for step in steps:
            if step[0] == "undo_item":
                undo_completely(harness, step[1])
            else:
                play(harness, step)


def play(harness: SessionHarness, step: tuple[Any, ...]) -> None:
    """Takes one of `FILE_STEPS`."""
    match step:
        case "accept" | "reject" | "undo" | "redo" as decision, *name:
            getattr(harness, decision)(*name)
        case "type", name, text if harness.view(name) is not None and (harness.folder / name).is_file():
            (harness.folder / name).write_text(text)
            harness.session.files.user_files.invalidate(harness.folder / name)
            run_sync(harness.session.files.observe_all())
        case "undo_item", item:
            with contextlib.suppress(RequestRefused):
                run_sync(undo_item(harness.session.review, item))
        case "write_file", item, name, text:
            call(harness, item, "write_file", path=name, content=text)
        case "delete_file", item, name:
            call(harness, item, "delete_file", path=name)
        case "rename_file", item, name, new:
            call(harness, item, "rename_file", path=name, new_path=new)
        case _:
            pass


def call(harness: SessionHarness, item: str, tool: str, **given: str) -> None:
    harness.item_id = item
    harness.call(tool, **given)


def undo_completely(harness: SessionHarness, item: str) -> None:
    """Undoes an item until nothing of it can be undone anymore."""
    for _ in range(len(harness.session.review.decisions.done) + 1):
        before = seen(harness)
        try:
            outcomes = {each.outcome for each in run_sync(undo_item(harness.session.review, item))}
        except RequestRefused:
            assert seen(harness) == before
            return
        if outcomes == {"failed"}:
            assert seen(harness) == before
            return
        after = seen(harness)
        assert after[0] != before[0]
        assert harness.undo()
        assert seen(harness) == before
        assert harness.redo()
        assert seen(harness) == after
    raise AssertionError(f"the undo of {item} does not end")


def seen(harness: SessionHarness) -> tuple[dict[str, str], dict[str, str | None]]:
    """The user's files, and those that the agent sees."""
    return harness.tree, {name: harness.view(name) for name in NAMES}


def test_the_undo_of_an_item_can_be_undone_while_the_agent_proposes_to_rename_the_file(tmp_path: Path) -> None:
    """The file was not moved, so it is restored at its own path."""
    harness = SessionHarness(tmp_path)
    harness.call("write_file", path="a", content="1\n")
    harness.accept()
    harness.call("rename_file", path="a", new_path="b")
    run_sync(undo_item(harness.session.review, "1"))
    assert harness.tree == {}
    assert harness.undo() and harness.tree == {"a": "1\n"}
    assert harness.redo() and harness.tree == {}
    assert harness.undo() and harness.accept() == ["applied"]
    assert harness.tree == {"b": "1\n"}


def test_a_file_is_not_restored_where_the_agent_proposes_to_move_another_one(tmp_path: Path) -> None:
    """Otherwise neither the proposal could be accepted nor the undo be undone."""
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    harness = SessionHarness(tmp_path)
    harness.call("delete_file", path="a")
    harness.accept()
    harness.call("rename_file", path="b", new_path="a")
    [outcome] = run_sync(undo_item(harness.session.review, "1"))
    reason = "a: the agent proposes to rename a file to this path. Reject that first."
    assert (outcome.outcome, outcome.message, harness.tree) == ("failed", reason, {"b": "b"})
    harness.reject()
    run_sync(undo_item(harness.session.review, "1"))
    assert harness.tree == {"a": "a", "b": "b"}


def test_a_new_file_that_another_item_changed_since_stays(tmp_path: Path) -> None:
    """The message says what to do. Without the later change, the file can be removed."""
    harness = SessionHarness(tmp_path)
    harness.call("write_file", path="a", content="one\n")
    harness.accept()
    harness.item_id = "2"
    harness.call("edit_file", path="a", old_text="one", new_text="two")
    harness.accept()
    [outcome] = run_sync(undo_item(harness.session.review, "1"))
    reason = "a has been changed again since. Undo that first, or edit the file yourself."
    assert (outcome.outcome, outcome.message, harness.tree) == ("failed", reason, {"a": "two\n"})
    for item in ("2", "1"):
        run_sync(undo_item(harness.session.review, item))
    assert harness.tree == {}
