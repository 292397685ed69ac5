"""Runs the `fairlead` command as a user does, without a terminal or in a pseudoterminal.

Each command is a real process with its own server, forked from a process that has imported both, because imports take
most of the time. With `spawned` it is started normally, for tests of startup, arguments and streams.
"""

import contextlib
import os
import select
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import psutil

from cli.forked_command import CAN_FORK_COMMANDS, command
from cli.screen import Screen
from support.forked import Streams, fork

# In seconds. Long, because a busy machine is slow, and only a failing test waits this long.
DEADLINE = 100.0
COMMAND = [sys.executable, "-m", "fairlead"]
# makes the terminal the controlling terminal of the command, so that Ctrl-C and Ctrl-Z send signals
IN_TERMINAL = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"
NOT_INHERITED = (
    "ANTHROPIC_",
    "OPENAI_",
    "FAIRLEAD_",
    "NO_COLOR",
    "FORCE_COLOR",
    "TTY_",
    "COLUMNS",
    "LINES",
    "TERM",
    "COLORTERM",
)


@dataclass(frozen=True)
class Ended:
    """The result of a command without a terminal."""

    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    """An environment without keys, model addresses and terminal settings."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
    return {**inherited, "PYTHONIOENCODING": "utf-8", **more}


def run_plain(*arguments: object, cwd: Path | None = None, spawned: bool = False, **env: str) -> Ended:
    """Runs a command without a terminal and waits until it ends."""
    with open(os.devnull, "rb") as nothing, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        streams = (nothing.fileno(), out.fileno(), err.fileno())
        process = _start([*map(str, arguments)], streams, environment(**env), cwd=cwd, spawned=spawned)
        try:
            code = process.wait(DEADLINE)
        finally:
            process.kill()
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read().decode(), err.read().decode())


class _Forked:
    """A forked process with a part of the interface of `subprocess.Popen`."""

    def __init__(self, process: BaseProcess) -> None:
        assert process.pid is not None
        self._process, self.pid = process, process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("fairlead", timeout or 0)
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()


def _start(
    arguments: list[str],
    streams: tuple[int, int, int],
    env: dict[str, str],
    cwd: Path | None = None,
    *,
    terminal: bool = False,
    spawned: bool = False,
) -> "_Forked | subprocess.Popen[bytes]":
    if CAN_FORK_COMMANDS and not spawned:
        return _Forked(fork(command, arguments, Streams(streams), env, str(cwd or Path.cwd()), terminal))
    stdin, stdout, stderr = streams
    before = [sys.executable, "-c", IN_TERMINAL] if terminal else []
    line = [*before, *COMMAND, *arguments]
    return subprocess.Popen(line, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr)


class InTerminal:
    """A command in a pseudoterminal. Each wait has a deadline. If a text or a condition is not reached by then, the
    error shows the screen.
    """

    def __init__(
        self, arguments: Sequence[object], columns: int = 100, rows: int = 24, spawned: bool = False, **env: str
    ) -> None:
        import fcntl
        import pty
        import termios

        self.screen = Screen(columns, rows)
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._process = _start(
            [*map(str, arguments)],
            (slave, slave, slave),
            environment(TERM="xterm-256color", **env),
            terminal=True,
            spawned=spawned,
        )
        os.close(slave)

    def until(self, text: str) -> None:
        """Waits for a text on the screen or above it."""
        self.until_true(lambda: text in self.screen.text, text)

    def until_true(self, holds: Callable[[], bool], what: str) -> None:
        """Waits until a condition holds."""
        end = time.monotonic() + DEADLINE
        while not holds():
            if not self._read(end):
                raise AssertionError(f"not reached: {what}\n{self.screen.text}")

    def press(self, keys: str) -> None:
        """Types keys."""
        os.write(self._master, keys.encode())

    def answer(self, question: str, keys: str) -> None:
        """Waits until the line with the cursor begins with this question, and types keys."""
        self.until_true(lambda: self.screen.last_line.startswith(question), question)
        self.press(keys)

    def children(self) -> list[psutil.Process]:
        """The processes that the command started."""
        return psutil.Process(self._process.pid).children(recursive=True)

    def end(self) -> int:
        """Waits for the end. Returns the exit code."""
        end = time.monotonic() + DEADLINE
        while self._read(end):
            pass
        return self._process.wait(timeout=DEADLINE)

    def signal(self, number: int) -> None:
        """Sends a signal to the command only, not to the processes that it started."""
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        """Sends SIGKILL, and fails unless the processes that the command started end too."""
        children = self.children()
        self._process.kill()
        self._process.wait()
        assert all_gone(children)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)

    def _read(self, deadline: float) -> bool:
        """Waits for output and reads it. False if the output has ended or the deadline has passed."""
        ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # on Linux, this means that the other end is closed
            data = b""
        self.screen.feed(data)
        return bool(data)


@contextlib.contextmanager
def in_terminal(
    *arguments: object, columns: int = 100, rows: int = 24, spawned: bool = False, **env: str
) -> Iterator[InTerminal]:
    """A command in a pseudoterminal, which is killed if the test leaves it running."""
    terminal = InTerminal(arguments, columns, rows, spawned, **env)
    try:
        yield terminal
    finally:
        terminal.close()


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Waits until a condition that does not depend on the command's output holds."""
    end = time.monotonic() + DEADLINE
    while not holds():
        assert time.monotonic() < end, f"not reached: {what}"
        time.sleep(0.02)


def all_gone(processes: Sequence[psutil.Process]) -> bool:
    """Whether all processes end within DEADLINE seconds."""
    _, alive = psutil.wait_procs(processes, timeout=DEADLINE)
    return not alive
