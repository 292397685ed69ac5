"""docs/plan.md P3, P4, P6 to P8, L5 and L6: rules that no sequence of rewrites can break."""

from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from fairlead.plan import PlanError, PlanningState, TodoManager

CONTENTS = (
    st.sampled_from(["Read", "Write", " Read ", "测试", "測試 🚀", "e\u0301", "\u00e9", "a\nb", "", "  "]) | st.text()
)
IDS = st.sampled_from([None, "1", "2", 3, "a", "", " 2 ", "999999999", "007", True]) | st.text(max_size=3)
STATUSES = st.sampled_from(["pending", "in_progress", "completed", " Completed ", None, "", "done", 7])
ITEMS = st.one_of(
    st.fixed_dictionaries(
        {}, optional={"id": IDS, "content": CONTENTS, "text": CONTENTS, "status": STATUSES, "activeForm": st.text()}
    ),
    st.fixed_dictionaries({"content": CONTENTS}),
    st.sampled_from([None, "x", 5]),
)
# most rewrites are made so that they are accepted, otherwise the plan would stay empty
FINE = st.lists(
    st.fixed_dictionaries(
        {"content": st.sampled_from("ABCDEFG")}, optional={"id": st.sampled_from(["1", "2", "5", "x", "12"])}
    ),
    max_size=6,
    unique_by=lambda item: item.get("id", object()),
)
REWRITES = st.lists(FINE | st.lists(ITEMS, max_size=8), max_size=8)


def rewritten(manager: TodoManager, items: list[Any]) -> bool:
    """Applies a rewrite. Returns whether it was accepted, and checks that a refused one leaves the state as it was."""
    before = manager.snapshot()
    try:
        text = manager.update(items)
    except PlanError:
        assert manager.snapshot() is before
        return False
    assert text == manager.render()
    return True


@given(REWRITES, st.booleans())
def test_no_sequence_of_rewrites_breaks_the_rules(rewrites: list[list[Any]], single: bool) -> None:
    """docs/plan.md P3, P4, P7, P8: unique ids, at most one in progress unless relaxed, versions that only grow."""
    manager = TodoManager(max_items=6, single_in_progress=single)
    for items in rewrites:
        before = manager.snapshot()
        accepted = rewritten(manager, items)
        state = manager.snapshot()
        assert state.version == before.version + accepted
        assert state.revision in (before.revision, before.revision + accepted)
        assert (state.revision != before.revision) == (_substance(state) != _substance(before))
        assert len({item.id for item in state.items}) == len(state.items) <= 6
        assert not single or sum(item.status == "in_progress" for item in state.items) <= 1
        assert all(item.content == " ".join(item.content.splitlines()).strip() != "" for item in state.items)
        assert len(manager.render().splitlines()) == (len(state.items) + 2 if state.items else 1)


@given(REWRITES)
def test_ids_stay_with_their_content(rewrites: list[list[Any]]) -> None:
    """docs/plan.md P6: unless a rewrite names it, an id stays with its content, and a dropped one is never reused."""
    manager = TodoManager(single_in_progress=False)
    ever: dict[str, str] = {}
    for items in rewrites:
        before = manager.snapshot().items
        if not rewritten(manager, items):
            continue
        asked_for = {str(raw["id"]).strip() for raw in items if raw.get("id") is not None}
        for item in manager.snapshot().items:
            if item.id not in asked_for:
                assert ever.get(item.id, item.content) == item.content
        without_id = [raw for raw in items if not str(raw.get("id") or "").strip()]
        for content in {item.content for item in before if item.id not in asked_for}:
            kept = [item.id for item in before if item.content == content and item.id not in asked_for]
            wanted = sum(raw.get("content") == content for raw in without_id)
            now = {item.id for item in manager.snapshot().items if item.content == content}
            assert set(kept[:wanted]) <= now
        ever |= {item.id: item.content for item in manager.snapshot().items}


@given(st.lists(st.sampled_from(["round", "good", "bad", "run"]), max_size=30))
def test_the_counter_and_the_reminder_follow_the_rules(steps: list[str]) -> None:
    """docs/plan.md L5, L6: a round without a rewrite adds 1; an accepted rewrite or the start of a run resets the count
    to 0. From 3 on, there is a reminder if there is a plan."""
    manager = TodoManager()
    expected = 0
    for step in steps:
        if step == "round":
            manager.note_round_without_update()
            expected += 1
        elif step == "run":
            manager.begin_run()
            expected = 0
        elif rewritten(manager, [{"content": "One" if step == "good" else ""}]):
            expected = 0
        assert manager.snapshot().rounds_since_update == expected
        reminder = manager.reminder() if manager.snapshot().items else None
        assert (reminder is not None) == (expected >= 3 and bool(manager.snapshot().items))


def _substance(state: PlanningState) -> list[tuple[str, str, str]]:
    return [(item.id, item.content, item.status) for item in state.items]
