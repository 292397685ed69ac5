"""The example session of docs/protocol.md, played against the real server, and requests that only a server may send."""

import asyncio
import json
import re
import sys
from itertools import groupby
from pathlib import Path

from fairlead.wire import protocol as wire
from protocol.page import Page, blocks
from support.client import Client, Json
from support.workspace_edit import apply_workspace_edit

SHOWN_SESSION = "5bda328d487f"
DEADLINE = 30
STATES = ("agent/plan", "agent/edits")


async def test_the_server_behaves_as_in_the_example_session(tmp_path: Path) -> None:
    """The server answers the messages of the example as the page says. Only states that were replaced by later ones may
    be missing."""
    text = Page().section("An example session")
    [recording], [session] = blocks(text, "yaml"), blocks(text, "text")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "greet.py").write_text('print("Hello")\n', encoding="utf-8", newline="\n")
    replay = tmp_path / "greet.replay.yaml"
    replay.write_text(recording, encoding="utf-8")
    spellings = {"file:///project": folder.as_uri(), "/replays/greet.replay.yaml": json.dumps(str(replay))[1:-1]}
    async with asyncio.timeout(DEADLINE):
        await _play(session, spellings)


async def _play(session: str, spellings: dict[str, str]) -> None:
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fairlead", "serve", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        steps = re.findall(r"^(-->|<--) (.*(?:\n {4}.*)*)", session, re.M)
        assert len(steps) > 20
        for arrow, turn in groupby(steps, lambda step: step[0]):
            texts = [text for _, text in turn]
            if arrow == "-->":
                for text in texts:
                    await _send(server.stdin, text, spellings)
            else:
                await _compare(server.stdout, [json.loads(text) for text in texts], spellings)
        assert await server.wait() == 0
    finally:
        if server.returncode is None:
            server.kill()
            await server.wait()


async def _send(stdin: asyncio.StreamWriter, text: str, spellings: dict[str, str]) -> None:
    for shown, real in spellings.items():
        text = text.replace(shown, real)
    body = json.dumps({"jsonrpc": "2.0", **json.loads(text)}).encode()
    stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)


async def _compare(stdout: asyncio.StreamReader, expected: list[Json], spellings: dict[str, str]) -> None:
    """Reads up to the last expected message. A state that was replaced before it was sent may be missing (Order, 5)."""
    found: list[Json] = []
    while not found or found[-1] != expected[-1]:
        header = await stdout.readuntil(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", header)
        assert length is not None
        body = await stdout.readexactly(int(length[1]))
        real_session = re.search(r'"sessionId":\s*"(\w+)"', body.decode())
        if real_session:
            spellings[SHOWN_SESSION] = real_session[1]
        message = json.loads(body)
        if message.get("method") == "workspace/applyEdit":
            assert apply_workspace_edit(message["params"]) == {"applied": True}
        found.append(_like_shown(message, expected, spellings))
        assert found[-1] in expected, f"the page does not show {found[-1]}"
    assert _without_states(found) == _without_states(expected)
    for method in STATES:
        shown = [message for message in expected if message.get("method") == method]
        rest = iter(shown)
        sent = [message for message in found if message.get("method") == method]
        assert all(message in rest for message in sent)
        assert sent[-1:] == shown[-1:]


def _without_states(messages: list[Json]) -> list[Json]:
    return [message for message in messages if message.get("method") not in STATES]


def _like_shown(message: Json, shown: list[Json], spellings: dict[str, str]) -> Json:
    """A message as the page writes it: without `jsonrpc`, with the page's paths and ids, and only the capabilities that
    the page shows.
    """
    del message["jsonrpc"]
    if "capabilities" in (message.get("result") or {}):
        capabilities = message["result"]["capabilities"]
        names = next(answer["result"]["capabilities"] for answer in shown if "result" in answer)
        message["result"] = {"capabilities": {name: capabilities[name] for name in names}}
    text = re.sub(r'"seconds": [\d.]+', '"seconds": 0', json.dumps(message, ensure_ascii=False))
    for page, real in spellings.items():
        text = text.replace(real, page)
    return json.loads(text)


async def test_the_server_refuses_the_requests_that_it_sends(workspace: Path) -> None:
    """docs/protocol.md, Requests from the server: the server answers a client that sends one with the error -32601."""
    ours = [name for name in vars(wire).values() if str(name).startswith("agent/editor/")]
    assert {wire.HOVER, wire.RENAME, wire.DIAGNOSTICS} <= set(ours)
    async with Client(workspace) as client:
        refused = [(await client.error(name, {})).code for name in (wire.APPROVE, wire.ASK, *ours)]
    assert set(refused) == {-32601}
