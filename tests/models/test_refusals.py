"""Refusals of requests or answers that are too long, in the words of different model servers."""

import json

import pytest

from fairlead.agent.errors import Overflow
from fairlead.models.common.refusals import parse_max_tokens, parse_overflow
from models.asking import HELLO, asked, failure, opened, reply
from support.fake_api import FakeApi, FakeWindow, HttpError
from support.fake_api.window import REFUSALS, tokens_of

WINDOW = 50


@pytest.mark.parametrize("server", REFUSALS)
async def test_fault_80_a_refusal_for_length_is_recognized_with_its_sizes(server: str) -> None:
    """docs/faults.md 80: the error has the sizes if the refusal names them, for each server and form of refusal."""
    with FakeApi([HELLO], window=FakeWindow(WINDOW, server)) as api:
        async with opened(api, max_tokens=50) as model:
            failed = await failure(model)
        (request,) = api.requests
    assert (failed.kind, failed.retryable) == ("context_overflow", False)
    named = REFUSALS[server].get("names", True)
    assert failed.overflow == (Overflow(WINDOW, tokens_of(request.body)) if named else Overflow())


TOO_LARGE = {
    "https://github.com/OpenHands/OpenHands/issues/11090": (
        "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku-20241022"
    ),
    "https://github.com/deepseek-ai/DeepSeek-V3/issues/69": (
        "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"
    ),
    "https://github.com/enoch3712/ExtractThinker/issues/346": (
        "litellm.BadRequestError: OpenAIException - max_tokens is too large: 32000. This model supports at most 8192 "
        "completion tokens, whereas you provided 32000."
    ),
    "https://github.com/Gitlawb/openclaude/issues/331": (
        "The parameter `max_completion_tokens` specified in the request are not valid: integer above maximum value, "
        "expected a value <= 8192, but got 32000 instead."
    ),
}


@pytest.mark.parametrize("source", TOO_LARGE)
async def test_fault_81_an_answer_limit_above_the_models_own_is_lowered(source: str) -> None:
    """docs/faults.md 81: the request is sent again with the limit that the refusal names; later requests keep to it."""
    with FakeApi([HttpError(400, "invalid_request_error", TOO_LARGE[source]), HELLO, HELLO]) as api:
        async with opened(api, max_tokens=32_000) as model:
            await reply(model)
            await reply(model, asked())
        assert [json.loads(request.raw)["max_tokens"] for request in api.requests] == [32_000, 8192, 8192]


@pytest.mark.parametrize("size", ["0", "9" * 13, "9" * 5000])
def test_fault_90_impossible_sizes_are_ignored(size: str) -> None:
    """docs/faults.md 90: a size of 0 or of more than 12 digits, which Python may refuse to read, counts as missing."""
    assert parse_overflow(f"prompt is too long: {size} tokens > 4096 maximum") == Overflow(window=4096)
    assert parse_overflow(f"prompt is too long: 5000 tokens > {size} maximum") == Overflow(request=5000)
    assert parse_max_tokens(f"max_tokens: 32000 > {size}, which is the maximum") is None


async def test_fault_90_an_answer_limit_is_lowered_only_once_for_a_request() -> None:
    """docs/faults.md 90: a server that names a lower limit each time does not keep the run busy: the request fails."""
    refusals = [HttpError(400, "", f"max_tokens: {n} > {n - 1}, which is the maximum") for n in range(1000, 900, -1)]
    with FakeApi(refusals) as api:
        async with opened(api) as model:
            assert (await failure(model)).kind == "invalid_request"
        assert {json.loads(request.raw)["max_tokens"] for request in api.requests[1:]} == {999}
        assert len(api.requests) < 5
