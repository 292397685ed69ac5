"""Decisions on hunks in a session on a real folder, compared with the model of slots that also checks the engine."""

import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from edits.both import STARTS, UNDO_OR_REDO, WRITES, Both
from fairlead.edits.changeset import Changeset
from fairlead.edits.proposal import Proposal, empty_proposal
from fairlead.edits.selection import Change
from fairlead.edits.undo import CannotUndo, DecisionLog
from fairlead.session.review import decisions
from fairlead.session.review.target import Target
from session.harness import SessionHarness, run_sync

SOME = st.tuples(st.sampled_from(["accept", "accept over mine", "reject"]), st.sets(st.integers(0, 2), max_size=3))
ALL = st.tuples(st.sampled_from(["accept all", "reject all"]))
STEPS = st.lists(st.one_of(WRITES, WRITES, SOME, ALL, UNDO_OR_REDO), min_size=12, max_size=30)


class Desk:
    """A session and its folder with the interface of `edits.bench.Bench`; `type` writes the file on disk."""

    def __init__(self, folder: Path, text: str) -> None:
        self.path = folder / "a.txt"
        self.path.write_text(text)
        self.harness = SessionHarness(folder)
        self.session = self.harness.session

    @property
    def disk(self) -> str:
        return self.path.read_text()

    @property
    def changes(self) -> Changeset:
        return self.session.files.changes

    @property
    def decisions(self) -> DecisionLog:
        return self.session.review.decisions

    @property
    def proposal(self) -> Proposal:
        return self.session.files.proposal(self.path) or empty_proposal(str(self.path), self.disk)

    def type(self, text: str) -> None:
        self.path.write_text(text)
        self.session.files.user_files.invalidate(self.path)
        run_sync(self.session.files.observe_all())

    def propose(self, text: str) -> None:
        assert self.harness.call("write_file", path="a.txt", content=text) is not None

    def amend(self, text: str) -> None:
        run_sync(decisions.amend(self.session.review, self.path, text, None))

    def accept(self, ids: list[str], overwrite_user_lines: bool) -> None:
        run_sync(decisions.accept(self.session.review, self._target(ids), None, overwrite_user_lines))

    def reject(self, ids: list[str]) -> None:
        run_sync(decisions.reject(self.session.review, self._target(ids), None))

    def undo(self) -> None:
        if not self.harness.undo():
            raise CannotUndo

    def redo(self) -> None:
        if not self.harness.redo():
            raise CannotUndo

    def _target(self, ids: list[str]) -> Target:
        return Target(tuple(Change(str(self.path), hunk_id) for hunk_id in ids))


@settings(max_examples=150)
@given(STARTS, STEPS)
def test_any_sequence_of_steps_ends_where_the_model_does(start: list[int], steps: list[tuple[Any, ...]]) -> None:
    """docs/faults.md 6, 13: after each step the file on disk is as in the model, and no other file is created."""
    with tempfile.TemporaryDirectory() as home:
        both = Both(start, lambda text: Desk(Path(home), text))
        for step in steps:
            both.step(*step)
            assert [path.name for path in Path(home).iterdir()] == ["a.txt"]
