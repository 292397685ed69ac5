"""The Messages API through the anthropic SDK: the only module that imports it, and it does so lazily.

The SDK makes the connection, signs and sends; the stream is read raw (models/sse.py), because the SDK's own helper
takes a cut-off stream for a complete one. Each message is encoded once and its bytes are kept. What is different where
a cloud serves the API is in models/clouds.py.
"""

import asyncio
import contextlib
import importlib
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence, Set
from functools import cache
from threading import Lock
from typing import Any

from fairlead.agent.errors import ModelError
from fairlead.agent.messages import Message
from fairlead.agent.model import ModelEvent, Request, ServerClearing, ToolSpec
from fairlead.models import clouds
from fairlead.models.api_errors import connection_error, event_error, foreign_error, is_broken, status_error
from fairlead.models.endpoint import Endpoint
from fairlead.models.refusals import is_too_long, most_answer
from fairlead.models.reply import ReplyBuilder
from fairlead.models.retry import with_retries
from fairlead.models.sse import NotEvents, read_events

log = logging.getLogger(__name__)

CONNECT_TIMEOUT = 15.0
DRAIN_TIMEOUT = 0.5
CLEARING_BETA = "context-management-2025-06-27"

_import_lock = Lock()


def load_sdk() -> Any:
    """Imports the SDK and what its first client needs; safe to call from a background thread.

    Takes 0.8 s the first time, most of it for the import.
    """
    with _import_lock:
        sdk = importlib.import_module("anthropic")
        _certificates()
        return sdk


@cache
def _certificates() -> Any:
    """The trusted certificates as an `ssl.SSLContext`, read once per process: each client would read them again."""
    importlib.import_module("httpcore2")  # the transport, which would be imported with the first client
    return importlib.import_module("httpx2").create_ssl_context()


def _http_client(sdk: Any) -> Any:
    """The connections of one client of the SDK."""
    return sdk.DefaultAsyncHttpxClient(verify=_certificates())


