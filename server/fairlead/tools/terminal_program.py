"""`terminal`: a program that the user starts in the sandbox, in a terminal. No model may call it."""

import asyncio
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairlead.agent.events import CommandEnded, CommandStarted
from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.display import escape_invisible
from fairlead.errors import ToolError
from fairlead.plan.evidence import CommandRun
from fairlead.shell.background import Ended
from fairlead.shell.layer import (
    HEAD_MOVED,
    REPOSITORY_DISCARDED,
    Box,
    BoxSettings,
    Layer,
    NotRun,
    ProgramBox,
    ShownFolder,
)
from fairlead.shell.network import NO_NETWORK, Network
from fairlead.shell.process import Command
from fairlead.shell.services.process import named_files
from fairlead.shell.terminal import Terminal
from fairlead.tools.command_changes import listed
from fairlead.tools.commands import Commands
from fairlead.uncancelled import finish_uncancelled

NAME = "terminal"
DRAIN_SECONDS = 5.0
"""How long the user's terminal may take to show the last output."""
NO_SANDBOX = "There is no sandbox, so the program would write to your files: {reason}"
NOT_FOUND = "The program {name} was not found."
FOR_USERS = {
    REPOSITORY_DISCARDED: "Changes to the repository itself (.git) were discarded. Commit after the review.",
    HEAD_MOVED: "All changes were discarded, because it moved HEAD or the stash (git stash, switch, checkout, rebase).",
}
"""What the user reads in place of a warning for a model."""
IGNORED = "Ignored by git, so not proposed: {names}."
NOTHING = "(It changed no file of the workspace.)"


@dataclass
class TerminalProgram:
    """What the user starts, and how it ended."""

    argv: Sequence[str]
    """The program and its arguments."""
    terminal: Terminal
    network: Network = NO_NETWORK
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """What it gets, besides what all commands in the sandbox get."""
    folders: Sequence[ShownFolder] = ()
    """What it sees, besides what all commands in the sandbox see."""
    exit_code: int | None = None
    """None until it has exited, and if it was stopped."""
    problem: str = ""
    """Why it could not be started; empty: it was."""
    notes: Sequence[str] = ()
    """What the review of its changes does not show."""

    @property
    def command(self) -> str:
        return shlex.join(self.argv)


class RunTerminalProgram:
    """Implements `Tool`.

    Args:
        settings: what all commands in the sandbox may use.
    """

    kind: ToolKind = "execute"
    read_only = False
    spec = ToolSpec(NAME, "", {"type": "object", "properties": {"command": {"type": "string"}}})

    def __init__(self, commands: Commands, program: TerminalProgram, settings: BoxSettings) -> None:
        self._commands, self._program, self._settings = commands, program, settings

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return escape_invisible(self._program.command), ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        program = self._program
        try:
            layer, box = await self._open()
            place = program.command, str(box.launch.cwd), layer.where
            reached = program.network.internet, program.network.service_names
            call.emit(CommandStarted(call.id, call.item_id, *place, *reached, None, False))
            running = Command(box.launch, None, lambda _: None, terminal=program.terminal)
            return await self._run(running, layer, box, call)
        except ToolError as error:
            program.problem = str(error)
            raise
        finally:
            program.terminal.close()

    async def _open(self) -> tuple[Layer, Box]:
        program, commands = self._program, self._commands
        if commands.unavailable:
            raise ToolError(NO_SANDBOX.format(reason=commands.unavailable))
        layer, shown = await commands.layer(), self._shown_files()
        try:
            program.terminal.open()
        except OSError as error:
            raise ToolError(f"The system has no terminal left: {error.strerror}.") from error
        own = replace(
            self._settings,
            variables={**self._settings.variables, **program.variables},
            folders=[*self._settings.folders, *program.folders],
        )
        box = await layer.open(
            f"exec {program.command}",
            await commands.view(layer.roots),
            limits=commands.limits,
            network=program.network,
            program=ProgramBox(shown, own, program.terminal.kind),
        )
        return layer, box

    def _shown_files(self) -> list[Path]:
        """The program and other files that the user has named, which the sandbox shows wherever they are."""
        name, *arguments = self._program.argv
        found = name if "/" in name else shutil.which(name)
        if found is None:
            raise ToolError(NOT_FOUND.format(name=name))
        return named_files([found, *arguments])

    async def _run(self, running: Command, layer: Layer, box: Box, call: RunningCall) -> str:
        """Runs the program. What it has written is proposed however it ends, because the user has started it."""
        program, lines = self._program, list[str]()
        ended: Ended = "stopped"
        relaying = asyncio.create_task(program.terminal.relay())
        try:
            result = await running.run()
            ended, program.exit_code = result.ended, result.exit_code
            await asyncio.wait({relaying}, timeout=DRAIN_SECONDS)
        except ToolError:
            ended = "failed"
            raise
        finally:
            relaying.cancel()
            lines = await finish_uncancelled(self._end(running, layer, box, call, ended))
        return "\n".join([*(lines or [NOTHING]), f"({result.exit_text}, {result.seconds:.1f} s)"])

    async def _end(self, running: Command, layer: Layer, box: Box, call: RunningCall, ended: Ended) -> list[str]:
        program, lines = self._program, list[str]()
        try:
            changes = await box.close()
            proposed = await self._commands.propose_changes(changes, layer.roots, call)
            lines += proposed.report
            ignored = [IGNORED.format(names=listed(changes.ignored))] if changes.ignored else []
            warnings = [FOR_USERS.get(each, each) for each in changes.warnings]
            program.notes = [*proposed.not_reviewed, *ignored, *warnings]
        except NotRun as error:
            program.problem, program.exit_code, ended = str(error), None, "failed"
        except ToolError as error:
            program.notes = [str(error)]
            lines.append(str(error))
        run = CommandRun(call.id, program.command, program.exit_code, running.seconds, ended == "stopped")
        call.emit(CommandEnded(None, run, ended, tuple(call.changed_paths)))
        return lines
