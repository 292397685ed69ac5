"""The sign-in to remote tool servers: who gets which secret, and what happens when one is lost."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from fairlead.errors import ToolError
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.http import check_target
from fairlead.tool_servers.oauth import key_of, sign_in
from fairlead.tool_servers.pipes import ServerFailed
from fairlead.tool_servers.secrets import Secrets
from fairlead.tool_servers.sign_ins import Authorize
from tool_servers.authorization import HIDDEN, AuthorizationServer, protected_server
from tool_servers.remote import NEW, OLD, RemoteServer, Reply, Request, http_server, remote_server
from tool_servers.world import User, World, world

REDIRECT = "http://127.0.0.1:33418/callback"


def remote(server: RemoteServer, **fields: Any) -> Definition:
    return Definition("far", url=server.url, **fields)


async def log_in(secrets: Secrets, definition: Definition, authorize: Authorize, redirect: str = REDIRECT) -> None:
    await sign_in(secrets, key_of(definition, definition.url), definition, redirect, authorize)


@asynccontextmanager
async def using(definition: Definition, secrets: Secrets) -> AsyncIterator[World]:
    async with world(definition, user=User("allow_once"), secrets=secrets) as found:
        yield found


def state_of(found: World) -> tuple[str, str]:
    [status] = found.session.tool_servers.statuses()
    return status.state, status.problem


@pytest.mark.parametrize("revision", [OLD, NEW])
async def test_a_sign_in(revision: str, caplog: pytest.LogCaptureFixture) -> None:
    """The server finds its authorization server, registers, and uses PKCE. Then calls have the token."""
    caplog.set_level("DEBUG", "fairlead")
    async with protected_server(revision) as (server, issuer):
        secrets, definition = Secrets(), remote(server)
        async with using(definition, secrets) as found:
            state, problem = state_of(found)
            assert state == "signIn"
            assert problem == (
                "you are not signed in to it. Run “Agent: Sign In to Tool Server...” in VS Code, or `fairlead mcp "
                "login far` in a terminal."
            )
            assert issuer.http.requests == []  # a run neither registers nor opens anything
            await log_in(secrets, definition, issuer.browse)
            await found.session.tool_servers.prepare()
            assert "hello" in await found.call("far__say", text="hello")
            assert state_of(found) == ("running", "")
        assert issuer.token_requests == ["authorization_code"]
        assert [call.headers["authorization"][:14] for call in server.calls] == ["Bearer access-"]
        assert [client["client_name"] for client in issuer.clients.values()] == ["Fairlead"]
    assert not [text for text in HIDDEN if text in caplog.text]


async def test_the_front_end_saves_and_returns_it() -> None:
    """In another process, the sign-in works without the user, also after the token has expired."""
    async with protected_server() as (server, issuer):
        saved: dict[str, str] = {}
        first, definition = Secrets(), remote(server)
        first.on_change = lambda key, value: saved.update({key: value or ""})
        await log_in(first, definition, issuer.browse)
        second = Secrets()
        second.replace({key: json.dumps({**json.loads(text), "expiresAt": 1}) for key, text in saved.items()})
        async with using(definition, second) as found:
            assert "hello" in await found.call("far__say", text="hello")
        assert issuer.token_requests == ["authorization_code", "refresh_token"]
        assert len(issuer.opened) == 1


async def test_a_token_that_the_server_no_longer_takes_is_refreshed() -> None:
    """docs/faults.md 214: without the user."""
    async with protected_server() as (server, issuer):
        secrets, definition = Secrets(), remote(server)
        await log_in(secrets, definition, issuer.browse)
        async with using(definition, secrets) as found:
            issuer.valid.clear()
            assert "hello" in await found.call("far__say", text="hello")
        assert issuer.token_requests == ["authorization_code", "refresh_token"]


async def test_two_sessions_share_a_sign_in() -> None:
    """A refresh token holds once, so only one of them uses it."""
    async with protected_server() as (server, issuer):
        secrets, definition = Secrets(), remote(server)
        await log_in(secrets, definition, issuer.browse)
        async with using(definition, secrets) as one, using(definition, secrets) as other:
            issuer.valid.clear()
            calls = (each.call("far__say", text="hello") for each in (one, other, one, other))
            assert all("hello" in said for said in await asyncio.gather(*calls))
        assert issuer.token_requests == ["authorization_code", "refresh_token"]


async def test_a_lost_sign_in_leads_back_to_the_user() -> None:
    """docs/faults.md 214: the call says what to do. After the next sign-in, calls work again."""
    async with protected_server() as (server, issuer):
        secrets, definition = Secrets(), remote(server)
        await log_in(secrets, definition, issuer.browse)
        async with using(definition, secrets) as found:
            assert "hello" in await found.call("far__say", text="hello")
            issuer.valid.clear()
            issuer.refresh_tokens.clear()
            for _ in range(5):  # it is no failure, and nothing is asked again
                with pytest.raises(ToolError, match="because the user must sign in to it"):
                    await found.call("far__say", text="hello")
            state, problem = state_of(found)
            assert state == "signIn"
            assert problem.startswith("your sign-in has expired or was revoked. Run “Agent: Sign In to Tool Server...”")
            assert issuer.token_requests == ["authorization_code", "refresh_token"]
            assert len(issuer.opened) == 1
            await log_in(secrets, definition, issuer.browse)
            assert "hello" in await found.call("far__say", text="hello")


async def test_an_authorization_server_that_is_away_costs_no_sign_in() -> None:
    async with protected_server() as (server, issuer):
        secrets, definition = Secrets(), remote(server)
        await log_in(secrets, definition, issuer.browse)
        async with using(definition, secrets) as found:
            issuer.valid.clear()
            issuer.refusal = 503
            with pytest.raises(ToolError, match=r"your sign-in could not be refreshed \(HTTP 503\)\. Try again later"):
                await found.call("far__say", text="hello")
            issuer.refusal = 0
            assert "hello" in await found.call("far__say", text="hello")
        assert len(issuer.opened) == 1


async def test_a_sign_in_that_does_not_allow_enough() -> None:
    """The server wants more when a tool is called. The next sign-in asks for it."""
    async with protected_server() as (server, issuer):
        secrets, definition = Secrets(), remote(server)
        await log_in(secrets, definition, issuer.browse)
        async with using(definition, secrets) as found:
            issuer.scope = "write"
            with pytest.raises(ToolError, match="the user must sign in"):
                await found.call("far__say", text="hello")
            assert state_of(found)[1].startswith("your sign-in does not allow this; sign in again and allow more. ")
            issuer.scope = "read"  # as many servers say before they know which tool is called
            await log_in(secrets, definition, issuer.browse)
            issuer.scope = "write"
            assert "hello" in await found.call("far__say", text="hello")
        assert [parse_qs(urlsplit(url).query)["scope"] for url in issuer.opened] == [["read"], ["read write"]]


WRONG = {
    "another issuer": ({"iss": "https://evil.example"}, "the sign-in failed: Authorization response iss mismatch"),
    "no issuer": ({"iss": None}, "the sign-in failed: Authorization response missing iss parameter"),
    "another state": ({"state": "x"}, "the sign-in failed: State parameter mismatch"),
    "no code": ({"code": None}, "the sign-in failed: No authorization code received"),
    "a code of another one": ({"code": "code-99"}, "the sign-in failed: Token exchange failed .400."),
    "refused": ({"error": "access_denied"}, "the sign-in was refused: access_denied"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_answer_of_the_browser(name: str) -> None:
    """No token is asked for or saved."""
    changes, problem = WRONG[name]
    async with protected_server() as (server, issuer):
        secrets, definition = Secrets(), remote(server)
        with pytest.raises(ServerFailed, match=problem):
            await log_in(secrets, definition, lambda url: issuer.browse(url, **changes))
        assert "tokens" not in secrets.get(key_of(definition, server.url))
        assert issuer.valid == {}
        await log_in(secrets, definition, issuer.browse)  # the user can try again
        assert "tokens" in secrets.get(key_of(definition, server.url))


async def test_a_user_who_gives_up() -> None:
    async with protected_server() as (server, _):

        async def give_up(url: str) -> None:
            return None

        with pytest.raises(ServerFailed, match="the sign-in was given up"):
            await log_in(Secrets(), remote(server), give_up)


@pytest.mark.parametrize("address", ["file:///etc/passwd", "javascript:alert(1)", "vscode://x"])
async def test_only_web_pages_are_opened(address: str) -> None:
    async with protected_server() as (server, issuer):
        issuer.metadata["authorization_endpoint"] = address
        with pytest.raises(ServerFailed):
            await log_in(Secrets(), remote(server), issuer.browse)
        assert issuer.opened == []


async def test_metadata_of_another_issuer_is_refused() -> None:
    async with protected_server() as (server, issuer):
        issuer.metadata["issuer"] = "https://evil.example"
        with pytest.raises(ServerFailed, match="the sign-in failed: Authorization server metadata issuer mismatch"):
            await log_in(Secrets(), remote(server), issuer.browse)
        assert issuer.opened == []


async def test_a_client_that_was_registered_by_hand() -> None:
    """Its secret is sent only to the authorization server."""
    async with protected_server() as (server, issuer):
        issuer.needs_secret, issuer.can_register = True, False
        issuer.clients["own"] = {"redirect_uris": [REDIRECT]}
        secrets, definition = Secrets(), remote(server, client_id="own", client_secret="secret-1")
        await log_in(secrets, definition, issuer.browse)
        async with using(definition, secrets) as found:
            issuer.valid.clear()
            assert "hello" in await found.call("far__say", text="hello")
        assert issuer.token_requests == ["authorization_code", "refresh_token"]
        assert "secret-1" not in json.dumps(secrets.get(key_of(definition, server.url)))


async def test_another_way_back_needs_another_registration() -> None:
    """Many authorization servers compare the whole address, with its port."""
    async with protected_server() as (server, issuer):
        secrets, definition = Secrets(), remote(server)
        await log_in(secrets, definition, issuer.browse)
        await log_in(secrets, definition, issuer.browse)
        assert len(issuer.clients) == 1
        await log_in(secrets, definition, issuer.browse, "http://127.0.0.1:4/callback")
        assert len(issuer.clients) == 2


async def test_the_token_is_sent_to_no_other_server() -> None:
    """docs/faults.md 214: neither after a redirect nor when the same definition gets another address."""

    async def refuse(request: Request, reply: Reply) -> None:
        await reply.send(401)

    async with protected_server() as (server, issuer), http_server(refuse) as other:

        async def lure(request: Request, reply: Reply) -> None:
            await reply.send(307, location=f"{other.origin}/mcp")

        secrets, definition = Secrets(), remote(server)
        await log_in(secrets, definition, issuer.browse)
        async with using(definition, secrets) as found:
            server.faults["tools/call"] = lure
            with pytest.raises(ToolError, match="it redirects to"):
                await found.call("far__say", text="hello")
        assert other.requests == []
        async with using(Definition("far", url=f"{other.origin}/mcp"), secrets) as found:
            assert state_of(found)[0] == "signIn"
        assert other.requests
        assert not [request for request in other.requests if "authorization" in request.headers]


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("http://auth.example.com/token", "http://auth.example.com, which is not encrypted"),
        ("http://169.254.169.254/latest", "which is not encrypted"),
        ("https://169.254.169.254/latest", "https://169.254.169.254, which is in a private network"),
        ("https://10.0.0.1:8443/", "which is in a private network"),
        ("https://localhost/", "which is in a private network"),
        ("https://[fd00::1]/", "which is in a private network"),
    ],
)
def test_what_a_server_must_not_name(target: str, problem: str) -> None:
    """docs/faults.md 213: for its sign-in; otherwise it could make requests to the user's own network."""
    with pytest.raises(ServerFailed, match=re.escape(problem)):
        check_target(target, "https://mcp.example.com/mcp")


