"""Helpers that send requests to one model over a real socket and collect the events."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairlead.agent.errors import ModelError
from fairlead.agent.model import ModelEvent, Reply, Request, TextDelta, ToolSpec
from fairlead.messages.parts import Message
from fairlead.models.anthropic.messages_api import MessagesApiModel
from fairlead.models.common.endpoint import Endpoint
from support.fake_api import (
    FakeApi,
    Text,
    Turn,
)
from support.messages import user

MODEL = "claude-opus-5-5"
TOOLS = [ToolSpec("bash", "Runs a command.", {"type": "object", "properties": {"command": {"type": "string"}}})]
HELLO = Turn((Text("Hello, 世界 🌍. How are you today?"),), chunk=3)
ANSWER = "Hello, 世界 🌍. How are you today?"


def endpoint(api: FakeApi | None = None, **changes: Any) -> Endpoint:
    fields = {"model": MODEL, "max_tokens": 1000, "effort": None, "api_key": "test-key", "auth_token": None}
    return Endpoint(**{**fields, "base_url": api.url if api else None, **changes})


async def no_pause(seconds: float) -> None:
    """Skips the pauses between attempts."""


@asynccontextmanager
async def opened(api: FakeApi | None = None, **changes: Any) -> AsyncIterator[MessagesApiModel]:
    model = MessagesApiModel(endpoint(api, **changes), no_pause)
    try:
        yield model
    finally:
        await model.aclose()


def asked(*messages: Message) -> Request:
    """A request with these messages, or with one user message."""
    return Request("You help.", TOOLS, messages or [user("hi")])


async def events(model: MessagesApiModel, request: Request | None = None) -> list[ModelEvent]:
    return [event async for event in model.stream(request or asked())]


async def reply(model: MessagesApiModel, request: Request | None = None) -> Reply:
    last = (await events(model, request))[-1]
    assert isinstance(last, Reply)
    return last


async def failure(model: MessagesApiModel, request: Request | None = None) -> ModelError:
    with pytest.raises(ModelError) as error:
        await events(model, request)
    return error.value


def shown(seen: Sequence[ModelEvent]) -> str:
    return "".join(event.text for event in seen if isinstance(event, TextDelta))
