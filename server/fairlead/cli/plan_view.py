"""The plan in colour (docs/plan.md P9, P10): the lines are those that the model reads."""

from collections.abc import Sequence

from rich.text import Text

from fairlead.cli.text import clean
from fairlead.lsp import protocol as wire
from fairlead.plan import PlanItem, render_items
from fairlead.plan.render import render_line

STYLES = {"pending": "yellow", "in_progress": "cyan", "completed": "green"}


def plan_items(plan: wire.PlanWire) -> tuple[PlanItem, ...]:
    """The items of an `agent/plan`."""
    return tuple(
        PlanItem(clean(item["id"]), clean(item["content"]), item["status"], clean(item["activeForm"]))
        for item in plan["items"]
    )


def plan_line(item: PlanItem) -> Text:
    return Text(render_line(item), style=STYLES[item.status])


def count_line(items: Sequence[PlanItem]) -> Text:
    """`(n/m completed)`, or what stands there for an empty plan."""
    return Text(render_items(items).splitlines()[-1])


def whole_plan(items: Sequence[PlanItem]) -> list[Text]:
    """All of `render`: the lines, a blank one, the count."""
    return [*map(plan_line, items), Text(), count_line(items)] if items else [count_line(items)]


def steps_taken(before: Sequence[PlanItem], after: Sequence[PlanItem]) -> list[Text]:
    """The lines of the items that were begun or completed."""
    known = {item.id: item.status for item in before}
    return [plan_line(item) for item in after if item.status != "pending" and known.get(item.id) != item.status]


def window(items: Sequence[PlanItem], height: int) -> list[Text]:
    """The plan in at most `height` rows (one at the least), around the item in progress; the rest is counted."""
    count = len(items)
    if count <= height:
        return [plan_line(item) for item in items]
    here = next((i for i, item in enumerate(items) if item.status == "in_progress"), None)
    if here is None:
        here = next((i for i, item in enumerate(items) if item.status == "pending"), count - 1)
    if height < 3:
        return [plan_line(items[here])]
    start = min(max(here - height // 3, 0), count - height)
    shown = [plan_line(item) for item in items[start : start + height]]
    if start > 0:
        shown[0] = _left_out(items[: start + 1], "above")
    if start + height < count:
        shown[-1] = _left_out(items[start + height - 1 :], "below")
    return shown


def _left_out(items: Sequence[PlanItem], where: str) -> Text:
    completed = sum(item.status == "completed" for item in items)
    done = f", {completed} of them completed" if completed else ""
    return Text(f"    ... {len(items)} more {where}{done}", style="dim")
