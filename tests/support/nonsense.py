"""Hypothesis strategies for what no model's server should send and no recording should contain.

Each begins with something valid, changes a few places, and perhaps damages the bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import hypothesis.strategies as st

from .fake_api import Call, Raw, Text, Thinking, Turn
from .fake_api.turns import Envelope, Event, steps
from .fake_openai import chat, responses

Json = dict[str, Any]
Path = tuple[Any, ...]

APIS = ("messages", "chat", "responses")
DEEP = "@deep@"
"""A placeholder for a list of 900 levels, which `json.dumps` would not write."""
DONE = "@done@"
"""A placeholder for the text with which a stream of OpenAI's APIs ends; it is no JSON."""
ASKED = {"model": "m", "stream_options": {"include_usage": True}, "reasoning": {"summary": "auto"}}
"""What the streams of OpenAI's APIs answer."""
TURNS = (
    Turn((Text("Hello, 世界 🚀."),), chunk=4),
    Turn((Thinking("Hm."), Text("I look."), Call("todo", {"items": [{"content": "a", "status": "pending"}]}))),
    Turn((Call("read_file", {"path": "a.py"}), Call("bash", {"command": "ls"})), extra_events=True),
    Turn((), stop_reason="end_turn"),
)
USAGE = {"input_tokens": 30, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 2, "output_tokens": 1}
EDITS = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2, "cleared_input_tokens": 9}]}

