"""Shared by the tests of the loop's rules: turns of the model, and the content of requests.

These tests end with `api.refusals == []`, because the real API must accept every history.
"""

from collections.abc import Callable
from typing import Any

from support.client import Client
from support.fake_api import FakeApi, Text, Turn

Connect = Callable[..., Client]

PLAN = [{"content": "One", "status": "in_progress"}, {"content": "Two", "status": "pending"}]
DONE = Turn((Text("Done."),))


def say(*blocks: Any, **options: Any) -> Turn:
    return Turn(tuple(blocks), **options)


def results(api: FakeApi, request: int) -> list[dict[str, Any]]:
    """The tool results in the last message of a request."""
    content = api.requests[request].body["messages"][-1]["content"]
    return [block for block in content if block["type"] == "tool_result"]


def notes(api: FakeApi, request: int) -> list[str]:
    """The text blocks in the last message of a request."""
    content = api.requests[request].body["messages"][-1]["content"]
    return [block["text"] for block in content if block["type"] == "text"]
