"""The plan on a screen of any height."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.cli.view.plan_view import Step, changed_steps, plan_lines, plan_steps, visible_steps
from fairlead.lsp import convert
from fairlead.plan import PlanItem, Status, render_items
from fairlead.plan.evidence import Record
from fairlead.plan.manager import PlanningState
from fairlead.plan.verification import Support
from fairlead.session.events import PlanChanged

statuses = st.sampled_from(list[Status](["pending", "in_progress", "completed"]))
plans = st.lists(statuses, min_size=1, max_size=20).map(
    lambda found: [PlanItem(str(n), f"Step {n}", status, "Doing") for n, status in enumerate(found, 1)]
)


@given(plans)
def test_the_lines_are_those_that_the_model_reads(items: list[PlanItem]) -> None:
    """docs/plan.md P9 and P10: the terminal shows the same text, with a color for each status."""
    lines = plan_lines([Step(item) for item in items])
    assert "\n".join(line.plain for line in lines) == render_items(items)
    colors = {"pending": "yellow", "in_progress": "cyan", "completed": "green"}
    assert [str(line.style) for line in lines[: len(items)]] == [colors[item.status] for item in items]


@given(plans, st.integers(min_value=1, max_value=25))
def test_a_long_plan_is_shown_in_part(items: list[PlanItem], height: int) -> None:
    """The lines fit the height and show the item in progress. From three lines on, they show or count all others."""
    lines = [line.plain for line in visible_steps([Step(item) for item in items], height)]
    assert len(lines) <= height
    current = next((item for item in items if item.status == "in_progress"), None)
    if current is not None:
        assert any(line.startswith(f"[>] #{current.id}:") for line in lines)
    if height >= 3:
        shown = sum(line.startswith("[") for line in lines)
        counted = sum(int(line.split()[1]) for line in lines if not line.startswith("["))
        assert shown + counted == len(items)


def test_the_steps_that_changed() -> None:
    """Only newly started and completed items are shown."""
    before = [Step(PlanItem("1", "a", "in_progress")), Step(PlanItem("2", "b")), Step(PlanItem("3", "c"))]
    after = [Step(PlanItem("1", "a", "completed"), "verified"), Step(PlanItem("2", "b", "in_progress")), before[2]]
    assert [line.plain for line in changed_steps(before, after)] == ["[x] #1: a  verified", "[>] #2: b"]
    assert changed_steps(after, after) == []


@pytest.mark.parametrize(
    ("files", "names"),
    [(["a.py"], "a.py"), (["a.py", "b c.py"], "a.py, b c.py"), (["1", "2", "3", "4"], "1, 2, 3, ...")],
)
def test_a_stale_step_names_the_command_and_the_files(files: list[str], names: str) -> None:
    support = Support("stale", "make test", tuple(f"/folder/{name}" for name in files))
    plan = PlanningState((PlanItem("1", "Build", "completed"),))
    [step] = plan_steps(convert.plan("s", PlanChanged(1, plan, Record(), supports={"1": support})))
    assert step.note == f"changed since “make test” passed: {names}"