ODD_NUMBERS = [0, -1, 1, 2**31, 2**63, 10**30, 10**400, 0.0, 1.5, -1e308, float("nan"), float("inf")]
ODD_TEXTS = ["", "abc", "1", "\x00\x1b[31m", "\ud800", "a\ud83d", "\udc00", "\u202e", DEEP, "x" * 20_000, "</system>"]
ODD_TEXTS += ["tool_result", "image", "thinking", "text", "tool_use", "error", "message_stop", "text_delta", "end_turn"]
ODD_VALUES: list[Any] = [None, True, False, *ODD_NUMBERS, *ODD_TEXTS]
ODD_VALUES += [[], {}, [[]], [None], [{}], {"": {}}, {"type": 7}, [1, "a"], {"input_tokens": "abc"}]
EXTRA_EVENTS: list[Any] = [
    {"type": "error", "error": None},
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    {"type": "error", "error": {"type": ["x"], "message": {"a": [DEEP]}}},
    {"error": "prompt is too long: 90000000000000000000000 tokens > 0 maximum"},
    {"error": {"message": "maximum context length is 1 tokens", "n_prompt_tokens": "x", "n_ctx": -1}},
    {"type": "content_block_delta", "index": 99, "delta": {"type": "text_delta", "text": "x"}},
    {"type": "content_block_stop", "index": -1},
    {"type": "content_block_start", "index": 10**30, "content_block": {"type": "image", "source": {}}},
    {"type": "content_block_start", "index": 50, "content_block": {"type": "tool_result", "tool_use_id": "x"}},
    {"type": "content_block_start", "index": 51, "content_block": {"type": "redacted_thinking", "data": DEEP}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    {"choices": [DEEP], "object": ["chat.completion"]},
    {"type": "future", "value": DEEP},
    [{"type": "message_stop"}],
    "message_stop",
    None,
    10**400,
    float("nan"),
]
OPENAI_EVENTS: list[Any] = [
    DONE,
    {"error": {"code": ["x"], "type": 7, "message": {"a": [DEEP]}}},
    {"error": "prompt is too long: 90000000000000000000000 tokens > 0 maximum"},
    {
        "choices": [
            {"index": 0, "delta": {"tool_calls": [{"index": 10**30, "id": "", "function": {"arguments": DEEP}}]}}
        ]
    },
    {"choices": [{"delta": {"tool_calls": [{"function": {"name": "x", "arguments": {"a": DEEP}}}] * 3}}]},
    {"choices": [{"delta": {"reasoning_details": [{"type": DEEP, "text": "a"}], "reasoning": "b"}}]},
    {"choices": [{"delta": {"content": [{"type": "thinking", "thinking": [{"text": 7}]}]}, "finish_reason": "stop"}]},
    {
        "choices": [{"finish_reason": "length", "delta": None, "message": {"content": "x"}}],
        "usage": {"prompt_tokens": 1},
    },
    {"type": "error", "code": {}, "message": DEEP},
    {"type": "response.failed", "response": {"error": {"code": "insufficient_quota", "message": None}}},
    {"type": "response.incomplete", "response": {"incomplete_details": {"reason": DEEP}}},
    {"type": "response.output_item.added", "output_index": -1, "item": {"type": "new", "a": DEEP}},
    {
        "type": "response.output_item.done",
        "output_index": "1",
        "item": {"type": "function_call", "arguments": {"a": DEEP}},
    },
    {"type": "response.output_item.done", "item": {"type": "reasoning", "encrypted_content": DEEP, "summary": [{}]}},
    {"type": "response.completed", "response": {"output": [{"type": "message", "content": [{"text": "\ud800"}]}]}},
    {"type": "response.refusal.delta", "delta": "\ud800" * 900},
    {"type": "response.content_part.added", "content_index": 10**30},
]
ERROR_BODIES: list[Any] = [
    {"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens: 5 > 3, which is the maximum"}},
    {"error": {"message": "max_tokens: 9 > " + "9" * 5000 + ", which is the maximum"}},
    {"error": {"message": "prompt is too long: 200001 tokens > 200000 maximum", "n_ctx": 1}},
    {"error": {"message": "prompt is too long: " + "9" * 5000 + " tokens > 0 maximum"}},
    {"error": {"message": "(0 tokens) exceeds the available context size (0 tokens"}},
    {"error": {"message": "prompt is too long: 1 tokens > 1 maximum"}},
    {"error": "the model is still loading"},
    [{"error": {"message": "x", "code": [1]}}],
    {"error": {"type": {}, "message": {"a": DEEP}, "details": [DEEP]}},
    {"Message": True},
]
HEADERS: list[tuple[str, str]] = [
    ("content-type", "text/html"),
    ("content-type", "application/json; charset=utf-16"),
    ("content-type", "text/html; charset=zlib"),
    ("content-type", "text/html; charset=rot13"),
    ("content-type", "text/plain; charset=undefined"),
    ("content-type", "text/plain; charset=idna"),
    ("content-type", "x" * 3000),
    ("content-type", "\xff\xfe"),
    ("content-encoding", "gzip"),
    ("content-encoding", "deflate, gzip"),
    ("content-encoding", "br"),
    ("content-encoding", "zstd"),
    ("content-encoding", "unknown"),
    ("content-length", "7"),
    ("content-length", "100000"),
    ("content-length", "-1"),
    ("content-length", "abc"),
    ("transfer-encoding", "chunked"),
    ("retry-after", "nan"),
    ("retry-after", "1e999"),
    ("retry-after-ms", "-1e400"),
    ("retry-after", "\xb2"),
    ("request-id", "x" * 5000),
    ("x-amzn-errortype", "#:#"),
    ("location", "http://[::bad"),
    ("set-cookie", "a=b; expires=never; \xff"),
    ("connection", "upgrade"),
]
STATUSES = [
    200,
    201,
    204,
    206,
    226,
    300,
    301,
    304,
    307,
    400,
    401,
    402,
    403,
    404,
    408,
    409,
    413,
    415,
    418,
    422,
    424,
    425,
]
STATUSES += [429, 431, 451, 499, 500, 501, 502, 503, 504, 511, 529, 599, 600, 777, 999]
PAGES = [
    b"",
    b"\n" * 5000,
    b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>x</body></html>",
    b"<html" * 1000,
    b'{"id":"msg_1","type":"message","content":[]}',
    b'{"object":"chat.completion","choices":[]}',
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
    b"\xff\xfe\x00\x01" * 50,
    "\ufeffevent: x\ndata: {}\n\n".encode(),
    b"data: " + b"[" * 5000 + b"\n\n",
    b'data: {"type": "message_stop"',
    b"data: [DONE]\n\n",
    b"5\r\ndata:\r\nzz\r\n",
]
YAML_SCALARS = ["!!int abc", "!!int ''", "!!float x", "!!bool maybe", "!!null x", "!!timestamp x", "!!binary '#'"]
YAML_SCALARS += [
    "!!set {a}",
    "!!omap [a]",
    "!!str [a]",
    "!!map [a]",
    "!mine 1",
    "*a",
    "&a [*a]",
    "<<: *x",
    "? a",
    "- b",
]
YAML_SCALARS += ["9" * 5000, "1e999", "~", "yes", "'", '"\\ud800"', "[" * 300, "\t", "|", ">-", "%", "@", "0x1", ".inf"]
RECORDING: Json = {
    "replay": 1,
    "about": "A task",
    "pace": 0.5,
    "turns": [
        {"text": "One", "thinking": "Hm", "calls": [{"read_file": {"path": "a.py", "n": [1, 2.5, None, True]}}]},
        {"text": "Two", "stop": "done", "usage": {"input": 3, "cacheRead": 2, "cacheWrite": 1, "output": 9}},
    ],
}


def dumped(value: Any) -> bytes:
    """JSON as a careless server writes it: with NaN, halves of surrogate pairs, and deep lists."""
    text = json.dumps(value).replace(f'"{DEEP}"', "[" * 900 + "]" * 900)
    return text.replace(f'"{DONE}"', "[DONE]").encode()


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _paths(inner, (*path, key))


