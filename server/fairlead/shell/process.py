"""Runs one command in its own process group, with a time limit if one is set. There is nobody who types something.

The group ends with the command. On Linux, the reaper or the launcher also ends the processes that left the group.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import IO, Literal

from fairlead.errors import ToolError
from fairlead.shell import reaper
from fairlead.shell.layer import Launch
from fairlead.shell.output import HEAD, TAIL, BoundedOutput, Stream
from fairlead.shell.terminal import Terminal
from fairlead.uncancelled import finish_uncancelled

# seconds between SIGTERM and SIGKILL; on Linux, long enough for the launcher or the reaper to end the command
GRACE = 4.5 if sys.platform == "linux" else 1.5
# seconds to wait for the end of the output, after the command has exited and again after its group was killed
DRAIN = 0.2
MAX_REPORT = 1 << 16  # bytes, more than a reaper or a launcher writes
FILE_TOO_LARGE_EXIT_CODE = 128 + 25  # SIGXFSZ


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended."""

    output: str
    """`Command.output` when the command ended."""
    exit_code: int | None
    """128 plus the signal's number if a signal ended it; None after a timeout."""
    seconds: float
    """How long it ran."""
    ended: Literal["exited", "timeout"]

    @property
    def exit_text(self) -> str:
        """The exit code in words. Only for a command that `exited`."""
        too_large = ": a file reached the size limit" if self.exit_code == FILE_TOO_LARGE_EXIT_CODE else ""
        return f"exit code {self.exit_code}{too_large}"


