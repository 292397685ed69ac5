"""Server processes for tests: each a real one, under pytest forked from one that has the modules in memory already.

The imports are three quarters of a server's start, and the tests start hundreds. A forked server runs the same `main`
with its own pipes, environment and memory. What measures or kills (tests/bench, tests/campaign), what a person starts
(tests/cli, tests/editor, the example of docs/protocol.md) and what runs where there is no fork starts anew.
"""

import asyncio
import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver, reduction
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol, cast

from fairlead.__main__ import main

SERVE = [sys.executable, "-m", "fairlead", "serve"]
# never forked: imports all by itself, for what a library does as it is imported
ANEW = [sys.executable, "-u", "-m", "fairlead", "serve"]
LIMIT = 1 << 26
CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()


class ServerProcess(Protocol):
    """What a test may do with a server's process: a part of `asyncio.subprocess.Process`."""

    @property
    def stdin(self) -> asyncio.StreamWriter | None: ...
    @property
    def stdout(self) -> asyncio.StreamReader | None: ...
    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    def kill(self) -> None: ...
    async def wait(self) -> int: ...


async def start(command: Sequence[str], env: Mapping[str, str], stderr: int | None = None) -> ServerProcess:
    """Starts a server; forked where `ForkedServer.use` was called and the command is SERVE and nothing else."""
    if ForkedServer.used and command == SERVE:
        return await ForkedServer.start(env, 2 if stderr is None else stderr)
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=stderr, env=env, limit=LIMIT)


class _Handed:
    """A file descriptor of this process that is an argument of another one's: there it is an int, its own duplicate."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (reduction.DupFd(self._number),)


def _received(duplicate: Any) -> int:
    return duplicate.detach()


def _serve(streams: list[int], env: dict[str, str]) -> None:
    """What a forked process does: `fairlead serve`, with these streams and this environment."""
    for number, theirs in enumerate(streams):
        os.dup2(theirs, number)
        os.close(theirs)
    os.environ.clear()
    os.environ.update(env)
    sys.exit(main(["serve"]))


class ForkedServer:
    """A server forked from multiprocessing's fork server, with what `ServerProcess` asks for."""

    used = False
    _context = multiprocessing.get_context("forkserver" if CAN_FORK else None)

    def __init__(self, process: BaseProcess, stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader) -> None:
        self._process, self.stdin, self.stdout = process, stdin, stdout
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(process.sentinel, self._end)

    @classmethod
    def use(cls) -> None:
        """From here on servers are forked. Not for scripts: the fork server would import the script once more."""
        cls.used = CAN_FORK

    @staticmethod
    def _ensure_running() -> None:
        """Starts the fork server if there is none, with the path on which it finds what it shall preload."""
        multiprocessing.set_forkserver_preload(["support.preload"])
        kept = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
        try:
            forkserver.ensure_running()
        finally:
            del os.environ["PYTHONPATH"]
            if kept is not None:
                os.environ["PYTHONPATH"] = kept

    @classmethod
    async def start(cls, env: Mapping[str, str], stderr: int) -> "ForkedServer":
        cls._ensure_running()
        loop = asyncio.get_running_loop()
        (theirs_in, ours_in), (ours_out, theirs_out) = os.pipe(), os.pipe()
        try:
            streams = [_Handed(number) for number in (theirs_in, theirs_out, stderr)]
            process = cls._context.Process(target=_serve, args=(streams, dict(env)), daemon=True)
            process.start()
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        reader = asyncio.StreamReader(limit=LIMIT, loop=loop)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours_out, "rb"))
        transport, protocol = await loop.connect_write_pipe(
            lambda: cast("Any", asyncio.streams).FlowControlMixin(), os.fdopen(ours_in, "wb")
        )
        return cls(process, asyncio.StreamWriter(transport, protocol, None, loop), reader)

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    async def wait(self) -> int:
        await self._ended.wait()
        assert self._process.exitcode is not None
        return self._process.exitcode

    def _end(self) -> None:
        self._loop.remove_reader(self._process.sentinel)
        self._process.join()
        self._ended.set()
