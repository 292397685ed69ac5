"""Plays the same steps in an engine and in the model of slots, and compares both byte for byte after each step."""

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import pytest

from edits.slots import LINES, Model, Refused, content
from fairlead.edits.undo import CannotUndo

# few slots and few contents, so that the agent and the user often change the same slot
STARTS = st.lists(st.integers(0, len(LINES) - 1), min_size=2, max_size=3)
SLOTS, CONTENTS, SOME = st.integers(0, 2), st.integers(0, len(LINES) - 1), st.sets(st.integers(0, 2), min_size=1)
WRITES = st.tuples(st.sampled_from(["propose", "propose", "type", "type", "amend"]), SLOTS, CONTENTS)
DECISIONS = st.one_of(
    st.tuples(st.sampled_from(["accept", "accept over mine", "reject"]), SOME),
    st.tuples(st.sampled_from(["accept all", "reject all"])),
)
UNDO_OR_REDO = st.tuples(st.sampled_from(["undo", "undo", "redo"]))
STEPS = st.lists(st.one_of(WRITES, WRITES, DECISIONS, UNDO_OR_REDO), min_size=12, max_size=30)


class Both:
    """Does each step in the engine and in the model, and compares the results."""

    def __init__(self, start: list[int], engine: Callable[[str], Any]) -> None:
        """`engine` gets the file's text, and returns an object with the methods and properties of `Bench`."""
        self.model = Model(start)
        self.engine = engine(self.model.text("mine"))

    def step(self, what: str, *given: Any) -> None:
        ids = self.ids()
        before = self.model.slots
        match what:
            case "propose" | "type" | "amend":
                self._write(what, *given)
            case "undo" | "redo":
                self._undo_or_redo(what)
            case _:
                self._decide(what, *given)
        self.compare()
        same = {n for n in ids if n in self.ids() and self.model.slots[n] == before[n]}
        if what not in ("undo", "redo"):
            assert {n: ids[n] for n in same} == {n: self.ids()[n] for n in same}

    def _write(self, what: str, number: int, variant: int) -> None:
        number %= len(self.model.slots)
        new = content(number, variant)
        if what == "amend":
            if not self.model.states():
                return
            if self.model.slots[number].proposed == new:
                return
        getattr(self.model, what)(number, new)
        # the slot's new lines, in the text that the agent or the user sees
        seen = self.engine.disk if what == "type" else self.engine.proposal.proposed
        assert seen is not None
        lines = seen.splitlines(keepends=True)
        start = 0 if number == 0 else lines.index(f"frame {number - 1}\n")
        lines[start + 1 : lines.index(f"frame {number}\n")] = new
        getattr(self.engine, what)("".join(lines))

    def _decide(self, what: str, numbers: set[int] | None = None) -> None:
        chosen = set(self.model.states()) & (numbers if numbers is not None else set(self.model.states()))
        if not chosen:
            return
        ids = [self.ids()[n] for n in chosen]
        if what.startswith("reject"):
            self.model.reject(chosen)
            self.engine.reject(ids)
        else:
            self.model.accept(chosen, "over mine" in what)
            self.engine.accept(ids, "over mine" in what)

    def _undo_or_redo(self, what: str) -> None:
        if not (self.model.done if what == "undo" else self.model.undone):
            return
        try:
            getattr(self.model, what)()
        except Refused:
            before = self.engine.changes, self.engine.disk, self.engine.decisions
            with pytest.raises(CannotUndo):
                getattr(self.engine, what)()
            assert (self.engine.changes, self.engine.disk, self.engine.decisions) == before
            return
        getattr(self.engine, what)()

    def ids(self) -> dict[int, str]:
        """The id of the hunk in each slot that has one."""
        return dict(zip(self.model.states(), (hunk.id for hunk in self.engine.proposal.hunks), strict=True))

    def compare(self) -> None:
        """Compares every text byte for byte, the state and conflict of every hunk, and the numbers of decisions."""
        model, proposal = self.model, self.engine.proposal
        assert self.engine.disk == model.text("mine")
        assert (proposal.base, proposal.current, proposal.proposed) == (
            model.text("base"), model.text("mine"), model.text("proposed")
        )  # fmt: skip
        states = ["conflict" if hunk.id in proposal.conflicts else "pending" for hunk in proposal.hunks]
        assert states == list(model.states().values())
        for number, hunk_id in self.ids().items():
            if hunk_id in proposal.conflicts:
                sides, slot = proposal.conflicts[hunk_id], model.slots[number]
                assert (sides.base, sides.current, sides.proposed) == tuple(
                    "".join(side) for side in (slot.base, slot.mine, slot.proposed)
                )
        assert (len(self.engine.decisions.done), len(self.engine.decisions.undone)) == (
            len(model.done),
            len(model.undone),
        )