class _Pipe(asyncio.SubprocessProtocol):
    """Forwards the output of a process, and reports its exit and the end of its output separately.

    They are separate because a background child may hold the pipe long after the command has exited.
    """

    def __init__(self, on_data: Callable[[int, bytes], None], descriptors: Sequence[int]) -> None:
        self._on_data, self._open = on_data, {*descriptors}
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()
        if not descriptors:
            self.closed.set()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._on_data(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self.closed.set()

    def process_exited(self) -> None:
        self.exited.set()


_Process = tuple[asyncio.SubprocessTransport, _Pipe]


class Command:
    """A command that runs once. `seconds` and `output` can be read at any time.

    `timeout` is in seconds; None sets no limit. `on_output` receives the text that the user sees, with its colors.

    Args:
        input: what the command can read from its standard input; None: nothing.
        terminal: what its standard streams are instead, and who reads its output; None: they are no terminal.
        separates_errors: whether what it writes to its standard error is in `errors`, not in `output`.
        max_output: how many bytes of each are available; half of them from the beginning, half from the end.
    """

    def __init__(
        self,
        launch: Launch,
        timeout: float | None,
        on_output: Callable[[str], None],
        *,
        input: bytes | None = None,
        terminal: Terminal | None = None,
        separates_errors: bool = False,
        max_output: int = HEAD + TAIL,
    ) -> None:
        self._launch, self.timeout = launch, timeout
        self._input, self._terminal, self._separates_errors = input, terminal, separates_errors
        self._limits = max_output // 2, max_output // 2
        self._output, self._errors = BoundedOutput(*self._limits), BoundedOutput(*self._limits)
        self._stream = Stream(on_output)
        self._started: float | None = None
        self._total_seconds: float | None = None
        self._report: int | None = None
        self.left_running: Sequence[str] = ()
        """The command lines of processes that still ran when the command exited, and so were ended. At most 10.

        Only on Linux. Set when `run` returns.
        """

    @property
    def seconds(self) -> float:
        """The time since the start, or the total time if the command has ended. 0 before the start."""
        if self._total_seconds is not None:
            return self._total_seconds
        return 0.0 if self._started is None else time.monotonic() - self._started

    @property
    def output(self) -> str:
        """The output since the last `take_output`, or since the start. Bounded (`BoundedOutput`)."""
        return self._output.text()

    @property
    def errors(self) -> str:
        """The standard error so far, bounded as `output`; empty if it is part of `output`."""
        return self._errors.text()

    def take_output(self) -> str:
        """Returns the output since the last call, and discards it.

        While the command runs, an incomplete character at the end is left for the next call.
        """
        if self._total_seconds is None:
            return self._output.take()
        taken, self._output = self._output, BoundedOutput(*self._limits)
        return taken.text()

    async def run(self) -> CommandResult:
        """Runs until the command exits, its time is up or the task is cancelled; then ends its process group.

        Raises:
            ToolError: the command cannot be started.
        """
        self._started = time.monotonic()
        spawning = asyncio.ensure_future(self._spawn())
        in_time = False
        try:
            transport, pipe = await asyncio.shield(spawning)
            in_time = await _within(self.timeout, pipe.exited)
        finally:
            self._total_seconds = self.seconds
            await finish_uncancelled(self._end(spawning))
        code = transport.get_returncode() if in_time else None
        if code is not None and code < 0:
            code = 128 - code
        return CommandResult(self.output, code, self.seconds, "exited" if in_time else "timeout")

    async def _spawn(self) -> _Process:
        launch = self._launch
        env, pass_fds = launch.env, tuple(launch.pass_fds)
        if launch.has_report and sys.platform == "linux":
            self._report = os.memfd_create("report")
            env, pass_fds = {**env, reaper.REPORT: str(self._report)}, (*pass_fds, self._report)
        # in its own process group (POSIX: with a new session; Windows: with a flag), so that it can be ended as a whole
        windows_flags: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        pipe, joined = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
        output, errors, read = pipe, pipe if self._separates_errors else joined, (1, 2)[: 1 + self._separates_errors]
        if self._terminal is not None:
            output, errors, read = self._terminal.descriptor, joined, ()
        try:
            with self._open_input() as given:
                return await asyncio.get_running_loop().subprocess_exec(
                    lambda: _Pipe(self._add, read),
                    *launch.argv,
                    cwd=launch.cwd,
                    env=env,
                    stdin=given,
                    stdout=output,
                    stderr=errors,
                    start_new_session=sys.platform != "win32",
                    creationflags=windows_flags,
                    pass_fds=pass_fds,
                )
        except (OSError, ValueError) as error:
            raise ToolError(f"The command could not be started: {error}.") from error
        finally:
            if self._terminal is not None:
                self._terminal.close_inherited()

    @contextlib.contextmanager
    def _open_input(self) -> Generator[IO[bytes] | int]:
        """The standard input. A file, because a command that does not read a pipe could not end, or would break it."""
        if self._terminal is not None:
            yield self._terminal.descriptor
            return
        if self._input is None:
            yield asyncio.subprocess.DEVNULL
            return
        with tempfile.TemporaryFile() as file:
            file.write(self._input)
            file.seek(0)
            yield file

    async def _end(self, spawning: asyncio.Future[_Process]) -> None:
        """Ends the process group, if one was started, and shows the rest of the output."""
        with contextlib.suppress(ToolError):
            await _end(*await spawning)
        self._stream.end()
        if self._report is not None:
            report = os.pread(self._report, MAX_REPORT, 0).decode("utf-8", "replace")
            os.close(self._report)
            self.left_running = report.removesuffix("\n").split("\n") if report else ()

    def _add(self, descriptor: int, data: bytes) -> None:
        (self._errors if descriptor == 2 else self._output).add(data)
        self._stream.add(data)


async def _end(transport: asyncio.SubprocessTransport, pipe: _Pipe) -> None:
    """Ends the process group, with SIGTERM first if the command is still running, and reads the rest of the output."""
    pid = transport.get_pid()
    if not pipe.exited.is_set():
        signal_group(pid, signal.SIGTERM)
        await _within(GRACE, pipe.exited)
    else:
        await _within(DRAIN, pipe.closed)
    kill_all(pid, exited=pipe.exited.is_set())
    await _within(GRACE, pipe.exited)  # with a limit: the kernel may be unable to end the process
    await _within(DRAIN, pipe.closed)  # with a limit: a process that left the group may still hold the pipe
    transport.close()


async def _within(seconds: float | None, event: asyncio.Event) -> bool:
    """Waits for the event for at most `seconds` (None: no limit); returns whether it was set in time."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def kill_all(pid: int, *, exited: bool) -> None:
    """Kills a process group. On Linux, if its leader has not `exited`, also kills all that the leader started.

    A leader that has not exited is a reaper or a launcher that was stopped or starved, so it could not end them.
    """
    # first, because they can no longer be found once their parent is dead
    if sys.platform == "linux" and not exited:
        for descendant in list(reaper.descendants(pid)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(descendant, signal.SIGKILL)
    signal_group(pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def signal_group(pid: int, number: int) -> None:
    """Sends a signal to a process group; does nothing if the group is gone.

    On Windows, whatever the signal, kills the process `pid` and all processes that it started.
    """
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(pid)], capture_output=True, check=False)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
