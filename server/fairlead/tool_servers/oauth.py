"""Signs requests to a remote server with the user's sign-in, and signs the user in (MCP, "Authorization").

It imports the SDK, so it is imported when the first remote server is needed.
"""

import contextlib
from collections.abc import AsyncGenerator, Mapping
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from mcp_types import ElicitResult
from pydantic import AnyUrl, BaseModel, ValidationError

from fairlead.display import escape_to_one_line, shorten
from fairlead.tool_servers.connection import Connection
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.http import HttpStreams, origin_of
from fairlead.tool_servers.pipes import ServerFailed
from fairlead.tool_servers.secrets import Secrets
from fairlead.tool_servers.sign_ins import Authorize, SignInNeeded

SIGN_IN_SECONDS = 600.0
"""How long the user may take."""
NOT_SIGNED_IN = "you are not signed in to it"
EXPIRED = "your sign-in has expired or was revoked"
NEEDS_MORE = "your sign-in does not allow this; sign in again and allow more"
_MAX_SHOWN = 300
_MAX_CHALLENGE = 2_000
_LONG_AGO = 1.0
"""In seconds since the epoch."""
_M = TypeVar("_M", bound=BaseModel)


def key_of(definition: Definition, url: str) -> str:
    """What a server's sign-in is saved under. A changed definition needs a new one, and so does another address."""
    return f"{definition.digest} {origin_of(url)}"


