"""Asks the server of an endpoint for its models, and reads what it says about them.

Servers agree on `GET /models` and on `data[].id`, and on nothing else. Whatever else is there in a known form is used.
"""

import asyncio
import contextlib
import importlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from fairlead.agent.errors import ModelError
from fairlead.http_client import certificates, without_proxy
from fairlead.json_values import fields_of, is_list
from fairlead.messages.history import clean_text
from fairlead.models.common.api_errors import ApiErrors
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.fields import MAX_COUNT
from fairlead.models.common.foreign import BASE_URL, quote
from fairlead.models.common.presets import ModelFacts
from fairlead.models.common.prices import Price
from fairlead.models.common.transport import check_redirect, limit_body, transport_errors

TIMEOUT = 15.0  # seconds
PROBE = 1.0
"""The timeout for a server that may not be there."""
MAX_LIST = 8_000_000  # bytes
MAX_MODELS = 2000
MAX_NAME = 200  # characters
ANTHROPIC_VERSION = "2023-06-01"
NO_LIST = "{where} has no list of models. Type the model's name."
NOT_A_LIST = "{where} answered with {answer} instead of a list of models. Check {base_url}."

_OTHER_KINDS = re.compile(
    r"(?<![a-z])(?:embed[a-z]*|whisper|tts|transcri[a-z]*|speech|audio|voxtral|realtime|live|dall-e|images?|imagen|veo|"
    r"sora|moderation|ocr|rerank[a-z]*|guard|babbage|davinci|aqa|robotics|computer-use)(?![a-z])|gpt.*-instruct$",
    re.IGNORECASE,
)
"""Words in the names of models that do not chat. The lists of OpenAI, Google and Mistral have no field for it."""
_EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True)
class ListedModel:
    """A model that a server offers."""

    name: str
    title: str
    """Its name for the user."""
    facts: ModelFacts = field(default_factory=ModelFacts)
    tools: bool | None = None
    """Whether it can call tools; None: the server does not say it."""


async def list_models(endpoint: Endpoint, timeout: float = TIMEOUT) -> tuple[ListedModel, ...]:
    """The models of an endpoint's server that can answer in a conversation, in the server's order.

    Args:
        timeout: in seconds, for everything.

    Raises:
        ModelError: the key is missing or invalid, or the server did not answer with a list.
    """
    replace(endpoint, problem="").check()
    url, headers = _request(endpoint)
    await asyncio.to_thread(certificates)  # imports the transport
    transport = importlib.import_module("httpx2")
    errors = ApiErrors(endpoint)
    try:
        async with asyncio.timeout(timeout):
            status, answered, body = await _get(transport, endpoint, url, headers)
    except TimeoutError as error:
        message = f"{errors.where} did not list its models within {timeout:g} seconds. Try again."
        raise ModelError("network", message) from error
    except (transport.InvalidURL, *transport_errors()) as error:
        raise errors.of_connection(error) from error
    if status in (404, 405, 501):
        raise ModelError("invalid_request", NO_LIST.format(where=errors.where))
    if not 200 <= status < 300:
        raise errors.of_answer(status, body, answered)
    with contextlib.suppress(ValueError, RecursionError):
        rows = _rows(json.loads(body))
        if rows is not None:
            return tuple(_models(rows))
    answer = f"“{quote(body)}”" if body.strip() else "nothing"
    message = NOT_A_LIST.format(where=errors.where, answer=answer, base_url=BASE_URL)
    raise ModelError("wrong_server", message)


def _request(endpoint: Endpoint) -> tuple[str, dict[str, str]]:
    """The URL and the headers of the request."""
    headers = {"accept": "application/json"}
    if not (endpoint.api == "messages" and endpoint.is_anthropic and endpoint.api_key):
        # as in other requests: without any token, LiteLLM fails instead of saying that it wants one
        headers["authorization"] = f"Bearer {endpoint.api_key or endpoint.auth_token or 'none'}"
    if endpoint.api != "messages":
        return f"{endpoint.openai_url}/models", endpoint.with_headers(headers)
    if endpoint.api_key:
        headers["x-api-key"] = endpoint.api_key
    headers["anthropic-version"] = ANTHROPIC_VERSION
    url = f"{endpoint.messages_url or 'https://api.anthropic.com'}/v1/models?limit=1000"
    return url, endpoint.with_headers(headers)


