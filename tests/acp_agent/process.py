"""Real processes of `fairlead acp`, forked from a process that has already imported the modules."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from cli.command import COMMAND, environment
from cli.forked_command import CAN_FORK_COMMANDS, command
from fairlead.cli.client import ServerProcess
from support.forked import LIMIT, ForkedProcess, Streams, fork


async def start(arguments: Sequence[str], cwd: Path, **env: str) -> ServerProcess:
    """Starts `fairlead acp` with pipes for its stdin and stdout. Its stderr is that of the test."""
    line = ["acp", *arguments]
    if not CAN_FORK_COMMANDS:
        pipe = asyncio.subprocess.PIPE
        given = [*COMMAND, *line]
        return await asyncio.create_subprocess_exec(
            *given, stdin=pipe, stdout=pipe, env=environment(**env), cwd=cwd, limit=LIMIT
        )
    (theirs_in, ours_in), (ours_out, theirs_out) = os.pipe(), os.pipe()
    try:
        streams = Streams([theirs_in, theirs_out, sys.__stderr__.fileno() if sys.__stderr__ else 2])
        process = fork(command, line, streams, environment(**env), str(cwd), False)
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
