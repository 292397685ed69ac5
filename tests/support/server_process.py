"""Real server processes for tests. Under pytest they are forked from a process that has already imported the modules.

A new interpreter is started to measure or kill servers (benchmarks/speed, benchmarks/campaigns), to start them as a
user does (tests/editor, the example of docs/protocol.md, some of tests/cli), and on systems without fork.
"""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from fairlead.__main__ import main
from fairlead.cli.client import ServerProcess
from support.forked import CAN_FORK, LIMIT, ForkedProcess, Streams, fork

SERVE = [sys.executable, "-m", "fairlead", "serve"]
# never forked: for tests of what a library does when it is imported
NEW_INTERPRETER = [sys.executable, "-u", "-m", "fairlead", "serve"]


async def start(command: Sequence[str], env: Mapping[str, str], stderr: int | None = None) -> ServerProcess:
    """Starts a server. It is forked if `ForkedServer.use` was called and the command is exactly SERVE."""
    if ForkedServer.used and command == SERVE:
        return await ForkedServer.start(env, 2 if stderr is None else stderr)
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=stderr, env=env, limit=LIMIT)


def serve(streams: Streams, env: dict[str, str]) -> NoReturn:
    """Runs `fairlead serve` in a forked process, with these streams and this environment."""
    streams.take(env)
    sys.exit(main(["serve"]))


class ForkedServer:
    """Starts servers in forked processes. `used`: whether the function `start` does so."""

    used = False

    @classmethod
    def use(cls) -> None:
        """Forks servers from now on. Not for scripts, because the fork server would import the script again."""
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
