"""docs/faults.md 88 to 90 and 93: the model's server sends nonsense to the real Fairlead server process."""

from collections.abc import Callable
from typing import Any

import pytest

from faults.test_stream_faults import still_works
from support.client import Client
from support.fake_api import FakeApi, HttpError, Raw
from support.nonsense import dumped

Connect = Callable[..., Client]
Json = dict[str, Any]


def answer(block: Json, stop_reason: Any = "end_turn", usage: Any = None) -> Raw:
    """A stream with one content block."""
    events = [
        {"type": "message_start", "message": {"usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop_reason}},
        {"type": "message_stop"},
    ]
    return Raw(b"".join(b"event: x\ndata: %b\n\n" % dumped(event) for event in events))


TEXT = {"type": "text", "text": "Hi."}
CALL = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "touch made"}}
FIELDS = {
    "a count that is text": (
        answer(TEXT, usage={"input_tokens": "abc"}),
        '“message_start.message.usage.input_tokens” that is not a whole number from 0 to 1,000,000,000,000: "abc"',
    ),
    "a count that is too large": (
        answer(TEXT, usage={"output_tokens": 10**400}),
        ".usage.output_tokens” that is not a whole",
    ),
    "a stop reason that is a list": (
        answer(TEXT, stop_reason=["end_turn"]),
        '“message_delta.delta.stop_reason” that is not text: ["end_turn"]',
    ),
    "a name that is a number": (
        answer({**CALL, "name": 7}, "tool_use"),
        "“content_block_start.content_block.name” that is not text: 7",
    ),
    "an id that is a number": (
        answer({**CALL, "id": 1.5}, "tool_use"),
        "“content_block_start.content_block.id” that is not text: 1.5",
    ),
}


async def failed_twice(connect: Connect, response: Raw, kind: str = "network") -> str:
    """The message of a run that fails because the first attempt and its only retry both get this response.

    Checks that no tool has started and that the next prompt works.
    """
    with FakeApi(turns=[response, response]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["error"]["kind"], len(api.requests)) == ("error", kind, 2)
            assert len(client.events("retry")) == 1
            assert client.events("tool_started") == []
            await still_works(client, api, result["sessionId"])
            return result["message"]


@pytest.mark.parametrize("name", FIELDS)
async def test_fault_88_a_field_of_a_wrong_type_is_named(connect: Connect, name: str) -> None:
    """docs/faults.md 88: after one retry, the message says what was received and what to check; no call is run."""
    response, said = FIELDS[name]
    message = await failed_twice(connect, response)
    assert said in message
    assert "Check that server, and any proxy in front of it. Fairlead tried 2 times." in message


BODIES = {
    "invalid gzip": (answer(TEXT), {"content-encoding": "gzip"}, 200, "not match its header “content-encoding”"),
    "invalid gzip in an error": (b"oops", {"content-encoding": "gzip"}, 500, "not match its header “content-encoding”"),
    "an impossible charset": (
        b"oops",
        {"content-type": "text/html; charset=zlib"},
        400,
        "a response that could not be read",
    ),
}


@pytest.mark.parametrize("name", BODIES)
async def test_fault_89_a_body_that_cannot_be_decoded_is_named(connect: Connect, name: str) -> None:
    """docs/faults.md 89: after one retry, the message names the header that is wrong or calls the body unreadable."""
    body, headers, status, said = BODIES[name]
    data = body.body if isinstance(body, Raw) else body
    assert said in await failed_twice(connect, Raw(data, headers, status))


async def test_fault_88_one_wrong_answer_is_requested_again(connect: Connect) -> None:
    """docs/faults.md 88: if the second answer is valid, the user sees only a retry."""
    with FakeApi(turns=[FIELDS["a count that is text"][0], answer(TEXT)]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["message"], client.text()) == ("end_turn", "Hi.", "Hi.")
            assert "input_tokens" in client.events("retry")[0]["reason"]
            await still_works(client, api, result["sessionId"])


@pytest.mark.parametrize(
    "said",
    [
        "Request body too large",
        "prompt is too long: 0 tokens > 0 maximum",
        f"prompt is too long: {'9' * 5000} tokens > 1 maximum",
        "(1 tokens) exceeds the available context size (1 tokens",
    ],
    ids=["none", "zero", "5,000 digits", "one"],
)
async def test_fault_90_a_413_with_any_sizes_is_a_clear_error(connect: Connect, said: str) -> None:
    """docs/faults.md 90: the error is clear even if the response names no sizes, or impossible ones."""
    with FakeApi(turns=[HttpError(413, "request_too_large", said)] * 9) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["error"]["kind"]) == ("error", "context_overflow")
            assert "cannot be shortened any further" in result["message"] and len(result["message"]) < 1500


@pytest.mark.parametrize("kind", ["tool_result", "image"])
async def test_fault_93_a_block_that_no_request_may_contain_is_refused(connect: Connect, kind: str) -> None:
    """docs/faults.md 93: the block does not enter the conversation, so the next request is valid."""
    message = await failed_twice(connect, answer({"type": kind}))
    assert f"a content block of the type “{kind}”, which an answer cannot contain" in message
