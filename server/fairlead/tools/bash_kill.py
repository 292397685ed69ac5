"""`bash_kill`: ends a background command."""

from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.sentences import Sentence
from fairlead.shell.background import BackgroundCommands
from fairlead.tools.bash_output import format_status

SPEC = ToolSpec(
    "bash_kill",
    "End a background command; returns the rest of its output.",
    {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
)


class BashKill:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "other"
    read_only = False

    def __init__(self, background: BackgroundCommands) -> None:
        self._background = background

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("End {0}", input["id"]), ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        command = self._background.get(input["id"])
        call.progress = "Cancelled while the command was being ended."
        await command.stop()
        return format_status(command, command.running.take_output())
