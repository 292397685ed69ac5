"""TodoManager: the one owner of a plan's state."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairlead.plan.items import PlanError, PlanningState, assign_ids, read_draft
from fairlead.plan.render import render_items, render_line

UPDATE_REMINDER = "<reminder>Update your todos.{about} Rewrite the plan with the todo tool so that it shows what is done and what comes next.</reminder>"  # noqa: E501
PLAN_REMINDER = "<reminder>No plan yet. If this task has several steps, write them down with the todo tool before you go on; if it is a single step, just finish it.</reminder>"  # noqa: E501


class TodoManager:
    """Holds the plan, checks every rewrite of it, and watches how long it has not been touched."""

    def __init__(self, max_items: int = 20, single_in_progress: bool = True, reminder_interval: int = 3) -> None:
        self.max_items = max_items
        self.single_in_progress = single_in_progress
        self.reminder_interval = reminder_interval
        self._state = PlanningState()
        self._used_ids: set[str] = set()
        self._asked_for_plan = False

    def snapshot(self) -> PlanningState:
        """The state as it is now, frozen (docs/plan.md P2)."""
        return self._state

    def begin_run(self) -> None:
        """A new run: the counter starts at 0 (L5), the plan stays (P11)."""
        self._asked_for_plan = False
        self._set_rounds(0)

    def update(self, items: Sequence[Any]) -> str:
        """Replaces the whole plan (P3) and returns it rendered (P9).

        Args:
            items: objects as the model writes them: `{id?, content, status, activeForm?}` and the aliases of P1.

        Raises:
            PlanError: an item breaks a rule (P4 to P8); the plan is then as it was.
        """
        if len(items) > self.max_items:
            raise PlanError(f"Max {self.max_items} todos allowed")
        drafts = [read_draft(raw, position) for position, raw in enumerate(items, 1)]
        if self.single_in_progress and sum(draft.status == "in_progress" for draft in drafts) > 1:
            raise PlanError("Only one task can be in_progress at a time")
        old = self._state
        new = assign_ids(drafts, old.items, self._used_ids)
        self._used_ids |= {item.id for item in new}
        same = [(i.id, i.content, i.status) for i in new] == [(i.id, i.content, i.status) for i in old.items]
        self._state = PlanningState(
            items=new,
            rounds_since_update=0,
            version=old.version + 1,
            revision=old.revision + (not same),
        )
        return self.render()

    def note_round_without_update(self) -> None:
        """Counts a round in which no rewrite succeeded (L5)."""
        self._set_rounds(self._state.rounds_since_update + 1)

    def reminder(self) -> str | None:
        """What to remind the model of now (L6 to L8), or None. Asking for a first plan happens once a run."""
        if self._state.rounds_since_update < self.reminder_interval:
            return None
        if self._state.items:
            current = self._state.current
            about = f" In progress: {render_line(current)[4:]}." if current else ""
            return UPDATE_REMINDER.format(about=about)
        if self._asked_for_plan:
            return None
        self._asked_for_plan = True
        return PLAN_REMINDER

    def render(self) -> str:
        """The plan as text (P9)."""
        return render_items(self._state.items)

    def _set_rounds(self, rounds: int) -> None:
        if rounds != self._state.rounds_since_update:
            self._state = replace(self._state, rounds_since_update=rounds, version=self._state.version + 1)
