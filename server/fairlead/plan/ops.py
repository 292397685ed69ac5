"""The user's edits of the plan: add, reword, move, drop, hold, mark, check."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from fairlead.display import one_line
from fairlead.plan.items import STATUSES, PlanError, PlanItem, Status

OpKind = Literal["add", "update", "remove", "move", "restore"]


@dataclass(frozen=True, slots=True)
class PlanOp:
    """One operation. For `update`, None leaves a value of the item unchanged."""

    op: OpKind
    id: str = ""
    """The id of the item; empty for `add`."""
    content: str | None = None
    """For `add` and `update`. `add` requires it."""
    after: str | None = None
    """For `add`, `move` and `restore`: the id of the item that it follows; None: it becomes the first."""
    at_end: bool = False
    """For `add` and `restore`: puts the item at the end, whatever `after` says."""
    status: str | None = None
    """For `update`. A held item cannot be in progress."""
    held: bool | None = None
    """For `update`. Holding an item in progress makes it pending."""
    check: str | None = None
    """For `update`: a command; empty removes the check."""


@dataclass(frozen=True, slots=True)
class Edited:
    """The result of the user's operations."""

    items: tuple[PlanItem, ...]
    lines: tuple[str, ...]
    """What changed, for the model: a line for each change."""
    dropped: tuple[PlanItem, ...]
    """The items that the user has dropped, now and before, and not restored."""


def apply_ops(
    items: Sequence[PlanItem], dropped: Sequence[PlanItem], ops: Sequence[PlanOp], new_id: Callable[[], str]
) -> Edited:
    """Applies the user's operations, all or none.

    Args:
        dropped: the items that the user has dropped before.

    Raises:
        PlanError: an operation is invalid, or names an item that does not exist (anymore). The message is for the user.
    """
    now, lines, gone = list(items), list[str](), list(dropped)
    for op in ops:
        match op.op:
            case "add":
                item = PlanItem(new_id(), _content(op.content), by_user=True)
                now.insert(len(now) if op.at_end else _index_after(now, op.after), item)
                lines.append(f"added #{item.id}: {item.content}")
            case "update":
                index = _index(now, op.id)
                now[index], changed = _updated(now[index], op)
                lines += changed
            case "remove":
                item = now.pop(_index(now, op.id))
                gone.append(item)
                lines.append(f"dropped #{item.id}: {item.content}")
            case "restore":
                item = gone.pop(_index(gone, op.id))
                if item.status == "in_progress":
                    item = replace(item, status="pending")
                now.insert(len(now) if op.at_end else _index_after(now, op.after), item)
                lines.append(f"brought back #{item.id}: {item.content}")
            case "move":
                item = now.pop(_index(now, op.id))
                if op.after == op.id:
                    raise PlanError(f"Step {op.id} cannot follow itself.")
                now.insert(_index_after(now, op.after), item)
                lines.append(f"moved #{item.id} " + (f"after #{op.after}" if op.after is not None else "to the top"))
    return Edited(tuple(now), tuple(lines), tuple(gone))


def _updated(item: PlanItem, op: PlanOp) -> tuple[PlanItem, list[str]]:
    lines: list[str] = []
    if op.content is not None and _content(op.content) != item.content:
        item = replace(item, content=_content(op.content), active_form="", by_user=True)
        lines.append(f"reworded #{item.id}, which is now: {item.content}")
    if op.status is not None and op.status != item.status:
        if op.status not in STATUSES:
            raise PlanError(f"Step {item.id}: '{op.status}' is not a status; use {', '.join(STATUSES)}.")
        item = replace(item, status=cast("Status", op.status), marked=op.status == "completed")
        lines.append(f"marked #{item.id} as {op.status.replace('_', ' ')}")
    if op.held is not None and op.held != item.held:
        item = replace(item, held=op.held)
        if op.held and item.status == "in_progress":
            item = replace(item, status="pending")
        lines.append(f"holds #{item.id}: do not start it" if op.held else f"no longer holds #{item.id}")
    if op.status == "in_progress" and item.held:
        raise PlanError(f"Step {item.id} is held, so it cannot be in progress. Release it first.")
    if op.check is not None and one_line(op.check) != item.check:
        item = replace(item, check=one_line(op.check), checked_by_user=True)
        what = f"the check of #{item.id}, which must pass before it is completed: {item.check}"
        lines.append(f"set {what}" if item.check else f"removed the check of #{item.id}")
    return item, lines


def _content(text: str | None) -> str:
    content = one_line(text or "")
    if not content:
        raise PlanError("A step needs text.")
    return content


def _index(items: Sequence[PlanItem], item_id: str) -> int:
    found = next((index for index, item in enumerate(items) if item.id == item_id), None)
    if found is None:
        raise PlanError(f"The plan has no step {item_id!r} anymore.")
    return found


def _index_after(items: Sequence[PlanItem], after: str | None) -> int:
    return 0 if after is None else _index(items, after) + 1
