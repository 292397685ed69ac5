"""docs/faults.md 44 and 45: wrong messages get their error codes; a stream that lost its framing ends the process."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.client import Client
from support.fake_api import FakeApi, Text, Turn
from support.server_process import NEW_INTERPRETER

Replay = Callable[..., dict[str, Any]]

WRONG: list[tuple[str, Any, int]] = [
    ("agent/runTask", {}, -32602),
    ("agent/runTask", None, -32602),
    ("agent/runTask", [], -32602),
    ("agent/runTask", {"prompt": 5}, -32602),
    ("agent/runTask", {"prompt": "   "}, -32602),
    ("agent/runTask", {"prompt": "x", "sessionId": "nope"}, -32602),
    ("agent/runTask", {"prompt": "x", "mode": "fly"}, -32602),
    ("agent/runTask", {"prompt": "x", "context": [{"uri": 5}]}, -32602),
    ("agent/cancel", {"sessionId": "nope"}, -32602),
    ("agent/edits/accept", {"sessionId": "nope", "target": {"all": True}}, -32602),
    ("agent/edits/accept", {"sessionId": "SESSION", "target": {}}, -32602),
    ("agent/edits/accept", {"sessionId": "SESSION", "target": {"uri": "http://x"}}, -32602),
    ("agent/edits/reject", {"sessionId": "SESSION", "target": {"all": True}, "version": "1"}, -32602),
    ("agent/credentials", {"apiKey": 1}, -32602),
    ("agent/unknown", {}, -32601),
    ("agent/steer", {}, -32602),
    ("agent/steer", {"sessionId": "SESSION", "text": "hear"}, -32803),
    ("agent/sessions/open", {"sessionId": "nope"}, -32602),
    ("agent/sessions/delete", {"sessionId": "nope"}, -32602),
    ("agent/command/stop", {"sessionId": "SESSION", "handle": "cmd-1"}, -32602),
    ("agent/editor/hover", {}, -32601),
    ("textDocument/hover", {"textDocument": {"uri": "file:///x"}, "position": {"line": 0, "character": 0}}, -32601),
    ("workspace/executeCommand", {"command": "nope"}, -32602),
    ("workspace/executeCommand", {"nope": 1}, -32602),
    ("workspace/executeCommand", "nope", -32602),
    ("initialize", {"capabilities": {}}, -32600),
]


async def test_fault_44_each_wrong_request_gets_its_code(workspace: Path) -> None:
    """docs/faults.md 44: each error has its code and a message without a traceback. The server still answers."""
    async with Client(workspace) as client:
        session = (await client.request("agent/sessions/create", {}))["sessionId"]
        for method, params, code in WRONG:
            sent = json.loads(json.dumps(params).replace("SESSION", session))
            error = await client.error(method, sent)
            assert (method, params, error.code) == (method, params, code)
            assert error.message and error.data is None and "Traceback" not in error.message
        assert (await client.request("agent/sessions/create", {}))["sessionId"]
        assert client.all("window/showMessage") == []


async def test_fault_44_before_initialize_and_after_shutdown(workspace: Path) -> None:
    """docs/faults.md 44: -32002 before `initialize`, -32600 after `shutdown`, exit codes as in LSP."""
    client = Client(workspace)
    await client.start()
    assert (await client.error("agent/runTask", {"prompt": "x"})).code == -32002
    client.notify("textDocument/didSave", {"textDocument": {"uri": "file:///x"}})
    await client.request("initialize", client.initialize_params())
    client.notify("initialized", {})
    await client.request("shutdown", None)
    assert (await client.error("agent/runTask", {"prompt": "x"})).code == -32600
    client.notify("exit", None)
    async with asyncio.timeout(30):
        assert await client.process.wait() == 0


async def test_fault_44_exit_without_shutdown(workspace: Path) -> None:
    """LSP: `exit` without `shutdown` exits with 1."""
    client = Client(workspace)
    await client.start()
    await client.request("initialize", client.initialize_params())
    client.notify("exit", None)
    async with asyncio.timeout(30):
        assert await client.process.wait() == 1


INVALID: dict[bytes, int] = {
    b"{nonsense": -32700,
    b"\xff\xfe": -32700,
    b"[" * 100_000: -32700,
    b"[]": -32600,
    b'"text"': -32600,
    b'{"jsonrpc": "1.0", "id": 1, "method": "x"}': -32600,
    b'{"jsonrpc": "2.0", "id": {}, "method": "x"}': -32600,
    b'{"jsonrpc": "2.0", "id": true, "method": "agent/sessions/list", "params": {}}': -32600,
    b'{"jsonrpc": "2.0", "id": 1, "method": 5}': -32600,
}


async def test_fault_45_invalid_json_in_a_good_frame(workspace: Path) -> None:
    """docs/faults.md 45: the answer has the error's code and the id null, and the next request works."""
    async with Client(workspace) as client:
        for number, (body, code) in enumerate(INVALID.items(), start=1):
            client.send_raw(body)
            await client.until(lambda: len(client.all("answer:?")) == number)  # noqa: B023  awaited at once
            assert (body[:50], client.last("answer:?")["code"]) == (body[:50], code)
            assert (await client.request("agent/sessions/create", {}))["sessionId"]