@pytest.mark.parametrize(
    ("target", "server"),
    [
        ("https://auth.example.com/token", "https://mcp.example.com/mcp"),
        ("https://10.0.0.2/token", "https://10.0.0.1/mcp"),
        ("http://127.0.0.1:2/token", "http://127.0.0.1:1/mcp"),
        ("https://mcp.example.com/token", "https://mcp.example.com:443/mcp"),
    ],
)
def test_what_a_server_may_name(target: str, server: str) -> None:
    check_target(target, server)


async def test_a_server_without_a_sign_in() -> None:
    async with remote_server() as server:
        with pytest.raises(ServerFailed, match="it did not ask for a sign-in, and can be used without one"):
            await log_in(Secrets(), remote(server), AuthorizationServer(server).browse)
        definition = remote(server, headers=(("Authorization", "Bearer x"),))
        with pytest.raises(ServerFailed, match="its definition has an Authorization header"):
            await log_in(Secrets(), definition, AuthorizationServer(server).browse)


def test_damaged_sign_ins_are_none() -> None:
    secrets = Secrets()
    secrets.replace({"a": "{", "b": "[]", "c": '{"tokens": 3}', "d": "x" * 200_000})
    assert [secrets.get(key) for key in "abcd"] == [{}, {}, {"tokens": 3}, {}]
