"""An authorization server on loopback that checks what OAuth says, and a tool server that wants its tokens."""

import base64
import hashlib
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tool_servers.remote import NEW, HttpServer, RemoteServer, Reply, Request

HIDDEN = ("access-", "refresh-", "code-", "secret-")
"""What the secrets that it issues begin with."""


class AuthorizationServer:
    """Issues tokens, and the tool server's answer to requests without one."""

    def __init__(self, resource: RemoteServer) -> None:
        self.http = HttpServer(self.answer)
        self.resource = resource
        self.metadata: dict[str, Any] = {}
        """What differs from the usual metadata."""
        self.scope = "read"
        self.expires_in = 3600
        self.needs_secret = False
        self.can_register = True
        self.clients: dict[str, dict[str, Any]] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.valid: dict[str, str] = {}
        """The scopes of the valid access tokens."""
        self.refresh_tokens: set[str] = set()
        self.refusal: int = 0
        """The status with which tokens are refused for now; 0: none."""
        self.opened: list[str] = []
        """The addresses that the user's browser has opened."""
        self._numbers = itertools.count(1)

    @property
    def issuer(self) -> str:
        return self.http.origin

    def publish(self) -> None:
        """Writes the tool server's metadata, which names this server."""
        path = "/.well-known/oauth-protected-resource/mcp"
        self.resource.pages[path] = {"resource": self.resource.url, "authorization_servers": [self.issuer]}
        where = f'resource_metadata="{self.resource.http.origin}{path}"'

        def allow(request: Request) -> tuple[int, str] | None:
            scopes = self.valid.get(request.headers.get("authorization", "").removeprefix("Bearer "))
            if scopes is None:
                return 401, f'Bearer {where}, scope="{self.scope}"'
            if self.scope not in scopes.split():
                return 403, f'Bearer error="insufficient_scope", {where}, scope="{self.scope}"'
            return None

        self.resource.allow = allow

    async def answer(self, request: Request, reply: Reply) -> None:
        match request.path:
            case "/.well-known/oauth-authorization-server":
                await reply.json(self._metadata())
            case "/register" if self.can_register:
                client = f"client-{next(self._numbers)}"
                self.clients[client] = request.message
                await reply.json({**request.message, "client_id": client}, 201)
            case "/token":
                if self.refusal:
                    await reply.send(self.refusal)
                    return
                tokens = self._tokens(request)
                await reply.json(tokens, 400 if "error" in tokens else 200)
            case _:
                await reply.send(404)

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            **self.metadata,
        }

    async def browse(self, url: str, **changes: str | None) -> str:
        """What the user's browser is sent back to after they have signed in; `changes` are made in its query."""
        self.opened.append(url)
        given = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert given["response_type"] == "code"
        assert given["code_challenge_method"] == "S256"
        assert given["resource"] == self.resource.url
        client = self.clients[given["client_id"]]
        assert given["redirect_uri"] in client["redirect_uris"]
        code = f"code-{next(self._numbers)}"
        self.codes[code] = given
        answer = {"code": code, "state": given["state"], "iss": self.issuer, **changes}
        query = urlencode({name: text for name, text in answer.items() if text is not None})
        return f"{given['redirect_uri']}?{query}"

    def _tokens(self, request: Request) -> dict[str, Any]:
        form = request.form
        if form.get("resource") != self.resource.url:
            return {"error": "invalid_target"}
        if self.needs_secret:
            basic = base64.b64encode(f"{form['client_id']}:secret-1".encode()).decode()
            if request.headers.get("authorization") != f"Basic {basic}":
                return {"error": "invalid_client"}
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refresh_tokens or form["client_id"] not in self.clients:
                return {"error": "invalid_grant"}
            self.refresh_tokens.remove(form["refresh_token"])
            return self._issue(self.scope)
        given = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if given is None or given["code_challenge"] != challenge or given["redirect_uri"] != form["redirect_uri"]:
            return {"error": "invalid_grant"}
        return self._issue(given.get("scope", ""))

    def _issue(self, scope: str) -> dict[str, Any]:
        number = next(self._numbers)
        self.valid[f"access-{number}"] = scope
        self.refresh_tokens.add(f"refresh-{number}")
        tokens = {"access_token": f"access-{number}", "token_type": "Bearer", "refresh_token": f"refresh-{number}"}
        return {**tokens, "expires_in": self.expires_in, "scope": scope}

    @property
    def token_requests(self) -> list[str]:
        """The kinds of grants that were asked for."""
        return [request.form["grant_type"] for request in self.http.requests if request.path == "/token"]


@asynccontextmanager
async def protected_server(revision: str = NEW) -> AsyncIterator[tuple[RemoteServer, AuthorizationServer]]:
    """A tool server that wants a sign-in, and what signs in. No secret may reach the wrong one of them."""
    resource = RemoteServer(revision)
    issuer = AuthorizationServer(resource)
    await resource.http.start()
    await issuer.http.start()
    issuer.publish()
    try:
        yield resource, issuer
        assert resource.problems == []
        for request in resource.http.requests:
            assert not [text for text in ("refresh-", "code-", "secret-") if text in _text(request)]
        for request in issuer.http.requests:
            assert "access-" not in _text(request)
    finally:
        await resource.http.stop()
        await issuer.http.stop()


def _text(request: Request) -> str:
    return json.dumps([request.target, request.headers, request.body.decode()])
