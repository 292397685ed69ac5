"""The model port over the Messages API. Only this module imports the anthropic SDK, and only when it is needed.

The SDK connects, signs and sends. Fairlead reads the stream itself (`sse.py`), because the SDK's helper mistakes a
truncated stream for a complete one. Only the frames of Bedrock are read by the SDK. Without a cloud, each message is
encoded only once.
"""

import asyncio
import contextlib
import importlib
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Set
from functools import cache
from threading import Lock
from typing import Any
from urllib.request import proxy_bypass

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Capabilities, ImageLimits, ModelEvent, Request, ServerClearing, ToolSpec, Usage, Used
from fairlead.messages.images import has_image
from fairlead.messages.parts import Message
from fairlead.models.anthropic import clouds
from fairlead.models.anthropic.api_errors import (
    connection_error,
    event_error,
    foreign_error,
    is_broken,
    late_error,
    status_error,
)
from fairlead.models.anthropic.encode import encode_message
from fairlead.models.anthropic.reply import ReplyBuilder
from fairlead.models.common.endpoint import PROVIDER_HOST, Endpoint
from fairlead.models.common.foreign import MAX_SEARCHED
from fairlead.models.common.refusals import (
    is_about_billing,
    is_about_images,
    is_about_thinking,
    is_too_long,
    parse_max_tokens,
)
from fairlead.models.common.retry import with_retries
from fairlead.models.common.sse import NotAnEventStream, read_events
from fairlead.models.common.think_tags import separate_thinking
from fairlead.models.common.transport import (
    CONNECT_TIMEOUT,
    PIECE,
    HeadTimeout,
    check_redirect,
    decoding_errors,
    limit_body,
    transport_errors,
)
from fairlead.per_item import PerItem

DEFAULT_URL = "https://api.anthropic.com"
# seconds that an idle connection stays open: a command between two requests may take longer than the default, 5
KEEP_SECONDS = 120.0
DRAIN_TIMEOUT = 0.5  # seconds
IMAGE_LIMITS = ImageLimits(count=20, chars=28_000_000)
"""With more pictures in a request, the API refuses those of more than 2,000 pixels in width or height.

It accepts requests of at most 32 MB.
"""
CLEARING_BETA = "context-management-2025-06-27"
_PARTS = {"output_config": "effort"}
"""By optional field: the name of a part of it. A refusal may name this part instead of the field."""

_import_lock = Lock()


def is_sdk_loaded() -> bool:
    """Whether `load_sdk` returns at once."""
    return _certificates.cache_info().currsize > 0


def load_sdk() -> Any:
    """Imports the SDK and what its first request needs. Returns the SDK's module.

    The first time, it takes about a second and cannot run inside an event loop, so call it in a thread.
    """
    with _import_lock:
        if "anthropic" not in sys.modules:
            anyio = importlib.import_module("anyio")
            anyio.run(anyio.sleep, 0)  # imports the backend that the first connection needs
        sdk = importlib.import_module("anthropic")
        _certificates()
        return sdk


@cache
def _certificates() -> Any:
    """The trusted certificates as an `ssl.SSLContext`, read once per process instead of once per client.

    Also sets how much the transport reads before other work can run.
    """
    # imported here, because otherwise the first client would import it
    importlib.import_module("httpcore2").AsyncHTTP11Connection.READ_NUM_BYTES = PIECE
    return importlib.import_module("httpx2").create_ssl_context()


