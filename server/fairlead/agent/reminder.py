"""Reminds the model to update its plan (docs/plan.md L5 to L8)."""

from collections.abc import Callable, Sequence

from fairlead.agent.events import Event, ReminderSent
from fairlead.agent.interceptors import Interceptor
from fairlead.messages.parts import Call, Note, Result
from fairlead.plan import TodoManager


class Reminder(Interceptor):
    """Counts the rounds without `todo` (L5), and sends a reminder after the results when one is due (L6 to L8)."""

    def __init__(self, plan: TodoManager, emit: Callable[[Event], None], *, counts_only: bool) -> None:
        """
        Args:
            counts_only: whether no reminder is sent, because the run may not change the plan.
        """
        self._plan, self._emit, self._counts_only = plan, emit, counts_only
        self._is_after_results = False

    async def after_results(self, calls: Sequence[Call], results: Sequence[Result]) -> None:
        self._is_after_results = True
        if not any(call.name == "todo" for call in calls):
            self._plan.note_round_without_update()

    async def before_request(self) -> Sequence[Note]:
        is_possible, self._is_after_results = self._is_after_results and not self._counts_only, False
        reminder = self._plan.reminder() if is_possible else None
        if reminder is None:
            return ()
        self._emit(ReminderSent(reminder.about, reminder.text))
        return (Note("reminder", reminder.text),)
