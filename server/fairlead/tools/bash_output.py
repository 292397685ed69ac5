"""`bash_output`: what a background command wrote since the last look, and how it ended."""

import asyncio
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.shell.background import BackgroundCommand, BackgroundCommands

LONGEST_WAIT = 600
# a call that waited this long has let time go by, in which something may have come
WAITED = 1.0
SPEC = ToolSpec(
    "bash_output",
    "What a background command wrote since you last looked, and how it ended.",
    {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "wait_seconds": {"type": "integer", "description": f"Wait for its end, this long at most ({LONGEST_WAIT})"},
        },
        "required": ["id"],
    },
)


class BashOutput:
    spec = SPEC
    kind: ToolKind = "read"
    read_only = True

    def __init__(self, background: BackgroundCommands) -> None:
        self._background = background

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return f"Look at {input['id']}", ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        command = self._background.get(input["id"])
        call.progress = "Cancelled while it waited for the command."
        wait = min(max(input.get("wait_seconds") or 0, 0), LONGEST_WAIT)
        began = asyncio.get_running_loop().time()
        if wait:
            await asyncio.wait([waiting := asyncio.ensure_future(command.finished.wait())], timeout=wait)
            waiting.cancel()
        output = command.running.take_output()
        call.polls = bool(output) or asyncio.get_running_loop().time() - began >= WAITED
        return told(command, output)


def told(command: BackgroundCommand, output: str) -> str:
    """A background command's output with how it goes, for the model."""
    parts = [output.rstrip("\n"), command.end_report, f"({command.handle}: {_state(command)}, {command.seconds:.1f} s)"]
    return "\n".join(filter(None, parts))


def _state(command: BackgroundCommand) -> str:
    match command.ended:
        case None:
            return "running"
        case "exited":
            return f"exit code {command.exit_code}"
        case "timeout":
            return "ended after its time limit"
        case "stopped":
            return "killed"
        case "failed":
            return "not started"
