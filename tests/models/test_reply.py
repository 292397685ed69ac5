"""Building replies from stream events: the content can be sent back, and only complete calls are run."""

import json
import sys
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.agent.model import Reply, TextDelta, ThinkingDelta, Usage
from fairlead.messages.parts import Call as MadeCall
from fairlead.messages.parts import Message
from fairlead.models.anthropic.encode import encode_message
from fairlead.models.anthropic.reply import ReplyBuilder
from fairlead.models.common.reply_parts import read_input
from support.fake_api import Call, Text, Thinking, Turn
from support.fake_api.turns import Envelope, Event, content, steps

Json = dict[str, Any]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=5), JSON, max_size=3)
BLOCKS = st.lists(
    st.one_of(
        st.builds(Text, st.text(max_size=20)),
        st.builds(Thinking, st.text(max_size=20), st.text("abc=", min_size=1, max_size=5)),
        st.builds(Call, st.sampled_from(["bash", "todo"]), OBJECTS, st.uuids().map(str)),
    ),
    max_size=5,
)


def fed(*events: Json) -> tuple[Reply | None, list[TextDelta | ThinkingDelta]]:
    """The reply after these events (None before `message_stop`), and the deltas that were shown."""
    builder = ReplyBuilder()
    seen = [delta for delta in map(builder.feed, events) if delta is not None]
    return builder.reply, seen


def block(index: int, start: Json, *deltas: Json, stop: bool = True) -> list[Json]:
    """The events of one content block."""
    events: list[Json] = [{"type": "content_block_start", "index": index, "content_block": start}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [*events, {"type": "content_block_stop", "index": index}] if stop else events


def whole(*events: Json, stop_reason: str | None = "end_turn") -> Reply:
    """The reply of a complete stream with these events between its start and its end."""
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}}
    delta = {"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {"output_tokens": 5}}
    reply, _ = fed(start, *events, delta, {"type": "message_stop"})
    assert reply is not None
    return reply


def blocks_of(reply: Reply) -> list[Json]:
    """The blocks of the reply, as the next request contains them."""
    return encode_message(Message("assistant", tuple(reply.parts)))["content"] if reply.parts else []


def call(*pieces: str, start: Any = None, stop: bool = True) -> list[Json]:
    """The events of one call whose JSON arrives in pieces."""
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(0, {"type": "tool_use", "id": "t1", "name": "bash", "input": start or {}}, *deltas, stop=stop)


@given(BLOCKS, st.sampled_from([None, 1, 3]), st.booleans())
def test_all_blocks_of_a_turn_are_in_the_reply(blocks: list[Any], chunk: int | None, extra: bool) -> None:
    """Blocks are in order and complete, except for blank text, however deltas are cut and despite unknown events."""
    turn = Turn(tuple(blocks), chunk=chunk, extra_events=extra)
    reply, seen = fed(*(step.data for step in steps(turn, Envelope()) if isinstance(step, Event)))
    assert reply is not None
    assert blocks_of(reply) == [b for b in content(turn, Envelope()) if b["type"] != "text" or b["text"].strip()]
    assert [(c.id, c.input, c.problem) for c in reply.calls] == [
        (b.id, b.input, None) for b in blocks if isinstance(b, Call)
    ]
    shown = "".join(delta.text for delta in seen if isinstance(delta, TextDelta))
    assert shown == "".join(b.text for b in blocks if isinstance(b, Text))
    thought = "".join(delta.text for delta in seen if isinstance(delta, ThinkingDelta))
    assert thought == "".join(b.thinking for b in blocks if isinstance(b, Thinking))


def test_there_is_no_reply_before_message_stop() -> None:
    """docs/plan.md L13: a stream that ended after a complete call is not a complete answer."""
    events = [*call('{"command": "ls"}'), {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}]
    reply, _ = fed({"type": "message_start", "message": {}}, *events)
    assert reply is None


def test_usage_and_stop_reason() -> None:
    """The last value of each count applies; a missing or null value does not change it."""
    usage = {"input_tokens": 3, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 2, "output_tokens": 1}
    reply, _ = fed(
        {"type": "message_start", "message": {"usage": usage}},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 9}},
        {"type": "message_delta", "delta": {}, "usage": {"input_tokens": None}},
        {"type": "message_delta", "delta": {"stop_reason": None}},
        {"type": "message_stop"},
    )
    assert reply is not None
    assert (reply.usage, reply.stop, reply.stop_name) == (Usage(1, 3, 7, 2, 9), "cut_off", "max_tokens")
    reply, _ = fed({"type": "message_start", "message": {}}, {"type": "message_stop"})
    assert reply == Reply([], "unknown", "", Usage(requests=1))


