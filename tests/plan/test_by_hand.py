"""docs/plan.md P13 to P15: the user's edits of the plan, which no rewrite by the model can undo."""

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.plan import PlanError, PlanItem, PlanOp, StalePlan, TodoManager
from fairlead.plan.evidence import Record


def planned(*contents: str) -> TodoManager:
    manager = TodoManager()
    manager.update([{"content": content} for content in contents])
    return manager


def edit(manager: TodoManager, *ops: PlanOp) -> tuple[str, ...]:
    return manager.edit(ops, manager.snapshot().revision)


def contents(manager: TodoManager) -> list[str]:
    return [item.content for item in manager.snapshot().items]


def test_p13_add_reword_move_drop_hold_mark() -> None:
    """Each operation has its effect and a line for the model."""
    manager = planned("A", "B", "C")
    feedback = edit(
        manager,
        PlanOp("add", content=" D \n d ", after="1"),
        PlanOp("add", content="last", at_end=True),
        PlanOp("add", content="first", after=None),
        PlanOp("update", "2", content="B, better", status="completed"),
        PlanOp("update", "3", held=True),
        PlanOp("move", "3", after=None),
        PlanOp("remove", "1"),
    )
    assert [(item.id, item.content) for item in manager.snapshot().items] == [
        ("3", "C"), ("6", "first"), ("4", "D d"), ("2", "B, better"), ("5", "last"),
    ]  # fmt: skip
    assert manager.snapshot().items[0].held
    assert [line.split()[0] for line in feedback] == [
        "added", "added", "added", "reworded", "marked", "holds", "moved", "dropped",
    ]  # fmt: skip
    assert "[ ] #3: C (held by the user)" in manager.render()


@pytest.mark.parametrize(
    "op",
    [
        PlanOp("update", "9", status="completed"),
        PlanOp("update", "1", status="done"),
        PlanOp("update", "1", status="in_progress", held=True),
        PlanOp("update", "1", content="  "),
        PlanOp("add", content=""),
        PlanOp("add", content="x", after="9"),
        PlanOp("move", "1", after="1"),
        PlanOp("remove", "9"),
    ],
)
def test_p13_all_or_nothing(op: PlanOp) -> None:
    """An impossible operation is refused, and the valid one before it is not applied either."""
    manager = planned("A", "B")
    before = manager.snapshot()
    with pytest.raises(PlanError):
        edit(manager, PlanOp("remove", "2"), op)
    assert manager.snapshot() is before


def test_p13_a_stale_revision_is_refused() -> None:
    """Edits of an outdated plan are refused."""
    manager = planned("A")
    seen = manager.snapshot().revision
    manager.update([{"id": "1", "content": "A", "status": "completed"}])
    with pytest.raises(StalePlan):
        manager.edit([PlanOp("remove", "1")], seen)


def test_p13_the_users_wording_stays() -> None:
    """A rewrite that still has the old words keeps the user's wording; one with new words replaces it."""
    manager = planned("A", "B")
    edit(manager, PlanOp("update", "1", content="A, as I want it"))
    manager.update([{"id": "1", "content": "A", "status": "in_progress"}, {"content": "B"}])
    assert contents(manager) == ["A, as I want it", "B"]
    manager.update([{"id": "1", "content": "A, refined", "status": "in_progress"}, {"content": "B"}])
    assert contents(manager) == ["A, refined", "B"]


def test_p13_a_dropped_item_can_be_brought_back() -> None:
    """It has its id, text, check and place again, and is pending if it was in progress. The model may then keep it."""
    manager = TodoManager()
    manager.update([{"content": "A"}, {"content": "B", "status": "in_progress", "check": "true"}, {"content": "C"}])
    edit(manager, PlanOp("remove", "2"))
    assert edit(manager, PlanOp("restore", "2", after="1")) == ("brought back #2: B",)
    items = manager.snapshot().items
    assert [(item.id, item.content, item.status, item.check) for item in items] == [
        ("1", "A", "pending", ""), ("2", "B", "pending", "true"), ("3", "C", "pending", ""),
    ]  # fmt: skip
    manager.update([{"content": "A"}, {"content": "B"}, {"content": "C"}])
    with pytest.raises(PlanError):
        edit(manager, PlanOp("restore", "2"))


@pytest.mark.parametrize("back", [{"id": "2", "content": "other"}, {"content": "B"}])
def test_p14_a_dropped_item_does_not_come_back(back: dict[str, Any]) -> None:
    """A rewrite with a dropped item's id or content is refused with the reason; one with neither is accepted."""
    manager = planned("A", "B")
    edit(manager, PlanOp("remove", "2"))
    with pytest.raises(PlanError, match="the user dropped this step"):
        manager.update([{"id": "1", "content": "A"}, back])
    assert contents(manager) == ["A"]
    manager.update([{"id": "1", "content": "A", "status": "completed"}])


def test_p14_a_held_item_is_not_started() -> None:
    """The model can neither start, complete nor omit a held item until the user releases it."""
    manager = planned("A", "B")
    edit(manager, PlanOp("update", "2", held=True))
    for status in ("in_progress", "completed"):
        with pytest.raises(PlanError, match="holds this step"):
            manager.update([{"content": "A"}, {"content": "B", "status": status}])
    with pytest.raises(PlanError, match="holds this step") as error:
        manager.update([{"content": "A"}])
    assert error.value.shown == "Refused, because it leaves out “B”, which you hold. The plan did not change."
    manager.update([{"content": "A", "status": "in_progress"}, {"content": "B"}])
    edit(manager, PlanOp("update", "2", held=False))
    manager.update([{"content": "A", "status": "completed"}, {"content": "B", "status": "in_progress"}])


