"""An agent with a model and no tool but `todo`, for answers of a model's server. Everything else is real."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.agent.events import Event
from fairlead.agent.loop import Agent
from fairlead.agent.model import Model
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.tool import RunningCall
from fairlead.agent.window import Window
from fairlead.messages.history import History
from fairlead.messages.parts import Note
from fairlead.plan import PlanItem, TodoManager
from fairlead.tools.checks import Checked
from fairlead.tools.todo import Todo


def bare_agent(model: Model, emit: Callable[[Event], None]) -> Agent:
    plan = TodoManager()
    return Agent(
        model=model,
        system="You help.",
        tools={"todo": Todo(plan, _no_checks)},
        plan=plan,
        history=History(),
        emit=emit,
        change_token=lambda: 0,
        take_feedback=_no_feedback,
        has_user_message=lambda: False,
        check_proposals=_no_errors,
        cost_of=lambda usage: usage.tokens * 1e-6,
        proposals=lambda: "",
        window=Window(),
        stopped=StoppedCalls(),
    )


async def _no_checks(item: PlanItem, call: RunningCall) -> list[Checked]:
    return []


async def _no_feedback() -> list[Note]:
    return []


async def _no_errors() -> bool:
    return False
