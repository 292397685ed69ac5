"""Stream events of any shape lead to a reply or to one error that names the field, and to nothing else."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, cast

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Reply, Usage
from fairlead.messages.parts import Message
from fairlead.models.anthropic.encode import encode_message
from fairlead.models.anthropic.reply import ReplyBuilder
from fairlead.models.anthropic.stream_events import MessageDelta, MessageStart, parse_event
from fairlead.models.common.sse import NotAnEventStream, read_events
from support.fake_api import Turn
from support.nonsense import ODD_VALUES, TURNS, dumped, events, known_events, streams, with_each_value

Json = dict[str, Any]
START = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
CALL = {"type": "tool_use", "id": "t", "name": "bash", "input": {}}


def part(**delta: Any) -> Json:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def begun(**block: Any) -> Json:
    return {**START, "content_block": block}


def used(**counts: Any) -> Json:
    return {"type": "message_delta", "delta": {}, "usage": counts}


WRONG: dict[str, tuple[list[Json], str]] = {
    "a type that is a number": ([{"type": 7}], "“event.type” must be a string, not 7"),
    "a message that is a list": (
        [{"type": "message_start", "message": [1]}],
        "“message_start.message” must be an object, not a list",
    ),
    "a usage that is text": (
        [{"type": "message_delta", "usage": "x"}],
        '“message_delta.usage” must be an object, not "x"',
    ),
    "a count that is text": (
        [used(output_tokens="9")],
        "“message_delta.usage.output_tokens” must be an integer",
    ),
    "a count that is true": (
        [used(output_tokens=True)],
        "must be an integer up to 2^53, not true",
    ),
    "a count that is negative": ([used(input_tokens=-1)], "must be from 0 to 1,000,000,000,000, not -1"),
    "a fraction": ([used(cache_read_input_tokens=0.5)], "usage.cache_read_input_tokens” must be an integer"),
    "not a number": ([used(input_tokens=float("nan"))], "not NaN"),
    "a count that is too large": ([used(cache_creation_input_tokens=10**400)], f"not {'1' + '0' * 59}..."),
    "a stop reason that is an object": (
        [{"type": "message_delta", "delta": {"stop_reason": {}}}],
        "“message_delta.delta.stop_reason” must be a string, not an object",
    ),
    "cleared results that are text": (
        [{"type": "message_delta", "context_management": {"applied_edits": [{}, {"cleared_tool_uses": "2"}]}}],
        "“message_delta.context_management.applied_edits[1].cleared_tool_uses” must be an integer",
    ),
    "edits that are an object": (
        [{"type": "message_delta", "context_management": {"applied_edits": {}}}],
        "“message_delta.context_management.applied_edits” must be a list, not an object",
    ),
    "no index": ([{"type": "content_block_stop"}], "“content_block_stop.index” is missing"),
    "an index that is negative": ([{**START, "index": -1}], "“content_block_start.index” must be from 0 to"),
    "an index that is true": ([{**START, "index": True}], "“content_block_start.index” must be an integer"),
    "an index that is huge": ([{**START, "index": 2**63}], "“content_block_start.index” must be an integer"),
    "no block": ([{"type": "content_block_start", "index": 0}], "“content_block_start.content_block” is missing"),
    "a block without a type": ([begun(text="")], "“content_block_start.content_block.type” is missing"),
    "a block that is text": (
        [{**START, "content_block": "x"}],
        "“content_block_start.content_block” must be an object",
    ),
    "a text that is a number": (
        [begun(type="text", text=1)],
        "“content_block_start.content_block.text” must be a string",
    ),
    "a call without an id": ([begun(type="tool_use", name="x")], "“content_block_start.content_block.id” is missing"),
    "a name that is a number": (
        [begun(**{**CALL, "name": 7})],
        "“content_block_start.content_block.name” must be a string",
    ),
    "a signature that is a list": (
        [begun(type="thinking", signature=["x"])],
        "“content_block_start.content_block.signature” must be a string",
    ),
    "a lone surrogate": (
        [begun(type="redacted_thinking", data="\ud800")],
        "must be valid JSON of at most 100 levels",
    ),
    "too deep": (
        [begun(type="web", data=json.loads("[" * 200 + "]" * 200))],
        "must be valid JSON of at most 100 levels",
    ),
    "infinity": ([begun(type="thinking", x=float("inf"))], "must be valid JSON of at most 100 levels"),
    "a result": ([begun(type="tool_result", tool_use_id="x")], "a content block of the type “tool_result”"),
    "no delta": ([START, {"type": "content_block_delta", "index": 0}], "“content_block_delta.delta” is missing"),
    "a delta without its text": ([START, part(type="text_delta")], "“content_block_delta.delta.text” is missing"),
    "a part that is a number": (
        [START, part(type="text_delta", text=1)],
        "“content_block_delta.delta.text” must be a string",
    ),
    "a part of an unknown block": (
        [part(type="text_delta", text="x")],
        "a part of content block 0, which has not begun",
    ),
    "the end of an unknown block": (
        [{"type": "content_block_stop", "index": 3}],
        "the end of content block 3, which has not begun",
    ),
    "a block twice": ([START, START], "content block 0 a second time before its end"),
    "text in a call": (
        [begun(**CALL), part(type="text_delta", text="x")],
        "a “text_delta” for content block 0, which is a “tool_use”",
    ),
    "a call's input in text": (
        [START, part(type="input_json_delta", partial_json="{}")],
        "a “input_json_delta” for content block 0, which is a “text”",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_fault_88_a_wrong_event_is_named_with_its_field(name: str) -> None:
    """docs/faults.md 88: a short message says what came and what to check, and the request is retried once."""
    (*before, wrong), said = WRONG[name]
    builder = ReplyBuilder()
    for event in before:
        builder.feed(event)
    with pytest.raises(ModelError) as error:
        builder.feed(wrong)
    assert (error.value.kind, error.value.retryable, error.value.max_attempts) == ("network", True, 2)
    assert error.value.message.startswith("The model's server sent ")
    assert said in error.value.message
    assert error.value.message.endswith(". Check that server, and any proxy in front of it.")
    assert len(error.value.message) < 250


def test_null_is_a_missing_field() -> None:
    """`null` counts as a missing field, because servers send it for values that they do not know."""
    assert parse_event({"type": "message_start", "message": None}) == MessageStart({})
    assert parse_event({"type": "message_start"}) == MessageStart({})
    unknown = {"type": "message_delta", "delta": None, "usage": None, "context_management": {"applied_edits": None}}
    assert parse_event(unknown) == MessageDelta("", {}, 0)
    counts = {"input_tokens": None, "output_tokens": 0, "server_tool_use": "anything"}
    assert parse_event({**used(**counts)}) == MessageDelta("", {"output_tokens": 0}, 0)
    assert parse_event({"type": None}) is None
    assert parse_event({"type": "ping", "index": "x"}) is None


def test_a_text_in_the_start_of_its_block_is_shown() -> None:
    """Some servers send the beginning of a text in `content_block_start`. It is shown first."""
    builder = ReplyBuilder()
    shown = [builder.feed(begun(type="text", text="Hello")), builder.feed(part(type="text_delta", text=", you"))]
    assert [delta.text for delta in shown if delta is not None] == ["Hello", ", you"]


def test_an_index_may_be_used_again_after_its_end() -> None:
    """A similar valid stream: some servers give every block the index 0."""
    builder = ReplyBuilder()
    for text in ("a", "b"):
        for event in (begun(type="text", text=text), {"type": "content_block_stop", "index": 0}):
            builder.feed(event)
    builder.feed({"type": "message_stop"})
    assert builder.reply is not None
    assert builder.reply.text == "a\n\nb"


def check(reply: Reply | None) -> None:
    """A reply has only values of its declared types, and the next request can contain its content."""
    if reply is None:
        return
    assert isinstance(reply.stop_name, str) and isinstance(reply.cleared_results, int)
    assert isinstance(reply.usage, Usage) and isinstance(reply.usage.tokens, int)
    for call in reply.calls:
        assert isinstance(call.id, str) and isinstance(call.name, str) and isinstance(call.input, dict)
    next_message = encode_message(Message("assistant", tuple(reply.parts)))
    json.dumps([next_message, reply.stop_name], ensure_ascii=False, allow_nan=False).encode()


@pytest.mark.slow
@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: type(turn.blocks[0]).__name__ if turn.blocks else "nothing")
def test_fault_88_each_odd_value_in_each_field_of_each_event(turn: Turn) -> None:
    """docs/faults.md 88: an odd value in any field raises at most a model error, and a reply that contains it is valid.

    Only one value changes at a time, so that no other error hides its effect.
    """
    for stream in with_each_value(known_events(turn), ODD_VALUES):
        builder = ReplyBuilder()
        with suppress(ModelError):
            for event in stream:
                if isinstance(event, dict):  # the reader of the stream drops everything else
                    builder.feed(cast("Json", event))
        check(builder.reply)


@given(events())
@settings(max_examples=300)
def test_fault_88_any_events_raise_at_most_a_model_error(stream: list[Any]) -> None:
    """docs/faults.md 88: any JSON type may be in any field, and events may be repeated, moved, missing or of unknown
    types: nothing but a model error is raised."""
    builder = ReplyBuilder()
    with suppress(ModelError):
        for event in stream:
            builder.feed(json.loads(dumped(event)))
    check(builder.reply)


@given(st.recursive(st.sampled_from(ODD_VALUES), lambda v: st.dictionaries(st.sampled_from(["type", "error"]), v)))
def test_fault_88_an_event_may_be_any_json(event: Any) -> None:
    """docs/faults.md 88: an event that is any JSON value, even if it is not an object, raises at most a model error."""
    with suppress(ModelError):
        parse_event(event)


@given(streams(), st.data())
@settings(max_examples=300)
def test_fault_88_any_bytes_raise_at_most_a_model_error(raw: bytes, data: st.DataObject) -> None:
    """docs/faults.md 88: a stream that is cut off or damaged, in pieces of any size, raises at most a model error.

    A body that is no stream has its own error (83).
    """
    size = data.draw(st.sampled_from([1, 7, 1000, 10**6]))

    async def read() -> Reply | None:
        async def pieces() -> AsyncIterator[bytes]:
            for at in range(0, len(raw), size):
                yield raw[at : at + size]

        builder = ReplyBuilder()
        with suppress(ModelError, NotAnEventStream):
            async for event in read_events(pieces()):
                builder.feed(event)
        return builder.reply

    check(asyncio.run(read()))
