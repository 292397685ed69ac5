"""What a session's commands work with, and a command's life in its box: opened, run, closed, its changes taken over."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from fairlead.agent.errors import ToolError
from fairlead.agent.events import CommandEnded, CommandStarted, Event
from fairlead.agent.tool import RunningCall
from fairlead.plan.evidence import CommandRun
from fairlead.shell.background import BackgroundCommands, Ended
from fairlead.shell.layer import DEFAULT_LIMITS, Box, Changes, Layer, Limits, NotRun, View, Where
from fairlead.shell.policy import Permission
from fairlead.shell.process import Command

T = TypeVar("T")


class CheckPermission(Protocol):
    def __call__(self, command: str, *, where: Where, network: bool, unsandboxed: bool) -> Permission: ...


@dataclass(frozen=True)
class Commands:
    """One session's.

    `layer` is where commands run by default, `direct` the workspace itself (the same where there is no sandbox, and
    `unavailable` says why). `view` is what a command shall see. `captured` makes proposals of what it changed and
    returns lines for the model. `timeout` is in seconds, `limits` are what a command may take of the machine.
    """

    layer: Callable[[], Awaitable[Layer]]
    direct: Layer
    view: Callable[[], Awaitable[View]]
    captured: Callable[[Changes, RunningCall], Awaitable[str]]
    check_permission: CheckPermission
    emit: Callable[[Event], None]
    timeout: float
    background: BackgroundCommands
    unavailable: str = ""
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True)
class Job:
    """A command that is going to run in its box. `hidden` are the files that it cannot read there."""

    commands: Commands
    call: RunningCall
    command: str
    where: Where
    network: bool
    box: Box
    running: Command
    hidden: Collection[str] = ()
    handle: str | None = None

    def begin(self) -> None:
        """Tells that it runs."""
        place = (self.command, str(self.box.launch.cwd), self.where, self.network, self.handle)
        self.commands.emit(CommandStarted(self.call.id, self.call.item_id, *place))

    async def end(self, ended: Ended, exit_code: int | None, *, keep: bool = True) -> str:
        """Closes the box, and tells how it ended; returns what the model should hear of its changes.

        `keep` false drops what it changed. Goes on to its end also where it is cancelled.

        Raises:
            NotRun: it was not run after all; not where `keep` is false.
        """
        try:
            return await finish_uncancelled(self._closed(keep))
        except NotRun:
            ended, exit_code = "failed", None
            raise
        finally:
            run = CommandRun(self.call.id, self.command, exit_code, self.running.seconds, ended == "stopped")
            self.commands.emit(CommandEnded(self.handle, run, ended))

    async def _closed(self, keep: bool) -> str:
        try:
            changes = await self.box.close()
            if keep:
                return await self.commands.captured(changes, self.call)
        except ToolError as error:
            if keep and isinstance(error, NotRun):
                raise
            return str(error)
        return "What it changed was dropped." if changes.files else ""


async def finish_uncancelled(work: Awaitable[T]) -> T:
    """The work's result; a cancellation waits until it is there."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


async def open_box(layer: Layer, command: str, view: View, **options: Any) -> Box:
    """`Layer.open`; what was opened for a call that is cancelled meanwhile is closed again."""
    opening = asyncio.ensure_future(layer.open(command, view, **options))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        await asyncio.wait([opening])
        if opening.exception() is None:
            await opening.result().close()
        raise