class MessagesApiModel:
    """A model of the Messages API for one session. Holds its connections and its encoded messages."""

    def __init__(self, endpoint: Endpoint, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._endpoint = endpoint
        self._sleep = sleep
        self._sdk: Any = None
        self._client: Any = None
        self._http: Any = None
        self._opening = asyncio.Lock()
        self._encoded = PerItem[Message, bytes](lambda message: _encode(encode_message(message)))
        # the optional fields that this server has accepted and refused so far
        self._accepted_fields: set[str] = set()
        self._refused_fields: set[str] = set()
        # whether the next request may use a connection that `connect` or an earlier answer left open
        self._reuses_connection = False
        # whether the answer to the last request has begun
        self._is_answered = False
        self._head_timeout = HeadTimeout(endpoint.silence)
        self._max_tokens = endpoint.max_tokens
        self._is_framed = endpoint.cloud is not None and endpoint.cloud.provider == "bedrock"

    @property
    def name(self) -> str:
        return self._endpoint.model

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(clears_results=self._endpoint.cloud is None, images=IMAGE_LIMITS)

    def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        self._endpoint.check()
        if self._endpoint.is_hosted:
            return with_retries(lambda: self._attempt(request), self._sleep)
        return with_retries(lambda: separate_thinking(self._attempt(request)), self._sleep)

    async def connect(self) -> None:
        """Opens the connection that the next request will use. If that fails, the request will report it.

        Does nothing for a cloud.
        """
        if self._endpoint.cloud is not None:  # a cloud's client signs in first, which may ask the user
            return
        with contextlib.suppress(ModelError):
            self._endpoint.check()
            await self._connect()

    async def _connect(self) -> None:
        sdk = await self._load()
        await self._open_client(sdk)
        with contextlib.suppress(TimeoutError, *transport_errors()):
            async with asyncio.timeout(CONNECT_TIMEOUT):
                # without the key, which only a request needs
                await self._http.head(self._endpoint.base_url or DEFAULT_URL, follow_redirects=False)
            self._reuses_connection = True

    async def _load(self) -> Any:
        if self._sdk is None:  # in a thread, because the first import takes seconds on a busy machine
            self._sdk = await asyncio.to_thread(load_sdk)
        return self._sdk

    async def aclose(self) -> None:
        """Closes the connections. The model can be used again afterwards."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _attempt(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        sdk, stream = await self._load(), None
        try:
            stream = await self._open(sdk, request)
            async with contextlib.aclosing(self._read(sdk, stream)) as events:
                async for event in events:
                    yield event
        except (ModelError, GeneratorExit):
            raise
        except sdk.APIStatusError as error:
            raise status_error(error, self._endpoint, has_images=any(map(has_image, request.messages))) from error
        except (sdk.AnthropicError, *transport_errors()) as error:
            raise connection_error(error, self._endpoint) from error
        finally:
            if stream is not None:
                await stream.response.aclose()

    async def _read(self, sdk: Any, stream: Any) -> AsyncGenerator[ModelEvent, None]:
        builder, counted, has_events = ReplyBuilder(), Usage(), False
        events = clouds.read_frames(sdk, stream) if self._is_framed else read_events(stream.response.aiter_bytes())
        try:
            async for event in events:
                has_events = True
                if (error := event_error(event, self._endpoint)) is not None:
                    raise error
                delta = builder.feed(event)
                if delta is not None:
                    yield delta
                if builder.reply is not None:
                    break
                used, counted = builder.usage - counted, builder.usage
                if used != Usage():
                    yield Used(used)
        except NotAnEventStream as foreign:
            raise foreign_error(stream.response, foreign.beginning, self._endpoint) from foreign
        if builder.reply is None:
            what = "ended in the middle" if has_events else "was empty"
            raise ModelError("network", f"The model's answer {what}.", retryable=True)
        await _drain(events)
        self._reuses_connection = True
        yield Used(builder.usage - counted)
        yield builder.reply

    async def _open(self, sdk: Any, request: Request) -> Any:
        """Sends the request, without optional fields that the server refuses now or has refused before.

        Returns the open stream. If the server names a lower limit for `max_tokens`, later requests keep to it, too.
        """
        suspects: Set[str] = frozenset()
        lowered = False
        while True:
            fields = self._optional_fields(request, suspects)
            try:
                stream = await self._send(sdk, request, fields)
            except sdk.BadRequestError as error:
                text = str(error)[:MAX_SEARCHED]
                limit = parse_max_tokens(text)
                if limit is not None and limit < self._max_tokens and not lowered:
                    self._max_tokens, lowered = limit, True
                    continue
                tests = (is_too_long, is_about_images, is_about_thinking, is_about_billing)
                if "messages." in text or any(test(text) for test in tests):
                    raise  # the server refuses the conversation or the account, not a field
                named = {name for name in fields if name in text or _PARTS.get(name, name) in text}
                unproven = fields.keys() - self._accepted_fields
                if not named and not unproven:
                    raise
                # if the error names no field, leave out the fields that this server has not accepted yet; leave out the
                # cache mark only after the others, because without it each request costs much more
                suspects = frozenset() if named else suspects | (unproven - {"cache_control"} or unproven)
                self._refused_fields |= named
            except sdk.APIConnectionError as error:
                # a server may close a connection after an answer; a new connection does not count as a retry
                if not self._reuses_connection or not is_broken(error):
                    raise
                self._reuses_connection = False
            else:
                self._refused_fields |= suspects
                self._accepted_fields |= fields.keys()
                return stream

    def _optional_fields(self, request: Request, without: Set[str]) -> dict[str, Any]:
        """The fields that not every server supports, without those in `without` and those that this server refused."""
        fields: dict[str, Any] = {
            "cache_control": clouds.CACHE_MARK,
            "thinking": {"type": "adaptive", "display": "summarized"},
        }
        if self._endpoint.effort:
            fields["output_config"] = {"effort": self._endpoint.effort}
        if request.clearing is not None and self.capabilities.clears_results:
            fields["context_management"] = {"edits": [_context_edit(request.clearing)]}
        return {name: value for name, value in fields.items() if name not in self._refused_fields | without}

    async def _send(self, sdk: Any, request: Request, fields: dict[str, Any]) -> Any:
        client = await self._open_client(sdk)
        self._is_answered = False
        self._head_timeout = HeadTimeout(self._endpoint.silence)
        try:
            async with self._head_timeout:
                return await self._post(sdk, client, request, fields)
        except TimeoutError as error:
            raise late_error(self._endpoint) from error

    async def _post(self, sdk: Any, client: Any, request: Request, fields: dict[str, Any]) -> Any:
        answer = {"cast_to": object, "stream": True, "stream_cls": sdk.AsyncStream[object]}
        if self._endpoint.cloud is not None:
            messages = list(map(encode_message, request.messages))
            body = clouds.with_cache_marks({**self._head(request, fields), "messages": messages})
            with decoding_errors(sdk), clouds.sign_in_errors(self._endpoint.cloud, lambda: self._is_answered):
                return await client.post("/v1/messages", body=body, **answer)
        path, headers = "/v1/messages", {"Content-Type": "application/json"}
        if "context_management" in fields:
            path, headers = f"{path}?beta=true", {**headers, "anthropic-beta": CLEARING_BETA}
        body = self._body(request, fields)
        with decoding_errors(sdk):
            return await client.post(path, content=body, options={"headers": headers}, **answer)

    async def _open_client(self, sdk: Any) -> Any:
        endpoint = self._endpoint
        async with self._opening:
            if self._client is None and endpoint.cloud is not None:
                self._client = await clouds.create_client(
                    sdk, endpoint.cloud, endpoint.base_url, endpoint.silence, self._http_client
                )
            elif self._client is None:
                self._client = await asyncio.to_thread(_create_client, sdk, endpoint, self._http_client)
            return self._client

    def _http_client(self, sdk: Any) -> Any:
        """Creates the transport for a client of the SDK."""

        async def limit_head(request: Any) -> None:
            if request.method != "HEAD":
                request.extensions["trace"] = self._head_timeout.trace

        async def note_answer(response: Any) -> None:
            self._is_answered = True
            if response.request.method != "HEAD":
                check_redirect(response)
                await limit_body(response, clouds.limit_frames if self._is_framed else None)

        limits = importlib.import_module("httpx2").Limits(keepalive_expiry=KEEP_SECONDS)
        hooks = {"request": [limit_head], "response": [note_answer]}
        self._http = sdk.DefaultAsyncHttpxClient(
            verify=_certificates(), event_hooks=hooks, limits=limits, mounts=_without_proxy(self._endpoint)
        )
        return self._http

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
        base_url=endpoint.base_url or DEFAULT_URL,
        timeout=sdk.Timeout(endpoint.silence, connect=CONNECT_TIMEOUT),
        max_retries=0,
        http_client=http_client(sdk),
    )


def _without_proxy(endpoint: Endpoint) -> dict[str, None]:
    """The transport's `mounts` that bypass the proxy if the server is on this machine, or the system exempts its host.

    The transport itself reads only the exemptions in `NO_PROXY`.
    """
    host = endpoint.host or PROVIDER_HOST
    if not (endpoint.is_loopback or proxy_bypass(host)):
        return {}
    return {f"all://[{host}]" if ":" in host else f"all://{host}": None}


async def _drain(events: AsyncIterator[Any]) -> None:
    """Reads the rest of a body after its last event, because only then can its connection be reused.

    Gives up after `DRAIN_TIMEOUT`.
    """
    with contextlib.suppress(TimeoutError, ModelError, *transport_errors()):
        async with asyncio.timeout(DRAIN_TIMEOUT):
            async for _ in events:
                pass


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
