"""`bash`: runs a command in the workspace, after the person allowed it."""

import asyncio
from typing import Any

from fairlead.agent.errors import PlainToolError, ToolError
from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.plan.evidence import CommandRun
from fairlead.shell.output import visible
from fairlead.shell.process import Command
from fairlead.tools.approvals import Approvals
from fairlead.workspace.files import Files

SPEC = ToolSpec(
    "bash",
    "Run a shell command in the workspace. The user is asked first; there is no input and a time limit. It runs on "
    "the files on disk and does not see proposed edits. To look around use search, list_files and read_file.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
NOT_VISIBLE = "Runs on the files on disk; {count} proposed edits are not visible to it."


class Bash:
    spec = SPEC
    kind: ToolKind = "execute"
    read_only = False

    def __init__(self, files: Files, approvals: Approvals, timeout: float) -> None:
        self._files, self._approvals, self._timeout = files, approvals, timeout

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return visible(input["command"]), ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        command = input["command"]
        if not command.strip():
            raise ToolError("The command is empty.")
        hidden = self._hidden_edits()
        reasons = [*hidden, "Commands run in the workspace itself, with your rights."]
        call.progress = "Cancelled while the user was asked; the command was not run."
        cwd = self._files.root.path
        await self._approvals.ask(call.id, command, cwd, reasons)
        running = Command(command, cwd, self._timeout, call.output)
        try:
            result = await running.run()
        except asyncio.CancelledError:
            call.command = CommandRun(call.id, command, None, running.seconds)
            call.progress = _lines(
                *hidden,
                f"Cancelled: started, ran {running.seconds:.1f} s, killed. Output so far:",
                running.output,
            )
            raise
        killed = result.ended == "timeout"
        call.command = CommandRun(call.id, command, None if killed else result.exit_code, result.seconds)
        if killed:
            limit = f"Ended after the time limit of {self._timeout:g} s. Output so far:"
            raise PlainToolError(_lines(*hidden, limit, result.output))
        return _lines(*hidden, result.output, f"(exit code {result.exit_code}, {result.seconds:.1f} s)")

    def _hidden_edits(self) -> list[str]:
        count = sum(max(1, len(proposal.hunks)) for proposal in self._files.changes)
        return [NOT_VISIBLE.format(count=count)] if count else []


def _lines(*parts: str) -> str:
    return "\n".join(part.rstrip("\n") for part in parts if part.strip())
