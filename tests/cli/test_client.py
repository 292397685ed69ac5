"""The terminal's LSP client with a server that misbehaves."""

import asyncio
import json
import sys
from pathlib import Path
from typing import IO, Any

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
    client = AgentClient(Roots.of(tmp_path), lambda *_: None, _never, bad_server)
    try:
        for request in (client.start({}), client.request("agent/sessions/list", {})):
            with pytest.raises(ValueError, match="Expecting value"):
                async with asyncio.timeout(60):
                    await request
    finally:
        await client.stop()


EDITING = """
import json, sys

def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(body), body))
    sys.stdout.buffer.flush()

def receive():
    length = int(sys.stdin.buffer.readline().split()[1])
    sys.stdin.buffer.readline()
    return json.loads(sys.stdin.buffer.read(length))

while (message := receive())["method"] != "exit":
    answer = None
    if message["method"] == "initialize":
        send({"id": "edit", "method": "workspace/applyEdit", "params": json.loads(sys.argv[1])})
        answer = receive()
    if "id" in message:
        send({"id": message["id"], "result": answer})
"""


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({}, "KeyError"),
        ({"edit": {"documentChanges": 1}}, "TypeError"),
        ({"edit": {"documentChanges": [[]]}}, "AttributeError"),
        ({"edit": {"documentChanges": []}, "digests": []}, "AttributeError"),
        ({"edit": {"documentChanges": [{"textDocument": {"uri": "{file}"}, "edits": [{"newText": "x"}]}]}}, "KeyError"),
        ({"edit": {"documentChanges": []}}, None),
    ],
)
async def test_a_malformed_edit_is_answered_with_an_error(
    tmp_path: Path, params: dict[str, Any], error: str | None
) -> None:
    """Otherwise the server would wait for the answer. An edit without changes is applied."""
    file = tmp_path / "a.txt"
    file.write_text("text\n")
    given = json.dumps(params).replace("{file}", file.as_uri())

    async def editing_server(log: IO[bytes]) -> asyncio.subprocess.Process:
        """Starts a server that asks for the edit, and answers `initialize` with the client's answer."""
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            sys.executable, "-c", EDITING, given, stdin=pipe, stdout=pipe, stderr=log
        )

    client = AgentClient(Roots.of(tmp_path), lambda *_: None, _never, editing_server)
    try:
        async with asyncio.timeout(60):
            answer = await client.start({})
    finally:
        await client.stop()
    if error is None:
        assert answer["result"] == {"applied": True}
    else:
        assert answer["error"] == {"code": -32602, "message": f"Wrong params for workspace/applyEdit: {error}"}
    assert file.read_text() == "text\n"


async def _never(_: Any) -> dict[str, Any]:
    raise AssertionError("nobody is asked")
