"""`todo`: rewrites the plan (docs/plan.md P12)."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.errors import ToolError
from fairlead.plan import PlanError, PlanItem, TodoManager
from fairlead.plan.render import PlanUpdate
from fairlead.sentences import Sentence
from fairlead.tools.checks import Checked

SPEC = ToolSpec(
    "todo",
    "Rewrite the current plan for multi-step work. Send the whole list each time. Keep an item's id when you change "
    "its text.",
    {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "content": {"type": "string", "description": "What to do, as an instruction"},
                        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                        "activeForm": {
                            "type": "string",
                            "description": "The same while it is being done: Adding ...",
                        },
                        "check": {"type": "string", "description": "Command that proves it"},
                    },
                    "required": ["content", "status"],
                },
            },
            "reason": {"type": "string", "description": "Why steps were added or dropped, if some were"},
        },
    },
    checks_objects=False,
)


RunChecks = Callable[[PlanItem, RunningCall], Awaitable[list[Checked]]]
"""Runs the checks of an item that the model completes. Returns their results, up to the first failure."""


class Todo:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "think"
    read_only = True

    def __init__(self, plan: TodoManager, run_checks: RunChecks) -> None:
        self._plan, self._run_checks = plan, run_checks

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("Update the plan"), ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        items = input.get("items")
        if items is None:
            items = input.get("todos")
        if not isinstance(items, list):
            raise ToolError(
                "'items' is missing: send the whole plan as a list of {id?, content, status, activeForm?, check?}"
            )
        rewrite = cast("list[Any]", items)
        try:
            results = {item.id: await self._run_checks(item, call) for item in self._plan.completing(rewrite)}
            failed = {item_id: checked[-1].problem for item_id, checked in results.items() if not _passed(checked)}
            plan = self._plan.update(rewrite, str(input.get("reason") or ""), failed)
        except PlanError as error:
            raise ToolError(str(error), error.shown) from error
        call.plan_update = PlanUpdate(self._plan.snapshot().items, tuple(failed.items()))
        lines = [each.text for checked in results.values() for each in checked]
        reopened = [f"#{item_id} is not completed: make its check pass." for item_id in failed]
        return "\n\n".join([plan, *lines, *reopened])


def _passed(checked: Sequence[Checked]) -> bool:
    return all(each.passed for each in checked)
