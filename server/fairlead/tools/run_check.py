"""`run_check`: runs checks on the proposals, for other programs. A model has `bash` and the checks of steps."""

from collections.abc import Callable, Sequence
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.errors import ToolError
from fairlead.sentences import Sentence
from fairlead.tools.bash import check_command
from fairlead.tools.checks import Checks

SPEC = ToolSpec(
    "run_check",
    "Run a command, or all checks that are set, on the proposed files. What it changes is discarded.",
    {"type": "object", "properties": {"command": {"type": "string", "description": "Without it: all checks"}}},
)
NO_CHECKS = "No check is set. Give a command, such as pytest -q, or attach a check to a step of the plan."


class RunCheck:
    """Implements `Tool`.

    Args:
        checks: runs them.
        known: returns the checks of the settings and of the plan.
    """

    spec = SPEC
    kind: ToolKind = "execute"
    read_only = False

    def __init__(self, checks: Checks, known: Callable[[], Sequence[str]]) -> None:
        self._checks, self._known = checks, known

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("Run a check"), ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        command = input.get("command")
        if command is not None:
            check_command(command)
        commands = [command] if command is not None else self._known()
        if not commands:
            raise ToolError(NO_CHECKS)
        call.progress = "Cancelled while a check ran. It has no result."
        results = [await self._checks.run_command(each, call) for each in commands]
        return "\n\n".join(result.text for result in results)
