"""Runs one check in a box and discards what it changes (docs/plan.md P17)."""

import asyncio
from dataclasses import dataclass, replace

from fairlead.agent.errors import ToolError
from fairlead.agent.tool import RunningCall
from fairlead.edits.changeset import Changeset
from fairlead.plan.evidence import CHECK, Verification
from fairlead.shell.command_line.verifications import FoundVerifications, find_verifications
from fairlead.shell.layer import View, Where
from fairlead.shell.process import Command, CommandResult
from fairlead.tools.approvals import Approvals
from fairlead.tools.commands import Commands, Job

MAX_OUTPUT_LINES = 30


@dataclass(frozen=True)
class CheckRun:
    """One run of a check."""

    command: str
    where: Where
    state: int
    """The number of the file state with all proposals."""
    handle: str
    """Identifies it, so that the user can stop it."""
    changes: Changeset | None = None
    """The proposals that it sees; None: all."""


@dataclass(frozen=True)
class CheckEnd:
    """How a check ended."""

    result: CommandResult
    discarded: str
    """A sentence, with a leading space, about its own changes of files; empty if it made none."""

    @property
    def passed(self) -> bool:
        """Whether the check succeeded."""
        return self.result.exit_code == 0

    @property
    def summary(self) -> str:
        """Such as "exit code 1, 2.0 s"."""
        ended = self.result.ended
        how = self.result.exit_text if ended == "exited" else "killed at the time limit"
        return f"{how}, {self.result.seconds:.1f} s"

    @property
    def tail(self) -> str:
        """The end of its output."""
        return "\n".join(self.result.output.splitlines()[-MAX_OUTPUT_LINES:])


async def allow_check(commands: Commands, approvals: Approvals, command: str, call: RunningCall) -> Where:
    """Asks the user whether the check may run, if the policy requires it. Returns where it runs.

    Raises:
        ToolError: the settings or the user do not allow it.
    """
    layer = await commands.layer()
    permission = commands.check_permission(command, where=layer.where, network=False, unsandboxed=False)
    if permission.action == "deny":
        raise ToolError("The user's settings do not allow this command.")
    if permission.action == "ask":
        reasons = ["It is the check of a step.", *permission.reasons, *filter(None, [commands.unavailable])]
        await approvals.ask(call.id, command, layer.roots.first.path, reasons, layer.where, network=False)
    return layer.where


async def run_check(commands: Commands, check: CheckRun, call: RunningCall) -> CheckEnd:
    """Runs a check. It is evidence only if it sees all proposals or none.

    Unless it sees all of them, it takes turns with the agent's commands.

    Raises:
        ToolError: it could not be started.
    """
    if check.changes is None:
        return await _run(commands, check, call)
    async with commands.foreground:
        return await _run(commands, check, call)


async def _run(commands: Commands, check: CheckRun, call: RunningCall) -> CheckEnd:
    found = find_check(check.command)
    layer = await commands.layer()
    view = await commands.view(layer.roots, check.changes) if layer.where == "sandboxed" else View()
    # other commands may run at the same time
    box = await layer.open(found.with_pipefail(check.command), view, limits=commands.limits, background=True)
    running = Command(box.launch, commands.timeout, call.output)
    job = Job(commands, call, check.command, layer, False, box, running, handle=check.handle)
    if check.changes is None:
        job = replace(job, verifications=found, state=check.state)
    elif not len(check.changes):
        job = replace(job, without_changes=check.state)
    job.begin()
    try:
        result = await running.run()
    except asyncio.CancelledError:
        await job.end("stopped", None, discard=True)
        raise
    except ToolError:
        await job.end("failed", None, discard=True)
        raise
    discarded = await job.end(result.ended, result.exit_code, discard=True)
    return CheckEnd(result, f" {discarded}" if discarded else "")


def find_check(command: str) -> FoundVerifications:
    """What a check verifies. Its exit code always counts, even if the program is unknown."""
    found = find_verifications(command)
    if found.verified and not found.inconclusive:
        return found
    return replace(found, verified=(Verification(CHECK, targets=(command,)),), inconclusive=())
