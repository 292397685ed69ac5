"""docs/plan.md P1 to P9, P11 and L5 to L8, as far as they concern the plan layer: at least one test for each rule."""

import dataclasses
from typing import Any

import pytest

from fairlead.plan import PlanError, PlanItem, PlanningState, TodoManager, render_items

Raw = dict[str, Any]
ALLOWED = ", use pending, in_progress, completed"

THREE = [
    {"content": "Read hello.py", "status": "completed"},
    {"content": "Add type hints", "status": "in_progress", "activeForm": "Adding type hints"},
    {"content": "Add docstrings"},
]


def planned(*items: Any, **settings: Any) -> TodoManager:
    """A manager whose plan is `items`; a string is a pending item of that content."""
    manager = TodoManager(**settings)
    manager.update([{"content": item} if isinstance(item, str) else item for item in items])
    return manager


def refused(manager: TodoManager, items: list[Any]) -> str:
    """The message with which a rewrite is refused. Checks that the state stays as it was."""
    before = manager.snapshot()
    with pytest.raises(PlanError) as error:
        manager.update(items)
    assert manager.snapshot() is before
    return str(error.value)


def content_by_id(manager: TodoManager) -> dict[str, str]:
    """Content by id, in the plan's order."""
    return {item.id: item.content for item in manager.snapshot().items}


def test_p1_an_item_has_an_id_a_content_a_status_and_an_active_form() -> None:
    """docs/plan.md P1: the four fields, as the model writes them."""
    raw = {"id": "7", "content": "Add tests", "status": "in_progress", "activeForm": "Adding tests"}
    assert planned(raw).snapshot().items == (PlanItem("7", "Add tests", "in_progress", "Adding tests"),)


@pytest.mark.parametrize(
    "raw",
    [
        {"text": "Add tests", "active_form": "Adding tests"},
        {"content": "Add tests", "active_form": "Adding tests"},
        {"text": "Add tests", "activeForm": "Adding tests"},
        {"content": None, "text": "Add tests", "activeForm": None, "active_form": "Adding tests"},
        {"content": "Add tests", "text": "Other", "activeForm": "Adding tests", "active_form": "Other"},
        {"content": "Add tests", "activeForm": "Adding tests", "priority": "high", "id": None, "status": None},
    ],
)
def test_p1_other_names_of_the_fields_are_accepted(raw: Raw) -> None:
    """docs/plan.md P1: `text` for `content`, `active_form` for `activeForm`; unknown fields are ignored."""
    assert planned(raw).snapshot().items == (PlanItem("1", "Add tests", "pending", "Adding tests"),)


