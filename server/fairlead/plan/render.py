"""The plan as text, for the model, the terminal, and the page of the plan's versions."""

from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.plan.items import PlanItem

MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


@dataclass(frozen=True, slots=True)
class PlanUpdate:
    """What a rewrite of the plan led to."""

    items: tuple[PlanItem, ...]
    """The new plan."""
    open: tuple[tuple[str, str], ...] = ()
    """The items that their checks kept open (P17): the id, and what is wrong with the check, such as `failed`.

    The latter is empty if the check was stopped.
    """


def render_line(item: PlanItem) -> str:
    """One item on one line (docs/plan.md P9)."""
    return f"{MARKS[item.status]} {item_text(item)}"


def item_text(item: PlanItem) -> str:
    """One item on one line, without its status."""
    doing = f" ({item.active_form})" if item.status == "in_progress" and item.active_form else ""
    held = " (held by the user)" if item.held else ""
    check = f" (check: {item.check})" if item.check else ""
    return f"#{item.id}: {item.content}{doing}{held}{check}"


def render_items(items: Sequence[PlanItem]) -> str:
    """A line per item, a blank line, and the number of completed items; `No todos.` for an empty plan (P9)."""
    if not items:
        return "No todos."
    done = sum(item.status == "completed" for item in items)
    return "\n".join([*map(render_line, items), "", f"({done}/{len(items)} completed)"])
