"""Finds out which API a model's server has, and its only model, if the user did not say these."""

import asyncio
import contextlib
import importlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Capabilities, Model, ModelEvent, Request
from fairlead.http_client import certificates, without_proxy
from fairlead.models.common.api_errors import ApiErrors
from fairlead.models.common.endpoint import Api, Endpoint
from fairlead.models.common.models_list import list_models
from fairlead.models.common.retry import with_retries
from fairlead.models.common.transport import CONNECT_TIMEOUT, transport_errors

NO_API = (
    "{where} has none of the APIs that Fairlead speaks: Messages, Chat Completions and Responses. Check the base URL "
    "(setting baseUrl), and that the program there is a model's server."
)
SEVERAL = "{where} has several models ({names}). Choose one with “Agent: Choose Model”, in a terminal with --model."
NO_MODELS = "{where} has no model. Load or install one there, and try again."
MAX_NAMED = 5
ANSWER_TIMEOUT = 10.0
"""Seconds for the answer to a question. A server that is busy with a long prompt may need some."""
MAX_BODY = 4000  # bytes of an answer that are read
_REFUSALS = ("invalid_request", "unknown_model", "wrong_server")
_MISSING = {404, 405, 501}
_NO_ACCESS = {401, 403}
_UNKNOWN_PATH = b"unexpected endpoint"  # LM Studio says so with the status 200
_HOSTS: dict[str, Api] = {"api.anthropic.com": "messages", "api.openai.com": "responses"}


class FoundModel:
    """The model of an endpoint whose API or name is found out before the first request, and again after a refusal.

    Args:
        endpoint: where requests go.
        open_model: opens the model of an endpoint with a known API.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        open_model: Callable[[Endpoint], Model],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._endpoint, self._open, self._sleep = endpoint, open_model, sleep
        self._model: Model | None = None
        self._finding = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._model.name if self._model is not None else self._endpoint.model or self._endpoint.title

    @property
    def capabilities(self) -> Capabilities:
        return self._model.capabilities if self._model is not None else Capabilities()

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        self._endpoint.check()
        async with aclosing(with_retries(self._find, self._sleep)) as finding:
            async for event in finding:
                yield event
        model = self._model
        assert model is not None
        try:
            async with aclosing(model.stream(request)) as events:
                async for event in events:
                    yield event
        except ModelError as error:
            if error.kind in _REFUSALS:  # another server may be there now, with another API
                self._model = None
                await model.aclose()
            raise

    async def connect(self) -> None:
        await self.find()
        if self._model is not None:
            await self._model.connect()

    async def find(self) -> None:
        """Finds out what is not known yet. If that fails, the next request reports it."""
        with contextlib.suppress(ModelError):
            self._endpoint.check()
            await self._open_found()

    async def aclose(self) -> None:
        if self._model is not None:
            await self._model.aclose()

    async def _find(self) -> AsyncGenerator[ModelEvent, None]:
        """An attempt for `with_retries`, without events."""
        for event in await self._open_found():
            yield event

    async def _open_found(self) -> Sequence[ModelEvent]:
        async with self._finding:
            if self._model is None:
                endpoint = replace(self._endpoint, api=self._endpoint.api or await find_api(self._endpoint))
                self._model = self._open(replace(endpoint, model=endpoint.model or await find_model(endpoint)))
        return ()


async def find_model(endpoint: Endpoint) -> str:
    """The name of the only model of a server, or its fallback if the server lists it or lists none.

    Raises:
        ModelError: there are several models, or the server does not list them and there is no fallback.
    """
    try:
        names = [model.name for model in await list_models(endpoint)]
    except ModelError as error:
        if error.kind in _REFUSALS and endpoint.fallback_model:
            return endpoint.fallback_model
        raise
    if endpoint.fallback_model in names:
        return endpoint.fallback_model
    if len(names) == 1:
        return names[0]
    some = ", ".join(names[:MAX_NAMED]) + (", ..." if len(names) > MAX_NAMED else "")
    where = endpoint.title or endpoint.shown_url
    problem = SEVERAL.format(where=where, names=some) if names else NO_MODELS.format(where=where)
    raise ModelError("invalid_request", problem)


async def find_api(endpoint: Endpoint) -> Api:
    """The API of an endpoint: known from its host, or asked for.

    A server that has both the Messages API and Chat Completions is asked in the first, because that keeps the model's
    thinking and the pictures of results. If it says nothing without a valid key, the key decides.

    Raises:
        ModelError: there is no connection, or the server has neither API.
    """
    return _HOSTS.get(endpoint.host or "") or await _ask(endpoint)


async def _ask(endpoint: Endpoint) -> Api:
    transport = importlib.import_module("httpx2")
    key = endpoint.api_key or endpoint.auth_token or "none"
    usual = {"authorization": f"Bearer {key}", "x-api-key": key, "anthropic-version": "2023-06-01"}
    headers = endpoint.with_headers(usual)
    context, mounts = await asyncio.to_thread(certificates), without_proxy(endpoint.base_url or "")
    timeout = transport.Timeout(ANSWER_TIMEOUT, connect=CONNECT_TIMEOUT)
    try:
        async with transport.AsyncClient(verify=context, mounts=mounts, timeout=timeout) as client:
            messages = await _status(client, f"{endpoint.messages_url}/v1/messages", headers)
            chat = await _status(client, f"{endpoint.openai_url}/chat/completions", headers)
            if messages in _MISSING and chat in _MISSING:
                responses = await _status(client, f"{endpoint.openai_url}/responses", headers)
                if responses in _MISSING:
                    raise ModelError("wrong_server", NO_API.format(where=endpoint.shown_url))
                return "responses"
    except transport_errors() as error:
        raise ApiErrors(endpoint).of_connection(error) from error
    if messages in _MISSING or chat in _MISSING:
        return "chat" if messages in _MISSING else "messages"
    needs_key = messages in _NO_ACCESS and chat in _NO_ACCESS
    return "chat" if needs_key and not key.startswith("sk-ant-") else "messages"


async def _status(client: Any, url: str, headers: dict[str, str]) -> int:
    """The status of the answer to an empty request, which no server takes for a real one; 404 for an unknown path."""
    async with client.stream("POST", url, json={}, headers=headers) as response:
        said = bytearray()
        async for piece in response.aiter_bytes():
            said += piece
            if len(said) >= MAX_BODY:
                break
    if _UNKNOWN_PATH in said.lower():
        return 404
    # a server may also answer 404 for a model that it does not have
    return 400 if response.status_code == 404 and b"model" in said.lower() else response.status_code
