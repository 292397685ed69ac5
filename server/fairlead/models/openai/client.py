"""The SDK's client for OpenAI's APIs, and what both of them send."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.transport import CONNECT_TIMEOUT, decoding_errors

DEFAULT_URL = "https://api.openai.com/v1"


def base_url(endpoint: Endpoint) -> str:
    """The address that the paths of the APIs are added to."""
    return endpoint.openai_url or DEFAULT_URL


def provider_of(api: str, endpoint: Endpoint) -> str:
    """Marks what only this API of this server can read again: its thinking, for example."""
    return f"{api}:{endpoint.authority or 'api.openai.com'}"


async def create_client(sdk: Any, endpoint: Endpoint, http_client: Callable[[Any], Any]) -> Any:
    """Creates the SDK's client, in a thread, because the first client imports more modules."""
    return await asyncio.to_thread(_create, sdk, endpoint, http_client)


def _create(sdk: Any, endpoint: Endpoint, http_client: Callable[[Any], Any]) -> Any:
    return sdk.AsyncOpenAI(
        # a local server accepts any key, but the SDK requires one
        api_key=endpoint.api_key or endpoint.auth_token or "none",
        # otherwise the SDK would take these from the environment
        organization="",
        project="",
        base_url=base_url(endpoint),
        timeout=sdk.Timeout(endpoint.silence, connect=CONNECT_TIMEOUT),
        max_retries=0,
        default_headers=dict(endpoint.headers),
        http_client=http_client(sdk),
    )


async def post(sdk: Any, client: Any, path: str, body: bytes) -> Any:
    """Sends a request. Returns the SDK's stream, whose bytes are read raw."""
    with decoding_errors(sdk.OpenAIError):
        return await client.post(
            path,
            content=body,
            options={"headers": {"Content-Type": "application/json"}},
            cast_to=object,
            stream=True,
            stream_cls=sdk.AsyncStream[object],
        )


def encode(value: Any) -> bytes:
    """A value as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