def test_p2_a_snapshot_is_frozen_and_its_numbers_tell_what_changed() -> None:
    """docs/plan.md P2: `version` grows with every change, `revision` with those of id, content, status or order."""
    manager = TodoManager()
    assert manager.snapshot() == PlanningState((), 0, 0, 0)
    manager.update(THREE)
    first = manager.snapshot()
    manager.note_round_without_update()
    counted = manager.snapshot()
    manager.update([{**item, "activeForm": "Something else"} for item in THREE])
    reworded = manager.snapshot()
    manager.update(list(reversed(THREE)))
    reordered = manager.snapshot()
    assert [(s.version, s.revision) for s in (first, counted, reworded, reordered)] == [(1, 1), (2, 1), (3, 1), (4, 2)]
    assert (first.rounds_since_update, counted.rounds_since_update, reworded.rounds_since_update) == (0, 1, 0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.version = 9  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.items[0].content = "x"  # type: ignore[misc]


def test_p2_a_snapshot_counts_completed_items_and_names_the_current_one() -> None:
    """docs/plan.md P2: the count and the current item, without parsing any text."""
    state = planned(*THREE).snapshot()
    assert (state.completed, state.current) == (1, state.items[1])
    assert planned("One").snapshot().current is None


def test_p3_a_rewrite_replaces_the_whole_plan_and_returns_it_rendered() -> None:
    """docs/plan.md P3: items that are not sent again are removed; the result is what `render` returns."""
    manager = planned("One", "Two", "Three")
    assert manager.update([{"content": "Two"}]) == manager.render() == "[ ] #2: Two\n\n(0/1 completed)"
    assert manager.update([]) == "No todos."


@pytest.mark.parametrize("content", ["", " \t\n", None, "\u3000", "\x0c\x85\u2028"])
def test_p4_content_must_say_something(content: Any) -> None:
    """docs/plan.md P4: any Unicode whitespace is stripped; if nothing is left, the error names the item."""
    assert refused(planned("One"), [{"content": "Fine"}, {"content": content}]) == "Item 2: text required"
    assert refused(planned("One"), [{"id": "b", "content": content}]) == "Item b: text required"
    assert refused(planned("One"), [{"status": "pending"}]) == "Item 1: text required"


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("  Add tests \n", "Add tests"),
        (12, "12"),
        (False, "False"),
        ("Add\n  tests\r\nand\u2028docs", "Add tests and docs"),
        ("把 src/core 的测试写完", "把 src/core 的测试写完"),
        ("\u3000全角スペース\u3000", "全角スペース"),
        ("👩‍👩‍👧‍👦 family, café (NFD)", "👩‍👩‍👧‍👦 family, café (NFD)"),
        ("{braces} %s {0}", "{braces} %s {0}"),
    ],
)
def test_p4_content_is_made_one_stripped_line(content: Any, kept: str) -> None:
    """docs/plan.md P4: `str()`, stripped, on one line; Chinese, Japanese and emoji are ordinary content."""
    assert planned({"content": content}).snapshot().items[0].content == kept


@pytest.mark.parametrize("raw", ["Add tests", None, 3, ["content", "x"]])
def test_p4_an_item_is_an_object(raw: Any) -> None:
    """docs/plan.md P4: anything else is an error that says what is expected, not a crash."""
    assert refused(planned("One"), [raw]) == "Item 1: expected an object with content and status"


@pytest.mark.parametrize(
    ("status", "kept"),
    [(" In_Progress\n", "in_progress"), ("COMPLETED", "completed"), (None, "pending"), ("", "pending")],
)
def test_p5_a_status_is_lower_cased_and_stripped(status: Any, kept: str) -> None:
    """docs/plan.md P5: the default is `pending`."""
    assert planned({"content": "One", "status": status}).snapshot().items[0].status == kept


@pytest.mark.parametrize("status", ["done", "in progress", "in-progress", 1, ["pending"]])
def test_p5_another_word_is_refused_and_named(status: Any) -> None:
    """docs/plan.md P5: the message names the item, the word and the allowed ones."""
    items = [{"content": "One"}, {"content": "Two", "status": status}]
    assert refused(planned("Old"), items) == f"Item 2: invalid status '{status}'{ALLOWED}"


def test_p6_a_first_plan_is_numbered_from_one() -> None:
    """docs/plan.md P6: 1 to n, as strings."""
    assert content_by_id(planned("One", "Two", "Three")) == {"1": "One", "2": "Two", "3": "Three"}


def test_p6_an_id_that_the_model_gives_wins() -> None:
    """docs/plan.md P6: an item keeps its id although its text changes; JSON numbers are ids too."""
    manager = planned("One", "Two")
    manager.update([{"id": 2, "content": "Two, better"}, {"content": "Two"}, {"id": " a ", "content": "One"}])
    assert content_by_id(manager) == {"2": "Two, better", "3": "Two", "a": "One"}


@pytest.mark.parametrize("given", ["9", "999999998", "999999999", "9" * 30, "9" * 6000, "007", "-1", "1.5", "²", "١"])
def test_p6_no_id_of_the_model_is_given_to_a_new_item(given: str) -> None:
    """docs/plan.md P6: a new item never gets an id that the model gave to another one, even if that id is a huge number
    or has digits of another script."""
    manager = planned({"id": given, "content": "Old"})
    for count in range(1, 5):
        manager.update([{"id": given, "content": "Old"}, *({"content": f"Step {n}"} for n in range(count))])
        assert len(content_by_id(manager)) == count + 1


