"""Remote tool servers over HTTP: both revisions, what they get, and what happens when they misbehave."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from fairlead.errors import ToolError
from fairlead.gate.request import StartServer
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.http import check_address
from fairlead.tool_servers.pipes import ServerFailed
from tool_servers.remote import NEW, OLD, RemoteServer, Reply, Request, http_server, remote_server
from tool_servers.world import User, World, world

Fault = Callable[[Request, Reply], Awaitable[None]]


def remote(server: RemoteServer, **fields: Any) -> Definition:
    return Definition("far", url=server.url, **fields)


def using(server: RemoteServer, **fields: Any) -> AbstractAsyncContextManager[World]:
    """A session with the server, whose user allows everything."""
    return world(remote(server, **fields), user=User("allow_once"))


def problem_of(found: World) -> tuple[str, str]:
    [status] = found.session.tool_servers.statuses()
    return status.state, status.problem


@pytest.mark.parametrize("events", [False, True], ids=["json", "events"])
@pytest.mark.parametrize("revision", [OLD, NEW])
async def test_a_call(revision: str, events: bool) -> None:
    """The definition's headers are in each request, with their variables replaced."""
    async with remote_server(revision, events=events) as server:
        definition = remote(server, headers=(("X-Key", "${NOT_SET:-k3y}"), ("Authorization", "Bearer t0ken")))
        async with world(definition, user=User("allow_once")) as found:
            assert "hello" in await found.call("far__say", text="hello")
            [status] = found.session.tool_servers.statuses()
            assert status.state == "running"
        for request in server.http.requests:
            assert (request.headers["x-key"], request.headers["authorization"]) == ("k3y", "Bearer t0ken")
        is_ended = [request.method for request in server.http.requests].count("DELETE") == 1
        assert is_ended == (revision == OLD)


async def test_calls_at_the_same_time() -> None:
    """A slow answer does not hold back others."""
    async with remote_server() as server:
        may_answer = asyncio.Event()

        async def answer(request: Request, reply: Reply) -> None:
            if request.message["params"]["arguments"]["text"] == "slow":
                await may_answer.wait()
            else:
                may_answer.set()
            await server.send_result(request, reply)

        server.faults["tools/call"] = answer
        async with using(server) as found:
            slow = asyncio.create_task(found.call("far__say", text="slow"))
            assert "quick" in await found.call("far__say", text="quick")
            assert "slow" in await slow


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://example.com/mcp", "http://example.com is not encrypted, so nothing was sent to it"),
        ("http://10.0.0.1:8080/mcp", "http://10.0.0.1:8080 is not encrypted"),
        ("http://localhost.example.com/", "is not encrypted"),
        ("file:///etc/passwd", "must begin with https:// or http://"),
        ("https://user:password@example.com/", "contain no password"),
        ("https://[::1/", "its address is not valid"),
    ],
)
def test_addresses_that_are_not_used(url: str, problem: str) -> None:
    with pytest.raises(ServerFailed, match=problem):
        check_address(url)


@pytest.mark.parametrize("url", ["https://example.com/mcp", "http://localhost:1/", "http://[::1]/", "http://127.9.9.9"])
def test_addresses_that_are_used(url: str) -> None:
    check_address(url)


def redirect(target: str, status: int = 307) -> Fault:
    async def answer(request: Request, reply: Reply) -> None:
        await reply.send(status, location=target)

    return answer


ELSEWHERE = [
    ("http://169.254.169.254/latest/meta-data", "http://169.254.169.254"),
    ("https://127.0.0.1/mcp", "https://127.0.0.1"),
    ("file:///etc/passwd", "file://"),
]


@pytest.mark.parametrize(("target", "shown"), ELSEWHERE)
async def test_a_redirect_elsewhere_is_not_followed(target: str, shown: str) -> None:
    """docs/faults.md 213: to a private address, to this machine or to a file."""
    async with remote_server() as server, using(server) as found:
        server.faults["tools/call"] = redirect(target)
        with pytest.raises(ToolError, match=f"it redirects to {shown}, and nothing was sent there"):
            await found.call("far__say", text="hello")


@pytest.mark.parametrize(("target", "shown"), ELSEWHERE)
async def test_a_redirect_elsewhere_at_the_start(target: str, shown: str) -> None:
    """docs/faults.md 213: as in a call."""
    async with remote_server() as server:
        server.faults["server/discover"] = redirect(target, 302)
        async with using(server) as found:
            state, problem = problem_of(found)
            assert state == "failed"
            assert f"it redirects to {shown}, and nothing was sent there" in problem


