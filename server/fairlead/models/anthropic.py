"""The Messages API through the anthropic SDK: the only module that imports it, and it does so lazily.

The SDK makes the connection, signs and sends; the stream is read raw (models/sse.py), because the SDK's own helper
takes a cut-off stream for a complete one. Each message is encoded once and its bytes are kept.
"""

import asyncio
import contextlib
import importlib
import json
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from fairlead.agent.errors import ErrorKind, ModelError
from fairlead.agent.messages import Message
from fairlead.agent.model import ModelEvent, Request, ToolSpec
from fairlead.models.reply import ReplyBuilder
from fairlead.models.retry import with_retries
from fairlead.models.sse import read_events

log = logging.getLogger(__name__)

CONNECT_TIMEOUT = 15.0
# the API pings while the model thinks, so a silence this long means that the connection is dead
SILENCE_TIMEOUT = 180.0
DRAIN_TIMEOUT = 0.5

NO_KEY = (
    "No API key. In VS Code run “Agent: Set API Key”; in a terminal set ANTHROPIC_API_KEY. "
    "For a local model set a base URL (setting baseUrl, or ANTHROPIC_BASE_URL)."
)
ODD_KEY = "The API key holds characters that no key has. Set it again with “Agent: Set API Key” or ANTHROPIC_API_KEY."


@dataclass(frozen=True)
class Endpoint:
    """Where requests go and with what: the model's name, limits, and who pays. Secrets do not show in its repr.

    Blanks around an address or a key, as pasting brings them along, are no part of it.
    """

    model: str
    max_tokens: int
    effort: str | None
    base_url: str | None
    api_key: str | None
    auth_token: str | None

    def __post_init__(self) -> None:
        for name in ("base_url", "api_key", "auth_token"):
            object.__setattr__(self, name, (getattr(self, name) or "").strip() or None)

    def __repr__(self) -> str:
        return f"Endpoint({self.model!r}, base_url={self.shown_url!r})"

    @property
    def shown_url(self) -> str | None:
        """The base URL as it may be shown: without a password in it."""
        return self.base_url and re.sub(r"//[^/]*@", "//", self.base_url)

    def check(self) -> None:
        """Raises ModelError where no request can be made with this. A base URL alone will do, as of a local server."""
        if not (self.api_key or self.auth_token or self.base_url):
            raise ModelError("auth", NO_KEY)
        # a header with other characters would be refused with an error that quotes it
        if not re.fullmatch(r"[!-~]*", f"{self.api_key or ''}{self.auth_token or ''}"):
            raise ModelError("auth", ODD_KEY)
        if not (self.base_url is None or _is_address(self.base_url)):
            raise ModelError(
                "invalid_request", f"“{self.shown_url}” is no base URL; one is like http://localhost:11434."
            )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        return False


_import_lock = Lock()


def load_sdk() -> Any:
    """Imports the SDK (0.7 s the first time); safe to call from a background thread."""
    with _import_lock:
        return importlib.import_module("anthropic")


class AnthropicModel:
    """The model port over the Messages API. Keeps one connection pool and the encoded messages of one session."""

    def __init__(self, endpoint: Endpoint, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._endpoint = endpoint
        self._sleep = sleep
        self._client: Any = None
        self._encoded: list[tuple[Message, bytes]] = []
        # features that not every Messages API server knows; one that refuses a field is not sent it again
        self._features: dict[str, Any] = {
            "cache_control": {"type": "ephemeral"},
            "thinking": {"type": "adaptive", "display": "summarized"},
        }
        if endpoint.effort:
            self._features["output_config"] = {"effort": endpoint.effort}

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
        sdk = load_sdk()
        stream = None
        try:
            stream = await self._open(sdk, request)
            builder = ReplyBuilder()
            events = read_events(stream.response.aiter_bytes())
            async for event in events:
                if event.get("type") == "error":
                    raise _stream_error(event.get("error") or {})
                seen = builder.feed(event)
                if seen is not None:
                    yield seen
                if builder.reply is not None:
                    break
            if builder.reply is None:
                raise ModelError("network", "The model's answer broke off in the middle.", retryable=True)
            await _drain(events)
            yield builder.reply
        except (ModelError, GeneratorExit):
            raise
        except sdk.APIStatusError as error:
            raise _status_error(error, self._endpoint) from error
        except (sdk.APIConnectionError, *_transport_errors()) as error:
            raise _connection_error(error, self._endpoint) from error
        except (KeyError, TypeError, AttributeError) as error:
            log.warning("unreadable stream event", exc_info=True)
            raise ModelError("network", "The model's stream was garbled.", retryable=True) from error
        finally:
            if stream is not None:
                await stream.response.aclose()

    async def _open(self, sdk: Any, request: Request) -> Any:
        """Sends the request; a field that the server does not know is left out from then on."""
        while True:
            try:
                return await self._connected(sdk).post(
                    "/v1/messages",
                    cast_to=object,
                    content=self._body(request),
                    options={"headers": {"Content-Type": "application/json"}},
                    stream=True,
                    stream_cls=sdk.AsyncStream[object],
                )
            except sdk.BadRequestError as error:
                said = str(error)
                unknown = next((name for name in self._features if name in said), None)
                if unknown is None or "messages." in said:  # a block of the conversation, not the field
                    raise
                log.info("the server does not know %s: going on without", unknown)
                del self._features[unknown]

    def _connected(self, sdk: Any) -> Any:
        if self._client is None:
            end = self._endpoint
            self._client = sdk.AsyncAnthropic(
                # a local server takes any key, but the SDK insists on one
                api_key=end.api_key or (None if end.auth_token else "none"),
                auth_token=None if end.api_key else end.auth_token,
                base_url=end.base_url or "https://api.anthropic.com",
                timeout=sdk.Timeout(SILENCE_TIMEOUT, connect=CONNECT_TIMEOUT),
                max_retries=0,
            )
        return self._client

    def _body(self, request: Request) -> bytes:
        head = {
            "model": self._endpoint.model,
            "max_tokens": self._endpoint.max_tokens,
            "stream": True,
            **self._features,
            "system": request.system,
            "tools": [_tool(spec) for spec in request.tools],
        }
        return _encode(head)[:-1] + b',"messages":[' + b",".join(self._messages(request.messages)) + b"]}"

    def _messages(self, messages: Sequence[Message]) -> list[bytes]:
        for index, message in enumerate(messages):
            if index < len(self._encoded) and self._encoded[index][0] is message:
                continue
            del self._encoded[index:]
            self._encoded.append((message, _encode(message)))
        return [encoded for _, encoded in self._encoded[: len(messages)]]


async def _drain(events: AsyncIterator[Any]) -> None:
    """Reads to the end of a body that has said all: only then is its connection used again."""
    with contextlib.suppress(TimeoutError, ModelError, *_transport_errors()):
        async with asyncio.timeout(DRAIN_TIMEOUT):
            async for _ in events:
                pass


def _encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "input_schema": spec.input_schema}


