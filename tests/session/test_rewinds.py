"""A rewind after any sequence of proposals and decisions."""

from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from fairlead.session.rewind import rewind
from session.harness import harness_with, run_sync
from session.test_undo_steps import FILE_STEPS, NAME, TEXT, play, seen

pytestmark = pytest.mark.slow


@settings(max_examples=200)
@given(st.dictionaries(NAME, TEXT, max_size=3), FILE_STEPS, FILE_STEPS)
def test_a_rewind_restores_the_files_and_the_proposals(
    tree: dict[str, str], before: list[tuple[Any, ...]], after: list[tuple[Any, ...]]
) -> None:
    """docs/protocol.md, `agent/sessions/rewind`: an earlier decision that the user has undone since stays undone."""
    with harness_with(tree) as harness:
        session = harness.session
        trees = {0: harness.tree}  # by the number of decisions
        for step in without_typing(before):
            play(harness, step)
            trees[len(session.review.decisions.done)] = harness.tree
        checkpoint = session.review.history.add_checkpoint(session.snapshot(), "prompt")
        then, earlier = seen(harness), session.review.decisions.done
        left = len(earlier)
        for step in without_typing(after):
            count = len(session.review.decisions.done)
            play(harness, step)
            if step[0] != "redo" and len(session.review.decisions.done) > count:
                left = min(left, count)  # what was undone cannot be redone anymore
        left = min(left, len(session.review.decisions.done))
        result = run_sync(rewind(session, checkpoint))
        assert (result.not_undone, session.review.decisions.done) == ((), earlier[:left])
        assert harness.tree == trees[left]
        if left == len(earlier):
            assert seen(harness) == then


def without_typing(steps: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    return (step for step in steps if step[0] != "type")
