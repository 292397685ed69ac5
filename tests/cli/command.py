"""The `fairlead` command as a person runs it: with plain pipes, or in a terminal that remembers what it showed.

Here: the processes. What is on the terminal's screen is read by screen.py.
"""

import contextlib
import os
import select
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from cli.screen import Screen

DEADLINE = 30.0
COMMAND = [sys.executable, "-m", "fairlead"]
# the terminal becomes the controlling one of the command, so that Ctrl-C and Ctrl-Z are what they are for people
IN_TERMINAL = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"
NOT_INHERITED = ("ANTHROPIC_", "FAIRLEAD_", "NO_COLOR", "FORCE_COLOR", "TTY_", "COLUMNS", "LINES", "TERM", "COLORTERM")


@dataclass(frozen=True)
class Ended:
    """How a command without a terminal ended."""

    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    """The environment of a command: no key, no address of a model, no task of a person's, nothing of how to draw."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
    return {**kept, "PYTHONIOENCODING": "utf-8", **more}


def run_plain(*arguments: object, cwd: Path | None = None, **env: str) -> Ended:
    """Runs a command without a terminal, to its end."""
    ended = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        env=environment(**env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


class InTerminal:
    """A command in a pseudoterminal. Each wait has a deadline and shows the screen if it is missed."""

    def __init__(self, arguments: Sequence[object], columns: int = 100, rows: int = 24, **env: str) -> None:
        import fcntl
        import pty
        import termios

        self.screen = Screen(columns, rows)
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", IN_TERMINAL, *COMMAND, *map(str, arguments)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment(TERM="xterm-256color", **env),
        )
        os.close(slave)

    def until(self, text: str) -> None:
        """Waits for a text on the screen or above it."""
        self.until_true(lambda: text in self.screen.text, text)

    def until_true(self, holds: Callable[[], bool], what: str) -> None:
        """Waits until something holds."""
        end = time.monotonic() + DEADLINE
        while not holds():
            if not self._read(end):
                raise AssertionError(f"never came: {what}\n{self.screen.text}")

    def press(self, keys: str) -> None:
        """Types keys."""
        os.write(self._master, keys.encode())

    def answer(self, question: str, keys: str) -> None:
        """Waits for a question that is not answered yet, and types keys."""
        self.until_true(lambda: self.screen.last_line.startswith(question), question)
        self.press(keys)

    def children(self) -> list[psutil.Process]:
        """The processes that the command has started."""
        return psutil.Process(self._process.pid).children(recursive=True)

    def end(self) -> int:
        """Waits for the end; returns the exit code."""
        end = time.monotonic() + DEADLINE
        while self._read(end):
            pass
        return self._process.wait(timeout=DEADLINE)

    def kill(self) -> None:
        """SIGKILL; returns when what it had started is gone too."""
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
        """Reads what there is, waits for it at the longest until the deadline; False at the end of all."""
        ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # Linux says so when nobody holds the other end any more
            data = b""
        self.screen.feed(data)
        return bool(data)


@contextlib.contextmanager
def in_terminal(*arguments: object, columns: int = 100, rows: int = 24, **env: str) -> Iterator[InTerminal]:
    """A command in a terminal; ended by force where the test has not seen its end."""
    terminal = InTerminal(arguments, columns, rows, **env)
    try:
        yield terminal
    finally:
        terminal.close()


def all_gone(processes: Sequence[psutil.Process]) -> bool:
    """Whether processes end within the time that a person would wait."""
    _, alive = psutil.wait_procs(processes, timeout=5)
    return not alive