async def _get(transport: Any, endpoint: Endpoint, url: str, headers: dict[str, str]) -> tuple[int, Any, bytes]:
    """The status, the headers and the body of the answer."""

    async def limit(response: Any) -> None:
        check_redirect(response)
        await limit_body(response, None)

    client = transport.AsyncClient(
        verify=certificates(),
        event_hooks={"response": [limit]},
        mounts=without_proxy(url),
        follow_redirects=True,
        timeout=None,
    )
    async with client, client.stream("GET", url, headers=headers) as response:
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > MAX_LIST:
                raise ModelError("network", f"The list of models is longer than {MAX_LIST:,} bytes.")
        return response.status_code, response.headers, bytes(body)


def _rows(answer: Any) -> list[Any] | None:
    """The rows of the list; None if it is no list."""
    if is_list(answer):
        return answer
    rows = next((fields_of(answer)[name] for name in ("data", "models") if name in fields_of(answer)), None)
    return rows if is_list(rows) else None


def _models(rows: Iterable[Any]) -> Iterator[ListedModel]:
    names = set[str]()
    for row in (fields_of(each) for each in rows):
        given = row.get("id") or row.get("name")
        if not isinstance(given, str):
            continue
        name = clean_text(given).removeprefix("models/")[:MAX_NAME]
        if name and name.isprintable() and name not in names and _chats(row, name) and len(names) < MAX_MODELS:
            names.add(name)
            title = row.get("display_name") or row.get("name")
            shown = clean_text(title)[:MAX_NAME] if isinstance(title, str) else name
            yield ListedModel(name, shown, ModelFacts(_context(row), _price(row), _efforts(row)), _tools(row))


def _chats(row: dict[str, Any], name: str) -> bool:
    """Whether a model answers in a conversation, as far as its row or its name says it."""
    kinds = fields_of(row.get("architecture")).get("output_modalities")
    chats = fields_of(row.get("capabilities")).get("completion_chat")
    if isinstance(chats, bool):
        return chats
    if is_list(kinds):
        return "text" in kinds
    return row.get("type") not in ("embeddings", "embedding", "tts", "stt") and not _OTHER_KINDS.search(name)


def _context(row: dict[str, Any]) -> int:
    """The size of the window: what a local server has loaded, else what the model has; 0 if there is none."""
    meta, provider = fields_of(row.get("meta")), fields_of(row.get("top_provider"))
    given = [row.get("loaded_context_length"), meta.get("n_ctx"), provider.get("context_length")]
    names = ("max_model_len", "max_input_tokens", "context_length", "context_window", "max_context_length")
    given += [*map(row.get, names), meta.get("n_ctx_train")]
    return next((value for value in given if type(value) is int and 0 < value <= MAX_COUNT), 0)


def _price(row: dict[str, Any]) -> Price | None:
    """OpenRouter's `pricing`, in US dollars per token, as texts."""
    given = fields_of(row.get("pricing"))
    paid, output = _dollars(given.get("prompt")), _dollars(given.get("completion"))
    if paid is None or output is None:
        return None
    read, write = _dollars(given.get("input_cache_read")), _dollars(given.get("input_cache_write"))
    return Price(paid, paid if read is None else read, paid if write is None else write, output)


def _dollars(given: Any) -> float | None:
    """A price per million tokens; None if there is none. OpenRouter's -1 stands for a price that varies."""
    try:
        value = float(given) if isinstance(given, str | int | float) else -1.0
    except ValueError:
        return None
    return round(value * 1_000_000, 6) if isfinite(value) and 0 <= value < 1 else None


def _tools(row: dict[str, Any]) -> bool | None:
    capabilities, supported = row.get("capabilities"), row.get("supported_parameters")
    if is_list(supported):
        return "tools" in supported
    if is_list(capabilities):  # LM Studio
        return any(str(each).startswith("tool") for each in capabilities) or None
    calls = fields_of(capabilities).get("function_calling")
    return calls if isinstance(calls, bool) else None


def _efforts(row: dict[str, Any]) -> tuple[str, ...]:
    """Anthropic's `capabilities.effort`, and OpenRouter's `reasoning` or the parameters that it supports."""
    effort = fields_of(fields_of(row.get("capabilities")).get("effort"))
    given = [name for name in _EFFORTS if fields_of(effort.get(name)).get("supported") is True]
    named = fields_of(row.get("reasoning")).get("supported_efforts")
    if is_list(named):
        given = [name for name in _EFFORTS if name in named]
    elif is_list(row.get("supported_parameters")) and "reasoning_effort" in row["supported_parameters"]:
        given = ["low", "medium", "high"]
    return tuple(given)