async def test_a_redirect_to_another_port_gets_nothing() -> None:
    """docs/faults.md 213: no header, no argument and no request at all."""

    async def answer(request: Request, reply: Reply) -> None:
        await reply.send(500)

    async with http_server(answer) as other, remote_server() as server:
        server.faults["tools/call"] = redirect(f"{other.origin}/mcp")
        async with using(server, headers=(("X-Key", "k3y"),)) as found:
            with pytest.raises(ToolError, match="it redirects to"):
                await found.call("far__say", text="hello")
        assert other.requests == []


async def test_a_redirect_within_the_origin_is_followed() -> None:
    async with remote_server() as server:
        is_first = True

        async def answer(request: Request, reply: Reply) -> None:
            nonlocal is_first
            if is_first:
                is_first = False
                await reply.send(308, location="/mcp/")
            else:
                await server.send_result(request, reply)

        server.faults["tools/call"] = answer
        async with using(server, headers=(("X-Key", "k3y"),)) as found:
            assert "hello" in await found.call("far__say", text="hello")
        assert [call.path for call in server.calls] == ["/mcp", "/mcp/"]
        assert server.calls[-1].headers["x-key"] == "k3y"


async def html(request: Request, reply: Reply) -> None:
    await reply.send(200, b"<html>Welcome</html>", content_type="text/html")


def status(code: int, body: bytes = b"", **headers: str) -> Fault:
    async def answer(request: Request, reply: Reply) -> None:
        await reply.send(code, body, **headers)

    return answer


async def broken_json(request: Request, reply: Reply) -> None:
    await reply.begin(200, content_type="application/json", content_length="1000")
    await reply.write(b'{"jsonrpc":')
    reply.break_off()


async def broken_events(request: Request, reply: Reply) -> None:
    await reply.begin_events()
    await reply.write(b": hello\n\n")
    reply.break_off()


async def long_message(request: Request, reply: Reply) -> None:
    await reply.begin(200, content_type="application/json")
    while True:
        await reply.write(b" " * 1_000_000)


async def long_event(request: Request, reply: Reply) -> None:
    await reply.begin_events()
    while True:
        await reply.write(b"data: x\n" * 100_000)


async def endless_events(request: Request, reply: Reply) -> None:
    await reply.begin_events()
    while True:
        await reply.write(b": keep-alive\n\n" * 100_000)


async def compressed(request: Request, reply: Reply) -> None:
    await reply.send(200, b"x", content_type="application/json", content_encoding="gzip")


