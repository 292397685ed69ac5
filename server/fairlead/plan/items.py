"""The values of a plan, and the rules that a rewrite by the model must follow."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Literal, cast, get_args

from fairlead.display import one_line
from fairlead.sentences import Sentence

Status = Literal["pending", "in_progress", "completed"]
STATUSES: tuple[str, ...] = get_args(Status)


class PlanError(ValueError):
    """A change to the plan that breaks a rule.

    Args:
        message: for whoever made the change: the model or the user.
        shown: what the user reads if the model made it.
    """

    def __init__(self, message: str, shown: Sentence | None = None) -> None:
        super().__init__(message)
        self.shown = shown or Sentence("Refused, because it breaks a rule for plans. The plan did not change.")


class StalePlan(ValueError):
    """The plan has changed since the user saw it. The message is for the user."""


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One step of the plan (docs/plan.md P1)."""

    id: str
    content: str
    status: Status = "pending"
    active_form: str = ""
    """The text shown while the item is in progress, such as "Adding tests"; may be empty."""
    held: bool = False
    """Whether the user holds it, so that it must not be started."""
    by_user: bool = False
    """Whether the user wrote or reworded it."""
    marked: bool = False
    """Whether the user marked it as completed."""
    check: str = ""
    """A command that must succeed before the model can complete the item (docs/plan.md P17); empty if there is none."""
    checked_by_user: bool = False
    """Whether the user set or removed the check, so that the model cannot change it."""


@dataclass(frozen=True, slots=True)
class PlanningState:
    """A snapshot of the plan (P2)."""

    items: tuple[PlanItem, ...] = ()
    rounds_since_update: int = 0
    """Rounds without a call of `todo` since the model's last rewrite, or since the run began (docs/plan.md L5)."""
    version: int = 0
    """Increases with every change of the state."""
    revision: int = 0
    """Increases only if an id, a content, a status, a hold, a check or the order changes."""
    awaits_approval: bool = False
    """Whether a run in the mode `plan` has begun, and has not left the plan as it was, since the last one in the mode
    `agent`."""

    @property
    def completed(self) -> int:
        """The number of completed items."""
        return sum(item.status == "completed" for item in self.items)

    @property
    def current(self) -> PlanItem | None:
        """The item in progress; the first one if there are several."""
        return next((item for item in self.items if item.status == "in_progress"), None)


@dataclass(frozen=True, slots=True)
class Draft:
    """An item as the model wrote it, checked except for its id."""

    id: str | None
    """None if the model gave none."""
    content: str
    status: Status
    active_form: str
    check: str = ""


def read_draft(raw: Any, position: int) -> Draft:
    """Reads and checks one item of the model's input.

    Args:
        position: counted from 1; names an item without an id in errors.

    Raises:
        PlanError: it is not an object, or breaks P4 or P5.
    """
    if not isinstance(raw, Mapping):
        raise PlanError(f"Item {position}: expected an object with content and status")
    fields = cast("Mapping[str, Any]", raw)
    item_id = _text(_first(fields, "id")) or None
    name = item_id or str(position)
    content = _text(_first(fields, "content", "text"))
    if not content:
        raise PlanError(f"Item {name}: text required")
    status = str(_first(fields, "status") or "pending").strip().lower()
    if status not in STATUSES:
        raise PlanError(f"Item {name}: invalid status '{status}', use {', '.join(STATUSES)}")
    active_form = _text(_first(fields, "activeForm", "active_form"))
    return Draft(item_id, content, cast("Status", status), active_form, _text(_first(fields, "check")))


def assign_ids(drafts: Sequence[Draft], previous: Sequence[PlanItem], used: Collection[str]) -> tuple[PlanItem, ...]:
    """Gives each draft its id (P6): its own, else that of an old item with the same content, else the next free number.

    Args:
        previous: the items of the plan now.
        used: all ids that ever existed, so that a free number is never the id of a dropped step.

    Returns:
        The items without what the user has set; `apply_user_edits` adds that.

    Raises:
        PlanError: two items have the same id.
    """
    given = Counter(draft.id for draft in drafts if draft.id is not None)
    if twice := next((item_id for item_id, times in given.items() if times > 1), None):
        raise PlanError(f"Item {twice}: duplicate id, each item needs its own")
    by_content: dict[str, list[str]] = {}
    for item in previous:
        if item.id not in given:
            by_content.setdefault(item.content, []).append(item.id)
    unused = (str(number) for number in count(1) if str(number) not in used and str(number) not in given)
    items: list[PlanItem] = []
    for draft in drafts:
        item_id = draft.id
        if item_id is None:
            same_text = by_content.get(draft.content)
            item_id = same_text.pop(0) if same_text else next(unused)
        items.append(PlanItem(item_id, draft.content, draft.status, draft.active_form, check=draft.check))
    return tuple(items)


@dataclass(frozen=True, slots=True)
class UserEdits:
    """The user's edits that the model's later rewrites must respect (P13, P14)."""

    dropped: tuple[PlanItem, ...] = ()
    """The steps that must not return."""
    reworded: tuple[tuple[str, str], ...] = ()
    """The ids and old contents of reworded steps. A rewrite that still has the old content gets the new one."""


def apply_user_edits(
    items: Sequence[PlanItem], previous: Sequence[PlanItem], user_edits: UserEdits
) -> tuple[PlanItem, ...]:
    """The items of a rewrite by the model, with the user's edits applied (P13, P14).

    Args:
        items: the rewrite.
        previous: the items of the plan now.

    Raises:
        PlanError: the rewrite restores a dropped step, changes the status of a held step, or omits a held step or an
            unfinished one that the user wrote.
    """
    dropped_ids = {item.id for item in user_edits.dropped}
    dropped_contents = {item.content for item in user_edits.dropped}
    old = {item.id: item for item in previous}
    result: list[PlanItem] = []
    for item in items:
        was = old.get(item.id)
        if was is None and (item.id in dropped_ids or item.content in dropped_contents):
            raise PlanError(
                f"Item {item.id}: the user dropped this step ({item.content}). Leave it out.",
                Sentence("Refused, because you dropped “{0}”. The plan did not change.", item.content),
            )
        if was is not None:
            if was.held and item.status != was.status:
                raise PlanError(
                    f"Item {item.id}: the user holds this step. Keep it as it is and go on with another.",
                    Sentence("Refused, because you hold “{0}”. The plan did not change.", was.content),
                )
            content = was.content if (item.id, item.content) in user_edits.reworded else item.content
            item = replace(
                item,
                content=content,
                held=was.held,
                by_user=was.by_user,
                marked=was.marked and item.status == "completed",
                check=was.check if was.checked_by_user else item.check or was.check,
                checked_by_user=was.checked_by_user,
            )
        result.append(item)
    remaining = {item.id for item in result}
    for item in previous:
        if item.id not in remaining and (item.held or (item.by_user and item.status != "completed")):
            why = "holds" if item.held else "wrote"
            raise PlanError(
                f"Item {item.id}: the user {why} this step ({item.content}). Keep it in the plan.",
                Sentence("Refused, because it leaves out “{0}”, which you hold. The plan did not change.", item.content)
                if item.held
                else Sentence(
                    "Refused, because it leaves out “{0}”, which you wrote. The plan did not change.", item.content
                ),
            )
    return tuple(result)


def _first(fields: Mapping[str, Any], *names: str) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _text(value: Any) -> str:
    return "" if value is None else one_line(str(value))
