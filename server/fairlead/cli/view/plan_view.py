"""The plan in colour (docs/plan.md P9, P10), with the lines that the model reads."""

from collections.abc import Sequence

from rich.text import Text

from fairlead.cli.view.text import clean
from fairlead.lsp import protocol as wire
from fairlead.plan import PlanItem, render_items
from fairlead.plan.render import render_line

STYLES = {"pending": "yellow", "in_progress": "cyan", "completed": "green"}


def plan_items(plan: wire.PlanWire) -> tuple[PlanItem, ...]:
    """The items of `agent/plan`."""
    return tuple(
        PlanItem(clean(item["id"]), clean(item["content"]), item["status"], clean(item["activeForm"]))
        for item in plan["items"]
    )


def plan_line(item: PlanItem) -> Text:
    return Text(render_line(item), style=STYLES[item.status])


def count_line(items: Sequence[PlanItem]) -> Text:
    """`(n/m completed)`, or the line for an empty plan."""
    return Text(render_items(items).splitlines()[-1])


def plan_lines(items: Sequence[PlanItem]) -> list[Text]:
    """The whole plan as in `render`: the items, a blank line, the count."""
    return [*map(plan_line, items), Text(), count_line(items)] if items else [count_line(items)]


def changed_steps(before: Sequence[PlanItem], after: Sequence[PlanItem]) -> list[Text]:
    """The lines of the items that were started or completed."""
    known = {item.id: item.status for item in before}
    return [plan_line(item) for item in after if item.status != "pending" and known.get(item.id) != item.status]


def visible_steps(items: Sequence[PlanItem], height: int) -> list[Text]:
    """At most `height` rows (at least 1) around the item in progress, with the number of the other items."""
    count = len(items)
    if count <= height:
        return [plan_line(item) for item in items]
    current = next((i for i, item in enumerate(items) if item.status == "in_progress"), None)
    if current is None:
        current = next((i for i, item in enumerate(items) if item.status == "pending"), count - 1)
    if height < 3:
        return [plan_line(items[current])]
    start = min(max(current - height // 3, 0), count - height)
    shown = [plan_line(item) for item in items[start : start + height]]
    if start > 0:
        shown[0] = _hidden_count(items[: start + 1], "above")
    if start + height < count:
        shown[-1] = _hidden_count(items[start + height - 1 :], "below")
    return shown


def _hidden_count(items: Sequence[PlanItem], where: str) -> Text:
    completed = sum(item.status == "completed" for item in items)
    done = f", {completed} of them completed" if completed else ""
    return Text(f"    ... {len(items)} more {where}{done}", style="dim")
