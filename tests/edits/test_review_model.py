"""Random sequences of actions on one file, compared with a model in which each slot has its own state."""

from typing import Any

from hypothesis import given, settings

from edits.bench import Bench
from edits.both import STARTS, STEPS, Both


@settings(max_examples=400)
@given(STARTS, STEPS)
def test_any_sequence_of_steps_ends_where_the_model_does(start: list[int], steps: list[tuple[Any, ...]]) -> None:
    """docs/faults.md 6, 8, 13: after each step the texts and hunks match, and unchanged hunks keep their ids."""
    both = Both(start, Bench)
    for step in steps:
        both.step(*step)


@settings(max_examples=400)
@given(STARTS, STEPS)
def test_each_decision_can_be_undone_and_redone(start: list[int], steps: list[tuple[Any, ...]]) -> None:
    """If only decisions follow the proposals and the typing, each undo and redo restores all bytes and ids."""
    both = Both(start, Bench)
    decisions = [step for step in steps if step[0] not in ("propose", "type", "undo", "redo")]
    for step in [*(step for step in steps if step[0] == "propose"), *(s for s in steps if s[0] == "type")]:
        both.step(*step)
    seen = [(both.engine.disk, both.model.slots, both.ids())]
    for step in decisions:
        count = len(both.model.done)
        both.step(*step)
        if len(both.model.done) > count:
            seen.append((both.engine.disk, both.model.slots, both.ids()))
    for expected in reversed(seen[:-1]):
        both.step("undo")
        assert (both.engine.disk, both.model.slots, both.ids()) == expected
    for expected in seen[1:]:
        both.step("redo")
        assert (both.engine.disk, both.model.slots, both.ids()) == expected
