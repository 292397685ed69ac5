"""`bash_output`: returns the new output of a background command, and its state."""

import asyncio
import contextlib
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.sentences import Sentence
from fairlead.shell.background import BackgroundCommand, BackgroundCommands

MAX_WAIT = 600  # seconds
MIN_WAIT = 1.0  # seconds; after a shorter wait without new output, the same call is a repeat (docs/plan.md L10)
SPEC = ToolSpec(
    "bash_output",
    "The new output of a background command, and its state.",
    {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "wait_seconds": {
                "type": "integer",
                "description": f"Wait up to this long for it to end, {MAX_WAIT} at most",
            },
        },
        "required": ["id"],
    },
)


class BashOutput:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "other"
    read_only = True

    def __init__(self, background: BackgroundCommands) -> None:
        self._background = background

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("Read the output of {0}", input["id"]), ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        command = self._background.get(input["id"])
        call.progress = "Cancelled while waiting for the command."
        wait = min(max(input.get("wait_seconds") or 0, 0), MAX_WAIT)
        began = asyncio.get_running_loop().time()
        if wait:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await command.finished.wait()
        output = command.running.take_output()
        call.polls = bool(output) or asyncio.get_running_loop().time() - began >= MIN_WAIT
        return format_status(command, output)


def format_status(command: BackgroundCommand, output: str) -> str:
    """The output, the end report and the state of a background command, for the model."""
    parts = [output.rstrip("\n"), command.end_report, f"({command.handle}: {_state(command)}, {command.seconds:.1f} s)"]
    return "\n".join(filter(None, parts))


def _state(command: BackgroundCommand) -> str:
    match command.ended:
        case None:
            return "running"
        case "exited":
            return f"exit code {command.exit_code}"
        case "timeout":
            return "killed at its time limit"
        case "stopped":
            return "killed"
        case "failed":
            return "not started"
