"""Runs one check and discards what it changes in its box (docs/plan.md P17). Without a sandbox, its changes stay."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from fairlead.agent.tool import RunningCall
from fairlead.edits.changeset import Changeset
from fairlead.gate.request import RunCommand
from fairlead.plan.evidence import CHECK, Verification
from fairlead.plan.inputs import Inputs
from fairlead.sentences import Sentence
from fairlead.shell.command_line.verifications import NO_VERIFICATIONS, FoundVerifications, find_verifications
from fairlead.shell.layer import PLAIN, Where
from fairlead.shell.network import NO_NETWORK
from fairlead.shell.process import Command, CommandResult
from fairlead.tools.commands import Commands, Job, repeat_clean

MAX_OUTPUT_LINES = 30
WITHOUT_RETAINED = "It ran without the ignored files that commands left in the sandbox, such as builds."


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
    is_baseline: bool = False
    """Whether `changes` are those without which the check must fail to prove the others (docs/plan.md P23)."""
    is_of_user: bool = False
    """Whether the user runs it, to learn what the accepted or proposed files are worth without the session."""
    retained: bool = True
    """Whether it sees the ignored files that the session's commands left, such as builds of other texts.

    Only a check that sees all proposals can.
    """


@dataclass(frozen=True)
class CheckEnd:
    """How a check ended."""

    result: CommandResult
    discarded: str
    """A sentence, with a leading space, about the lost changes that the check itself made; empty if there are none."""
    variables: Mapping[str, str]
    """Its environment."""
    lacked_retained: bool = False
    """Whether it failed without the ignored files that the session's commands left."""
    fails_with_all: bool = False
    """Whether it saw no proposals or the baseline, and fails with all too, without these ignored files."""
    inputs: Inputs | None = None
    """What it read, if all of that was recorded."""

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


async def allow_check(commands: Commands, command: str, call: RunningCall) -> Where:
    """Asks the user whether the check may run, if the policy requires it. Returns where it runs.

    Raises:
        NotAllowed: the settings or the user do not allow it, or the user could not be asked.
        ToolError: its layer cannot be made.
    """
    layer = await commands.layer()
    action = RunCommand(command, layer.roots.first.path, layer.where)
    await commands.gate.check(action, call.id, [Sentence("It is the check of a step.")])
    return layer.where


async def run_check(commands: Commands, check: CheckRun, call: RunningCall) -> CheckEnd:
    """Runs a check. It is evidence only if it sees all proposals or the baseline.

    If it fails without the ignored files that the session's commands left, the reason may be that these are missing. So
    a failure is then no evidence if the check sees all proposals. If it sees none or the baseline, it runs with all of
    them too, also without these files, and is evidence only if it passes there.

    Raises:
        ToolError: it could not be run, because its box could not be made or its process could not be started.
    """
    job, retained = await _prepare(commands, check, call)
    job.begin()
    result = await job.run()
    lacked_retained = not retained and job.layer.has_retained and result.exit_code != 0
    no_evidence = replace(job, verifications=NO_VERIFICATIONS, state=None, without_changes=None)
    fails_with_all = False
    if lacked_retained and check.changes is None:
        job = no_evidence
    elif lacked_retained and (check.is_baseline or not len(check.changes or ())):
        try:
            fails_with_all = not await _passes_with_all(commands, check, call)
        except BaseException:
            await no_evidence.end(result.ended, result.exit_code, discard=True)
            raise
        job = no_evidence if fails_with_all else job
    end = await job.end(result.ended, result.exit_code, discard=True)
    if end.is_doubtful:  # this time, it is not recorded
        return await run_check(commands, check, call)
    note = f" {end.report}".replace("\n", " ") if end.report else ""
    return CheckEnd(result, note, job.box.launch.env, lacked_retained, fails_with_all, end.inputs)


async def _passes_with_all(commands: Commands, check: CheckRun, call: RunningCall) -> bool:
    """Whether a check passes with all proposals, without the ignored files that the session's commands left.

    This run has no events.
    """
    call = replace(call, emit=_ignore)
    job, _ = await _prepare(commands, replace(check, changes=None, is_baseline=False, retained=False), call)
    result = await job.run()
    await job.end(result.ended, result.exit_code, discard=True)
    return result.exit_code == 0


async def _prepare(commands: Commands, check: CheckRun, call: RunningCall) -> tuple[Job, bool]:
    """Opens the box of a check. Also returns whether it sees the ignored files that the session's commands left."""
    found = find_check(check.command)
    layer = await commands.layer()
    view = await commands.view(layer.roots, check.changes) if layer.where == "sandboxed" else PLAIN
    line, leftovers, limits = found.with_pipefail(check.command), await layer.leftovers(view), commands.limits
    retained = check.retained and check.changes is None and not (leftovers and check.is_of_user)
    # `background`, because other commands may run at the same time
    records = commands.records(check.command)
    view = replace(view, retained=retained)
    box = await layer.open(line, view, limits=limits, background=True, records=records)
    running = Command(box.launch, commands.timeout, call.output)
    job = Job(commands, call, check.command, layer, NO_NETWORK, box, running, view, check.handle, is_check=True)
    if check.changes is not None:
        baseline = replace(job, without_changes=check.state, with_tests=len(check.changes) > 0)
        return baseline if check.is_baseline else job, retained
    if retained and leftovers:
        repeat = partial(repeat_clean, layer, line, view, limits, commands.timeout, records=records)
        job = replace(job, leftovers=leftovers, repeat=repeat)
    return replace(job, verifications=found, state=check.state), retained


def _ignore(_: object) -> None:
    """Discards an event."""


def find_check(command: str) -> FoundVerifications:
    """What a check verifies. Its exit code always counts.

    If no known program is found, or the exit code does not show all results, the whole command is one verification.
    """
    found = find_verifications(command)
    if found.verified and not found.inconclusive:
        return found
    return replace(found, verified=(Verification(CHECK, targets=(command,)),), inconclusive=())