@pytest.mark.parametrize("pieces", [['{"command": "ls"}'], ['{"com', 'mand": ', '"ls"}'], ["", ' {"command":"ls"} ']])
def test_a_call_is_read_from_its_raw_json(pieces: list[str]) -> None:
    """The pieces are joined before they are parsed."""
    reply = whole(*call(*pieces))
    assert reply.calls == [MadeCall("t1", "bash", {"command": "ls"})]


def test_the_input_of_a_call_may_be_in_its_start() -> None:
    """Some servers do not stream inputs. If neither the deltas nor the start contain an input, it is empty."""
    assert whole(*call(start={"command": "ls"})).calls[0].input == {"command": "ls"}
    assert whole(*call("", "  ", start={"command": "ls"})).calls[0].input == {"command": "ls"}
    assert whole(*call()).calls == [MadeCall("t1", "bash", {})]


BAD_JSON = {
    "cut off": ('{"command": "rm -rf x', "not valid JSON"),
    "cut after a value": ('{"command": "rm -rf x"', "not valid JSON"),
    "two objects": ('{"command": "a"}{"command": "b"}', "not valid JSON"),
    "NaN": ('{"timeout": NaN}', "NaN is not valid in JSON"),
    "infinity": ('{"timeout": -Infinity}', "-Infinity is not valid in JSON"),
    "a number too large for a float": ('{"timeout": 1e999}', "not valid JSON"),
    "a whole number of 5,000 digits": ('{"n": ' + "9" * 5000 + "}", "not valid JSON"),
    "a control character": ('{"command": "a\nb"}', "not valid JSON"),
    "single quotes": ("{'command': 'ls'}", "not valid JSON"),
    "a comma at the end": ('{"command": "ls",}', "not valid JSON"),
    "a list": ('["ls"]', "must be a JSON object"),
    "a string": ('"ls"', "must be a JSON object"),
    "null": ("null", "must be a JSON object"),
    "a number": ("0", "must be a JSON object"),
    "a lone surrogate": ('{"command": "\\ud83d"}', "invalid Unicode"),
    "a lone surrogate as a key": ('{"\\udc00": 1}', "invalid Unicode"),
    "nested 200 deep": ('{"a": ' + "[" * 200 + "]" * 200 + "}", "nested too deeply"),
    "nested 100,000 deep": ("[" * 100_000, "nested too deeply"),
}


@pytest.mark.parametrize("name", BAD_JSON)
def test_fault_15_an_invalid_call_is_never_run(name: str) -> None:
    """docs/faults.md 15, docs/plan.md L13: the call has a message for the model, and an empty input, which the API
    accepts."""
    raw, said = BAD_JSON[name]
    reply = whole(*call(raw), stop_reason="tool_use")
    (bad,) = reply.calls
    assert bad.problem is not None
    assert bad.problem.startswith("Not run: ")
    assert said in bad.problem
    assert "Send it again" in bad.problem or "send it again" in bad.problem
    assert blocks_of(reply) == [{"type": "tool_use", "id": "t1", "name": "bash", "input": {}}]


@pytest.mark.parametrize("start", [{"a": float("inf")}, {"a": "\ud800"}, {"a": [[]] * 3, "b": float("nan")}, [1], "x"])
def test_an_input_in_the_start_is_checked_as_strictly(start: Any) -> None:
    """The input becomes part of the history too, and the next request must be valid."""
    assert read_input("", start)[0] == {}
    assert read_input("", start)[1] is not None


def test_a_deep_or_large_input_is_accepted() -> None:
    """Valid inputs that resemble invalid ones: 90 levels, a megabyte, large numbers, surrogate pairs."""
    deep = '{"a": ' + "[" * 90 + "]" * 90 + "}"
    odd = '{"a": 12345678901234567890, "b": 1e300, "c": "\\ud83d\\ude80"}'
    for raw in (deep, json.dumps({"a": "x" * 1_000_000}), odd):
        given_input, problem = read_input(raw, {})
        assert problem is None
        assert given_input == json.loads(raw)


