"""Fairlead's tools for a hosted agent: its plan with checks, and the checks (docs/agents.md)."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from fairlead.hosted_agents.own_tools import AgentTool, AgentTools, ToolAnswer
from fairlead.hosted_agents.tool_server import MAX_BYTES, ToolServer
from hosted_agents.test_key_relay import exchange
from hosted_agents.world import NAME, World, run
from support.sandbox import needs_sandbox

OFFERED = AgentTools("Use them.", (AgentTool("echo", "Echo", "Says it again.", {"type": "object"}),))


@pytest.fixture
def world(workspace: Path, tmp_path: Path, home: Path) -> World:
    needs_sandbox()
    (workspace / "a.txt").write_text("one\n")
    return World(workspace, tmp_path, home)


def plan(*items: tuple[str, str, str]) -> list[Any]:
    """A call of the tool `plan`."""
    named = [{"content": content, "status": status, "check": check} for content, status, check in items]
    return ["plan", {"items": named}]


async def test_it_attaches_checks_to_its_steps(world: World) -> None:
    """A tick runs the check on what the agent has written until then, and the agent reads the result at once."""
    check = "grep -q fixed a.txt"
    turn = [
        {"tool": plan(("Repair it", "in_progress", check), ("Say so", "pending", ""))},
        {"write": ["a.txt", "wrong\n"]},
        {"tool": plan(("Repair it", "completed", check), ("Say so", "in_progress", ""))},
        {"quiet": "echo fixed > a.txt"},
        {"tool": ["run_check", {"command": check}]},
        {"tool": plan(("Repair it", "completed", check), ("Say so", "in_progress", ""))},
    ]
    async with world.client(turn) as client:
        result = await run(client)
        opened = await client.request("agent/sessions/open", {"sessionId": result["sessionId"]})
    said = [part.partition(">")[2] for part in result["message"].split("<") if part.startswith(("plan>", "run_check>"))]
    assert "#1 is not completed: make its check pass." in said[1]
    assert f"The check passed: `{check}`" in said[2]
    first, second = opened["plan"]["items"]
    assert (first["status"], first["verification"], first["check"]) == ("completed", "proved", check)
    assert second["status"] == "in_progress"
    assert len(world.prompts) == 1, "it has read of the failed check already"
    assert (world.workspace / "a.txt").read_text() == "one\n"


async def test_its_own_plan_does_not_drop_the_checks(world: World) -> None:
    """A plan of ACP has no checks. The steps keep those that they have, whoever set them."""
    turn = [
        {"tool": plan(("Repair it", "in_progress", "false"))},
        {"plan": [["Repair it", "in_progress"], ["Say so", "pending"]]},
        {"write": ["a.txt", "x\n"]},
        {"plan": [["Repair it", "completed"], ["Say so", "in_progress"]]},
    ]
    world.settings = {"check.agentPrompts": 0}
    async with world.client(turn) as client:
        result = await run(client)
        opened = await client.request("agent/sessions/open", {"sessionId": result["sessionId"]})
    first, _ = opened["plan"]["items"]
    assert (first["check"], first["status"] == "completed") == ("false", False)


@pytest.mark.parametrize("how", ["setting", "capability"])
async def test_some_agents_get_no_tools(world: World, how: str) -> None:
    """The user does not want it, or the agent takes none over HTTP."""
    if how == "capability":
        world.env["NO_TOOLS"] = "1"
    else:
        world.more = {"tools": False}
    async with world.client([{"servers": None}]) as client:
        assert (await run(client))["message"] == "[]"


async def test_a_stop_ends_a_check(world: World) -> None:
    """The run ends, and so does the check that the agent waits for."""
    command = f"exec -a {world.process} sleep 600"
    async with world.client([{"tool": ["run_check", {"command": command}]}]) as client:
        _, running = client.begin("agent/runTask", {"prompt": "Do it.", "hosted": NAME})
        started = await client.event("tool_started", title="Run a check")
        await client.request("agent/cancel", {"sessionId": started["sessionId"]})
        assert (await running)["stopReason"] == "cancelled"
        finished = await client.event("tool_finished", toolCallId=started["toolCallId"])
        assert finished["isError"]
    assert not any(world.process in " ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"]))


@asynccontextmanager
async def serving(calls: list[Any]) -> AsyncIterator[ToolServer]:
    async def call(name: str, given: Mapping[str, Any]) -> ToolAnswer:
        calls.append((name, given))
        return ToolAnswer(str(given.get("text")), given.get("text") is None)

    server = ToolServer(OFFERED, call)
    await server.start()
    try:
        yield server
    finally:
        await server.aclose()


async def test_a_client_of_the_sdk_can_use_it() -> None:
    """The official client lists and calls the tools, although this server needs none of its package."""
    import httpx2

    calls: list[Any] = []
    async with serving(calls) as server:
        described = server.described
        headers = {each["name"]: each["value"] for each in described["headers"]}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            streamable_http_client(described["url"], http_client=http) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            begun = await session.initialize()
            assert begun.instructions == "Use them."
            [tool] = (await session.list_tools()).tools
            assert (tool.name, tool.title) == ("echo", "Echo")
            result = await session.call_tool("echo", {"text": "您好"})
            assert [part.text for part in result.content] == ["您好"]  # pyright: ignore[reportAttributeAccessIssue]
    assert calls == [("echo", {"text": "您好"})]


INITIALIZE = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}'


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (INITIALIZE, 200, '"protocolVersion": "2025-06-18"'),
        (INITIALIZE.replace("2025-06-18", "1999"), 200, '"protocolVersion": "2025-11-25"'),
        ('{"jsonrpc": "2.0", "id": "a", "method": "ping"}', 200, '"id": "a", "result": {}'),
        ('{"jsonrpc": "2.0", "method": "notifications/initialized"}', 202, ""),
        ('{"jsonrpc": "2.0", "id": 1, "method": "server/discover"}', 200, "-32601"),
        ('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "other"}}', 200, "-32602"),
        ('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": [1]}', 200, "-32602"),
        ('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}}', 200, '"isError": true'),
        ('{"jsonrpc": "2.0", "id": 1}', 200, "-32600"),
        ("[]", 200, "-32600"),
        ("{", 200, "-32700"),
        ("[" * 100_000, 200, "-32700"),
        ("x" * (MAX_BYTES + 1), 413, "at most"),
    ],
)
async def test_each_message_gets_its_answer(body: str, status: int, text: str) -> None:
    async with serving([]) as server:
        answer = await post(server, body)
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert text in answer.decode()
        assert b'"result": {}' in await post(server, '{"jsonrpc": "2.0", "id": 1, "method": "ping"}')


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("POST /mcp HTTP/1.1\r\nHost: a\r\n", 401),
        ("POST /mcp HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer wrong\r\n", 401),
        ("POST /mcp HTTP/1.1\r\nHost: a\r\nAuthorization: Basic PASSWORD\r\n", 401),
        ("POST / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer PASSWORD\r\n", 404),
        ("GET /mcp HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer PASSWORD\r\n", 405),
        ("DELETE /mcp HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer PASSWORD\r\n", 405),
    ],
)
async def test_only_the_agent_is_answered(head: str, status: int) -> None:
    calls: list[Any] = []
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}})
    async with serving(calls) as server:
        whole = f"{head}Content-Length: {len(call)}\r\n\r\n{call}".replace("PASSWORD", server.password)
        assert (await exchange(server, whole.encode())).startswith(f"HTTP/1.1 {status} ".encode())
    assert calls == []


async def post(server: ToolServer, body: str) -> bytes:
    head = f"POST /mcp HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {server.password}\r\nConnection: close\r\n"
    return await asyncio.wait_for(exchange(server, f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()), 30)
