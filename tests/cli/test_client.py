"""The terminal's LSP client with a server that misbehaves."""

import asyncio
import sys
from pathlib import Path
from typing import IO

import pytest

from fairlead.cli.client import AgentClient
from fairlead.workspace.paths import Roots

NOT_JSON = b"Content-Length: 2\r\n\r\nno"


async def bad_server(log: IO[bytes]) -> asyncio.subprocess.Process:
    """Starts a server that writes something other than JSON, and then waits."""
    program = f"import sys; sys.stdout.buffer.write({NOT_JSON!r}); sys.stdout.flush(); sys.stdin.read()"
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdin=pipe, stdout=pipe, stderr=log)


async def test_a_message_that_cannot_be_read_fails_the_requests(tmp_path: Path) -> None:
    """Waiting requests and later ones fail. They would otherwise wait forever, because nothing reads their answers."""
    client = AgentClient(Roots.of(tmp_path), lambda *_: None, {}, bad_server)
    try:
        for request in (client.start({}), client.request("agent/sessions/list", {})):
            with pytest.raises(ValueError, match="Expecting value"):
                async with asyncio.timeout(60):
                    await request
    finally:
        await client.stop()
