"""Requests to the Messages API as data, and a way to send one without the SDK."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from contextlib import closing
from typing import Any

Json = dict[str, Any]

HEADERS = {"authorization": "Bearer test-key", "anthropic-version": "2026-10-21"}


def user(*blocks: Json | str) -> Json:
    """A user message; a string is a text block."""
    return {"role": "user", "content": [text(block) if isinstance(block, str) else block for block in blocks]}


def assistant(*blocks: Json | str) -> Json:
    """An assistant message; a string is a text block."""
    return {**user(*blocks), "role": "assistant"}


def text(words: str, **more: Any) -> Json:
    """A text block."""
    return {"type": "text", "text": words, **more}


def image(kind: str = "image/png", data: str = "iVBORw0KGgo=", **more: Any) -> Json:
    """An image block."""
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data, **more}}


def thought(words: str = "hm", signature: str = "sig-1") -> Json:
    """A thinking block."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def use(id: str = "t1", **more: Any) -> Json:
    """A tool_use block."""
    return {"type": "tool_use", "id": id, "name": "bash", "input": {}, **more}


def result(id: str = "t1", **more: Any) -> Json:
    """A tool_result block."""
    return {"type": "tool_result", "tool_use_id": id, "content": "ok", **more}


def tool(name: str = "bash", **more: Any) -> Json:
    """A tool's definition."""
    return {"name": name, "description": "d", "input_schema": {"type": "object"}, **more}


def talk(*messages: Json, **fields: Any) -> Json:
    """The body of a request with these messages."""
    return {"model": "claude-opus-5-5", "max_tokens": 100, "messages": list(messages), **fields}


def ask(**fields: Any) -> Json:
    """The body of a request with one user message."""
    return talk(user("hi"), **fields)


def send(
    url: str,
    body: Json | bytes,
    headers: Mapping[str, str] = HEADERS,
    *,
    path: str = "/v1/messages",
    method: str = "POST",
) -> tuple[int, bytes]:
    """Sends `body` and returns the status and the whole body of the answer."""
    with closing(http.client.HTTPConnection(url.removeprefix("http://"), timeout=5)) as connection:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, raw, dict(headers))
        response = connection.getresponse()
        return response.status, response.read()
