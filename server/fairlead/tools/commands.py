"""What a session's commands need, and a command with its open box.

`Job` reports its start, closes its box, proposes its changes, and reports its end.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from fairlead.agent.events import CommandEnded, CommandStarted
from fairlead.agent.tool import RunningCall
from fairlead.edits.changeset import Changeset
from fairlead.errors import ToolError
from fairlead.gate.gate import Gate
from fairlead.plan.evidence import CommandRun
from fairlead.plan.inputs import Inputs
from fairlead.shell.background import BackgroundCommands, Ended
from fairlead.shell.command_line.verifications import NO_VERIFICATIONS, FoundVerifications
from fairlead.shell.layer import DEFAULT_LIMITS, PLAIN, Box, Changes, Layer, Limits, NotRun, View, Where
from fairlead.shell.network import NO_NETWORK, Network
from fairlead.shell.process import Command, CommandResult
from fairlead.shell.reads import Reads
from fairlead.tools.command_changes import ProposedChanges
from fairlead.tools.missing_variables import MissingVariables
from fairlead.uncancelled import finish_uncancelled
from fairlead.workspace.paths import Roots

NEEDS_LEFTOVERS = (
    "It did not pass again without the ignored files that earlier commands left in the sandbox, so it verifies nothing."
)
REPEATED = "Again, without the ignored files that earlier commands left"
NOT_REPEATED = "This time it did not pass, so it verifies nothing"
_PIPE_CLOSED = 141  # 128 + SIGPIPE: the exit code of a program that wrote to a pipe after the reader had ended


class FindInputs(Protocol):
    """Returns what a command depends on; None if that is not known completely. `roots` are the folders of its layer."""

    async def __call__(self, reads: Reads, view: View, roots: Roots, /) -> Inputs | None: ...


class CreateView(Protocol):
    """Returns what a command sees in a layer with the folders `roots`. `changes` are the proposals in it; None: all."""

    async def __call__(self, roots: Roots, changes: Changeset | None = None, /) -> View: ...


async def _unknown(reads: Reads, view: View, roots: Roots) -> None:
    """It is not known what a command depends on."""


@dataclass(frozen=True)
class Commands:
    """The dependencies of a session's commands."""

    layer: Callable[[], Awaitable[Layer]]
    """Returns the layer in which commands run by default. Raises ToolError if it cannot be made."""
    direct: Callable[[], Layer]
    """Returns the workspace itself as a layer. Without a sandbox, `layer` also returns such a layer."""
    view: CreateView
    propose_changes: Callable[[Changes, Roots, RunningCall], Awaitable[ProposedChanges]]
    """Proposes what a command changed, and sets the `changed_paths` of the call."""
    record_state: Callable[[Where], int]
    """Records the files that a command is about to see. Returns the number of that file state."""
    gate: Gate
    timeout: float
    """Seconds, for checks, and for commands that name no time limit and do not run in the background."""
    background: BackgroundCommands
    unavailable: str = ""
    """Why there is no sandbox; empty if there is one."""
    limits: Limits = DEFAULT_LIMITS
    checks: Callable[[], Collection[str]] = tuple
    """Returns the commands that are checks (docs/plan.md P17)."""
    verifies: bool = True
    """Whether a command can verify something: not if it sees other files than the session's."""
    missing_variables: MissingVariables = field(default_factory=MissingVariables)
    find_inputs: FindInputs = _unknown
    unrecorded: set[str] = field(default_factory=set[str])
    """The commands that the recording of what they read has disturbed."""

    def records(self, command: str) -> bool:
        """Whether what a command reads tells what it depends on: not if it may ask a command in the background."""
        return self.verifies and not self.background.running and command not in self.unrecorded


@dataclass(frozen=True, slots=True)
class Repeated:
    """How a second run of a command ended."""

    passes: bool
    reads: Reads | None
    """What it read, if that was recorded."""


class JobEnd(NamedTuple):
    """How a job ended."""

    report: str
    """Lines for the model about the changes of the command."""
    is_doubtful: bool
    """Whether the recording of what it read may have made it fail, so that it verifies nothing."""
    inputs: Inputs | None
    """What its result depends on; None: that is not known."""


