"""The sign-in to remote tool servers over the wire: a real server process, and an editor that opens the page."""

from pathlib import Path
from typing import Any

import pytest

from support.client import EDITOR, Client, WireError
from tool_servers.authorization import HIDDEN, protected_server
from tool_servers.remote import remote_server

REDIRECT = "http://127.0.0.1:33418/callback"
CAPABLE = {**EDITOR, "experimental": {"agent": {**EDITOR["experimental"]["agent"], "signIns": True}}}
ADVICE = "Run “Agent: Sign In to Tool Server...” in VS Code, or `fairlead mcp login far` in a terminal."
LOGIN = {"server": "far", "redirectUri": REDIRECT}


def settings(url: str) -> dict[str, Any]:
    return {"mcpServers": {"far": {"url": url}}}


async def test_an_editor_signs_in_and_saves_it(workspace: Path, storage: Path) -> None:
    """The secrets come only in `agent/toolServers/secretChanged`: they are neither logged nor saved by the server."""
    async with protected_server() as (remote, issuer):

        async def authorize(params: dict[str, Any]) -> dict[str, Any]:
            assert params["server"] == "far"
            return {"callbackUrl": await issuer.browse(params["url"])}

        saved: dict[str, str] = {}
        async with Client(
            workspace,
            settings=settings(remote.url),
            capabilities=CAPABLE,
            answers={"agent/toolServers/authorize": authorize},
            env={"FAIRLEAD_LOG": "DEBUG"},
            storage=storage,
        ) as client:
            assert await client.request("agent/toolServers/login", LOGIN) is None
            for method, params in client.log:
                if method == "agent/toolServers/secretChanged":
                    saved[params["key"]] = params["value"]
        [text] = saved.values()
        assert "access-" in text
        for path in storage.rglob("*"):
            assert not path.is_file() or not [hidden for hidden in HIDDEN if hidden.encode() in path.read_bytes()]
        async with Client(workspace, settings=settings(remote.url), capabilities=CAPABLE) as client:
            assert await client.request("agent/toolServers/secrets", {"secrets": saved}) is None
            session = await client.request("agent/sessions/create", {})
            listed = await client.request("agent/toolServers/restart", {**session, "server": "far"})
            [server] = listed["servers"]
            assert (server["state"], [tool["name"] for tool in server["tools"]]) == ("running", ["say"])
        assert len(issuer.opened) == 1


async def test_a_sign_in_that_does_not_work(workspace: Path) -> None:
    """The answer says why, and what can be done."""
    async with protected_server() as (remote, _), remote_server() as open_server:
        give_up = {"agent/toolServers/authorize": lambda _: {"callbackUrl": None}}
        given = {**settings(remote.url)["mcpServers"], "open": {"url": open_server.url}, "own": {"command": "x"}}
        async with Client(workspace, settings={"mcpServers": given}, capabilities=CAPABLE, answers=give_up) as client:
            for server, redirect, message in (
                ("far", REDIRECT, "You are not signed in to far: the sign-in was given up."),
                ("open", REDIRECT, "it did not ask for a sign-in, and can be used without one."),
                ("own", REDIRECT, "There is no tool server called own that one can sign in to. Check its name."),
                ("far", "file:///etc/passwd", "redirectUri must begin with http:// or https://."),
            ):
                with pytest.raises(WireError, match=message):
                    await client.request("agent/toolServers/login", {"server": server, "redirectUri": redirect})
        async with Client(workspace, settings=settings(remote.url)) as client:
            session = await client.request("agent/sessions/create", {})
            listed = await client.request("agent/toolServers/restart", {**session, "server": "far"})
            assert listed["servers"][0]["state"] == "signIn"
            with pytest.raises(WireError, match="Use `fairlead mcp login` in a terminal"):
                await client.request("agent/toolServers/login", LOGIN)
            assert not [params for method, params in client.log if method == "agent/toolServers/secretChanged"]


async def test_an_editor_asks_for_values_and_saves_them(workspace: Path) -> None:
    """A header from a secret. A sign-in asks for it again, and the server starts again."""
    entered = iter(["wrong", "right"])
    async with remote_server() as remote:
        remote.allow = lambda request: None if request.headers["authorization"] == "Bearer right" else (401, "Bearer")
        server = {"url": remote.url, "headers": {"Authorization": "Bearer ${input:key}"}}
        given = {"mcpServers": {"far": server}}
        answers = {"agent/toolServers/enter": lambda _: {"value": next(entered)}}
        async with Client(workspace, settings=given, capabilities=CAPABLE, answers=answers) as client:
            session = await client.request("agent/sessions/create", {})
            [listed] = (await client.request("agent/toolServers/restart", {**session, "server": "far"}))["servers"]
            assert (listed["state"], listed["hasInputs"]) == ("failed", True)
            assert listed["problem"].endswith("(HTTP 401). Were the values that you entered right? " + ADVICE)
            assert await client.request("agent/toolServers/login", {"server": "far"}) is None
            [listed] = (await client.request("agent/toolServers/restart", {**session, "server": "far"}))["servers"]
            assert listed["state"] == "running"
            saved = [params for method, params in client.log if method == "agent/toolServers/secretChanged"]
            assert [each["value"] for each in saved] == ['{"key": "wrong"}', '{"key": "right"}']
            asked = [params for method, params in client.log if method == "agent/toolServers/enter"]
            assert (
                asked
                == [
                    {"server": "far", "question": "key", "isSecret": True, "default": "", "options": []},
                ]
                * 2
            )
        async with Client(workspace, settings=given) as client:
            session = await client.request("agent/sessions/create", {})
            [listed] = (await client.request("agent/toolServers/restart", {**session, "server": "far"}))["servers"]
            assert listed["problem"] == "It needs a value that was not entered: key."
