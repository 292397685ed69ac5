"""The model port over the Messages API. Without a cloud, each message is encoded only once."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from types import MappingProxyType
from typing import Any

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Capabilities, ImageLimits, Request, ServerClearing, ToolSpec
from fairlead.messages.parts import Message
from fairlead.models.anthropic import clouds
from fairlead.models.anthropic.encode import encode_message
from fairlead.models.anthropic.errors import MessagesApiErrors
from fairlead.models.anthropic.reply import ReplyBuilder
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.http_model import HttpModel
from fairlead.models.common.transport import CONNECT_TIMEOUT, decoding_errors
from fairlead.per_item import PerItem

DEFAULT_URL = "https://api.anthropic.com"
IMAGE_LIMITS = ImageLimits(count=20, chars=28_000_000)
"""With more pictures in a request, the API refuses those of more than 2,000 pixels in width or height.

It accepts requests of at most 32 MB.
"""
CLEARING_BETA = "context-management-2025-06-27"


class MessagesApiModel(HttpModel):
    """A model of the Messages API for one session. The frames of Bedrock are read by the SDK."""

    SDK, SDK_ERROR = "anthropic", "AnthropicError"
    KEPT_FIELDS = frozenset({"cache_control"})
    PARTS = MappingProxyType({"output_config": "effort"})

    def __init__(self, endpoint: Endpoint, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._api_errors = MessagesApiErrors(endpoint)
        super().__init__(endpoint, self._api_errors, sleep)
        self._encoded = PerItem[Message, bytes](lambda message: _encode(encode_message(message)))
        self._is_framed = endpoint.cloud is not None and endpoint.cloud.provider == "bedrock"
        self._limit_frames = clouds.limit_frames if self._is_framed else None
        self.capabilities = Capabilities(clears_results=endpoint.cloud is None, images=IMAGE_LIMITS)

    @property
    def _base_url(self) -> str:
        return self._endpoint.messages_url or DEFAULT_URL

    def _reader(self) -> ReplyBuilder:
        return ReplyBuilder()

    def _events(self, sdk: Any, stream: Any) -> AsyncIterator[dict[str, Any]]:
        return clouds.read_frames(sdk, stream) if self._is_framed else super()._events(sdk, stream)

    def _error_in(self, event: dict[str, Any]) -> ModelError | None:
        return self._api_errors.in_event(event)

    def _optional_fields(self, request: Request) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "cache_control": clouds.CACHE_MARK,
            "thinking": {"type": "adaptive", "display": "summarized"},
        }
        if self._endpoint.effort:
            fields["output_config"] = {"effort": self._endpoint.effort}
        if request.clearing is not None and self.capabilities.clears_results:
            fields["context_management"] = {"edits": [_context_edit(request.clearing)]}
        return fields

    async def _post(self, sdk: Any, client: Any, request: Request, fields: dict[str, Any]) -> Any:
        answer = {"cast_to": object, "stream": True, "stream_cls": sdk.AsyncStream[object]}
        if self._endpoint.cloud is not None:
            messages = list(map(encode_message, request.messages))
            body = clouds.with_cache_marks({**self._head(request, fields), "messages": messages})
            with (
                decoding_errors(sdk.AnthropicError),
                clouds.sign_in_errors(self._endpoint.cloud, lambda: self._is_answered),
            ):
                return await client.post("/v1/messages", body=body, **answer)
        path, headers = "/v1/messages", {"Content-Type": "application/json"}
        if "context_management" in fields:
            path, headers = f"{path}?beta=true", {**headers, "anthropic-beta": CLEARING_BETA}
        body = self._body(request, fields)
        with decoding_errors(sdk.AnthropicError):
            return await client.post(path, content=body, options={"headers": headers}, **answer)

    async def _create_client(self, sdk: Any) -> Any:
        endpoint = self._endpoint
        if endpoint.cloud is None:
            return await asyncio.to_thread(_create_client, sdk, endpoint, self._http_client)
        return await clouds.create_client(sdk, endpoint.cloud, endpoint.base_url, endpoint.silence, self._http_client)

    def _head(self, request: Request, fields: dict[str, Any]) -> dict[str, Any]:
        """The body without the messages."""
        system: Any = request.system
        if "cache_control" in fields:
            # the automatic mark is after the last message; this one lets the next conversation reuse tools and system
            system = [{"type": "text", "text": request.system, "cache_control": clouds.CACHE_MARK}]
        return {
            "model": self._endpoint.model,
            "max_tokens": min(self._max_tokens, request.answer_limit or self._max_tokens),
            "stream": True,
            **fields,
            "system": system,
            "tools": [_tool(spec) for spec in request.tools],
        }

    def _body(self, request: Request, fields: dict[str, Any]) -> bytes:
        messages = b",".join(self._encoded.of(request.messages))
        return _encode(self._head(request, fields))[:-1] + b',"messages":[' + messages + b"]}"


def _create_client(sdk: Any, endpoint: Endpoint, http_client: Callable[[Any], Any]) -> Any:
    """Creates the SDK's client. Call it in a thread, because the first client imports more modules."""
    return sdk.AsyncAnthropic(
        # a local server accepts any key, but the SDK requires one
        api_key=endpoint.api_key or (None if endpoint.auth_token else "none"),
        auth_token=None if endpoint.api_key else endpoint.auth_token,
        base_url=endpoint.messages_url or DEFAULT_URL,
        timeout=sdk.Timeout(endpoint.silence, connect=CONNECT_TIMEOUT),
        max_retries=0,
        default_headers=dict(endpoint.headers),
        http_client=http_client(sdk),
    )


def _encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _context_edit(clearing: ServerClearing) -> dict[str, Any]:
    """The `edits` entry that lets the API clear old tool results, as CLEARING_BETA defines it."""
    return {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": clearing.trigger},
        "keep": {"type": "tool_uses", "value": clearing.keep},
        "clear_at_least": {"type": "input_tokens", "value": clearing.min_cleared},
        "exclude_tools": list(clearing.excluded_tools),
    }


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "input_schema": spec.input_schema}
