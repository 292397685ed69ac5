"""The model port over Responses, the API of OpenAI that takes reasoning back. Each message is encoded only once.

The server stores nothing: each request has the whole conversation, with the reasoning encrypted.
"""

import asyncio
from collections.abc import Awaitable, Callable
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Capabilities, ImageLimits, Request
from fairlead.json_values import fields_of
from fairlead.messages.parts import Message
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.foreign import BASE_URL
from fairlead.models.common.http_model import HttpModel
from fairlead.models.openai.client import base_url, create_client, encode, post, provider_of
from fairlead.models.openai.errors import OpenAIErrors
from fairlead.models.openai.responses_encode import ResponsesEncoder, encode_tool
from fairlead.models.openai.responses_reply import ResponsesReader
from fairlead.per_item import PerItem

IMAGE_LIMITS = ImageLimits(count=20, chars=28_000_000)
"""Fewer than OpenAI allows, because the other servers allow fewer."""
CHAT = (
    "{where} answered in the format of Chat Completions, but Responses is set for it. Set its `api` to “chat”, or "
    "check {base_url}."
)
MIN_TOKENS = 16
"""The lowest limit for an answer that OpenAI accepts."""


class ResponsesModel(HttpModel):
    """A model behind Responses for one session."""

    SDK, SDK_ERROR = "openai", "OpenAIError"
    KEPT_FIELDS = frozenset({"include"})
    PARTS = MappingProxyType(
        {"include": "ncrypted content", "effort": "reasoning.effort", "summary": "reasoning.summary"}
    )

    def __init__(self, endpoint: Endpoint, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._api_errors = OpenAIErrors(endpoint)
        super().__init__(endpoint, self._api_errors, sleep)
        host = endpoint.host or "api.openai.com"
        is_openai = host == "api.openai.com" or host.endswith(".openai.azure.com")
        self._cache_key = f"fairlead-{uuid4().hex}"
        self._provider = provider_of("responses", endpoint)
        self._limit = endpoint.max_tokens  # of the last request
        encoder = ResponsesEncoder(self._provider, pictures_in_results=is_openai)
        self._encoded = PerItem[Message, bytes](lambda message: b",".join(map(encode, encoder.encode(message))))
        self.capabilities = Capabilities(images=IMAGE_LIMITS)

    @property
    def _base_url(self) -> str:
        return base_url(self._endpoint)

    def _reader(self) -> ResponsesReader:
        return ResponsesReader(self._provider, self._limit)

    def _error_in(self, event: dict[str, Any]) -> ModelError | None:
        match event.get("type"):
            case "error":
                return self._api_errors.of_error(event.get("error") or event)
            case "response.failed":
                error = fields_of(event.get("response")).get("error")
                return self._api_errors.of_error(error or {"message": "the server gave no reason"})
            case None if "choices" in event:
                where = self._api_errors.where
                return ModelError("wrong_server", CHAT.format(where=where, base_url=BASE_URL))
            case _:
                return self._api_errors.in_event(event)

    def _optional_fields(self, request: Request) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "include": ["reasoning.encrypted_content"],
            "summary": "auto",
            "prompt_cache_key": self._cache_key,
        }
        if self._endpoint.effort:
            fields["effort"] = self._endpoint.effort
        if request.tools:
            fields["parallel_tool_calls"] = True
        return fields

    async def _create_client(self, sdk: Any) -> Any:
        return await create_client(sdk, self._endpoint, self._http_client)

    async def _post(self, sdk: Any, client: Any, request: Request, fields: dict[str, Any]) -> Any:
        return await post(sdk, client, "/responses", self._body(request, fields))

    def _body(self, request: Request, fields: dict[str, Any]) -> bytes:
        reasoning = {name: fields[name] for name in ("effort", "summary") if name in fields}
        self._limit = max(MIN_TOKENS, min(self._max_tokens, request.answer_limit or self._max_tokens))
        head: dict[str, Any] = {
            "model": self._endpoint.model,
            "max_output_tokens": self._limit,
            "stream": True,
            "store": False,
            **{name: value for name, value in fields.items() if name not in reasoning},
            "instructions": request.system,
        }
        if reasoning:
            head["reasoning"] = reasoning
        if request.tools:
            head["tools"] = list(map(encode_tool, request.tools))
        items = b",".join(self._encoded.of(request.messages))
        return encode(head)[:-1] + b',"input":[' + items + b"]}"