def _transport_errors() -> tuple[type[Exception], ...]:
    """What a broken connection raises in the middle of a stream: the transport's own errors, not the SDK's."""
    transport = importlib.import_module("httpx2")
    return (transport.TransportError, transport.StreamError)


_KINDS: dict[str, tuple[ErrorKind, bool]] = {
    "authentication_error": ("auth", False),
    "permission_error": ("auth", False),
    "billing_error": ("billing", False),
    "rate_limit_error": ("rate_limit", True),
    "overloaded_error": ("overloaded", True),
    "timeout_error": ("overloaded", True),
    "api_error": ("internal", True),
    "request_too_large": ("context_overflow", False),
    "invalid_request_error": ("invalid_request", False),
    "not_found_error": ("invalid_request", False),
}
_STATUSES: dict[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_ADVICE: dict[str, str] = {
    "authentication_error": "The API key was refused. Set another with “Agent: Set API Key” or ANTHROPIC_API_KEY.",
    "permission_error": "The key may not use this model or service. Choose another model (setting model) or key.",
    "billing_error": "The account has no credit left. Add some, or use another key.",
    "rate_limit_error": "The rate limit is reached.",
    "overloaded_error": "The model is overloaded.",
    "timeout_error": "The model's server took too long.",
    "api_error": "The model's server had a fault of its own.",
    "request_too_large": "The conversation is too large for one request. Start a new task.",
}


# the API, and servers of local models, each in its own words
_TOO_LONG = re.compile(r"prompt is too long|(context|input) (length|limit|size|window)", re.IGNORECASE)


def _status_error(error: Any, endpoint: Endpoint) -> ModelError:
    """An HTTP error answer as a ModelError; the status decides, the body explains."""
    status: int = error.status_code
    body = error.body if isinstance(error.body, dict) else {}
    details = body.get("error")
    said = (str(details.get("message", "")) if isinstance(details, dict) else str(error.message))[:500]
    name = _STATUSES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    kind, retryable = _KINDS[name]
    advice = _ADVICE.get(name, "The model's server refused the request.")
    if name == "not_found_error":
        advice = f"Not found: check the model's name (“{endpoint.model}”) and the base URL."
    elif name == "invalid_request_error" and _TOO_LONG.search(said):
        kind, advice = "context_overflow", "The conversation no longer fits the model. Start a new task."
    return ModelError(
        kind,
        f"{advice} ({status}: {said})",
        retryable=retryable,
        retry_after=_retry_after(error.response.headers),
    )


def _stream_error(error: dict[str, Any]) -> ModelError:
    """An `event: error` inside an answer that began well."""
    name = str(error.get("type", ""))
    kind, retryable = _KINDS.get(name, ("internal", True))
    return ModelError(
        kind,
        f"{_ADVICE.get(name, 'The answer broke off.')} ({error.get('message', name)})",
        retryable=retryable,
    )


def _connection_error(error: Exception, endpoint: Endpoint) -> ModelError:
    where = endpoint.shown_url or "the Anthropic API"
    cause = error.__cause__ or error
    detail = str(cause) or type(cause).__name__
    return ModelError(
        "network", f"No connection to {where} ({detail}). Check the network and the base URL.", retryable=True
    )


def _retry_after(headers: Any) -> float | None:
    """Seconds from `retry-after-ms` or `retry-after`; a date or nonsense counts as not given."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * unit)
        except (KeyError, ValueError):
            continue
    return None
