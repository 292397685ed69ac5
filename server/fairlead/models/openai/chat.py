"""The model port over Chat Completions, the API that most servers speak. Each message is encoded only once."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Capabilities, ImageLimits, Request
from fairlead.json_values import fields_of, is_list
from fairlead.messages.parts import Message
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.http_model import HttpModel
from fairlead.models.openai.chat_encode import ChatEncoder, Dialect, encode_tool
from fairlead.models.openai.chat_reply import ChatReader
from fairlead.models.openai.client import base_url, create_client, encode, post, provider_of
from fairlead.models.openai.errors import OpenAIErrors
from fairlead.per_item import PerItem

IMAGE_LIMITS = ImageLimits(count=20, chars=28_000_000)
"""Fewer than OpenAI allows, because the other servers allow fewer."""
MISTRAL = Dialect(short_ids=True, answers_results=True)
_CHANGES: tuple[tuple[re.Pattern[str], dict[str, bool]], ...] = (
    (re.compile(r"tool call id.{0,80}length of 9", re.IGNORECASE | re.DOTALL), {"short_ids": True}),
    (re.compile(r"role '?user'? after role '?tool", re.IGNORECASE), {"answers_results": True}),
    (re.compile(r"either content or tool_calls, but not both", re.IGNORECASE), {"text_without_calls": True}),
    (re.compile(r"reasoning_content.{0,80}(must be|missing|required)", re.IGNORECASE), {"fills_reasoning": True}),
    (re.compile(r"missing a .?thought_signature", re.IGNORECASE), {"fills_signatures": True}),
    (re.compile(r"reasoning(_content|_details)?\b|thinking_blocks", re.IGNORECASE), {"omits_reasoning": True}),
)
"""What a server demands of messages, by the text with which it refuses others."""
_OTHER_LIMIT = re.compile(r"\bmax_(completion_)?tokens\b", re.IGNORECASE)


class ChatModel(HttpModel):
    """A model behind Chat Completions for one session."""

    SDK, SDK_ERROR = "openai", "OpenAIError"
    KEPT_FIELDS = frozenset({"stream_options"})

    def __init__(self, endpoint: Endpoint, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._api_errors = OpenAIErrors(endpoint)
        super().__init__(endpoint, self._api_errors, sleep)
        host = endpoint.host or "api.openai.com"
        self._is_openai = host == "api.openai.com" or host.endswith(".openai.azure.com")
        # the field for the longest answer: OpenAI refuses the older one, and many other servers know only that
        self._limit_field = "max_completion_tokens" if self._is_openai else "max_tokens"
        self._provider = provider_of("chat", endpoint)
        self._cache_key = f"fairlead-{uuid4().hex}"
        self._tried: set[str] = set()
        self._speak(MISTRAL if host.endswith("mistral.ai") else Dialect())
        self.capabilities = Capabilities(images=IMAGE_LIMITS)

    def _speak(self, dialect: Dialect) -> None:
        self._dialect = dialect
        encoder = ChatEncoder(self._provider, dialect)
        self._encoded = PerItem[Message, bytes](lambda message: b",".join(map(encode, encoder.encode(message))))

    @property
    def _base_url(self) -> str:
        return base_url(self._endpoint)

    def _reader(self) -> ChatReader:
        return ChatReader(self._provider)

    def _error_in(self, event: dict[str, Any]) -> ModelError | None:
        choices = event.get("choices")
        error = fields_of(choices[0]).get("error") if is_list(choices) and choices else None
        if error:  # OpenRouter
            return self._api_errors.of_error(error)
        return self._api_errors.in_event(event)

    def _adapt(self, refusal: str) -> bool:
        if _OTHER_LIMIT.search(refusal) and "limit" not in self._tried:
            self._tried.add("limit")
            self._limit_field = "max_tokens" if self._limit_field != "max_tokens" else "max_completion_tokens"
            return True
        for pattern, change in _CHANGES:
            dialect = replace(self._dialect, **change)
            if dialect != self._dialect and pattern.search(refusal):
                self._speak(dialect)
                return True
        return False

    def _optional_fields(self, request: Request) -> dict[str, Any]:
        fields: dict[str, Any] = {"stream_options": {"include_usage": True}}
        if self._endpoint.effort:
            fields["reasoning_effort"] = self._endpoint.effort
        if self._is_openai:
            fields["prompt_cache_key"] = self._cache_key
        return fields

    async def _create_client(self, sdk: Any) -> Any:
        return await create_client(sdk, self._endpoint, self._http_client)

    async def _post(self, sdk: Any, client: Any, request: Request, fields: dict[str, Any]) -> Any:
        return await post(sdk, client, "/chat/completions", self._body(request, fields))

    def _body(self, request: Request, fields: dict[str, Any]) -> bytes:
        head: dict[str, Any] = {
            "model": self._endpoint.model,
            self._limit_field: min(self._max_tokens, request.answer_limit or self._max_tokens),
            "stream": True,
            **fields,
        }
        if request.tools:
            head["tools"] = list(map(encode_tool, request.tools))
        system = encode({"role": "system", "content": request.system})
        messages = b",".join([system, *self._encoded.of(request.messages)])
        return encode(head)[:-1] + b',"messages":[' + messages + b"]}"