def test_p14_a_held_item_is_not_in_progress() -> None:
    """Holding the step that the agent works on makes it pending, so that another one can be in progress. Until it is
    released, the user cannot set it to in progress either."""
    manager = planned("A", "B")
    manager.update([{"content": "A", "status": "in_progress"}, {"content": "B"}])
    edit(manager, PlanOp("update", "1", held=True))
    assert [(item.id, item.status) for item in manager.snapshot().items] == [("1", "pending"), ("2", "pending")]
    with pytest.raises(PlanError, match="Step 1 is held"):
        edit(manager, PlanOp("update", "1", status="in_progress"))
    manager.update([{"content": "A"}, {"content": "B", "status": "in_progress"}])
    edit(manager, PlanOp("update", "2", status="pending"), PlanOp("update", "1", status="in_progress", held=False))
    assert [item.status for item in manager.snapshot().items] == ["in_progress", "pending"]


def test_p14_an_item_of_the_user_is_not_left_out() -> None:
    """A rewrite without an item that the user added is refused. Once the item is completed, it may be left out."""
    manager = planned("A")
    edit(manager, PlanOp("add", content="Mine", at_end=True))
    with pytest.raises(PlanError, match="the user wrote this step") as error:
        manager.update([{"content": "A"}])
    assert error.value.shown == "Refused, because it leaves out “Mine”, which you wrote. The plan did not change."
    manager.update([{"content": "A"}, {"content": "Mine", "status": "completed"}])
    manager.update([{"content": "A"}])
    assert contents(manager) == ["A"]


NAMES = st.sampled_from("ABCDEFG")
REWRITE = st.lists(
    st.fixed_dictionaries(
        {"content": NAMES, "status": st.sampled_from(["pending", "in_progress", "completed"])},
        optional={"id": st.sampled_from(["1", "2", "3", "4", "5"])},
    ),
    max_size=6,
)
OP = st.one_of(
    st.builds(PlanOp, st.just("add"), content=NAMES, at_end=st.just(True)),
    st.builds(PlanOp, st.just("remove"), st.sampled_from("123456")),
    st.builds(PlanOp, st.just("move"), st.sampled_from("123456"), after=st.none() | st.sampled_from("123456")),
    st.builds(
        PlanOp,
        st.just("update"),
        st.sampled_from("123456"),
        content=st.none() | NAMES,
        status=st.none() | st.sampled_from(["pending", "completed", "in_progress"]),
        held=st.none() | st.booleans(),
    ),
)


def given_ids(step: list[Any]) -> set[str]:
    """The ids that a rewrite contains."""
    return {raw["id"] for raw in step if "id" in raw}


def recognized_by_text(step: list[Any], before: tuple[PlanItem, ...]) -> dict[int, str]:
    """Position -> id of those items of a rewrite that have no id and whose text identifies an earlier item."""
    once = {item.content: item.id for item in before if [other.content for other in before].count(item.content) == 1}
    said = [raw["content"] for raw in step]
    return {
        place: once[raw["content"]]
        for place, raw in enumerate(step)
        if "id" not in raw
        and said.count(raw["content"]) == 1
        and once.get(raw["content"], "") not in {"", *given_ids(step)}
    }


@given(st.lists(REWRITE | st.lists(OP, min_size=1, max_size=3), max_size=12), st.booleans())
def test_no_sequence_of_rewrites_and_edits_breaks_the_rules(steps: list[list[Any]], single: bool) -> None:
    """P6, P8, P13 to P15: ids are unique, stay with their step and are never given to another one; versions only grow;
    at most one step is in progress, unless that is relaxed, and never a held one; no dropped step comes back, by its id
    or in its words; a held step stays as it is; recorded work stays with the step under which it happened."""
    manager, record = TodoManager(max_items=8, single_in_progress=single), Record()
    dropped: set[str] = set()
    dropped_words: set[str] = set()
    ever: set[str] = set()
    under: dict[str, list[str]] = {}
    for number, step in enumerate(steps):
        before = manager.snapshot()
        by_user = bool(step) and isinstance(step[0], PlanOp)
        try:
            feedback = edit(manager, *step) if by_user else (manager.update(step),)
        except PlanError:
            assert manager.snapshot() is before
            continue
        state = manager.snapshot()
        ids = [item.id for item in state.items]
        known = {item.id for item in before.items}
        added = [item for item in state.items if item.id not in known]
        assert len(set(ids)) == len(ids) <= 8
        assert state.version > before.version and state.revision >= before.revision
        assert not single or sum(item.status == "in_progress" for item in state.items) <= 1
        assert not any(item.held and item.status == "in_progress" for item in state.items)
        if by_user:
            dropped |= known - set(ids)
            dropped_words |= {line.split(": ", 1)[1] for line in feedback if line.startswith("dropped ")}
            assert not ever & {item.id for item in added}
        else:
            assert not dropped & set(ids)
            assert not dropped_words & {item.content for item in added}
            assert not ever & ({item.id for item in added} - given_ids(step))
            assert all(
                state.items[place].id == item_id for place, item_id in recognized_by_text(step, before.items).items()
            )
            held = [item for item in before.items if item.held]
            assert [(item.id, item.status) for item in state.items if item.held] == [
                (item.id, item.status) for item in sorted(held, key=lambda item: ids.index(item.id))
            ]
        ever |= set(ids)
        if state.current is not None:
            record = record.with_file(state.current.id, f"/{number}")
            under.setdefault(state.current.id, []).append(f"/{number}")
        assert {place: list(record.of(place).files) for place in record.by_step} == under
