"""docs/plan.md P1 and P12: the plan as a tool."""

from typing import Any

import pytest

from fairlead.errors import ToolError
from tools.stand_ins import Desk

ITEMS = [
    {"content": "分析", "status": "in_progress", "activeForm": "正在分析"},
    {"content": "Write", "status": "pending"},
]
TEXT = "[>] #1: 分析 (正在分析)\n[ ] #2: Write\n\n(0/2 completed)"


def test_p12_the_plan_is_a_tool(desk: Desk) -> None:
    """docs/plan.md P12: named `todo`, described as a rewrite of the plan for multi-step work, and read-only."""
    tool = desk.tools["todo"]
    assert tool.spec.name == "todo"
    assert tool.spec.description.startswith("Rewrite the current plan for multi-step work.")
    assert (tool.kind, tool.read_only) == ("think", True)
    assert tool.describe({"items": ITEMS}) == ("Update the plan", ())


def test_p1_the_schema_names_one_form_only(desk: Desk) -> None:
    """docs/plan.md P1: other names, such as `todos`, are accepted, but the model is not offered them."""
    schema = desk.tools["todo"].spec.input_schema
    item = schema["properties"]["items"]["items"]
    assert list(schema["properties"]) == ["items", "reason"]
    assert list(item["properties"]) == ["id", "content", "status", "activeForm", "check"]
    assert item["required"] == ["content", "status"]
    assert item["properties"]["status"]["enum"] == ["pending", "in_progress", "completed"]


@pytest.mark.parametrize(
    "given", [{"items": ITEMS}, {"todos": ITEMS}, {"items": None, "todos": ITEMS}, {"items": ITEMS, "todos": []}]
)
async def test_p1_p9_p12_a_call_rewrites_the_plan_and_returns_it(desk: Desk, given: dict[str, Any]) -> None:
    """docs/plan.md P1, P9, P12: `todos` is accepted for `items`; the result is the whole plan as text."""
    assert await desk.call("todo", **given) == TEXT
    assert desk.plan.render() == TEXT


async def test_p3_a_refused_call_does_not_change_the_plan(desk: Desk) -> None:
    """docs/plan.md P3: the plan stays as it is, and the error names the broken rule."""
    await desk.call("todo", items=ITEMS)
    with pytest.raises(ToolError, match="Only one task can be in_progress at a time"):
        await desk.call("todo", items=[ITEMS[0], ITEMS[0]])
    assert desk.plan.render() == TEXT


@pytest.mark.parametrize("given", [{}, {"todos": "x"}, {"items": None}, {"plan": ITEMS}, {"todos": {"content": "x"}}])
async def test_fault_21_a_call_without_a_list_says_what_to_send(desk: Desk, given: dict[str, Any]) -> None:
    """docs/faults.md 21: the error says how to send the plan. An empty list is valid, however, and empties the plan."""
    with pytest.raises(ToolError, match="'items' is missing: send the whole plan as a list"):
        await desk.call("todo", **given)
    assert await desk.call("todo", items=[]) == "No todos."