@pytest.mark.parametrize(
    "stream",
    [
        b"Content-Length: 5000\r\n\r\n{}",
        b"Content-Length: 2",
        b"Content-Length: many\r\n\r\n{}",
        b"Content-Length: -5\r\n\r\n{}",
        b"Content-Type: x\r\n\r\n{}",
        b"no header at all\r\n\r\n",
        b"x" * 10_000,
        b"Content-Length: 2\r\n\r\n{}trailing rubbish that is no header\r\n\r\n",
    ],
)
async def test_fault_45_a_wrong_frame_ends_the_process(workspace: Path, stream: bytes) -> None:
    """docs/faults.md 45: after a wrong header or half a frame, the process ends, with an exit code other than 0."""
    client = Client(workspace)
    await client.start()
    assert client.process.stdin is not None
    client.process.stdin.write(stream)
    client.process.stdin.close()
    async with asyncio.timeout(30):
        assert await client.process.wait() != 0


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory with ulimit")
@pytest.mark.parametrize("length", [b"260000000", b"260000000000"])
async def test_fault_45_an_impossible_length_ends_the_process(workspace: Path, length: bytes) -> None:
    """docs/faults.md 45: the process ends at once, although the client keeps its end of the pipe open."""
    client = Client(workspace)
    client.command = ["sh", "-c", 'ulimit -v 300000; exec "$0" "$@"', *client.command]
    await client.start()
    assert client.process.stdin is not None
    client.process.stdin.write(b"Content-Length: %s\r\n\r\n{" % length)
    async with asyncio.timeout(30):
        assert await client.process.wait() == 1


@pytest.mark.parametrize(
    "header", [b"X-Header: 1\r\n" * 101, b"Content-Length: 2\r\n" * 2, b"Content-Length: 2\r\nContent-Length: 9\r\n"]
)
async def test_fault_45_a_header_that_is_ambiguous_or_never_ends_ends_the_process(
    workspace: Path, header: bytes
) -> None:
    """docs/faults.md 45: the process ends at once, although the client keeps its end of the pipe open."""
    client = Client(workspace)
    await client.start()
    assert client.process.stdin is not None
    client.process.stdin.write(header)
    async with asyncio.timeout(30):
        assert await client.process.wait() == 1


async def ended(pid_file: Path) -> None:
    """Waits until the process whose id is in a file has ended."""
    pid = int(pid_file.read_text())
    async with asyncio.timeout(30):
        while psutil.pid_exists(pid):  # noqa: ASYNC110  another process has no event to wait for
            await asyncio.sleep(0.02)


async def test_a_client_that_leaves_ends_the_server_and_its_command(workspace: Path, replay: Replay) -> None:
    """The client dies (its pipe is closed) while a command runs: the server ends, and the command with it."""
    pid_file = workspace / "pid"
    settings = replay({"calls": [{"bash": {"command": "echo $$ > pid; echo up; sleep 300", "unsandboxed": True}}]})
    client = Client(workspace, settings=settings, answers={"agent/approve": lambda _: {"option": "allow_once"}})
    await client.start()
    await client.request("initialize", client.initialize_params())
    client.notify("initialized", {})
    client.begin("agent/runTask", {"prompt": "go"})
    await client.event("tool_output")
    assert client.process.stdin is not None
    client.process.stdin.close()
    async with asyncio.timeout(30):
        await client.process.wait()
    await ended(pid_file)


@pytest.mark.skipif(sys.platform == "win32", reason="uses sh")
async def test_a_client_that_only_stops_reading_ends_the_server_too(workspace: Path, replay: Replay) -> None:
    """The pipe for the server's output breaks while a command writes; the one for its input stays open, as if another
    process had inherited it."""
    command = "echo $$ > pid; while :; do echo up; sleep 0.1; done"
    settings = replay({"calls": [{"bash": {"command": command, "unsandboxed": True}}]})
    client = Client(workspace, settings=settings, answers={"agent/approve": lambda _: {"option": "allow_once"}})
    client.command = ["sh", "-c", '"$0" "$@" | cat', *client.command]
    await client.start()
    await client.request("initialize", client.initialize_params())
    client.notify("initialized", {})
    client.begin("agent/runTask", {"prompt": "go"})
    await client.event("tool_output")
    [reader] = [child for child in psutil.Process(client.process.pid).children() if child.name() == "cat"]
    reader.kill()
    async with asyncio.timeout(30):
        await client.process.wait()
    await ended(workspace / "pid")


