"""docs/faults.md 88 to 90 and 93: the model's server sends nonsense to the real Fairlead server process."""

from collections.abc import Callable
from typing import Any

import pytest

from faults.test_stream_faults import still_works
from support.client import Client
from support.fake_api import FakeApi, HttpError, Raw
from support.nonsense import dumped

Connect = Callable[..., Client]


def answer(block: dict[str, Any], usage: Any = None) -> bytes:
    """A stream with one content block."""
    events = [
        {"type": "message_start", "message": {"usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    return b"".join(b"event: x\ndata: %b\n\n" % dumped(event) for event in events)


CALL = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "touch made"}}
GZIP = {"content-encoding": "gzip"}
NONSENSE = {
    "fault_88_a_count_that_is_text": (
        Raw(answer(CALL, {"input_tokens": "abc"})),
        '“message_start.message.usage.input_tokens” must be an integer up to 2^53, not "abc"',
    ),
    "fault_88_a_name_that_is_a_number": (
        Raw(answer({**CALL, "name": 7})),
        "“content_block_start.content_block.name” must be a string, not 7",
    ),
    "fault_89_no_gzip": (Raw(answer(CALL), GZIP, 200), "not match its header “content-encoding”"),
    "fault_89_an_error_that_is_no_gzip": (Raw(b"oops", GZIP, 500), "not match its header “content-encoding”"),
    "fault_89_an_impossible_charset": (
        Raw(b"oops", {"content-type": "text/html; charset=zlib"}, 400),
        "a response that could not be read",
    ),
    "fault_93_a_block_that_no_request_may_contain": (
        Raw(answer({"type": "tool_result"})),
        "a content block of the type “tool_result”, which an answer cannot contain",
    ),
}


@pytest.mark.parametrize("name", NONSENSE)
async def test_nonsense_is_described_after_one_retry(connect: Connect, name: str) -> None:
    """docs/faults.md 88, 89 and 93: the message says what was received and what to check. No call is run, and the next
    prompt works, so no invalid block has entered the conversation."""
    response, said = NONSENSE[name]
    with FakeApi(turns=[response, response]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["error"]["kind"], len(api.requests)) == ("error", "network", 2)
            assert (len(client.events("retry")), client.events("tool_started")) == (1, [])
            assert said in result["message"]
            await still_works(client, api, result["sessionId"])


async def test_fault_90_a_413_with_impossible_sizes_is_a_clear_error(connect: Connect) -> None:
    """docs/faults.md 90: the error is clear and short, and the request is not repeated without end."""
    said = f"prompt is too long: {'9' * 5000} tokens > 1 maximum"
    with FakeApi(turns=[HttpError(413, "request_too_large", said)] * 9) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["error"]["kind"]) == ("error", "context_overflow")
            assert "cannot be shortened any further" in result["message"] and len(result["message"]) < 1500