def test_p6_an_id_stays_on_its_line() -> None:
    """docs/plan.md P6, P9: an id with a line break cannot forge a line of the plan."""
    assert planned({"id": "1\n[x] #2", "content": "One"}).render() == "[ ] #1 [x] #2: One\n\n(0/1 completed)"


@pytest.mark.parametrize(
    ("items", "twice"),
    [
        ([{"id": "1", "content": "One"}, {"id": "1", "content": "Two"}], "1"),
        ([{"id": 1, "content": "One"}, {"content": "x"}, {"id": " 1", "content": "Two"}], "1"),
        ([{"id": "甲", "content": "One"}, {"id": "甲", "content": "One"}], "甲"),
    ],
)
def test_p6_two_items_with_one_id_are_refused(items: list[Raw], twice: str) -> None:
    """docs/plan.md P6: the error names the id."""
    assert refused(planned("Old"), items) == f"Item {twice}: duplicate id, each item needs its own"


@pytest.mark.parametrize(("limit", "settings"), [(20, {}), (3, {"max_items": 3})])
def test_p7_a_plan_has_a_maximum_length(limit: int, settings: dict[str, int]) -> None:
    """docs/plan.md P7: the limit is 20 or the setting. A plan of that length is accepted; the message for a longer one
    names the limit."""
    manager = planned(*(f"Step {n}" for n in range(limit)), **settings)
    assert len(content_by_id(manager)) == limit
    assert refused(manager, [{"content": f"Step {n}"} for n in range(limit + 1)]) == f"Max {limit} todos allowed"


def test_p7_after_a_lower_setting_the_existing_plan_can_be_shortened() -> None:
    """docs/plan.md P7: the setting may change between runs."""
    manager = planned("One", "Two", "Three")
    manager.max_items = 2
    assert refused(manager, [{"content": "One"}, {"content": "Two"}, {"content": "Three"}]) == "Max 2 todos allowed"
    manager.update([{"content": "Three"}])
    assert content_by_id(manager) == {"3": "Three"}


def test_p8_one_item_is_in_progress_at_a_time() -> None:
    """docs/plan.md P8: two in progress are refused; one is accepted, with any number of other items."""
    two = [{"content": "One", "status": "in_progress"}, {"content": "Two", "status": " IN_PROGRESS "}]
    assert refused(planned("Old"), two) == "Only one task can be in_progress at a time"
    planned({"content": "One", "status": "in_progress"}, {"content": "Two", "status": "completed"}, "Three", "Four")


def test_p8_a_setting_allows_several_items_in_progress() -> None:
    """docs/plan.md P8: the first of them is the current one."""
    two = [{"content": "One", "status": "in_progress"}, {"content": "Two", "status": "in_progress"}]
    state = planned(*two, single_in_progress=False).snapshot()
    assert [item.status for item in state.items] == ["in_progress", "in_progress"]
    assert state.current == state.items[0]


def test_p9_the_plan_as_text() -> None:
    """docs/plan.md P9: in each line a mark, the id and the text; the active form of the current item; the count."""
    assert planned(*THREE).render() == (
        "[x] #1: Read hello.py\n[>] #2: Add type hints (Adding type hints)\n[ ] #3: Add docstrings\n\n(1/3 completed)"
    )


def test_p9_an_active_form_is_shown_only_while_the_item_is_in_progress() -> None:
    """docs/plan.md P9: an item without one shows only its content."""
    forms = {"content": "分析性能", "activeForm": "正在分析"}
    assert planned({**forms, "status": "in_progress"}).render().startswith("[>] #1: 分析性能 (正在分析)\n")
    assert planned({**forms, "status": "completed"}).render().startswith("[x] #1: 分析性能\n\n(1/1")
    assert planned({"content": "🚀", "status": "in_progress"}).render().startswith("[>] #1: 🚀\n\n(0/1")


