"""Owns the state of a plan."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from fairlead.plan.history import PlanAuthor, PlanVersion, summarize_changes
from fairlead.plan.items import (
    PlanError,
    PlanItem,
    PlanningState,
    StalePlan,
    UserEdits,
    apply_user_edits,
    assign_ids,
    read_draft,
)
from fairlead.plan.ops import PlanOp, apply_ops
from fairlead.plan.render import item_text, render_items

REWRITE = " Rewrite the plan with the todo tool so that it shows what is done and what comes next."
NO_PLAN = (
    "No plan yet. If this task has several steps, write them down with the todo tool before you go on; if it is a "
    "single step, just finish it."
)


@dataclass(frozen=True, slots=True)
class PlanReminder:
    """A reminder to update the plan, or to write one."""

    about: str
    """What the user reads too."""
    instruction: str = ""
    """What only the model reads."""

    @property
    def text(self) -> str:
        """What the model reads."""
        return f"<reminder>{self.about}{self.instruction}</reminder>"


class TodoManager:
    """Owns the plan, checks each rewrite, and counts the rounds without one."""

    def __init__(self, max_items: int = 20, single_in_progress: bool = True, reminder_interval: int = 3) -> None:
        """
        Args:
            max_items: the most items that a plan may have (docs/plan.md P7).
            single_in_progress: whether only one item may be in progress (P8).
            reminder_interval: after how many rounds without a rewrite a reminder is due (L6).
        """
        self.max_items = max_items
        self.single_in_progress = single_in_progress
        self.reminder_interval = reminder_interval
        self._state = PlanningState()
        self._used_ids: set[str] = set()
        self._user_edits = UserEdits()
        self.work_since_update: Callable[[], str] = lambda: ""
        """Returns a sentence, with a leading space, about the work since the last update; empty if there was none."""
        self.history: tuple[PlanVersion, ...] = ()
        """The versions of the plan, the oldest first."""
        self._asked_for_plan = False

    def snapshot(self) -> PlanningState:
        """The current state, frozen (docs/plan.md P2)."""
        return self._state

    @property
    def user_edits(self) -> UserEdits:
        """The user's edits that later rewrites must respect (P13, P14)."""
        return self._user_edits

    def restore(
        self, state: PlanningState, history: tuple[PlanVersion, ...] = (), user_edits: UserEdits | None = None
    ) -> None:
        """Replaces the plan with a saved one: of an earlier process (P11), or to rewind the session.

        Args:
            history: the versions of the saved plan, the oldest first. The ids of their items are not used again (P6).
            user_edits: None if there are none.
        """
        self._state, self.history, self._user_edits = state, history, user_edits or UserEdits()
        versions = (state.items, *(version.items for version in history))
        self._used_ids = {item.id for items in versions for item in items}

    def begin_run(self) -> None:
        """Starts a run: resets the counter of rounds (L5), and allows one request for a plan. The plan stays (P11)."""
        self._asked_for_plan = False
        self._set_rounds(0)

    def begin_prompt(self) -> tuple[str, ...]:
        """Makes the items in progress pending, because a new prompt may be about something else (P11).

        Returns a line for the model about each of them.
        """
        begun = [item for item in self._state.items if item.status == "in_progress"]
        if begun:
            items = (replace(item, status="pending") if item in begun else item for item in self._state.items)
            self._set_items(tuple(items), "user", "There was a new prompt.")
        return tuple(f"sent a new prompt, so #{item.id} is pending until you mark it as in_progress" for item in begun)

    def set_awaits_approval(self, awaits_approval: bool) -> None:
        """Sets whether the user still has to approve the plan."""
        if awaits_approval != self._state.awaits_approval:
            self._state = replace(self._state, awaits_approval=awaits_approval, version=self._state.version + 1)

    def completing(self, items: Sequence[Any]) -> tuple[PlanItem, ...]:
        """The items that a rewrite would complete, and completed ones that it would give another check.

        Their checks must pass first (P17). Changes nothing.

        Raises:
            PlanError: as for `update`.
        """
        before = {(item.id, item.check) for item in self._state.items if item.status == "completed"}
        completed = [item for item in self._rewritten(items) if item.status == "completed"]
        # what the user marked or holds stays as it is
        may_change = [item for item in completed if not (item.marked or item.held)]
        return tuple(item for item in may_change if (item.id, item.check) not in before)

    def update(self, items: Sequence[Any], reason: str = "", failed: Collection[str] = ()) -> str:
        """Replaces the whole plan (P3) and returns it rendered (P9).

        Args:
            items: objects as the model writes them (P1), each with `check` if it has one.
            reason: why the plan changes, written by the model; may be empty.
            failed: the ids of items whose checks failed, so that they are not completed (P17).

        Raises:
            PlanError: an item breaks a rule (P4 to P8) or contradicts the user (P14); the plan does not change.
        """
        new = self._with_failed_open(self._rewritten(items), failed)
        self._used_ids |= {item.id for item in new}
        self._set_items(new, "model", reason)
        return self.render()

    def _with_failed_open(self, items: tuple[PlanItem, ...], failed: Collection[str]) -> tuple[PlanItem, ...]:
        """The items of a rewrite, with the failed ones in progress.

        If P8 allows only one item in progress, that is the first failed one. The other failed ones, and the one that
        was in progress, are then pending.
        """
        if not failed:
            return items
        first = next((item.id for item in items if item.id in failed), None)
        result: list[PlanItem] = []
        for item in items:
            if item.id in failed:
                must_wait = self.single_in_progress and item.id != first
                item = replace(item, status="pending" if must_wait else "in_progress")
            elif self.single_in_progress and item.status == "in_progress":
                item = replace(item, status="pending")
            result.append(item)
        return tuple(result)

    def _rewritten(self, items: Sequence[Any]) -> tuple[PlanItem, ...]:
        """The items of a rewrite. Raises PlanError, as `update` does."""
        if len(items) > self.max_items:
            raise PlanError(f"Max {self.max_items} todos allowed")
        drafts = [read_draft(raw, position) for position, raw in enumerate(items, 1)]
        if self.single_in_progress and sum(draft.status == "in_progress" for draft in drafts) > 1:
            raise PlanError("Only one task can be in_progress at a time")
        old = self._state.items
        return apply_user_edits(assign_ids(drafts, old, self._used_ids), old, self._user_edits)

    def edit(self, ops: Sequence[PlanOp], revision: int) -> tuple[str, ...]:
        """Applies the user's edits (P13) and returns a line for the model about each change.

        Args:
            revision: the revision of the plan that the user saw.

        Raises:
            StalePlan: the plan has changed since the user saw it.
            PlanError: an operation is invalid; the plan does not change.
        """
        if revision != self._state.revision:
            raise StalePlan("The plan has changed since you saw it, so nothing was done. Try again.")
        used = set(self._used_ids)

        def new_id() -> str:
            found = next(str(number) for number in count(1) if str(number) not in used)
            used.add(found)
            return found

        old = self._state.items
        edited = apply_ops(old, self._user_edits.dropped, ops, new_id)
        if len(edited.items) > self.max_items:
            raise PlanError(f"The plan can have at most {self.max_items} steps (setting plan.maxItems).")
        if self.single_in_progress and sum(item.status == "in_progress" for item in edited.items) > 1:
            raise PlanError("Only one step can be in progress at a time.")
        self._used_ids = used
        now = {item.id: item.content for item in edited.items}
        reworded = tuple((item.id, item.content) for item in old if now.get(item.id, item.content) != item.content)
        self._user_edits = UserEdits(edited.dropped, (*self._user_edits.reworded, *reworded))
        self._set_items(edited.items, "user", "")
        return edited.lines

    def _set_items(self, items: tuple[PlanItem, ...], by: PlanAuthor, reason: str) -> None:
        old = self._state
        rounds = 0 if by == "model" else old.rounds_since_update
        new = replace(old, items=items, rounds_since_update=rounds, version=old.version + 1)
        if _substance(items) != _substance(old.items):
            new = replace(new, revision=old.revision + 1)
            summary = summarize_changes(old.items, items)
            self.history = (*self.history, PlanVersion(new.revision, by, summary, reason, items))
        self._state = new

    def note_round_without_update(self) -> None:
        """Counts a round in which the model did not call `todo` (L5)."""
        self._set_rounds(self._state.rounds_since_update + 1)

    def reminder(self) -> PlanReminder | None:
        """The reminder for the model if one is due (L6 to L8), else None.

        Without a plan, a run gets only one reminder, so a later call returns None.
        """
        if self._state.rounds_since_update < self.reminder_interval:
            return None
        if self._state.items:
            return PlanReminder(f"Update your todos.{self._current_step()}{self.work_since_update()}", REWRITE)
        if self._asked_for_plan:
            return None
        self._asked_for_plan = True
        return PlanReminder(NO_PLAN)

    def _current_step(self) -> str:
        """A sentence, with a leading space, about the step in progress, else the next one; empty if neither exists."""
        state = self._state
        if state.current is not None:
            return f" In progress: {item_text(state.current)}."
        upcoming = next((item for item in state.items if item.status == "pending" and not item.held), None)
        return f" None is in progress; the next is {item_text(upcoming)}." if upcoming else ""

    def render(self) -> str:
        """The plan as text (P9)."""
        return render_items(self._state.items)

    def _set_rounds(self, rounds: int) -> None:
        if rounds != self._state.rounds_since_update:
            self._state = replace(self._state, rounds_since_update=rounds, version=self._state.version + 1)


def _substance(items: Sequence[PlanItem]) -> list[tuple[str, str, str, bool, str]]:
    """The values whose change makes a new revision (P2)."""
    return [(item.id, item.content, item.status, item.held, item.check) for item in items]
