"""One command as a process of its own group: no input, a time limit, and nothing of it stays behind."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from fairlead.agent.errors import ToolError
from fairlead.shell.layer import Launch
from fairlead.shell.output import BoundedOutput, Stream

# what ends a command gives it a second to end gently, and then ends all the rest; elsewhere that is only the group
GRACE = 4.5 if sys.platform == "linux" else 1.5
# how long what is left in the pipe may take once nobody of the group can write to it any more
REST = 0.2
# the agent's own credentials are none of a command's business (docs/faults.md 40)
SECRET_PREFIXES = ("ANTHROPIC_", "FAIRLEAD_", "AWS_BEARER_TOKEN_BEDROCK")


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended. `exit_code` is 128 and the number of a signal, None where we killed it; `seconds` it ran."""

    output: str
    exit_code: int | None
    seconds: float
    ended: Literal["exited", "timeout"]


def command_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a command: the person's, without secrets of ours and without anything that waits for input."""
    kept = {name: value for name, value in environment.items() if not name.startswith(SECRET_PREFIXES)}
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "PAGER": "cat", "GIT_PAGER": "cat", "TERM": "dumb"}


class _Pipe(asyncio.SubprocessProtocol):
    """Hands on what a process writes, and tells its exit from the end of its output.

    They differ: a child in the background may hold the pipe long after the command is done.
    """

    def __init__(self, on_data: Callable[[bytes], None]) -> None:
        self._on_data = on_data
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._on_data(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self.closed.set()

    def process_exited(self) -> None:
        self.exited.set()


_Process = tuple[asyncio.SubprocessTransport, _Pipe]


class Command:
    """A running command; `seconds` and `output` are readable at any moment.

    `timeout` is in seconds, None sets no limit. `on_output` gets what the person sees, with its colours.
    """

    def __init__(self, launch: Launch, timeout: float | None, on_output: Callable[[str], None]) -> None:
        self._launch, self.timeout = launch, timeout
        self._output = BoundedOutput()
        self._stream = Stream(on_output)
        self._started: float | None = None
        self._ran: float | None = None

    @property
    def seconds(self) -> float:
        if self._ran is not None:
            return self._ran
        return 0.0 if self._started is None else time.monotonic() - self._started

    @property
    def output(self) -> str:
        """What it has written, or what came since it was last taken."""
        return self._output.text()

    def take(self) -> str:
        """What came since the last time, and forgets it."""
        text, self._output = self._output.text(), BoundedOutput()
        return text

    async def run(self) -> CommandResult:
        """Runs to the end, the time limit, or cancellation; then its process group is gone.

        Raises:
            ToolError: it cannot be started.
        """
        self._started = time.monotonic()
        spawning = asyncio.ensure_future(self._spawn())
        try:
            transport, pipe = await asyncio.shield(spawning)
        except asyncio.CancelledError:
            with contextlib.suppress(ToolError):
                await asyncio.shield(_end(*await spawning))
            raise
        in_time = False
        try:
            in_time = await _within(self.timeout, pipe.exited)
        finally:
            self._ran = self.seconds
            await asyncio.shield(_end(transport, pipe))
            self._stream.end()
        code = transport.get_returncode() if in_time else None
        if code is not None and code < 0:
            code = 128 - code
        return CommandResult(self.output, code, self.seconds, "exited" if in_time else "timeout")

    async def _spawn(self) -> _Process:
        launch = self._launch
        # a group of its own, so that all of it can be ended: a session on POSIX, a flag on Windows
        windows_flags: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        try:
            return await asyncio.get_running_loop().subprocess_exec(
                lambda: _Pipe(self._take),
                *launch.argv,
                cwd=launch.cwd,
                env=launch.env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=sys.platform != "win32",
                creationflags=windows_flags,
                pass_fds=tuple(launch.pass_fds),
            )
        except (OSError, ValueError) as error:
            raise ToolError(f"The command could not be started: {error}.") from error

    def _take(self, data: bytes) -> None:
        self._output.add(data)
        self._stream.add(data)


async def _end(transport: asyncio.SubprocessTransport, pipe: _Pipe) -> None:
    """Ends the group, gently first if the command itself still runs, and takes what is left of the output."""
    pid = transport.get_pid()
    if not pipe.exited.is_set():
        _signal_group(pid, signal.SIGTERM)
        await _within(GRACE, pipe.exited)
    else:
        await _within(REST, pipe.closed)
    _signal_group(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    await _within(GRACE, pipe.exited)  # it cannot be waited for where the system itself does not let go of it
    await _within(REST, pipe.closed)  # a process that left the group may still hold it
    transport.close()


async def _within(seconds: float | None, event: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def _signal_group(pid: int, number: int) -> None:
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(pid)], capture_output=True, check=False)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
