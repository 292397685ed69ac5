"""A model behind HTTP, through the SDK of its API.

The SDK connects, signs and sends. Fairlead reads the stream itself (`sse.py`), because the SDKs' helpers mistake a
truncated stream for a complete one.
"""

import asyncio
import contextlib
import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Set
from threading import Lock
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Capabilities, ModelEvent, Reply, Request, TextDelta, ThinkingDelta, Usage, Used
from fairlead.http_client import certificates, without_proxy
from fairlead.messages.images import has_image
from fairlead.models.common.api_errors import ApiErrors, is_broken
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.fields import as_json
from fairlead.models.common.foreign import MAX_SEARCHED
from fairlead.models.common.refusals import (
    is_about_billing,
    is_about_images,
    is_about_model,
    is_about_region,
    is_about_thinking,
    is_about_tools,
    is_too_long,
    parse_max_tokens,
)
from fairlead.models.common.retry import with_retries
from fairlead.models.common.similar_models import with_similar_models
from fairlead.models.common.sse import DONE, NotAnEventStream, read_events
from fairlead.models.common.think_tags import separate_thinking
from fairlead.models.common.transport import (
    CONNECT_TIMEOUT,
    Filter,
    HeadTimeout,
    check_redirect,
    limit_body,
    transport_errors,
)

# seconds that an idle connection stays open: a command between two requests may take longer than the default, 5
KEEP_SECONDS = 120.0
DRAIN_TIMEOUT = 0.5  # seconds

MISSING_SDK = (
    "This endpoint needs packages that are not installed ({name}). Install them with\n"
    '"{python}" -m pip install "fairlead[{extra}]"\nand try again.'
)

_FINAL = (
    is_too_long,
    is_about_images,
    is_about_thinking,
    is_about_billing,
    is_about_tools,
    is_about_model,
    is_about_region,
)
"""What a refusal may be about that does not change without a field."""

_import_lock = Lock()


def load_sdk(name: str) -> Any:
    """Imports an SDK and what its first request needs. Returns its module.

    The first time, it takes about a second and cannot run inside an event loop, so call it in a thread.
    """
    with _import_lock:
        if name not in sys.modules:
            importlib.invalidate_caches()  # it may have been installed since the server started
            anyio = importlib.import_module("anyio")
            anyio.run(anyio.sleep, 0)  # imports the backend that the first connection needs
        sdk = importlib.import_module(name)
        certificates()
        return sdk


class ReplyReader(Protocol):
    """Builds a reply from the events of one stream."""

    reply: Reply | None
    """Set when the stream has ended properly."""

    @property
    def usage(self) -> Usage:
        """The tokens used so far."""
        ...

    def feed(self, data: dict[str, Any]) -> TextDelta | ThinkingDelta | None:
        """Takes one event and returns the part that the user sees; None if there is none.

        Raises:
            ModelError: the event is not one of the API.
        """
        ...

    def end(self) -> None:
        """The stream has ended. Sets `reply` if the answer is complete, for an API whose last event does not say so."""
        ...