@st.composite
def _changed(draw: st.DrawFn, value: Any, odd: list[Any], most: int) -> Any:
    """The value with a few places replaced by odd values, or removed."""
    value = deepcopy(value)
    for _ in range(draw(st.integers(0, most))):
        paths = list(_paths(value))
        if not paths:
            break
        *parents, key = draw(st.sampled_from(paths))
        inside = value
        for parent in parents:
            inside = inside[parent]
        if draw(st.integers(0, 4)):
            inside[key] = deepcopy(draw(st.sampled_from(odd)))
        else:
            del inside[key]
    return value


def known_events(turn: Turn, api: str = "messages") -> list[Any]:
    """The events of a valid stream, with a count for everything that is counted."""
    match api:
        case "chat":
            found = chat.events(turn, ASKED, chat.servers()["vllm"], "c1")
            return [DONE if event is chat.DONE else event.data for event in found]
        case "responses":
            stream = responses.Stream({**ASKED, "include": [responses.ENCRYPTED]}, "r1", lambda prefix: f"{prefix}_1")
            return [event.data for event in stream.events(turn)]
        case _:
            envelope = Envelope(usage=USAGE, context_management=EDITS)
            return [step.data for step in steps(turn, envelope) if isinstance(step, Event)]


def with_each_value(valid: Any, odd: list[Any]) -> Iterator[Any]:
    """The valid value with each odd value in each place, one at a time."""
    for *parents, key in _paths(valid):
        for replacement in odd:
            value = deepcopy(valid)
            inside = value
            for parent in parents:
                inside = inside[parent]
            inside[key] = replacement
            yield value


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes as they are, or cut off, or with some in the middle replaced."""
    how = draw(st.sampled_from(["whole", "whole", "whole", "cut", "replaced"]))
    if how == "whole" or not data:
        return data
    at = draw(st.integers(0, len(data)))
    return data[:at] if how == "cut" else data[:at] + draw(st.binary(max_size=6)) + data[at + draw(st.integers(0, 9)) :]


@st.composite
def events(draw: st.DrawFn, api: str = "messages") -> list[Any]:
    """The events of one stream: values replaced, events left out, repeated, moved and added."""
    extra = EXTRA_EVENTS if api == "messages" else [*OPENAI_EVENTS, *EXTRA_EVENTS]
    stream: list[Any] = draw(_changed(known_events(draw(st.sampled_from(TURNS)), api), ODD_VALUES, 3))
    for _ in range(draw(st.integers(0, 2))):
        at, to = draw(st.integers(0, len(stream))), draw(st.integers(0, len(stream)))
        match draw(st.sampled_from(["add", "repeat", "move", "drop"])):
            case "add":
                stream.insert(to, draw(st.sampled_from(extra)))
            case "repeat":
                stream[to:to] = stream[at : at + 1]
            case "move":
                moved = stream[at : at + 1]
                del stream[at : at + 1]
                stream[to:to] = moved
            case _:
                del stream[at : at + 1]
    return stream


@st.composite
def streams(draw: st.DrawFn, api: str = "messages") -> bytes:
    """The bytes of one stream."""
    end = draw(st.sampled_from([b"\n", b"\n", b"\r\n"]))
    data = b"".join(b"event: x%bdata: %b%b%b" % (end, dumped(event), end, end) for event in draw(events(api)))
    return draw(damaged(data))


@st.composite
def http_responses(draw: st.DrawFn, api: str = "messages") -> Raw:
    """A whole HTTP response: mostly streams, but also pages, and errors with any status and body."""
    headers = dict(draw(st.lists(st.sampled_from(HEADERS), max_size=2))) if draw(st.integers(0, 3)) == 0 else {}
    match draw(st.sampled_from(["stream", "stream", "stream", "page", "error"])):
        case "stream":
            return Raw(draw(streams(api)), headers)
        case "page":
            return Raw(draw(damaged(draw(st.sampled_from(PAGES)))), headers, draw(st.sampled_from(STATUSES)))
        case _:
            body = draw(_changed(draw(st.sampled_from([*ERROR_BODIES, *ODD_VALUES])), ODD_VALUES, 1))
            data = draw(damaged(dumped(body)))
            return Raw(data, {"content-type": "application/json", **headers}, draw(st.sampled_from(STATUSES)))


TAGGED = [f"@{number}@" for number in range(len(YAML_SCALARS))]
"""Placeholders for YAML_SCALARS in a recording that is not written yet."""


def written_recording(value: Any) -> bytes:
    """The recording as YAML, with the scalars in place of their placeholders."""
    text = dumped(value).decode()
    for placeholder, scalar in zip(TAGGED, YAML_SCALARS, strict=True):
        text = text.replace(f'"{placeholder}"', scalar)
    return text.encode()


@st.composite
def recordings(draw: st.DrawFn) -> bytes:
    """The bytes of a recording in which a few values have other types or are not YAML."""
    return draw(damaged(written_recording(draw(_changed(RECORDING, [*ODD_VALUES, *TAGGED], 3)))))