class _Storage:
    """The SDK's `TokenStorage` for one server.

    Args:
        redirect: where the browser is sent back to; empty: no sign-in is made.
    """

    def __init__(self, secrets: Secrets, key: str, definition: Definition, redirect: str = "") -> None:
        self._secrets, self._key, self._definition = secrets, key, definition
        metadata = OAuthClientMetadata(
            client_name="Fairlead",
            redirect_uris=[AnyUrl(redirect or "http://127.0.0.1/")],
        )
        self._redirect = redirect
        self.provider = OAuthClientProvider(definition.url, metadata, self, self._refuse, None)
        self.version = -1
        """That of the sign-ins when they were read."""

    @property
    def context(self) -> Any:
        return self.provider.context

    def load(self) -> None:
        """Reads the saved sign-in, unless it was read since it changed."""
        if self.version == self._secrets.version:
            return
        self.version = self._secrets.version
        saved, context = self._secrets.get(self._key), self.context
        context.current_tokens = _model(OAuthToken, saved.get("tokens"))
        context.token_expiry_time = saved.get("expiresAt")
        context.client_info = self._client(saved)
        context.oauth_metadata = _model(OAuthMetadata, saved.get("metadata"))
        context.protected_resource_metadata = _model(ProtectedResourceMetadata, saved.get("resource"))
        context.auth_server_url = saved.get("issuer")

    def forget_tokens(self) -> bool:
        """Removes the tokens, which are of no use anymore. Returns whether there were any."""
        saved = self._secrets.get(self._key)
        if saved.pop("tokens", None) is None:
            return False
        self._secrets.put(self._key, saved)
        return True

    def note_challenge(self, challenge: str) -> None:
        """The sign-in does not allow enough. The next one asks for what the server wants in addition."""
        self._save(challenge=challenge)

    @property
    def challenge(self) -> str:
        """What the server answered when the sign-in did not allow enough; empty: it did not answer that."""
        return str(self._secrets.get(self._key).get("challenge", ""))

    async def get_tokens(self) -> OAuthToken | None:
        """None for a new sign-in, unless it extends the old one."""
        if self._redirect and not self.challenge:
            return None
        return _model(OAuthToken, self._secrets.get(self._key).get("tokens"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        context = self.context
        self._save(
            tokens=tokens,
            expiresAt=context.token_expiry_time,
            metadata=context.oauth_metadata,
            resource=context.protected_resource_metadata,
            issuer=context.auth_server_url,
            challenge=None,
        )

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client(self._secrets.get(self._key))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._save(client=client_info)

    def _client(self, saved: Mapping[str, Any]) -> OAuthClientInformationFull | None:
        """The client of the definition, else the one that was registered for the same way back."""
        if self._definition.client_id:
            secret = self._definition.client_secret or None
            return OAuthClientInformationFull(
                client_id=self._definition.client_id,
                client_secret=secret,
                token_endpoint_auth_method="client_secret_basic" if secret else "none",
            )
        client = _model(OAuthClientInformationFull, saved.get("client"))
        if client is None or not self._redirect:
            return client
        return client if AnyUrl(self._redirect) in (client.redirect_uris or ()) else None

    def _save(self, **values: BaseModel | float | str | None) -> None:
        saved = self._secrets.get(self._key)
        for name, value in values.items():
            saved[name] = value.model_dump(mode="json", exclude_none=True) if isinstance(value, BaseModel) else value
        self._secrets.put(self._key, {name: value for name, value in saved.items() if value is not None})
        self.version = self._secrets.version

    async def _refuse(self, url: str) -> None:
        raise SignInNeeded(NOT_SIGNED_IN)


class SavedSignIn(httpx2.Auth):
    """Signs requests with the saved sign-in, which it refreshes when necessary. Never asks the user.

    Raises SignInNeeded if the server wants another sign-in.
    """

    requires_request_body = True

    def __init__(self, secrets: Secrets, key: str, definition: Definition) -> None:
        self._lock = secrets.lock(key)
        self._storage = _Storage(secrets, key, definition)

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        storage, refused = self._storage, ""
        for is_last in (False, True):
            if self._is_old(refused):
                async with self._lock:
                    if self._is_old(refused):  # no other connection has refreshed it meanwhile
                        storage.context.token_expiry_time = _LONG_AGO
                        # the SDK's flow: the requests that refresh the token, then the request itself
                        async with contextlib.aclosing(storage.provider.async_auth_flow(request)) as flow:
                            each = await anext(flow)
                            while each is not request:
                                response = yield each
                                _check_refresh(response)
                                each = await flow.asend(response)
            token = self._token
            if is_last and token in ("", refused):
                break
            request.headers.pop("authorization", None)
            if token:
                request.headers["authorization"] = f"Bearer {token}"
            response = yield request
            if response.status_code != HTTPStatus.UNAUTHORIZED:
                self._check_scope(response)
                return
            refused = token
        raise SignInNeeded(EXPIRED if storage.forget_tokens() else NOT_SIGNED_IN)

    @property
    def _token(self) -> str:
        context = self._storage.context
        return context.current_tokens.access_token if context.is_token_valid() else ""

    def _is_old(self, refused: str) -> bool:
        """Whether the saved token must be refreshed, and can be."""
        self._storage.load()
        return self._token in ("", refused) and self._storage.context.can_refresh_token()

    def _check_scope(self, response: httpx2.Response) -> None:
        is_forbidden = response.status_code == HTTPStatus.FORBIDDEN
        if is_forbidden and extract_field_from_www_auth(response, "error") == "insufficient_scope":
            self._storage.note_challenge(response.headers["www-authenticate"][:_MAX_CHALLENGE])
            raise SignInNeeded(NEEDS_MORE)


def _check_refresh(response: httpx2.Response) -> None:
    """Raises ServerFailed if a token could not be refreshed for now. Otherwise, a failure means that it is void."""
    status = response.status_code
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
        raise ServerFailed(f"your sign-in could not be refreshed (HTTP {status}). Try again later")


def asking_sign_in(
    secrets: Secrets, key: str, definition: Definition, redirect: str, authorize: Authorize
) -> httpx2.Auth:
    """Signs requests with a new sign-in, which the user makes in a browser.

    Args:
        redirect: the address on this machine that the browser is sent back to.
    """
    storage = _Storage(secrets, key, definition, redirect)
    context, answer = storage.context, None

    async def open_page(url: str) -> None:
        nonlocal answer
        if urlsplit(url).scheme not in ("http", "https"):
            raise ServerFailed("its sign-in page has an address that must not be opened")
        client, metadata = context.client_info, context.oauth_metadata
        methods = metadata.token_endpoint_auth_methods_supported if metadata is not None else None
        if definition.client_secret and methods and "client_secret_basic" not in methods:
            client.token_endpoint_auth_method = "client_secret_post"
        answer = await authorize(url)

    async def read_answer() -> AuthorizationCodeResult:
        if answer is None:
            raise ServerFailed("the sign-in was given up")
        fields = {name: values[0] for name, values in parse_qs(urlsplit(answer).query).items()}
        if "error" in fields:
            reason = shorten(escape_to_one_line(fields.get("error_description", fields["error"])), _MAX_SHOWN)
            raise ServerFailed(f"the sign-in was refused: {reason}")
        return AuthorizationCodeResult(code=fields.get("code", ""), state=fields.get("state"), iss=fields.get("iss"))

    context.redirect_handler, context.callback_handler = open_page, read_answer
    return _NewSignIn(storage.provider, storage.challenge)


class _NewSignIn(httpx2.Auth):
    """The SDK's flow, which begins with what the server answered before; empty: with the request."""

    requires_request_body = True

    def __init__(self, provider: OAuthClientProvider, challenge: str) -> None:
        self._provider, self._challenge = provider, challenge

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        async with contextlib.aclosing(self._provider.async_auth_flow(request)) as flow:
            each = await anext(flow)
            while True:
                if each is request and self._challenge:
                    headers, self._challenge = {"www-authenticate": self._challenge}, ""
                    response = httpx2.Response(HTTPStatus.FORBIDDEN, headers=headers, request=request)
                else:
                    response = yield each
                try:
                    each = await flow.asend(response)
                except StopAsyncIteration:
                    return


async def sign_in(secrets: Secrets, key: str, definition: Definition, redirect: str, authorize: Authorize) -> None:
    """Signs the user in to a server.

    Args:
        key: see `key_of`.
        definition: without variables.
        redirect, authorize: see `asking_sign_in`.

    Raises:
        ServerFailed: it did not work, or the server does not want a sign-in.
    """
    if definition.has_own_key:
        raise ServerFailed("its definition has an Authorization header, which is used instead of a sign-in")
    was_asked = False

    async def asked(url: str) -> str | None:
        nonlocal was_asked
        was_asked = True
        return await authorize(url)

    auth = asking_sign_in(secrets, key, definition, redirect, asked)
    http = HttpStreams(definition.url, dict(definition.headers), auth=auth)
    connection = Connection(http.streams, lambda _: None, _decline)
    try:
        await connection.open(SIGN_IN_SECONDS)
        await connection.list_tools(SIGN_IN_SECONDS)
    except ServerFailed as error:
        raise http.failure or error from error
    finally:
        await connection.close()
    if not was_asked:
        raise ServerFailed("it did not ask for a sign-in, and can be used without one")


async def _decline(_: Any) -> ElicitResult:
    return ElicitResult(action="decline")


def _model(kind: type[_M], value: Any) -> _M | None:
    """A saved value; None if there is none, or it is damaged."""
    try:
        return kind.model_validate(value) if value is not None else None
    except ValidationError:
        return None
