"""The versions of the plan: who changed what, as text for users."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fairlead.plan.items import PlanItem
from fairlead.plan.render import render_items

PlanAuthor = Literal["model", "user"]


@dataclass(frozen=True, slots=True)
class PlanVersion:
    """The plan at one revision, and the change that led to it."""

    revision: int
    by: PlanAuthor
    summary: str
    """See `summarize_changes`."""
    reason: str
    """Why it changed. Empty if the model gave no reason, and for the user's own changes."""
    items: tuple[PlanItem, ...]
    rewound: bool = False
    """Whether the session was rewound to an earlier version, so that those since then are undone."""


def not_undone(versions: Sequence[PlanVersion]) -> list[PlanVersion]:
    """The versions that no rewind has undone.

    Args:
        versions: all versions of a plan, the oldest first.
    """
    kept: list[PlanVersion] = []
    for version in versions:
        if version.rewound:
            while kept and kept[-1].items != version.items:
                kept.pop()
        else:
            kept.append(version)
    return kept


def summarize_changes(old: Sequence[PlanItem], new: Sequence[PlanItem]) -> str:
    """A summary of a change to the plan, such as `2 added, 1 dropped, 1 completed`.

    `rewritten` if nothing that is counted here has changed.
    """
    before, after = {item.id: item for item in old}, {item.id: item for item in new}
    both = [(before[item.id], item) for item in new if item.id in before]
    counts = {
        "added": len(after.keys() - before.keys()),
        "dropped": len(before.keys() - after.keys()),
        "reworded": sum(was.content != item.content for was, item in both),
        "completed": sum(was.status != "completed" == item.status for was, item in both),
        "started": sum(was.status != "in_progress" == item.status for was, item in both),
        "made pending": sum(was.status == "in_progress" != item.status == "pending" for was, item in both),
        "reopened": sum(was.status == "completed" != item.status for was, item in both),
        "held": sum(item.held and not was.held for was, item in both),
        "released": sum(was.held and not item.held for was, item in both),
        "given another check": sum(was.check != item.check for was, item in both),
    }
    if [was.id for was, _ in both] != [item.id for item in old if item.id in after]:
        counts["moved"] = 1
    words = [f"{count} {word}" if word != "moved" else "order changed" for word, count in counts.items() if count]
    return ", ".join(words) or "rewritten"


def history_page(title: str, versions: Sequence[PlanVersion]) -> str:
    """All versions as a Markdown page, the newest first. `title` is the session's; it may be empty."""
    parts = [f"# Plan: {title}" if title else "# Plan"]
    for version in reversed(versions):
        who = "The agent" if version.by == "model" else "You"
        reason = f"\n\nReason: {version.reason}" if version.reason else ""
        parts.append(f"## Version {version.revision}\n\n{who}: {version.summary}.{reason}")
        parts.append(f"```\n{render_items(version.items)}\n```")
    if not versions:
        parts.append("There is no plan yet.")
    return "\n\n".join(parts) + "\n"
