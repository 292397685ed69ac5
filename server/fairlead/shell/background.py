"""Background commands: servers and watchers that run while the agent works. A session has one `BackgroundCommands`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from fairlead.errors import ToolError
from fairlead.shell.process import Command, CommandResult

MAX_RUNNING = 8
Ended = Literal["exited", "timeout", "stopped", "failed"]


@dataclass
class BackgroundCommand:
    """A background command, running or ended."""

    handle: str
    command: str
    """The command line."""
    running: Command
    """The command's execution, whose output and time can be read at any time."""
    task: asyncio.Future[CommandResult] = field(repr=False)
    ended: Ended | None = None
    """How it ended; None while it runs.

    `stopped`: by the agent, by the user, or with the session. `failed`: it could not be started.
    """
    exit_code: int | None = None
    """None unless `ended` is `exited`."""
    end_report: str = ""
    """What the model reads about the end, in addition to `ended` and `exit_code`."""
    finished: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    """Set when the command has ended and `on_end` has run."""

    @property
    def seconds(self) -> float:
        """How long it has run, or ran."""
        return self.running.seconds

    async def stop(self) -> None:
        """Ends the command, unless it has ended. Returns when its processes have ended and `on_end` has run."""
        self.task.cancel()
        await self.finished.wait()


OnEnd = Callable[[BackgroundCommand], Awaitable[str]]


class BackgroundCommands:
    """The background commands of a session, by handle (`cmd-1`). Ended ones stay, so that their output can be read."""

    def __init__(self) -> None:
        self._commands: dict[str, BackgroundCommand] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> list[BackgroundCommand]:
        """The commands that have not ended."""
        return [command for command in self._commands.values() if command.ended is None]

    def check_capacity(self) -> None:
        """Raises ToolError if no further command may be started."""
        if len(self.running) >= MAX_RUNNING:
            names = ", ".join(f"{command.handle} ({command.command})" for command in self.running)
            raise ToolError(
                f"{MAX_RUNNING} background commands are already running: {names}. End one with bash_kill first."
            )

    def next_handle(self) -> str:
        """The handle for the next command. The same until `start` is called."""
        return f"cmd-{len(self._commands) + 1}"

    def start(self, handle: str, command: str, running: Command, on_end: OnEnd) -> None:
        """Starts a command under the handle that `next_handle` returned.

        When it has ended, for whatever reason, `on_end` cleans up and returns text for its `end_report`.
        """
        started = BackgroundCommand(handle, command, running, asyncio.ensure_future(running.run()))
        self._commands[handle] = started
        task = asyncio.ensure_future(_supervise(started, on_end))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def get(self, handle: str) -> BackgroundCommand:
        """The command with this handle.

        Raises:
            ToolError: there is none.
        """
        found = self._commands.get(handle)
        if found is None:
            known = f"Known ones: {', '.join(self._commands)}." if self._commands else "None was started."
            raise ToolError(f"There is no background command {handle!r}. {known}")
        return found

    def stop(self) -> None:
        """Tells all commands to end, without waiting for them."""
        for command in self.running:
            command.task.cancel()

    async def aclose(self) -> None:
        """Ends all commands. Returns when their processes have ended and every `on_end` has run."""
        self.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _supervise(command: BackgroundCommand, on_end: OnEnd) -> None:
    ended: Ended = "failed"
    try:
        result = await command.task
        ended, command.exit_code = result.ended, result.exit_code
    except asyncio.CancelledError:
        ended = "stopped"
    except ToolError as error:
        command.end_report = str(error)
    finally:  # even after an unexpected exception
        command.ended = ended
        try:
            command.end_report = "\n".join(filter(None, (command.end_report, await on_end(command))))
        finally:
            command.finished.set()
