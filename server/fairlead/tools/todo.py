"""`todo`: rewrites the plan (docs/plan.md P12)."""

from typing import Any, cast

from fairlead.agent.errors import ToolError
from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.plan import PlanError, TodoManager

SPEC = ToolSpec(
    "todo",
    "Rewrite the current plan for multi-step work. Send the whole list each time. Mark one item in_progress before "
    "you start it and completed as soon as it is done. Keep an item's id when you change its text.",
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
                    },
                    "required": ["content", "status"],
                },
            },
            "reason": {"type": "string", "description": "Why steps were added or dropped, if some were"},
        },
    },
)


class Todo:
    spec = SPEC
    kind: ToolKind = "think"
    read_only = True

    def __init__(self, plan: TodoManager) -> None:
        self._plan = plan

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return "Update the plan", ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        items = input.get("items")
        if items is None:
            items = input.get("todos")
        if not isinstance(items, list):
            raise ToolError("'items' is missing: send the whole plan as a list of {id?, content, status, activeForm?}")
        try:
            return self._plan.update(cast("list[Any]", items), str(input.get("reason") or ""))
        except PlanError as error:
            raise ToolError(str(error)) from error
