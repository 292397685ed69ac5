"""A conversation with a model and no tool but `todo`, for answers of a model's server. Everything else is real."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fairlead.agent.agent import Agent
from fairlead.agent.events import Event
from fairlead.agent.limits import Budget, Limits
from fairlead.agent.loop import Run
from fairlead.agent.meter import Meter
from fairlead.agent.model import Model
from fairlead.agent.outcome import Outcome
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.tool import RunningCall
from fairlead.agent.window import Window
from fairlead.messages.history import History
from fairlead.messages.parts import Prompt
from fairlead.plan import PlanItem, TodoManager
from fairlead.tools.checks import Checked
from fairlead.tools.todo import Todo


class BareAgent:
    """Runs prompts in one conversation. Several of them can be runs of one session."""

    def __init__(self, model: Model, emit: Callable[[Event], None], run_id: str = "run1") -> None:
        self._model, self._run_id = model, run_id
        self._emit = lambda event: emit(replace(event, run_id=run_id))
        self._plan, self._history, self._window = TodoManager(), History(), Window()

    async def run(self, prompt: str) -> Outcome:
        return await self.new_run().execute([Prompt(prompt)])

    def new_run(self) -> Run:
        """A run that has not begun."""
        self._window.begin_run(200_000)
        meter = Meter(lambda usage: usage.tokens * 1e-6, self._window, self._emit)
        agent = Agent(
            run_id=self._run_id,
            model=self._model,
            system="You help.",
            tools={"todo": Todo(self._plan, no_checks)},
            plan=self._plan,
            history=self._history,
            emit=self._emit,
            interceptors=[Limits(meter, Budget(), max_rounds=200)],
            meter=meter,
            proposals=lambda: "",
            window=self._window,
            stopped=StoppedCalls(),
        )
        return Run(agent)


async def no_checks(item: PlanItem, call: RunningCall) -> list[Checked]:
    return []
