"""Responses through the SDK and a socket, against a server that refuses what OpenAI refuses."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Capabilities, ModelEvent, Reply, TextDelta, ThinkingDelta
from fairlead.messages.history import History
from fairlead.messages.images import image_of
from fairlead.messages.parts import Call as CallPart
from fairlead.messages.parts import Foreign, Image, Message, Prompt, Result
from fairlead.messages.parts import Text as TextPart
from fairlead.messages.parts import Thinking as ThinkingPart
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.retry import MAX_ATTEMPTS
from fairlead.models.openai.responses import ResponsesModel
from fairlead.models.openai.responses_encode import ResponsesEncoder
from models.asking import TOOLS, asked, no_pause
from support.fake_api import Call, Cut, HttpError, MaxTokensCut, Text, Thinking, Turn
from support.fake_openai import RESPONSES, FakeOpenAi, event_names
from support.pictures import png

WORK = Turn((Thinking("Hm."), Text("I look."), Call("bash", {"command": "ls '日本'"}), Call("bash", {})), chunk=3)
HELLO = Turn((Text("Hello, 世界 🌍."),), chunk=3)


@asynccontextmanager
async def opened(api: FakeOpenAi, **changes: Any) -> AsyncIterator[ResponsesModel]:
    endpoint = Endpoint("gpt-6.1-sol", 1000, "low", api.base_url, "test-key", None)
    model = ResponsesModel(replace(endpoint, **changes), no_pause)
    try:
        yield model
    finally:
        await model.aclose()


async def events(model: ResponsesModel, *messages: Message) -> list[ModelEvent]:
    return [event async for event in model.stream(asked(*messages))]


async def test_a_request_has_the_expected_fields_and_headers() -> None:
    """The server stores nothing, and sends its reasoning encrypted. A session has one key for the prompt cache."""
    with FakeOpenAi([HELLO, HELLO]) as api:
        async with opened(api, headers=(("x-title", "Fairlead"),)) as model:
            await events(model)
            await events(model)
        first, second = api.requests
        key = first.body["prompt_cache_key"]
        assert first.body == {
            "model": "gpt-6.1-sol",
            "max_output_tokens": 1000,
            "stream": True,
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "low", "summary": "auto"},
            "prompt_cache_key": key,
            "parallel_tool_calls": True,
            "instructions": "You help.",
            "tools": [
                {
                    "type": "function",
                    "name": "bash",
                    "description": "Runs a command.",
                    "parameters": TOOLS[0].input_schema,
                    "strict": False,
                }
            ],
            "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
        }
        assert second.body["prompt_cache_key"] == key
        assert (first.headers["authorization"], first.headers["x-title"]) == ("Bearer test-key", "Fairlead")
        assert api.refusals == []


async def test_reasoning_goes_back_until_another_server_is_asked() -> None:
    """The server refuses reasoning that was changed, moved or has an id. Another server does not get it."""
    history = History()
    history.add_user_message([Prompt("hi")])
    with FakeOpenAi([WORK, WORK, HELLO]) as api, FakeOpenAi([HELLO]) as other:
        async with opened(api) as model:
            for _ in range(3):
                reply = (await events(model, *history.messages))[-1]
                assert isinstance(reply, Reply)
                calls = history.add_reply(reply.parts)
                if calls:
                    history.add_results([Result(call.id, "ok", is_error=True) for call in calls])
        assert api.refusals == []
        kinds = [item["type"] for item in api.requests[-1].body["input"]]
        answer = ["reasoning", "message", "function_call", "function_call"]
        assert kinds == ["message", *(answer + ["function_call_output"] * 2) * 2]
        assert api.requests[-1].body["input"][5]["output"] == "Error: ok"
        history.add_user_message([Prompt("And now?")])
        async with opened(other, base_url=other.base_url.replace("127.0.0.1", "localhost")) as model:
            await events(model, *history.messages)
        assert other.refusals == []
        assert "reasoning" not in [item["type"] for item in other.requests[0].body["input"]]


def test_pictures_are_in_results_where_the_server_takes_them() -> None:
    """Elsewhere they follow in a message, after all outputs."""
    picture = image_of("image/png", png(2, 2))
    assert isinstance(picture, Image)
    url = f"data:image/png;base64,{picture.data}"
    message = Message("user", (Result("a", "A", images=(picture,)), Result("b", ""), Prompt("So?")))
    shown = {"type": "input_image", "image_url": url, "detail": "auto"}
    output, empty, rest = ResponsesEncoder("p", pictures_in_results=True).encode(message)
    assert output["output"] == [{"type": "input_text", "text": "A"}, shown]
    assert (empty["output"], rest["content"]) == ("(no output)", [{"type": "input_text", "text": "So?"}])
    output, empty, rest = ResponsesEncoder("p", pictures_in_results=False).encode(message)
    assert (output["output"], empty["type"]) == ("A", "function_call_output")
    assert rest["content"][1:] == [shown, {"type": "input_text", "text": "So?"}]


def test_what_another_provider_made_gets_a_valid_form_or_is_left_out() -> None:
    """Ids have at most 64 characters, and a call and its output have the same one. No message is empty."""
    encoder = ResponsesEncoder("p", pictures_in_results=True)
    sealed = ThinkingPart("Hm.", "other", {"id": "r1"}), Foreign("other", {"type": "search"})
    (call,) = encoder.encode(Message("assistant", (*sealed, CallPart("x" * 99, "look up!", {"é": 1}))))
    (output,) = encoder.encode(Message("user", (Result("x" * 99, ""),)))
    assert call["call_id"] == output["call_id"] and len(call["call_id"]) == 64
    assert (call["name"], call["arguments"]) == ("look_up_", '{"é": 1}')
    (empty,) = encoder.encode(Message("assistant", sealed))
    assert empty["content"][0]["text"]
    ours = ThinkingPart("Hm.", "p", {"type": "reasoning", "encrypted_content": "e", "summary": []})
    phase = Foreign("p", {"phase": "commentary"})
    items = encoder.encode(Message("assistant", (ours, phase, TextPart("A"), TextPart("B"))))
    assert [item.get("phase") for item in items] == [None, "commentary", None]
    assert items[0] == {"type": "reasoning", "encrypted_content": "e", "summary": []}


async def test_an_answer_that_is_cut_after_any_event_is_requested_again() -> None:
    """No call runs from a stream that did not end well. Text that was shown is not shown again."""
    count = len(event_names(WORK, RESPONSES))
    for after in range(count):
        with FakeOpenAi([Cut(WORK, after, "close" if after % 2 else "drop"), WORK]) as api:
            async with opened(api) as model:
                *seen, reply = await events(model)
            assert isinstance(reply, Reply)
            assert [call.problem for call in reply.calls] == [None, None]
            assert "".join(event.text for event in seen if isinstance(event, TextDelta | ThinkingDelta)) == "Hm.I look."
            assert len(api.requests) == 2


async def test_a_call_that_was_cut_off_is_not_run() -> None:
    with FakeOpenAi([MaxTokensCut(WORK, 1)]) as api:
        async with opened(api) as model:
            reply = (await events(model))[-1]
    assert isinstance(reply, Reply)
    assert (reply.stop, reply.stop_name) == ("cut_off", "max_output_tokens")
    assert [bool(call.problem) for call in reply.calls] == [False, True]


async def test_an_error_says_what_to_do() -> None:
    """The key, the model and the rate: each has its own kind, and only the last one is tried again."""
    with FakeOpenAi([HELLO], key="other") as api:
        async with opened(api) as model:
            with pytest.raises(ModelError) as failed:
                await events(model)
        assert (failed.value.kind, len(api.requests)) == ("auth", 1)
        assert "ANTHROPIC" not in failed.value.message
    limited = HttpError(429, "rate_limit_exceeded", "Slow down.", {"retry-after": "1"})
    with FakeOpenAi([limited, HELLO]) as api:
        async with opened(api) as model:
            reply = (await events(model))[-1]
        assert isinstance(reply, Reply)
        assert reply.text == "Hello, 世界 🌍."
    with FakeOpenAi(paths=()) as api:
        async with opened(api) as model:
            with pytest.raises(ModelError) as failed:
                await events(model)
        assert (failed.value.kind, len(api.requests)) == ("wrong_server", 1)
    with FakeOpenAi([limited] * MAX_ATTEMPTS) as api:
        async with opened(api) as model:
            with pytest.raises(ModelError) as failed:
                await events(model)
    assert (failed.value.kind, failed.value.retryable) == ("rate_limit", True)


async def test_small_limits_are_raised_to_the_lowest_that_the_server_takes() -> None:
    with FakeOpenAi([HELLO]) as api:
        async with opened(api, max_tokens=5) as model:
            assert model.capabilities == Capabilities(images=model.capabilities.images)
            await events(model)
        assert api.requests[0].body["max_output_tokens"] == 16
        assert api.refusals == []