def test_p9_an_empty_plan() -> None:
    """docs/plan.md P9: `No todos.`, before the first plan and after one that was emptied."""
    assert TodoManager().render() == render_items([]) == "No todos."


def test_p11_the_plan_outlives_a_run() -> None:
    """docs/plan.md P11: a new run starts with the plan; only the counter is reset."""
    manager = planned("One", "Two")
    manager.note_round_without_update()
    before = manager.snapshot()
    manager.begin_run()
    after = manager.snapshot()
    assert (after.items, after.revision) == (before.items, before.revision)
    assert (after.rounds_since_update, after.version > before.version) == (0, True)


def silent_rounds(manager: TodoManager, count: int) -> list[str | None]:
    """The manager's reminder in each of `count` rounds without a rewrite."""
    reminders: list[str | None] = []
    for _ in range(count):
        manager.note_round_without_update()
        reminder = manager.reminder()
        reminders.append(reminder and reminder.text)
    return reminders


@pytest.mark.parametrize("interval", [1, 3, 5])
def test_l6_l8_the_reminder_comes_after_the_set_number_of_rounds_and_repeats(interval: int) -> None:
    """docs/plan.md L6, L8: it repeats in every round until the plan is rewritten."""
    manager = planned("One", reminder_interval=interval)
    reminders = silent_rounds(manager, interval + 2)
    assert reminders[: interval - 1] == [None] * (interval - 1)
    for reminder in reminders[interval - 1 :]:
        assert reminder is not None
        assert reminder.startswith("<reminder>Update your todos.")
        assert reminder.endswith("</reminder>")
        assert reminder.count("<reminder>") == 1
    manager.update([{"content": "One"}])
    assert manager.reminder() is None
    assert silent_rounds(manager, interval)[:-1] == [None] * (interval - 1)


def test_l6_the_reminder_names_the_item_in_progress() -> None:
    """docs/plan.md L6: the reminder has the item's id, content and active form, whatever characters they contain."""
    manager = planned({"content": "修复 {braces} 🐛", "status": "in_progress", "activeForm": "正在修复"})
    assert "In progress: #1: 修复 {braces} 🐛 (正在修复)." in str(silent_rounds(manager, 3)[-1])


def test_l6_without_an_item_in_progress_the_reminder_names_the_next_one() -> None:
    """docs/plan.md L6: if no item is in progress, the reminder names the next one. A sentence about the work since the
    last update follows."""
    manager = TodoManager()
    manager.update([{"content": "One", "status": "completed"}, {"content": "Two"}, {"content": "Three"}])
    manager.work_since_update = lambda: " Since its last update: 2 edits and 1 command."
    said = str(silent_rounds(manager, 3)[-1])
    assert said.startswith(
        "<reminder>Update your todos. None is in progress; the next is #2: Two. Since its last update"
    )
    assert said.endswith("</reminder>")


def test_l7_without_a_plan_one_reminder_asks_for_one() -> None:
    """docs/plan.md L7: without a plan, one reminder in each run asks for a plan."""
    manager = TodoManager()
    reminders = silent_rounds(manager, 6)
    assert [reminder is not None for reminder in reminders] == [False, False, True, False, False, False]
    assert str(reminders[2]).startswith("<reminder>No plan yet.")
    assert str(reminders[2]).endswith("</reminder>")
    manager.begin_run()
    assert [reminder is not None for reminder in silent_rounds(manager, 4)] == [False, False, True, False]


def test_l7_a_plan_that_was_emptied_counts_as_none() -> None:
    """docs/plan.md L7: after the model has emptied its plan, the reminder asks for a new plan, not for an update."""
    manager = planned("One")
    manager.update([])
    assert str(silent_rounds(manager, 3)[-1]).startswith("<reminder>No plan yet.")
