"""Chunks of Chat Completions and events of Responses that are too many or too long."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

from fairlead.models.common.retry import MAX_ATTEMPTS
from faults.answers.parts import (
    DENSE,
    LONG_BLOCK,
    LONG_EVENT,
    LONG_REPLY,
    MANY_VALUES,
    Answer,
    endless,
    event,
    head,
    once,
    stream,
)
from support.raw_server import Parts

MANY_PARTS = "more than 1,000 parts"
LONG_TEXT = "must have at most 2,000 characters"


def chunk(delta: Any, finish: str | None = None, **more: Any) -> bytes:
    """A chunk of Chat Completions."""
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return b"data: %b\n\n" % json.dumps({"choices": choices, **more}).encode()


def called(n: int, arguments: Any = "{}", name: str = "nope") -> Any:
    """A call in a chunk."""
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": n, "id": f"t{n}", "type": "function", "function": function}]}


def chats(part: Callable[[int], Any], count: int, finish: str = "stop") -> Parts:
    """An answer of Chat Completions with so many deltas."""
    return lambda: chain([head()], (chunk(part(n)) for n in range(count)), [chunk({}, finish), END])


def of_api(api: str, *answers: Answer) -> list[Answer]:
    """The answers, with the API in their names."""
    return [replace(answer, name=f"{api}: {answer.name}", api=api) for answer in answers]


END = b"data: [DONE]\n\n"
CHAT = of_api(
    "chat",
    Answer("a text", chats(lambda n: {"content": "x" * 50_000}, 1000), LONG_BLOCK),
    Answer("thinking", chats(lambda n: {"reasoning": "x" * 50_000}, 1000), LONG_BLOCK),
    Answer(
        "signed thinking",
        chats(lambda n: {"reasoning_details": [{"type": f"t{n}", "signature": "x" * 50_000}]}, 1000),
        LONG_BLOCK,
    ),
    Answer("a call", chats(lambda n: called(0, "[" * 50_000), 1000), LONG_BLOCK),
    Answer("a call in objects", chats(lambda n: called(0, {f"a{n}": "x" * 50_000}), 1000), LONG_BLOCK),
    Answer("long calls", chats(lambda n: called(n, "x" * 900_000), 20), LONG_REPLY),
    Answer("calls without end", chats(called, 100_000), MANY_PARTS),
    Answer(
        "calls without ids without end",
        chats(lambda n: {"tool_calls": [{"function": {"name": "nope", "arguments": "{}"}}]}, 100_000),
        MANY_PARTS,
    ),
    Answer("900 calls", chats(called, 900, "tool_calls"), "Done.", 1, ""),
    Answer(
        "a call with 200,000 objects",
        lambda: [head(), *(chunk(called(0, part)) for part in ('{"a":[', DENSE, "0]}")), chunk({}, "tool_calls"), END],
        "Done.",
        1,
        "",
    ),
    Answer("an id of 1 MB", stream(chunk({"tool_calls": [{"index": 0, "id": "x" * 1_000_000}]})), LONG_TEXT),
    Answer("a tool's name of 1 MB", stream(chunk(called(0, "", "x" * 1_000_000))), LONG_TEXT),
    Answer("2,000 calls in a chunk", stream(chunk({"tool_calls": [{}] * 2000})), "must have at most 1,000 items"),
    Answer("a reason of 1 MB", stream(chunk({"content": "Hi"}, "x" * 1_000_000), END), "unknown to Fairlead: xxx", 1),
    Answer(
        "a count of 4,000 digits",
        stream(chunk({}, "stop", usage={"prompt_tokens": 3}).replace(b": 3", b": " + b"9" * 4000)),
        "must be an integer up to 2^53",
    ),
    Answer("a long refusal", chats(lambda n: {"refusal": "x" * 50_000}, 1000), "The model refused to continue", 1, ""),
    Answer(
        "an error of 1.7 MB",
        stream(b'data: {"error": {"message": "%b"}}\n\n' % (b"1" * 1_700_000)),
        "The answer was interrupted. (111",
        MAX_ATTEMPTS,
        "internal",
    ),
    Answer("empty chunks without end", endless(head(), chunk({}) * 1000), "more than 1,000,000 lines", slow=True),
    Answer("a chunk of 3 MB", stream(chunk({"content": "x" * 3_000_000})), LONG_EVENT),
)


def item(kind: str, n: int = 0, **more: Any) -> Any:
    """An item of Responses."""
    return {"id": f"i{n}", "type": kind, **more}


def added(kind: str, n: int = 0, **more: Any) -> bytes:
    return event("response.output_item.added", output_index=n, item=item(kind, n, **more))


def done(kind: str, n: int = 0, **more: Any) -> bytes:
    return event("response.output_item.done", output_index=n, item=item(kind, n, **more))


def piece(kind: str, delta: Any, n: int = 0) -> bytes:
    return event(f"response.{kind}.delta", item_id=f"i{n}", output_index=n, delta=delta)


def responses(part: Callable[[int], bytes], count: int) -> Parts:
    """An answer of Responses with so many parts."""
    return lambda: chain([head()], map(part, range(count)), [COMPLETED])


def call(n: int, arguments: Any = "{}", name: str = "nope") -> bytes:
    return done("function_call", n, call_id=f"t{n}", name=name, arguments=arguments)


COMPLETED = event("response.completed", response={"status": "completed"})
RESPONSES = of_api(
    "responses",
    Answer("a text", responses(lambda n: piece("output_text", "x" * 50_000), 1000), LONG_BLOCK),
    Answer("thinking", responses(lambda n: piece("reasoning_summary_text", "x" * 50_000), 1000), LONG_BLOCK),
    Answer("a call", responses(lambda n: piece("function_call_arguments", "[" * 50_000), 1000), LONG_BLOCK),
    Answer("long calls", responses(lambda n: call(n, "x" * 900_000), 20), LONG_REPLY),
    Answer("calls without end", responses(call, 100_000), MANY_PARTS),
    Answer("open items without end", responses(lambda n: added("message", n), 100_000), MANY_PARTS),
    Answer(
        "encrypted reasoning without end",
        responses(lambda n: done("reasoning", n, encrypted_content="x" * 900_000, summary=[]), 20),
        LONG_REPLY,
    ),
    Answer("900 calls", responses(call, 900), "Done.", 1, ""),
    Answer(
        "a call with 200,000 objects",
        stream(*(piece("function_call_arguments", part) for part in ('{"a":[', DENSE, "0]}")), COMPLETED),
        "Done.",
        1,
        "",
    ),
    Answer(
        "a call that is an object of 200,000 objects",
        stream(call(0, {"a": [{"": 0}] * 200_000}), COMPLETED),
        MANY_VALUES,
    ),
    Answer("an id of 1 MB", stream(added("function_call", call_id="x" * 1_000_000)), LONG_TEXT),
    Answer("a tool's name of 1 MB", stream(call(0, name="x" * 1_000_000)), LONG_TEXT),
    Answer(
        "2,000 items at the end",
        stream(event("response.completed", response={"output": [item("message")] * 2000})),
        "must have at most 1,000 items",
    ),
    Answer(
        "a long refusal",
        responses(lambda n: piece("refusal", "x" * 50_000), 1000),
        "The model refused to continue",
        1,
        "",
    ),
    Answer(
        "a count of 4,000 digits",
        stream(
            event("response.completed", response={"usage": {"input_tokens": 3}}).replace(b": 3", b": " + b"9" * 4000)
        ),
        "must be an integer up to 2^53",
    ),
    Answer(
        "an error of 1.7 MB",
        stream(event("error", code="x", message="1" * 1_700_000)),
        "The answer was interrupted. (111",
        MAX_ATTEMPTS,
        "internal",
    ),
    Answer(
        "unknown events without end",
        endless(head(), event("response.new") * 1000),
        "more than 1,000,000 lines",
        slow=True,
    ),
)
SAID = {
    "chat": once(head(), chunk({"content": "Done."}, "stop"), END),
    "responses": once(head(), piece("output_text", "Done."), COMPLETED),
}
"""What follows an answer, by API."""