def test_the_maximum_depth_is_far_below_the_limit_of_python() -> None:
    """An accepted input can be encoded deep in the call stack; otherwise the history could never be sent again."""
    value, problem = read_input('{"a": ' + "[" * 95 + "]" * 95 + "}", {})
    assert problem is None

    def encoded(frames: int) -> str:
        return encoded(frames - 1) if frames else json.dumps([{"content": [value]}])

    assert encoded(sys.getrecursionlimit() // 2)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_every_json_object_is_read_unchanged(value: Json) -> None:
    """A JSON object is read unchanged, as JSON text and as the input in the start of a call."""
    assert read_input(json.dumps(value), {}) == (value, None)
    assert read_input("", value) == (value, None)


@given(st.text(max_size=30))
def test_no_text_makes_the_parser_fail(raw: str) -> None:
    """Any text leads to an input that can be encoded, or to a problem and an empty input."""
    given_input, problem = read_input(raw, None)
    assert (problem is None) or given_input == {}
    json.dumps(given_input, allow_nan=False, ensure_ascii=False).encode()


def test_a_call_without_its_end_is_not_run() -> None:
    """docs/plan.md L13: a call without a `content_block_stop` before `message_stop` counts as cut off, even if its JSON
    looks complete."""
    (cut,) = whole(*call('{"command": "ls"}', stop=False), stop_reason="tool_use").calls
    assert cut.input == {}
    assert "cut off" in str(cut.problem)


def test_incomplete_text_is_kept_and_incomplete_thinking_is_dropped() -> None:
    """Incomplete thinking has no signature, so the API would refuse it."""
    half = [
        *block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "hm"}, stop=False),
        *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "So"}, stop=False),
    ]
    assert blocks_of(whole(*half)) == [{"type": "text", "text": "So"}]


def test_thinking_is_kept_exactly() -> None:
    """Thinking keeps its whitespace, its signature and unknown fields, even if its text is empty or redacted."""
    start = {"type": "thinking", "thinking": "", "signature": "", "future": 1}
    deltas = [
        {"type": "thinking_delta", "thinking": " First,\n"},
        {"type": "thinking_delta", "thinking": "日本 "},
        {"type": "signature_delta", "signature": "c2ln=="},
    ]
    assert blocks_of(whole(*block(0, start, *deltas))) == [
        {"type": "thinking", "thinking": " First,\n日本 ", "signature": "c2ln==", "future": 1}
    ]
    hidden = block(0, {"type": "thinking", "thinking": ""}, {"type": "signature_delta", "signature": "s"})
    assert blocks_of(whole(*hidden)) == [{"type": "thinking", "thinking": "", "signature": "s"}]
    redacted = {"type": "redacted_thinking", "data": "xyz"}
    assert blocks_of(whole(*block(0, redacted))) == [redacted]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u3000"])
def test_empty_text_is_dropped(text: str) -> None:
    """The API refuses empty text blocks in the next request."""
    assert whole(*block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": text})).parts == []


def test_text_may_begin_in_the_start_event() -> None:
    """Some servers send the beginning of a text in `content_block_start`. It belongs to the text."""
    events = block(0, {"type": "text", "text": "Hello"}, {"type": "text_delta", "text": ", you"})
    assert blocks_of(whole(*events)) == [{"type": "text", "text": "Hello, you"}]


def test_unknown_events_deltas_and_blocks_are_accepted() -> None:
    """A later version of the API may add events, deltas and blocks. An unknown block is sent back unchanged."""
    unknown = {"type": "server_tool_use", "id": "s1", "name": "web", "input": {"q": 1}}
    events = [
        {"type": "ping"},
        {"type": "future_event", "index": 9},
        {"no type": True},
        *block(0, unknown, {"type": "future_delta", "x": 1}),
        *block(1, {"type": "text", "text": ""}, {"type": "citations_delta"}, {"type": "text_delta", "text": "Hi"}),
    ]
    assert blocks_of(whole(*events)) == [unknown, {"type": "text", "text": "Hi"}]


@pytest.mark.parametrize("kind", ["text", "thinking"])
def test_surrogates_never_reach_the_history(kind: str) -> None:
    """A divided surrogate pair is joined again, a lone surrogate is replaced, and each shown delta is valid."""
    deltas = [{"type": f"{kind}_delta", kind: piece} for piece in ("a\ud83d", "\ude80b", "\udc00")]
    events = block(0, {"type": kind, kind: ""}, *deltas)
    reply, seen = fed({"type": "message_start", "message": {}}, *events, {"type": "message_stop"})
    assert reply is not None
    assert blocks_of(reply)[0][kind] == "a🚀b\ufffd"
    assert all(delta.text.encode() for delta in seen)
