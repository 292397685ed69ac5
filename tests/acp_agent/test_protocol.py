"""The rules of the protocol that agents break, and clients that break them."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_agent.conftest import Open
from acp_agent.raw_client import Failed, by_kind, connected
from cli.command import DEADLINE, environment, run_plain
from fairlead import __version__
from support.client import Client as Editor

EDIT = {"edit_file": {"path": "a.txt", "old_text": "one", "new_text": "two"}}


KINDS = {
    "agent_message_chunk",
    "agent_thought_chunk",
    "available_commands_update",
    "plan",
    "session_info_update",
    "tool_call",
    "tool_call_update",
}
"""The updates that a client need not announce."""


@pytest.mark.parametrize("version", [0, 1, 2, 99])
async def test_the_version_is_negotiated(tmp_path: Path, version: int) -> None:
    """The answer has the version that Fairlead speaks; the client decides whether that is enough."""
    async with connected(tmp_path) as client:
        answer = await client.request("initialize", protocolVersion=version)
        assert answer["protocolVersion"] == 1
        assert answer["agentInfo"] == {"name": "fairlead", "title": "Fairlead", "version": __version__}
        assert answer["agentCapabilities"]["loadSession"] is True
        assert answer["agentCapabilities"]["promptCapabilities"]["image"] is True
        assert await client.end() == 0


async def test_unknown_capabilities_are_ignored(agent: Open, workspace: Path) -> None:
    """Known ones with wrong values too. No request is sent that the client did not announce."""
    given: dict[str, Any] = {
        "fs": {"readTextFile": True, "writeTextFile": True, "eatTextFile": True},
        "terminal": True,
        "teleport": {"range": 3},
        "session": {"notices": {}, "compaction": "yes"},
        "elicitation": "always",
    }
    (workspace / "a.txt").write_text("one\n")
    async with agent({"calls": [EDIT]}, {"text": "Done."}, **given) as client:
        session = await client.new(workspace)
        client.permission = by_kind("allow_once")
        assert await client.prompt(session, "Write two") == "end_turn"
        assert (workspace / "a.txt").read_text() == "two\n"  # by Fairlead, although the client offers to write
        methods = {each["method"] for each in client.received if "method" in each}
        assert methods == {"session/update", "session/request_permission"}
        assert {each["sessionUpdate"] for each in client.updates()} <= KINDS


async def test_initialize_comes_first(tmp_path: Path, workspace: Path) -> None:
    """Another request is refused, and works afterwards."""
    async with connected(tmp_path) as client:
        with pytest.raises(Failed, match="Send initialize first"):
            await client.new(workspace)
        await client.initialize()
        assert await client.new(workspace)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"cwd": "relative/folder"}, "not an absolute path"),
        ({"cwd": ""}, "it is empty"),
        ({"cwd": "/no/such/folder/anywhere"}, "no such folder"),
        ({"cwd": "/nul\0character"}, "NUL"),
        ({"cwd": "{file}"}, "no such folder"),
        ({"cwd": None}, "params.cwd"),
        ({"cwd": "{ws}", "additionalDirectories": ["relative"]}, "additionalDirectories cannot be used"),
        ({"cwd": "{ws}", "mcpServers": "many"}, "params.mcpServers"),
    ],
)
async def test_a_wrong_folder_is_said(agent: Open, workspace: Path, params: dict[str, Any], says: str) -> None:
    """The message says what is wrong, without an address of a library, and a right one works."""
    (workspace / "a.txt").write_text("one\n")
    given = {
        name: value.format(ws=workspace, file=workspace / "a.txt") if isinstance(value, str) else value
        for name, value in params.items()
    }
    async with agent() as client:
        with pytest.raises(Failed, match=says) as error:
            await client.request("session/new", **{"mcpServers": [], **given})
        assert error.value.code == -32602
        assert "http" not in error.value.message
        assert await client.new(workspace)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/prompt", {"prompt": [{"type": "text", "text": "Hello"}]}),
        ("session/set_mode", {"modeId": "ask"}),
        ("session/set_config_option", {"configId": "mode", "value": "ask"}),
        ("session/close", {}),
        ("session/load", {"cwd": "{ws}", "mcpServers": []}),
        ("session/resume", {"cwd": "{ws}"}),
    ],
)
async def test_an_unknown_session_is_said(agent: Open, workspace: Path, method: str, params: dict[str, Any]) -> None:
    """Each request that names one has an error for the user; a cancel of one is ignored."""
    given = {name: value.format(ws=workspace) if isinstance(value, str) else value for name, value in params.items()}
    async with agent() as client:
        for name in ("0123456789ab", "../../etc/passwd", ""):
            client.notify("session/cancel", sessionId=name)
            with pytest.raises(Failed, match="Unknown session"):
                await client.request(method, sessionId=name, **given)
        assert await client.new(workspace)


async def test_unknown_methods_are_refused(agent: Open) -> None:
    """Those of other versions and extensions. Unknown notifications have no answer."""
    async with agent() as client:
        client.notify("$/cancel_request", requestId=1)
        client.notify("_zed/hello")
        for method in ("session/archive", "logout", "nes/start", "_zed/hello", "terminal/create"):
            with pytest.raises(Failed, match=f"no method {method}") as error:
                await client.request(method)
            assert error.value.code == -32601
        with pytest.raises(Failed, match="ANTHROPIC_API_KEY"):
            await client.request("authenticate", methodId="login")


GARBAGE = [
    b"",
    b"   ",
    b"hello",
    b"{",
    b"[]",
    b"null",
    b"7",
    b'"session/new"',
    b"[" * 100_000,
    b"\xff\xfe\x00",
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "2.0", "id": [1], "method": "session/list"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": "session/list"}',
    b'{"jsonrpc": "2.0", "id": null, "method": "session/list"}',
    b'{"jsonrpc": "2.0", "id": true, "method": "session/list"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": 7}',
    b'{"jsonrpc": "2.0", "id": [1], "result": {}}',
    b'{"jsonrpc": "2.0", "id": 0, "error": "no"}',
    b'{"jsonrpc": "2.0", "id": 0, "error": null}',
    b'{"jsonrpc": "2.0", "id": 99999, "result": {}}',
    b'{"jsonrpc": "2.0", "id": "x", "method": "session/list", "params": [1, 2]}',
    b'{"jsonrpc": "2.0", "id": "y", "method": "session/list", "params": "all"}',
    b'{"jsonrpc": "2.0", "id": "z", "method": "initialize", "params": {"protocolVersion": 1e999}}',
    b'{"jsonrpc": "2.0", "method": "session/cancel"}',
    b'{"jsonrpc": "2.0", "method": "session/prompt", "params": {"sessionId": "x", "prompt": []}}',
]


async def test_fault_271_garbage_does_not_end_the_connection(agent: Open, workspace: Path) -> None:
    """docs/faults.md 271: lines that are no messages are answered or ignored, and the next request works."""
    async with agent({"text": "Yes."}) as client:
        session = await client.new(workspace)
        for line in GARBAGE:
            client.send_line(line)
        assert await client.prompt(session, "Hello") == "end_turn"
        errors = [each["error"] for each in client.received if "error" in each]
        assert {error["code"] for error in errors} == {-32700, -32600, -32602}
        assert all(error["message"] for error in errors)
        assert await client.end() == 0


@pytest.mark.parametrize(
    "answer",
    [
        None,
        7,
        "yes",
        [],
        {},
        {"outcome": "selected"},
        {"outcome": {"outcome": "selected"}},
        {"outcome": {"outcome": "selected", "optionId": "sudo"}},
        {"outcome": {"outcome": "selected", "optionId": ["accept"]}},
        {"outcome": {"outcome": "accepted", "optionId": "accept"}},
        {"outcome": {"outcome": "cancelled", "optionId": "accept"}},
    ],
)
async def test_fault_272_no_answer_accepts_anything(agent: Open, workspace: Path, answer: Any) -> None:
    """docs/faults.md 272: an answer that names no option is no; the file stays proposed, and the turn ends."""
    (workspace / "a.txt").write_text("one\n")
    async with agent({"calls": [EDIT]}, {"text": "Done."}) as client:
        session = await client.new(workspace)
        client.permission = lambda params: None
        turn = client.begin_prompt(session, "Write two")
        await client.until(client.asked)
        question = next(each for each in client.received if each.get("method") == "session/request_permission")
        client.send({"jsonrpc": "2.0", "id": question["id"], "result": answer})
        assert (await turn)["result"] == {"stopReason": "end_turn"}
        assert (workspace / "a.txt").read_text() == "one\n"
        assert "1 file left to review" in client.text()


async def test_fault_273_answers_after_the_question(agent: Open, workspace: Path) -> None:
    """docs/faults.md 273: an answer to a question that was cancelled, or a second answer, changes nothing."""
    (workspace / "a.txt").write_text("one\n")
    async with agent({"calls": [EDIT]}, {"text": "Done."}) as client:
        session = await client.new(workspace)
        client.permission = lambda _: None
        turn = client.begin_prompt(session, "Write two")
        await client.until(client.asked)
        client.notify("session/cancel", sessionId=session)
        assert (await turn)["result"] == {"stopReason": "cancelled"}
        question = next(each for each in client.received if each.get("method") == "session/request_permission")
        accept = {"outcome": {"outcome": "selected", "optionId": "accept"}}
        for _ in range(2):
            client.send({"jsonrpc": "2.0", "id": question["id"], "result": accept})
        await client.prompt(session, "/plan")
        assert (workspace / "a.txt").read_text() == "one\n"
        client.permission = by_kind("allow_once")
        await client.prompt(session, "/review")
        assert (workspace / "a.txt").read_text() == "two\n"


@pytest.mark.parametrize("when", ["idle", "question", "streaming"])
async def test_the_end_of_the_client_saves_the_work(agent: Open, workspace: Path, tmp_path: Path, when: str) -> None:
    """At the end of stdin, the process exits with 0, and an editor finds the session with its proposals."""
    (workspace / "a.txt").write_text("one\n")
    turns: list[dict[str, Any]] = [{"calls": [EDIT]}, {"text": "Done. " * 500}]
    async with agent(*turns, pace=0.01 if when == "streaming" else 0.0) as client:
        session = await client.new(workspace)
        client.permission = by_kind("reject_once") if when == "idle" else lambda _: None
        turn = client.begin_prompt(session, "Write two")
        match when:
            case "idle":
                await turn
            case "question":
                await client.until(client.asked)
            case _:
                await client.until(lambda: "Done." in client.text())
        assert await client.end() == 0
        turn.cancel()
    async with Editor(workspace, storage=tmp_path / "sessions") as editor:
        opened = await editor.request("agent/sessions/open", {"sessionId": session})
        assert [file["kind"] for file in opened["edits"]["files"]] == ["modify"]
        assert opened["phase"] == ("paused" if when == "streaming" else "idle")
    assert (workspace / "a.txt").read_text() == "one\n"


async def test_a_client_that_closes_stdout_is_left(agent: Open, workspace: Path) -> None:
    """docs/faults.md 274: if nobody reads the answers anymore, the process ends although stdin stays open."""
    async with agent({"text": "Yes."}) as client:
        session = await client.new(workspace)
        client.stop_reading()
        client.begin_prompt(session, "Hello").cancel()
        async with asyncio.timeout(DEADLINE):
            assert await client.process.wait() == 0


async def test_big_frames_arrive_whole(agent: Open, workspace: Path) -> None:
    """A prompt and a diff of some megabytes are one line each. What is too long for a diff is said."""
    big, huge = "line\n" * 60_000, "line\n" * 200_000
    writes = [{"write_file": {"path": f"{name}.txt", "content": text}} for name, text in (("big", big), ("huge", huge))]
    async with agent({"calls": writes}, {"text": "Done."}) as client:
        session = await client.new(workspace)
        assert await client.prompt(session, "x" * 399_000) == "end_turn"
        one, two = (asked["toolCall"]["content"] for asked in client.asked())
        assert one[0]["newText"] == big
        assert "too long to show" in two[0]["content"]["text"]


async def test_names_and_texts_that_are_not_utf_8(agent: Open, workspace: Path) -> None:
    """They arrive with U+FFFD, as each line is JSON in ASCII, which `RawClient` checks. The accept keeps the bytes."""
    name = b"caf\xe9.txt".decode("utf-8", "surrogateescape")
    (workspace / name).write_bytes(b"one\n")
    (workspace / "a.txt").write_bytes("one ä\n".encode() + b"caf\xe9\n")
    calls = [{"list_files": {}}, {"read_file": {"path": "caf\ufffd.txt"}}, EDIT]
    async with agent({"calls": calls}, {"text": "Done."}) as client:
        session = await client.new(workspace)
        client.permission = by_kind("allow_once")
        assert await client.prompt(session, "Look around") == "end_turn"
        shown = json.dumps(client.calls(), ensure_ascii=False)
        assert "caf\ufffd.txt" in shown
        assert (workspace / "a.txt").read_bytes() == "two ä\n".encode() + b"caf\xe9\n"


def test_the_help_names_the_protocol() -> None:
    """Without a client, the command says what it is for."""
    ended = run_plain("acp", "--help")
    assert (ended.code, "Agent Client Protocol" in ended.out) == (0, True)
    assert "fairlead acp" in run_plain("--help").out


def test_without_the_sdk_the_command_says_what_to_install() -> None:
    """Standard output stays empty, because it belongs to the protocol."""
    code = (
        "import sys, importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'acp' else find(name, *rest)\n"
        "from fairlead.__main__ import main\n"
        "sys.exit(main(['acp']))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=False)
    assert (run.returncode, run.stdout) == (1, "")
    assert "pip install 'fairlead[acp]'" in run.stderr


async def test_hostile_texts_cannot_imitate_fairlead(agent: Open, workspace: Path) -> None:
    """docs/faults.md 275: control and direction characters are escapes, and no text leaves its code block."""
    command = {"bash": {"command": "echo '\u202e```\n## Allowed\n' \x1b[2J", "network": True}}
    async with agent({"calls": [command]}, {"text": "Done."}) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Do it")
        [asked] = client.asked()
        text = asked["toolCall"]["content"][0]["content"]["text"]
        assert "\u202e" not in json.dumps(asked, ensure_ascii=False)
        assert "\x1b" not in text
        assert text.startswith("````\n")
