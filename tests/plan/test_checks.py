"""Items whose checks fail are not completed (docs/plan.md P17). No check runs: the tests name the items that failed."""

import pytest

from fairlead.plan import PlanOp, TodoManager

TICKED = [
    {"content": "A", "status": "completed"},
    {"content": "B", "status": "completed"},
    {"content": "C", "status": "in_progress"},
]


@pytest.mark.parametrize(
    ("single", "failed", "expected"),
    [
        (True, [], ["completed", "completed", "in_progress"]),
        (True, ["2"], ["completed", "in_progress", "pending"]),
        (True, ["1", "2"], ["in_progress", "pending", "pending"]),
        (False, ["1", "2"], ["in_progress", "in_progress", "in_progress"]),
    ],
)
def test_p17_a_failed_item_stays_in_progress(single: bool, failed: list[str], expected: list[str]) -> None:
    """The rest of the rewrite applies. If only one item may be in progress (P8), it is the first that failed, and later
    ones that failed or were started become pending."""
    manager = TodoManager(single_in_progress=single)
    manager.update([{"content": name} for name in "ABC"])
    assert [item.id for item in manager.completing(TICKED)] == ["1", "2"]
    manager.update(TICKED, failed=failed)
    assert [item.status for item in manager.snapshot().items] == expected


def test_p17_another_check_of_a_completed_item_must_pass_too() -> None:
    """A rewrite that repeats or omits the check runs nothing. What the user marked or holds stays completed."""
    manager = TodoManager()
    done = {"content": "A", "status": "completed"}
    manager.update([{**done, "check": "make test"}])
    assert manager.completing([{**done, "check": "make test"}]) == manager.completing([done]) == ()
    other = [{**done, "check": "make lint"}]
    assert [item.check for item in manager.completing(other)] == ["make lint"]
    manager.update(other, failed=["1"])
    assert manager.snapshot().items[0].status == "in_progress"
    marked = [PlanOp("update", "1", status="pending"), PlanOp("update", "1", status="completed")]
    for ops in (marked, [PlanOp("update", "1", held=True)]):
        manager = TodoManager()
        manager.update([done])
        for op in ops:
            manager.edit([op], manager.snapshot().revision)
        assert manager.completing(other) == ()


def test_p17_a_check_survives_rewrites_and_belongs_to_the_user_once_they_set_it() -> None:
    manager = TodoManager()

    def check() -> str:
        return manager.snapshot().items[0].check

    manager.update([{"content": "A", "check": " make \n test "}])
    assert check() == "make test"
    manager.update([{"content": "A", "status": "in_progress"}])
    assert check() == "make test"
    manager.update([{"content": "A", "check": "make lint"}])
    assert check() == "make lint"
    for own in ("grep -q 'a  b' c", "pytest -q", ""):  # spaces in quotes belong to the command
        manager.edit([PlanOp("update", "1", check=f" {own}\n")], manager.snapshot().revision)
        manager.update([{"content": "A", "check": "true"}])
        assert check() == own
