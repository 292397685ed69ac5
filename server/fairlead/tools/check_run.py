"""Runs one check and discards what it changes in its box (docs/plan.md P17). Without a sandbox, its changes stay."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from fairlead.agent.errors import ToolError
from fairlead.agent.tool import RunningCall
from fairlead.edits.changeset import Changeset
from fairlead.plan.evidence import CHECK, Verification
from fairlead.shell.command_line.verifications import FoundVerifications, find_verifications
from fairlead.shell.layer import View, Where
from fairlead.shell.process import Command, CommandResult
from fairlead.tools.approvals import Approvals
from fairlead.tools.commands import Commands, Job, repeat_clean

MAX_OUTPUT_LINES = 30


@dataclass(frozen=True)
class CheckRun:
    """One run of a check."""

    command: str
    where: Where
    state: int
    """The number of the file state that a run with all proposals sees (`Commands.record_state`)."""
    handle: str
    """Identifies it, so that the user can stop it."""
    changes: Changeset | None = None
    """The proposals that it sees; None: all. Without a sandbox, a check sees none, whatever this is."""
    is_of_user: bool = False
    """Whether the user runs it, to learn what the accepted or proposed files are worth without the session."""


@dataclass(frozen=True)
class CheckEnd:
    """How a check ended."""

    result: CommandResult
    discarded: str
    """A sentence, with a leading space, about the lost changes that the check itself made; empty if there are none."""
    variables: Mapping[str, str]
    """Its environment."""

    @property
    def passed(self) -> bool:
        """Whether the check succeeded. False if it reached its time limit."""
        return self.result.exit_code == 0

    @property
    def summary(self) -> str:
        """How it ended and how long it took, such as "exit code 1, 2.0 s"."""
        ended = self.result.ended
        how = self.result.exit_text if ended == "exited" else "killed at the time limit"
        return f"{how}, {self.result.seconds:.1f} s"

    @property
    def tail(self) -> str:
        """The last `MAX_OUTPUT_LINES` lines of its output."""
        return "\n".join(self.result.output.splitlines()[-MAX_OUTPUT_LINES:])


async def allow_check(commands: Commands, approvals: Approvals, command: str, call: RunningCall) -> Where:
    """Asks the user whether the check may run, if the policy requires it. Returns where it runs.

    Raises:
        ToolError: the settings or the user do not allow it, or the user could not be asked.
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

    Unless it sees all of them, it takes turns with the agent's commands that do not run in the background.

    Raises:
        ToolError: it could not be run, because its box could not be made or its process could not be started.
    """
    if check.changes is None:
        return await _run(commands, check, call)
    async with commands.foreground:
        return await _run(commands, check, call)


async def _run(commands: Commands, check: CheckRun, call: RunningCall) -> CheckEnd:
    found = find_check(check.command)
    layer = await commands.layer()
    view = await commands.view(layer.roots, check.changes) if layer.where == "sandboxed" else View()
    line, leftovers = found.with_pipefail(check.command), await layer.leftovers(view)
    is_clean = bool(leftovers) and (check.is_of_user or check.changes is not None)
    # `background`, because other commands may run at the same time
    box = await layer.open(line, view, limits=commands.limits, background=True, retained=not is_clean)
    running = Command(box.launch, commands.timeout, call.output)
    job = Job(commands, call, check.command, layer, False, box, running, handle=check.handle)
    if check.changes is None:
        job = replace(job, verifications=found, state=check.state)
        if leftovers and not is_clean:
            job = replace(
                job,
                leftovers=leftovers,
                repeat=partial(repeat_clean, layer, line, view, commands.limits, commands.timeout),
            )
    elif not len(check.changes):
        job = replace(job, without_changes=check.state)
    job.begin()
    result = await job.run()
    discarded = await job.end(result.ended, result.exit_code, discard=True)
    note = f" {discarded}".replace("\n", " ") if discarded else ""
    return CheckEnd(result, note, box.launch.env)


def find_check(command: str) -> FoundVerifications:
    """What a check verifies. Its exit code always counts.

    If no known program is found, or the exit code does not show all results, the whole command is one verification.
    """
    found = find_verifications(command)
    if found.verified and not found.inconclusive:
        return found
    return replace(found, verified=(Verification(CHECK, targets=(command,)),), inconclusive=())
