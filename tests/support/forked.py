"""Forks processes from a process that has imported the product, because imports take most of the startup time.

A forked process runs the same `main` with its own streams, environment and memory. `server_process.py` and
`cli/forked_command.py` contain what runs in it.
"""

import asyncio
import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import forkserver, reduction
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NoReturn, cast

LIMIT = 1 << 26
CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()
# the tests and the package of this checkout, even if the virtual environment belongs to another one
_PATH = [str(Path(__file__).parents[2] / folder) for folder in ("server", "tests")]
_context = multiprocessing.get_context("forkserver" if CAN_FORK else None)


class Streams:
    """Descriptors that become the standard streams of a forked process. Duplicates are sent to it."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = list(numbers)

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, tuple(reduction.DupFd(number) for number in self._numbers)

    def take(self, env: Mapping[str, str]) -> None:
        """Installs them as stdin, stdout and stderr, and sets the environment. To be called in the forked process."""
        for number, theirs in enumerate(self._numbers):
            os.dup2(theirs, number)
        for theirs in {*self._numbers} - {0, 1, 2}:
            os.close(theirs)
        os.environ.clear()
        os.environ.update(env)


def _received(*duplicates: Any) -> Streams:
    return Streams([duplicate.detach() for duplicate in duplicates])


def fork(work: Callable[..., NoReturn], *arguments: Any) -> BaseProcess:
    """Calls `work`, a module-level function, in a process that is forked from multiprocessing's fork server."""
    _ensure_running()
    process = _context.Process(target=work, args=arguments, daemon=True)  # type: ignore[attr-defined]
    process.start()
    return process


def _ensure_running() -> None:
    """Starts the fork server if it is not running, with a PYTHONPATH on which it finds the modules that it preloads."""
    multiprocessing.set_forkserver_preload(["support.preload"])
    kept = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(_PATH)
    try:
        forkserver.ensure_running()
    finally:
        del os.environ["PYTHONPATH"]
        if kept is not None:
            os.environ["PYTHONPATH"] = kept


class ForkedProcess:
    """A forked process with pipes and a part of the interface of `asyncio.subprocess.Process`.

    `sentinel` becomes readable when the process ends; then `reap` returns its exit code.
    """

    def __init__(self, pid: int, sentinel: int, reap: Callable[[], int]) -> None:
        self.pid, self._sentinel, self._reap = pid, sentinel, reap
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.returncode: int | None = None
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(sentinel, self._end)

    async def connect(self, stdin: int, stdout: int) -> None:
        """Opens our ends of the pipes."""
        reader = asyncio.StreamReader(limit=LIMIT, loop=self._loop)
        await self._loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(stdout, "rb"))
        transport, protocol = await self._loop.connect_write_pipe(
            lambda: cast("Any", asyncio.streams).FlowControlMixin(), os.fdopen(stdin, "wb")
        )
        self.stdout, self.stdin = reader, asyncio.StreamWriter(transport, protocol, None, self._loop)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(self.pid, signal.SIGKILL)

    async def wait(self) -> int:
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def _end(self) -> None:
        self._loop.remove_reader(self._sentinel)
        self.returncode = self._reap()
        self._ended.set()