FAULTS: dict[str, tuple[Fault, str]] = {
    "404": (status(404), "it answered with HTTP 404 Not Found"),
    "500": (status(500, b"<html>oops</html>", content_type="text/html"), "HTTP 500 Internal Server Error"),
    "401": (status(401), "it refused the key in its headers .HTTP 401."),
    "html": (html, "it answered with text/html instead of a message of MCP. Check its address"),
    "broken JSON": (broken_json, "the connection to http://127.0.0.1:[0-9]+ broke"),
    "broken events": (broken_events, "it ended during the call|SSE stream ended without a response"),
    "long message": (long_message, "it sent a message of more than 16 MB"),
    "long event": (long_event, "it sent a message of more than 16 MB"),
    "endless events": (endless_events, "it sent more than 64 MB that nobody asked for"),
    "compressed": (compressed, "it compressed an answer that must not be compressed"),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_in_a_call(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """docs/faults.md 215: the call fails with the reason, without a traceback in the log, and the next call works."""
    fault, reason = FAULTS[name]
    async with remote_server() as server:
        server.faults["tools/call"] = fault
        async with using(server, headers=(("Authorization", "Bearer t0ken"),)) as found:
            with pytest.raises(ToolError, match=f"The tool server far failed: .*({reason})") as error:
                await found.call("far__say", text="hello")
            assert "t0ken" not in str(error.value)
            server.faults.clear()
            assert "hello" in await found.call("far__say", text="hello")
    assert not [record for record in caplog.records if record.exc_info]
    assert "t0ken" not in caplog.text


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_at_the_start(name: str) -> None:
    """docs/faults.md 215: in all that is answered."""
    fault, reason = FAULTS[name]
    async with remote_server() as server:
        server.faults.update(dict.fromkeys(("server/discover", "initialize"), fault))
        async with using(server, headers=(("Authorization", "Bearer t0ken"),)) as found:
            state, problem = problem_of(found)
            assert state == "failed"
            assert re.search(reason, problem)


async def test_a_server_that_is_away() -> None:
    """docs/faults.md 215: it can be used as soon as it is back."""
    async with remote_server() as server, using(server) as found:
        assert "hello" in await found.call("far__say", text="hello")
        await server.http.stop()
        with pytest.raises(ToolError, match=r"failed: http://127\.0\.0\.1:[0-9]+ cannot be reached"):
            await found.call("far__say", text="hello")
        assert problem_of(found)[0] == "failed"
        await server.http.start()
        assert "hello" in await found.call("far__say", text="hello")
        assert problem_of(found) == ("running", "")


async def test_a_server_that_goes_away_in_a_call() -> None:
    async with remote_server() as server:
        began = asyncio.Event()

        async def hang(request: Request, reply: Reply) -> None:
            began.set()
            await asyncio.Event().wait()

        async with using(server) as found:
            server.faults["tools/call"] = hang
            call = asyncio.create_task(found.call("far__say", text="hello"))
            await began.wait()
            await server.http.stop()
            with pytest.raises(ToolError, match=r"the connection to .* broke"):
                await call
            server.faults.clear()
            await server.http.start()
            assert "hello" in await found.call("far__say", text="hello")


async def test_a_lost_session_is_begun_again() -> None:
    """docs/faults.md 215: a server that was restarted has not read the call, so the call is repeated once."""
    async with remote_server(OLD) as server, using(server) as found:
        assert "one" in await found.call("far__say", text="one")
        server.session += 100
        assert "two" in await found.call("far__say", text="two")
        server.faults["tools/call"] = status(404)
        with pytest.raises(ToolError, match="it has ended the session"):
            await found.call("far__say", text="three")


async def test_an_error_of_the_protocol_is_the_servers_answer() -> None:
    """Also with another status than 200. The connection goes on."""

    async def refuse(request: Request, reply: Reply) -> None:
        error = {"code": -32602, "message": "No such text"}
        await reply.json({"jsonrpc": "2.0", "id": request.message["id"], "error": error}, status=400)

    async with remote_server() as server, using(server) as found:
        server.faults["tools/call"] = refuse
        with pytest.raises(ToolError, match="No such text"):
            await found.call("far__say", text="hello")
        assert problem_of(found) == ("running", "")


async def test_a_call_without_an_answer_in_time() -> None:
    async with remote_server() as server, using(server, seconds=1) as found:

        async def hang(request: Request, reply: Reply) -> None:
            await asyncio.Event().wait()

        server.faults["tools/call"] = hang
        with pytest.raises(ToolError, match="did not answer in time"):
            await found.call("far__say", text="hello")


async def test_a_broken_stream_is_resumed() -> None:
    """The older revision continues a stream of events where it broke."""
    async with remote_server(OLD) as server:
        pending: list[Any] = []

        async def begin(request: Request, reply: Reply) -> None:
            pending.append(request.message["id"])
            await reply.begin_events()
            await reply.write(b"retry: 10\n")
            await reply.event(None, "event-1")

        async def resume(request: Request, reply: Reply) -> None:
            if request.headers.get("last-event-id") != "event-1":
                await reply.send(405)
                return
            result = {"content": [{"type": "text", "text": "resumed"}]}
            await reply.begin_events()
            await reply.event({"jsonrpc": "2.0", "id": pending[0], "result": result}, "event-2")

        server.faults.update({"tools/call": begin, "GET": resume})
        async with using(server) as found:
            assert "resumed" in await found.call("far__say", text="hello")


async def test_a_header_that_cannot_be_sent() -> None:
    """The reason does not quote its text, which may be a key."""
    async with remote_server() as server, using(server, headers=(("X-Key", "k3y\r\nX: y"),)) as found:
        state, problem = problem_of(found)
        assert (state, problem) == ("failed", "its header X-Key contains a character that cannot be sent")
        assert server.http.requests == []


async def test_a_server_of_the_workspace_asks_first() -> None:
    """Nothing is sent before the user has allowed the address."""
    async with remote_server() as server:
        definition = remote(server, defined_in=Path("/ws/.mcp.json"))
        async with world(definition) as found:
            assert problem_of(found)[0] == "notAllowed"
            [asked] = found.user.asked
            assert isinstance(asked.action, StartServer)
            assert asked.action.command == server.url
        assert server.http.requests == []


async def test_calls_ask_by_default() -> None:
    """They can have effects that nobody reviews."""
    async with remote_server() as server, world(remote(server)) as found:
        with pytest.raises(ToolError, match="the user did not allow this call"):
            await found.call("far__say", text="hello")
        [asked] = found.user.asked
        assert "effects outside of the workspace" in asked.reasons[0]
        assert server.calls == []