class AnthropicModel:
    """The model port over the Messages API. Keeps one connection pool and the encoded messages of one session."""

    def __init__(self, endpoint: Endpoint, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._endpoint = endpoint
        self._sleep = sleep
        self._sdk: Any = None
        self._client: Any = None
        self._encoded: list[tuple[Message, bytes]] = []
        # of the fields that not every Messages API server knows: those that this one has taken, and has refused
        self._taken: set[str] = set()
        # whether the next request goes out on a connection that an answer has left open
        self._reuses = False
        self._refused: set[str] = set()
        self._most_answer = endpoint.max_tokens

    @property
    def name(self) -> str:
        return self._endpoint.model

    def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        self._endpoint.check()
        return with_retries(lambda: self._attempt(request), self._sleep)

    async def aclose(self) -> None:
        """Closes the connections; the model can be used again afterwards."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _attempt(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        if self._sdk is None:  # in a thread, as a first import takes seconds on a busy machine
            self._sdk = await asyncio.to_thread(load_sdk)
        sdk, stream = self._sdk, None
        try:
            stream = await self._open(sdk, request)
            async with contextlib.aclosing(self._read(sdk, stream)) as events:
                async for event in events:
                    yield event
        except (ModelError, GeneratorExit):
            raise
        except sdk.APIStatusError as error:
            raise status_error(error, self._endpoint) from error
        except (sdk.APIConnectionError, *_transport_errors()) as error:
            raise connection_error(error, self._endpoint) from error
        except (KeyError, TypeError, AttributeError) as error:
            log.warning("unreadable stream event", exc_info=True)
            raise ModelError("network", "The model's stream was garbled.", retryable=True) from error
        finally:
            if stream is not None:
                await stream.response.aclose()

    async def _read(self, sdk: Any, stream: Any) -> AsyncGenerator[ModelEvent, None]:
        builder = ReplyBuilder()
        framed = self._endpoint.cloud is not None and self._endpoint.cloud.provider == "bedrock"
        events = clouds.read_frames(sdk, stream) if framed else read_events(stream.response.aiter_bytes())
        try:
            async for event in events:
                if (wrong := event_error(event, self._endpoint)) is not None:
                    raise wrong
                seen = builder.feed(event)
                if seen is not None:
                    yield seen
                if builder.reply is not None:
                    break
        except NotEvents as error:
            raise foreign_error(stream.response, error.beginning, self._endpoint) from error
        if builder.reply is None:
            raise ModelError("network", "The model's answer broke off in the middle.", retryable=True)
        await _drain(events)
        self._reuses = True
        yield builder.reply

    async def _open(self, sdk: Any, request: Request) -> Any:
        """Sends the request; fields that the server does not know are left out from then on."""
        guess: Set[str] = frozenset()
        while True:
            features = self._features(request, guess)
            try:
                stream = await self._send(sdk, request, features)
            except sdk.BadRequestError as error:
                said = str(error)
                if (most := most_answer(said)) is not None and most < self._most_answer:
                    self._most_answer = most
                    continue
                if guess or "messages." in said or is_too_long(said):  # the conversation, not a field
                    raise
                unknown = {name for name in features if name in said}
                # a server that names none of them is asked once without those that it never took
                guess = frozenset() if unknown else features.keys() - self._taken
                if not unknown and not guess:
                    raise
                self._refused |= unknown
            except sdk.APIConnectionError as error:
                # the server may close it after an answer: asking on a new one is no retry
                if not self._reuses or not is_broken(error):
                    raise
                self._reuses = False
            else:
                self._refused |= guess
                self._taken |= features.keys()
                return stream

    def _features(self, request: Request, without: Set[str]) -> dict[str, Any]:
        """The fields that not every Messages API server knows, but those that this one has refused."""
        features: dict[str, Any] = {
            "cache_control": {"type": "ephemeral"},
            "thinking": {"type": "adaptive", "display": "summarized"},
        }
        if self._endpoint.effort:
            features["output_config"] = {"effort": self._endpoint.effort}
        if request.clearing is not None and self._endpoint.cloud is None:
            features["context_management"] = {"edits": [_edit(request.clearing)]}
        return {name: value for name, value in features.items() if name not in self._refused | without}

    async def _send(self, sdk: Any, request: Request, features: dict[str, Any]) -> Any:
        client = await self._connected(sdk)
        answer = {"cast_to": object, "stream": True, "stream_cls": sdk.AsyncStream[object]}
        if self._endpoint.cloud is not None:
            body = clouds.marked({**self._head(request, features), "messages": request.messages})
            with clouds.signing(self._endpoint.cloud):
                return await client.post("/v1/messages", body=body, **answer)
        beta = {"anthropic-beta": CLEARING_BETA} if "context_management" in features else {}
        return await client.post(
            "/v1/messages?beta=true" if beta else "/v1/messages",
            content=self._body(request, features),
            options={"headers": {"Content-Type": "application/json", **beta}},
            **answer,
        )

    async def _connected(self, sdk: Any) -> Any:
        end = self._endpoint
        if self._client is None and end.cloud is not None:
            self._client = await clouds.connect(sdk, end.cloud, end.base_url, end.silence, _http_client)
        elif self._client is None:
            self._client = await asyncio.to_thread(_client, sdk, end)
        return self._client

    def _head(self, request: Request, features: dict[str, Any]) -> dict[str, Any]:
        """The body but for the messages."""
        return {
            "model": self._endpoint.model,
            "max_tokens": min(self._most_answer, request.answer_limit or self._most_answer),
            "stream": True,
            **features,
            "system": request.system,
            "tools": [_tool(spec) for spec in request.tools],
        }

    def _body(self, request: Request, features: dict[str, Any]) -> bytes:
        head, messages = self._head(request, features), self._messages(request.messages)
        return _encode(head)[:-1] + b',"messages":[' + b",".join(messages) + b"]}"

    def _messages(self, messages: Sequence[Message]) -> list[bytes]:
        for index, message in enumerate(messages):
            if index < len(self._encoded) and self._encoded[index][0] is message:
                continue
            del self._encoded[index:]
            self._encoded.append((message, _encode(message)))
        return [encoded for _, encoded in self._encoded[: len(messages)]]


def _client(sdk: Any, end: Endpoint) -> Any:
    """The SDK's client. Made in a thread: its parts are imported with the first one."""
    return sdk.AsyncAnthropic(
        # a local server takes any key, but the SDK insists on one
        api_key=end.api_key or (None if end.auth_token else "none"),
        auth_token=None if end.api_key else end.auth_token,
        base_url=end.base_url or "https://api.anthropic.com",
        timeout=sdk.Timeout(end.silence, connect=CONNECT_TIMEOUT),
        max_retries=0,
        http_client=_http_client(sdk),
    )


async def _drain(events: AsyncIterator[Any]) -> None:
    """Reads to the end of a body that has said all: only then is its connection used again."""
    with contextlib.suppress(TimeoutError, ModelError, *_transport_errors()):
        async with asyncio.timeout(DRAIN_TIMEOUT):
            async for _ in events:
                pass


def _encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _edit(clearing: ServerClearing) -> dict[str, Any]:
    """The API's own clearing of old results, as this module's CLEARING_BETA has it."""
    return {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": clearing.trigger},
        "keep": {"type": "tool_uses", "value": clearing.keep},
        "clear_at_least": {"type": "input_tokens", "value": clearing.min_cleared},
        "exclude_tools": list(clearing.excluded_tools),
    }


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "input_schema": spec.input_schema}


def _transport_errors() -> tuple[type[Exception], ...]:
    """What a broken connection raises in the middle of a stream: the transport's own errors, not the SDK's."""
    transport = importlib.import_module("httpx2")
    return (transport.TransportError, transport.StreamError)
