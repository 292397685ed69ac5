"""A run of one call that another program makes in place of a model."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from fairlead.agent.dispatch import Dispatcher
from fairlead.agent.events import Event, FeedbackSent, RunFinished, RunStarted, StopReason
from fairlead.agent.model import Usage
from fairlead.agent.outcome import Outcome
from fairlead.messages.history import History
from fairlead.messages.parts import Call, Note, Part, Prompt, Result
from fairlead.plan import TodoManager

ENDED = "(The call has ended.)"
STOPPED = "Stopped."


@dataclass
class SingleCall:
    """Runs a call as a run of the agent does, with the same tools, events and messages.

    The conversation contains it, so a model that continues the session knows what was done.
    """

    id: str
    """Unique in its session."""
    caller: str
    """The program, in place of the model's name."""
    call: Call
    dispatcher: Dispatcher
    plan: TodoManager
    history: History
    emit: Callable[[Event], None]
    """Takes the events of the run."""
    take_feedback: Callable[[], Awaitable[Sequence[Prompt | Note]]]
    """Returns what the user decided and changed, and nobody has read yet."""
    checkpoint: int | None
    """See `RunStarted`."""
    is_running: bool = False
    feedback: list[Prompt | Note] = field(default_factory=list[Prompt | Note])
    """What the caller must read, too."""
    results: list[Result] = field(default_factory=list[Result])
    """The result, when the run has ended; none if it was stopped before the call."""

    async def execute(self, prompt: Sequence[Part]) -> Outcome:
        """Runs the call. Raises nothing: if it is cancelled, the outcome says so. Call it once."""
        self.plan.begin_run()
        self.is_running = True
        self.emit(RunStarted(self.caller, self.checkpoint))
        self.history.add_user_message(prompt)
        reason: StopReason = "end_turn"
        try:
            await self._run()
        except asyncio.CancelledError:
            reason = "cancelled"
        if self.results:
            self.history.add_results(self.results)
        self.history.close(ENDED if reason == "end_turn" else STOPPED)
        self.is_running = False
        self.emit(RunFinished(reason))
        return Outcome(reason, "" if reason == "end_turn" else STOPPED, Usage())

    async def _run(self) -> None:
        self.feedback = [*await self.take_feedback()]
        for part in self.feedback:
            self.emit(FeedbackSent("message" if isinstance(part, Prompt) else part.kind, part.text))
        self.history.add_to_user_message(self.feedback)
        await asyncio.sleep(0)  # a stop takes effect here, before the conversation has the call
        await self.dispatcher.run_all(self.history.add_reply([self.call]), self.results)
