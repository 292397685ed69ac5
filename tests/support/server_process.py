"""Server processes for tests: each a real one, under pytest forked from one that has the modules in memory already.

What measures or kills (benchmarks/speed, benchmarks/campaigns), what a user starts (tests/editor, the example of
docs/protocol.md, a part of tests/cli) and what runs where there is no fork imports all by itself.
"""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn, Protocol

from fairlead.__main__ import main
from support.forked import CAN_FORK, LIMIT, ForkedProcess, Streams, fork

SERVE = [sys.executable, "-m", "fairlead", "serve"]
# never forked: imports all by itself, for what a library does as it is imported
ANEW = [sys.executable, "-u", "-m", "fairlead", "serve"]


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


def serve(streams: Streams, env: dict[str, str]) -> NoReturn:
    """What a forked process does: `fairlead serve`, with these streams and this environment."""
    streams.take(env)
    sys.exit(main(["serve"]))


class ForkedServer:
    """Whether servers are forked, and how."""

    used = False

    @classmethod
    def use(cls) -> None:
        """From here on servers are forked. Not for scripts: the fork server would import the script once more."""
        cls.used = CAN_FORK

    @staticmethod
    async def start(env: Mapping[str, str], stderr: int) -> ForkedProcess:
        (theirs_in, ours_in), (ours_out, theirs_out) = os.pipe(), os.pipe()
        try:
            process = fork(serve, Streams([theirs_in, theirs_out, stderr]), dict(env))
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

        def reap() -> int:
            process.join()
            assert process.exitcode is not None
            return process.exitcode

        assert process.pid is not None
        forked = ForkedProcess(process.pid, process.sentinel, reap)
        await forked.connect(ours_in, ours_out)
        return forked
