"""Commands that go on while the agent works: servers and watchers. A session has one `BackgroundCommands`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from fairlead.agent.errors import ToolError
from fairlead.shell.process import Command, CommandResult

MOST = 8
Ended = Literal["exited", "timeout", "stopped", "failed"]


@dataclass
class BackgroundCommand:
    """One of them. `ended` is None while it runs; `stopped`: the agent, the person or the session's end ended it.

    `exit_code` is None where it was killed. `news` is what the agent should hear of its end.
    """

    handle: str
    command: str
    running: Command
    work: asyncio.Future[CommandResult] = field(repr=False)
    ended: Ended | None = None
    exit_code: int | None = None
    news: str = ""
    over: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    @property
    def seconds(self) -> float:
        return self.running.seconds

    async def stop(self) -> None:
        """Ends it, and returns when nothing of it is left."""
        self.work.cancel()
        await self.over.wait()


After = Callable[[BackgroundCommand], Awaitable[str]]


class BackgroundCommands:
    """The background commands of a session, by handle (`cmd-1`). Those that ended stay, to be asked for."""

    def __init__(self) -> None:
        self._commands: dict[str, BackgroundCommand] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> list[BackgroundCommand]:
        return [command for command in self._commands.values() if command.ended is None]

    def check(self) -> None:
        """Raises ToolError where no further one may be started."""
        if len(self.running) >= MOST:
            names = ", ".join(f"{command.handle} ({command.command})" for command in self.running)
            raise ToolError(f"{MOST} commands run in the background already: {names}. End one with bash_kill first.")

    def next_handle(self) -> str:
        return f"cmd-{len(self._commands) + 1}"

    def start(self, handle: str, command: str, running: Command, after: After) -> None:
        """Runs a command until it ends or is stopped; then `after` clears up, and says what the agent should hear."""
        started = BackgroundCommand(handle, command, running, asyncio.ensure_future(running.run()))
        self._commands[handle] = started
        task = asyncio.ensure_future(_mind(started, after))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def get(self, handle: str) -> BackgroundCommand:
        """Raises ToolError for a handle that is not there."""
        found = self._commands.get(handle)
        if found is None:
            known = ", ".join(self._commands) or "none was started"
            raise ToolError(f"There is no background command {handle!r} (known: {known}).")
        return found

    def stop(self) -> None:
        """Begins the end of all of them."""
        for command in self.running:
            command.work.cancel()

    async def aclose(self) -> None:
        """Ends all of them, and returns when nothing of them is left."""
        self.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _mind(command: BackgroundCommand, after: After) -> None:
    try:
        result = await command.work
    except asyncio.CancelledError:
        command.ended = "stopped"
    except ToolError as error:
        command.ended, command.news = "failed", str(error)
    else:
        command.ended, command.exit_code = result.ended, result.exit_code
    try:
        command.news = "\n".join(filter(None, (command.news, await after(command))))
    finally:
        command.over.set()