@dataclass(frozen=True)
class Job:
    """A command and its open box."""

    commands: Commands
    call: RunningCall
    command: str
    layer: Layer
    network: Network
    box: Box
    running: Command
    view: View = PLAIN
    """What it sees."""
    handle: str | None = None
    """Identifies a command that the user or the model can stop; None for others."""
    verifications: FoundVerifications = NO_VERIFICATIONS
    state: int | None = None
    """See `CommandRun`."""
    without_changes: int | None = None
    """See `CommandRun`."""
    leftovers: Sequence[str] = ()
    """What `Layer.leftovers` returned before it ran."""
    repeat: Callable[[], Awaitable[Repeated]] | None = None
    """Runs it again without the leftovers. Raises ToolError if it cannot run."""
    is_check: bool = False
    with_tests: bool = False
    """See `CommandRun`."""

    @property
    def where(self) -> Where:
        """Whether it runs in the sandbox or in the workspace."""
        return self.layer.where

    def begin(self) -> None:
        """Reports that the command started."""
        place = (self.command, str(self.box.launch.cwd), self.where, self.network.internet, self.network.service_names)
        self.call.emit(CommandStarted(self.call.id, self.call.item_id, *place, self.handle, self.is_check))

    async def run(self) -> CommandResult:
        """Runs the command and returns its result. The caller must then call `end`.

        If the call is cancelled or the command cannot be started, ends the job itself.

        Raises:
            ToolError: the command cannot be started.
        """
        try:
            return await self.running.run()
        except asyncio.CancelledError:
            await self.end("stopped", None, discard=True)
            raise
        except ToolError:
            await self.end("failed", None, discard=True)
            raise

    async def end(self, ended: Ended, exit_code: int | None, *, discard: bool = False) -> JobEnd:
        """Closes the box and reports how the command ended.

        If the changes cannot be read, the report says why. A cancellation takes effect only afterwards.

        Args:
            exit_code: None unless the command exited.
            discard: discards the changes instead of proposing them.

        Raises:
            NotRun: the box could not be made, so the exit code is not the command's. Not raised if the command was
                stopped or could not be started.
        """
        has_exit = ended in ("exited", "timeout")
        closed, needed = _Closed(), ()
        try:
            closed = await finish_uncancelled(self._close_box(discard=discard, must_have_run=has_exit))
            reads, is_doubtful = closed.reads, _is_doubtful(closed.reads, ended, exit_code)
            can_verify = exit_code == 0 and not closed.saw_discarded and not is_doubtful
            if can_verify and self.verifications.verified and self.repeat is not None:
                needed = tuple(self.leftovers)  # also if a cancellation ends the second run
                repeated = await self._run_again(self.repeat)
                needed, reads = () if repeated.passes else needed, repeated.reads
            if is_doubtful:
                self.commands.unrecorded.add(self.command)
            closed = replace(closed, is_doubtful=is_doubtful)
            closed = replace(closed, inputs=await self._find_inputs(reads))
            report = "\n".join(filter(None, (closed.report, NEEDS_LEFTOVERS if needed else "")))
            return JobEnd(report, is_doubtful, closed.inputs)
        except NotRun:
            ended, exit_code = "failed", None
            raise
        finally:
            run = replace(self._run(ended, exit_code, closed), leftovers=needed)
            self.call.emit(CommandEnded(self.handle, run, ended, tuple(self.call.changed_paths)))

    async def _find_inputs(self, reads: Reads | None) -> Inputs | None:
        if reads is None or self.running.left_running:
            return None
        return await self.commands.find_inputs(reads, self.view, self.layer.roots)

    async def _run_again(self, repeat: Callable[[], Awaitable[Repeated]]) -> Repeated:
        self._tell_user(REPEATED)
        repeated = Repeated(False, None)
        with contextlib.suppress(ToolError):
            repeated = await repeat()
        if not repeated.passes:
            self._tell_user(NOT_REPEATED)
        return repeated

    def _tell_user(self, *lines: str) -> None:
        """Adds lines to the output that the user sees. The model does not read them."""
        if lines:
            is_within_line = self.running.output[-1:] not in ("", "\n")
            self.call.output("\n" * is_within_line + "".join(f"({line})\n" for line in lines))

    def _run(self, ended: Ended, exit_code: int | None, closed: "_Closed") -> CommandRun:
        verified = self.verifications.verified
        is_cut = exit_code == _PIPE_CLOSED and self.verifications.piped
        if ended == "failed" or is_cut or closed.saw_discarded or closed.is_doubtful:
            # it did not run, or the reader of its pipe (such as `head`) ended it early, or it saw nonexistent files
            verified = ()
        run = CommandRun(self.call.id, self.command, exit_code, self.running.seconds, ended == "stopped")
        if verified:
            return replace(run, verified=verified, state=self.state, inputs=closed.inputs)
        if closed.is_doubtful or self.without_changes is None:
            return run
        return replace(run, without_changes=self.without_changes, with_tests=self.with_tests, inputs=closed.inputs)

    async def _close_box(self, *, discard: bool, must_have_run: bool) -> "_Closed":
        closed = _Closed()
        try:
            changes = await self.box.close()
            closed = _Closed(saw_discarded=changes.discarded_outside, reads=changes.reads)
            if not discard:
                proposed = await self.commands.propose_changes(changes, self.layer.roots, self.call)
                self._tell_user(*proposed.not_reviewed)
                return replace(closed, report="\n".join(proposed.report))
        except ToolError as error:
            if isinstance(error, NotRun) and must_have_run:
                raise
            return replace(closed, report=str(error))
        if closed.saw_discarded:
            report = "Its changes outside of the workspace were discarded, so it verifies nothing."
            return replace(closed, report=report)
        return replace(closed, report="Its changes were discarded." if changes.files else "")


@dataclass(frozen=True, slots=True)
class _Closed:
    """What is known when a box is closed."""

    report: str = ""
    """Lines for the model."""
    saw_discarded: bool = False
    """See `Changes.discarded_outside`."""
    reads: Reads | None = None
    inputs: Inputs | None = None
    is_doubtful: bool = False


def _is_doubtful(reads: Reads | None, ended: Ended, exit_code: int | None) -> bool:
    if reads is None or ended != "exited":
        return False
    return reads.doubt == "any" or (reads.doubt == "failure" and exit_code != 0)


async def repeat_clean(
    layer: Layer,
    line: str,
    view: View,
    limits: Limits,
    timeout: float | None,
    *,
    network: Network = NO_NETWORK,
    records: bool = False,
) -> Repeated:
    """Runs a command line again, without the ignored files that earlier commands left.

    Its changes and its output are discarded.

    Raises:
        ToolError: it cannot run.
    """
    view = replace(view, retained=False)
    box = await layer.open(line, view, limits=limits, network=network, background=True, records=records)
    result, reads = None, None
    try:
        result = await Command(box.launch, timeout, lambda _: None).run()
    finally:
        reads = (await finish_uncancelled(box.close())).reads
    return Repeated(result.exit_code == 0, reads)