async def test_fault_44_a_cancel_with_an_impossible_id(
    workspace: Path, capfd: pytest.CaptureFixture[str], replay: Replay
) -> None:
    """docs/faults.md 44: such a cancel is ignored, without a traceback in the log."""
    async with Client(workspace, settings=replay({"text": "Done."})) as client:
        client.send({"id": 1, "method": "agent/runTask", "params": {"prompt": "go"}})
        for odd in ([1], {"a": 1}, None, 1.5, True):  # True == 1 in Python
            client.notify("$/cancelRequest", {"id": odd})
        client.notify("$/cancelRequest", [])
        await client.until(lambda: client.last("answer:?"))
        assert client.last("answer:?")["stopReason"] == "end_turn"
        assert (await client.run())["stopReason"] == "end_turn"
    assert "Traceback" not in capfd.readouterr().err


async def test_fault_40_the_finest_log_contains_no_password(workspace: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """docs/faults.md 40: passwords and keys are removed, although the SDK logs the address of each request, and any
    header that it could not send.
    """
    with FakeApi([Turn((Text("Done."),))], require_key=False) as api:
        address = api.url.removeprefix("http://")
        urls = {f"http://user:PRIVATE-1@{address}": "end_turn", "http://user:PRIVATE-2@127.0.0.1:9": "error"}
        for url, stop_reason in urls.items():
            env = {"FAIRLEAD_LOG": "DEBUG", "ANTHROPIC_API_KEY": "PRIVATE-3", "ANTHROPIC_BASE_URL": url}
            async with Client(workspace, env=env) as client:
                assert (await client.run())["stopReason"] == stop_reason
                await client.error("workspace/executeCommand", "nope")
    log = capfd.readouterr().err
    assert log.count("INFO fairlead.lsp.rpc") == len(urls)
    assert "PRIVATE" not in log


@pytest.mark.slow
async def test_fault_40_the_sdks_own_log_is_silent(workspace: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """docs/faults.md 40: ANTHROPIC_LOG, which may be set for another program, shows no request in our log."""
    with FakeApi([Turn((Text("PRIVATE-1"),))], require_key=False) as api:
        address = api.url.removeprefix("http://")
        env = {"ANTHROPIC_API_KEY": "PRIVATE-2", "ANTHROPIC_BASE_URL": f"http://user:PRIVATE-3@{address}"}
        client = Client(workspace, env={**env, "ANTHROPIC_LOG": "debug", "FAIRLEAD_LOG": "DEBUG"})
        client.command = NEW_INTERPRETER
        async with client:
            assert (await client.run("PRIVATE-4"))["message"] == "PRIVATE-1"
            await client.error("workspace/executeCommand", "nope")
    log = capfd.readouterr().err
    assert "INFO fairlead.lsp.rpc" in log
    assert "PRIVATE" not in log


async def test_an_unknown_log_level(workspace: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Bad input: the server works, at WARNING, and lists the valid levels."""
    async with Client(workspace, env={"FAIRLEAD_LOG": "nonsense"}) as client:
        await client.error("workspace/executeCommand", "nope")
    [line] = capfd.readouterr().err.splitlines()
    assert "'nonsense'" in line and "DEBUG, INFO, WARNING, ERROR" in line


@pytest.mark.parametrize(("given", "is_logged"), [("", False), (" info ", True), ("Error", False)])
async def test_a_log_level_in_any_spelling(
    workspace: Path, capfd: pytest.CaptureFixture[str], given: str, is_logged: bool
) -> None:
    """Good input: an empty value counts as unset; surrounding blanks and any letter case are accepted."""
    async with Client(workspace, env={"FAIRLEAD_LOG": given}) as client:
        await client.error("workspace/executeCommand", "nope")
    log = capfd.readouterr().err
    assert ("INFO fairlead.lsp.rpc" in log, "levels are" in log) == (is_logged, False)


async def test_no_folder_and_a_file_instead_of_one(tmp_path: Path) -> None:
    """Bad input: if no folder is open or the workspace is a file, the error is -32803 with the reason."""
    async with Client(None) as client:
        error = await client.error("agent/runTask", {"prompt": "x"})
        assert error.code == -32803 and "No folder is open" in error.message
    file = tmp_path / "file"
    file.write_text("x")
    async with Client(file) as client:
        error = await client.error("agent/runTask", {"prompt": "x"})
        assert error.code == -32803 and "not a folder" in error.message