class HttpModel(ABC):
    """A model for one session. Holds its connections, and what its server accepts."""

    SDK: ClassVar[str]
    """The name of the module."""
    SDK_ERROR: ClassVar[str]
    """The name of the base class of its errors."""
    KEPT_FIELDS: ClassVar[Set[str]] = frozenset()
    """The optional fields that are left out last, because without them each request costs much more."""
    PARTS: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """By optional field: the name of a part of it. A refusal may name this part instead of the field."""
    capabilities: Capabilities

    def __init__(
        self, endpoint: Endpoint, errors: ApiErrors, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._endpoint, self._errors, self._sleep = endpoint, errors, sleep
        self._sdk: Any = None
        self._client: Any = None
        self._http: Any = None
        self._opening = asyncio.Lock()
        # the optional fields that this server has accepted and refused so far
        self._accepted_fields: set[str] = set()
        self._refused_fields: set[str] = set()
        # whether the next request may use a connection that `connect` or an earlier answer left open
        self._reuses_connection = False
        # whether the answer to the last request has begun
        self._is_answered = False
        self._head_timeout = HeadTimeout(endpoint.silence)
        self._max_tokens = endpoint.max_tokens
        self._limit_frames: Filter | None = None

    @property
    def name(self) -> str:
        return self._endpoint.model

    @property
    @abstractmethod
    def _base_url(self) -> str: ...

    @abstractmethod
    async def _create_client(self, sdk: Any) -> Any:
        """Creates the SDK's client, whose transport is `self._http_client`."""

    @abstractmethod
    def _optional_fields(self, request: Request) -> dict[str, Any]:
        """The fields of the request that not every server supports."""

    def _adapt(self, refusal: str) -> bool:
        """Changes what the server refused with this text. Returns whether the request should be sent again."""
        return False

    @abstractmethod
    async def _post(self, sdk: Any, client: Any, request: Request, fields: dict[str, Any]) -> Any:
        """Sends the request with these optional fields. Returns the SDK's stream."""

    @abstractmethod
    def _reader(self) -> ReplyReader: ...

    @abstractmethod
    def _error_in(self, event: dict[str, Any]) -> ModelError | None:
        """The error that an event of the stream is about; None if it is an ordinary event."""

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
                await self._http.head(self._base_url, follow_redirects=False)
            self._reuses_connection = True

    async def _load(self) -> Any:
        if self._sdk is None:  # in a thread, because the first import takes seconds on a busy machine
            try:
                self._sdk = await asyncio.to_thread(load_sdk, self.SDK)
            except ImportError as error:
                missing = MISSING_SDK.format(name=error.name, python=sys.executable, extra=self.SDK)
                raise ModelError("invalid_request", missing) from error
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
        except GeneratorExit:
            raise
        except ModelError as error:
            raise await with_similar_models(error, self._endpoint) from error.__cause__
        except sdk.APIStatusError as error:
            refusal = self._errors.of_status(error, has_images=any(map(has_image, request.messages)))
            raise await with_similar_models(refusal, self._endpoint) from error
        except (getattr(sdk, self.SDK_ERROR), *transport_errors()) as error:
            raise self._errors.of_connection(error) from error
        finally:
            if stream is not None:
                await stream.response.aclose()

    def _events(self, sdk: Any, stream: Any) -> AsyncIterator[dict[str, Any]]:
        return read_events(stream.response.aiter_bytes())

    async def _read(self, sdk: Any, stream: Any) -> AsyncGenerator[ModelEvent, None]:
        reader, counted, has_events = self._reader(), Usage(), False
        events = self._events(sdk, stream)
        try:
            async for event in events:
                has_events = True
                if event is DONE:
                    reader.end()
                    break
                if (error := self._error_in(event)) is not None:
                    raise error
                delta = reader.feed(event)
                if delta is not None:
                    yield delta
                if reader.reply is not None:
                    break
                used, counted = reader.usage - counted, reader.usage
                if used != Usage():
                    yield Used(used)
        except NotAnEventStream as foreign:
            raise self._errors.of_other_body(stream.response, foreign.beginning) from foreign
        reader.end()
        if reader.reply is None:
            what = "ended in the middle" if has_events else "was empty"
            raise ModelError("network", f"The model's answer {what}.", retryable=True)
        await _drain(events)
        self._reuses_connection = True
        yield Used(reader.usage - counted)
        yield reader.reply

    async def _open(self, sdk: Any, request: Request) -> Any:
        """Sends the request, without optional fields that the server refuses now or has refused before.

        Returns the open stream. If the server names a lower limit for `max_tokens`, later requests keep to it, too.
        """
        suspects: Set[str] = frozenset()
        lowered = False
        while True:
            left_out = self._refused_fields | suspects
            fields = {name: value for name, value in self._optional_fields(request).items() if name not in left_out}
            try:
                stream = await self._send(sdk, request, fields)
            except (sdk.BadRequestError, sdk.UnprocessableEntityError) as error:
                text = f"{error} {as_json(error.body)}"[:MAX_SEARCHED]  # an SDK leaves out a body that is a list
                limit = parse_max_tokens(text)
                if limit is not None and limit < self._max_tokens and not lowered:
                    self._max_tokens, lowered = limit, True
                    continue
                if any(test(text) for test in _FINAL):
                    raise  # the server refuses the conversation or the account, not a field
                if self._adapt(text):
                    continue
                if any(name in text for name in ("messages.", "messages[", "input[")):
                    raise
                named = {name for name in fields if name in text or self.PARTS.get(name, name) in text}
                unproven = fields.keys() - self._accepted_fields
                if not named and not unproven:
                    raise
                # if the error names no field, leave out the fields that this server has not accepted yet; leave out
                # `KEPT_FIELDS` only after the others
                suspects = frozenset() if named else suspects | (unproven - self.KEPT_FIELDS or unproven)
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

    async def _send(self, sdk: Any, request: Request, fields: dict[str, Any]) -> Any:
        client = await self._open_client(sdk)
        self._is_answered = False
        self._head_timeout = HeadTimeout(self._endpoint.silence)
        try:
            async with self._head_timeout:
                return await self._post(sdk, client, request, fields)
        except TimeoutError as error:
            raise self._errors.of_late_head() from error

    async def _open_client(self, sdk: Any) -> Any:
        async with self._opening:
            if self._client is None:
                self._client = await self._create_client(sdk)
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
                await limit_body(response, self._limit_frames)

        limits = importlib.import_module("httpx2").Limits(keepalive_expiry=KEEP_SECONDS)
        hooks = {"request": [limit_head], "response": [note_answer]}
        self._http = sdk.DefaultAsyncHttpxClient(
            verify=certificates(),
            event_hooks=hooks,
            limits=limits,
            mounts=without_proxy(self._base_url),
        )
        return self._http


async def _drain(events: AsyncIterator[Any]) -> None:
    """Reads the rest of a body after its last event, because only then can its connection be reused.

    Gives up after `DRAIN_TIMEOUT`.
    """
    with contextlib.suppress(TimeoutError, ModelError, *transport_errors()):
        async with asyncio.timeout(DRAIN_TIMEOUT):
            async for _ in events:
                pass
