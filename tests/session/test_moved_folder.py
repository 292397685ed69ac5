"""A session whose workspace folder was renamed: every path leads to the new place, and nothing else changes."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.session.store.moved_folder import with_moved_folder
from session.states import ROOT, Change, changes, same, states


@given(st.lists(changes, max_size=12))
def test_a_folder_that_moves_and_moves_back_changes_nothing(made: list[Change]) -> None:
    """No path is forgotten in one direction, no text is changed, and other folders are left alone."""
    state = states(made)[-1]
    moved = with_moved_folder(state, ROOT, "/elsewhere/new")
    assert f"'{ROOT}/" not in repr(
        [moved.changes.files, moved.changes.empty_folders, moved.decisions, moved.checkpoints, moved.record]
    )
    assert same(with_moved_folder(moved, "/elsewhere/new", ROOT), state)
    assert same(with_moved_folder(state, "/w", "/elsewhere"), state)
