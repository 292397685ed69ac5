"""What a session's commands need, and a command with its open box.

`Job` reports its start, closes its box, proposes its changes, and reports its end.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from fairlead.agent.events import CommandEnded, CommandStarted
from fairlead.agent.tool import RunningCall
from fairlead.edits.changeset import Changeset
from fairlead.errors import ToolError
from fairlead.gate.gate import Gate
from fairlead.plan.evidence import CommandRun
from fairlead.shell.background import BackgroundCommands, Ended
from fairlead.shell.command_line.verifications import NO_VERIFICATIONS, FoundVerifications
from fairlead.shell.layer import DEFAULT_LIMITS, Box, Changes, Layer, Limits, NotRun, View, Where
from fairlead.shell.network import NO_NETWORK, Network
from fairlead.shell.process import Command, CommandResult
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


class CreateView(Protocol):
    """Returns what a command sees in a layer with the folders `roots`. `changes` are the proposals in it; None: all."""

    async def __call__(self, roots: Roots, changes: Changeset | None = None, /) -> View: ...


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
    hidden_files: Collection[str] = ()
    """The files that it cannot read, because they look like secrets."""
    handle: str | None = None
    """Identifies a command that the user or the model can stop; None for others."""
    verifications: FoundVerifications = NO_VERIFICATIONS
    state: int | None = None
    """See `CommandRun`."""
    without_changes: int | None = None
    """See `CommandRun`."""
    leftovers: Sequence[str] = ()
    """What `Layer.leftovers` returned before it ran."""
    repeat: Callable[[], Awaitable[bool]] | None = None
    """Runs it again without the leftovers, and returns whether it passes. Raises ToolError if it cannot run."""
    is_check: bool = False

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

    async def end(self, ended: Ended, exit_code: int | None, *, discard: bool = False) -> str:
        """Closes the box and reports how the command ended. Returns lines for the model about its changes.

        If the changes cannot be read, these lines say why. A cancellation takes effect only afterwards.

        Args:
            exit_code: None unless the command exited.
            discard: discards the changes instead of proposing them.

        Raises:
            NotRun: the box could not be made, so the exit code is not the command's. Not raised if the command was
                stopped or could not be started.
        """
        has_exit = ended in ("exited", "timeout")
        saw_discarded, needed = False, ()
        try:
            text, saw_discarded = await finish_uncancelled(self._close_box(discard=discard, must_have_run=has_exit))
            if exit_code == 0 and self.verifications.verified and self.repeat is not None and not saw_discarded:
                needed = tuple(self.leftovers)  # also if a cancellation ends the second run
                needed = () if await self._passes_again(self.repeat) else needed
            return "\n".join(filter(None, (text, NEEDS_LEFTOVERS if needed else "")))
        except NotRun:
            ended, exit_code = "failed", None
            raise
        finally:
            self.call.emit(
                CommandEnded(
                    self.handle,
                    replace(self._run(ended, exit_code, saw_discarded), leftovers=needed),
                    ended,
                    tuple(self.call.changed_paths),
                )
            )

    async def _passes_again(self, repeat: Callable[[], Awaitable[bool]]) -> bool:
        self._tell_user(REPEATED)
        passes = False
        with contextlib.suppress(ToolError):
            passes = await repeat()
        if not passes:
            self._tell_user(NOT_REPEATED)
        return passes

    def _tell_user(self, *lines: str) -> None:
        """Adds lines to the output that the user sees. The model does not read them."""
        if lines:
            is_within_line = self.running.output[-1:] not in ("", "\n")
            self.call.output("\n" * is_within_line + "".join(f"({line})\n" for line in lines))

    def _run(self, ended: Ended, exit_code: int | None, saw_discarded: bool) -> CommandRun:
        verified = self.verifications.verified
        if ended == "failed" or (exit_code == _PIPE_CLOSED and self.verifications.piped) or saw_discarded:
            # it did not run, or the reader of its pipe (such as `head`) ended it early, or it saw nonexistent files
            verified = ()
        run = CommandRun(self.call.id, self.command, exit_code, self.running.seconds, ended == "stopped")
        if verified:
            return replace(run, verified=verified, state=self.state)
        return replace(run, without_changes=self.without_changes)

    async def _close_box(self, *, discard: bool, must_have_run: bool) -> tuple[str, bool]:
        """Closes the box. Returns the lines for the model, and `Changes.discarded_outside`."""
        discarded_outside = False
        try:
            changes = await self.box.close()
            discarded_outside = changes.discarded_outside
            if not discard:
                proposed = await self.commands.propose_changes(changes, self.layer.roots, self.call)
                self._tell_user(*proposed.not_reviewed)
                return "\n".join(proposed.report), discarded_outside
        except ToolError as error:
            if isinstance(error, NotRun) and must_have_run:
                raise
            return str(error), discarded_outside
        if discarded_outside:
            return "Its changes outside of the workspace were discarded, so it verifies nothing.", True
        return "Its changes were discarded." if changes.files else "", False


async def repeat_clean(
    layer: Layer, line: str, view: View, limits: Limits, timeout: float | None, *, network: Network = NO_NETWORK
) -> bool:
    """Runs a command line again, without the ignored files that earlier commands left. Returns whether it passes.

    Its changes and its output are discarded.

    Raises:
        ToolError: it cannot run.
    """
    box = await layer.open(line, view, limits=limits, network=network, background=True, retained=False)
    try:
        return (await Command(box.launch, timeout, lambda _: None).run()).exit_code == 0
    finally:
        await finish_uncancelled(box.close())
