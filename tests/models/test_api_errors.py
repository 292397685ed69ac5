"""Errors of the Messages API: their kind, their advice, and whether they are retried."""

import asyncio

import pytest

from fairlead.agent.model import Retrying
from fairlead.models.anthropic.messages_api import MessagesApiModel
from fairlead.models.common.retry import MAX_ATTEMPTS
from models.asking import ANSWER, HELLO, MODEL, endpoint, events, failure, opened, shown
from support.fake_api import FakeApi, HttpError, MidStreamError

RETRIED = ("rate_limit", "overloaded", "internal")
# in each line: the error's status, type and sometimes its code, its text, Fairlead's kind, and a part of the advice
ERRORS = """
400 invalid_request_error | Your credit balance is too low to access the Anthropic API. | billing | Add credit
429 rate_limit_error enforced_spend_limit_reached | You have reached your usage limits. | billing | Add credit
429 rate_limit_error ramp_limit_exceeded | Wait | rate_limit | The rate limit is reached
401 authentication_error | invalid x-api-key | auth | “Agent: Set API Key”
402 billing_error | no credit | billing | Add credit, raise the limit or use another key
403 permission_error | no entry | auth | Choose another model
404 not_found_error | model: nope | unknown_model | has no model “MODEL”, or the key has no access to it. Choose another
404 not_found_error | Not Found | wrong_server | check the base URL (setting baseUrl) and the model's name (“MODEL”)
403 permission_error | Request not allowed | region | does not serve your country or region
413 request_too_large | too large | context_overflow | too large
400 invalid_request_error | max_tokens: no | invalid_request | refused the request
400 invalid_request_error | prompt is too long: 200001 tokens > 200000 maximum | context_overflow | too long for
400 invalid_request_error | the request exceeds the available context size | context_overflow | too long for the model
422 invalid_request_error | no | invalid_request | refused the request
408 timeout_error | slow | overloaded | took too long
409 conflict | again | overloaded | took too long
429 rate_limit_error | slow down | rate_limit | The rate limit is reached
500 api_error | oops | internal | reported an internal error
502 ? | bad gateway | internal | reported an internal error
504 timeout_error | gateway | internal | reported an internal error
529 overloaded_error | Overloaded | overloaded | The model is overloaded
"""


@pytest.mark.parametrize("line", ERRORS.replace("MODEL", MODEL).strip().splitlines())
async def test_fault_25_an_error_says_its_kind_and_what_to_do(line: str) -> None:
    """docs/faults.md 18 and 25: a request is retried only if this can help. The message has advice, and quotes the
    model's server.
    """
    name, said, kind, advice = line.split(" | ")
    status, error_type, *code = name.split()
    retryable = kind in RETRIED
    details = {"type": error_type, "message": said, "details": {"error_code": code[0]}} if code else {}
    body = {"type": "error", "error": details} if code else None
    error = HttpError(int(status), error_type, said, body=body)
    with FakeApi([error] * MAX_ATTEMPTS) as api:
        async with opened(api) as model:
            failed = await failure(model)
        assert (failed.kind, failed.retryable) == (kind, retryable)
        assert advice in failed.message
        assert f"({status}: {said})" in failed.message
        assert retryable == (
            f"Fairlead tried {MAX_ATTEMPTS} times. Your task and proposals are saved" in failed.message
        )
        # after a 400 or 422 without details, two more are sent: without most optional fields, then also without the
        # cache mark
        is_about_a_field = "max_tokens" in said or status == "422"
        assert len(api.requests) == (MAX_ATTEMPTS if retryable else 3 if is_about_a_field else 1)


async def test_fault_18_overloaded_twice_then_fine() -> None:
    """docs/faults.md 18: the third attempt succeeds. Each retry is reported and obeys `retry-after`."""
    overloaded = HttpError(529, "overloaded_error", "Overloaded", {"retry-after": "0"})
    limited = HttpError(429, "rate_limit_error", "Wait", {"retry-after-ms": "20"})
    with FakeApi([overloaded, limited, HELLO]) as api:
        model = MessagesApiModel(endpoint(api))
        seen = await events(model)
        await model.aclose()
        assert [(e.attempt, e.delay) for e in seen if isinstance(e, Retrying)] == [(1, 0.0), (2, 0.02)]
        assert shown(seen) == ANSWER


@pytest.mark.parametrize("header", ["Fri, 20 Nov 2026 12:00:00 GMT", "soon", "-5", "nan"])
async def test_an_invalid_retry_after_is_ignored(header: str) -> None:
    """After a date or nonsense, the usual pause applies, and never a negative one."""
    with FakeApi([HttpError(529, "overloaded_error", "Overloaded", {"retry-after": header}), HELLO]) as api:
        async with opened(api) as model:
            seen = await events(model)
        (retry,) = [event for event in seen if isinstance(event, Retrying)]
        assert 0 <= retry.delay <= 1
        assert shown(seen) == ANSWER


async def test_an_error_page_is_handled_by_its_status() -> None:
    """A proxy may answer with HTML, which has no type of error. With a 403, the page is not the model's server's."""

    async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 17\r\nconnection: close\r\n\r\n<h1>No entry</h1>")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(page, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with opened(base_url=f"http://127.0.0.1:{port}") as model:
        failed = await failure(model)
    server.close()
    assert (failed.kind, failed.retryable) == ("proxy", False)
    assert f"instead of http://127.0.0.1:{port}. Check the proxy (HTTPS_PROXY, in VS Code http.proxy)" in failed.message
    assert "(403: No entry)" in failed.message


IN_STREAM = {
    "overloaded_error": ("overloaded", True),
    "rate_limit_error": ("rate_limit", True),
    "api_error": ("internal", True),
    "an_error_of_the_future": ("internal", True),
    "authentication_error": ("auth", False),
    "invalid_request_error": ("invalid_request", False),
}


@pytest.mark.parametrize("kind", IN_STREAM)
async def test_fault_19_an_error_inside_a_200_is_handled_by_its_type(kind: str) -> None:
    """docs/faults.md 19: the type of the error decides as a status would, wherever the error occurs in the stream."""
    expected, retryable = IN_STREAM[kind]
    broken = [MidStreamError(HELLO, after, kind, "It hurts") for after in (0, 1, 5)]
    with FakeApi([*broken, HELLO]) as api:
        async with opened(api) as model:
            if retryable:
                seen = await events(model)
                assert shown(seen) == ANSWER
                assert [event.attempt for event in seen if isinstance(event, Retrying)] == [1, 2, 3]
            else:
                failed = await failure(model)
                assert (failed.kind, failed.retryable) == (expected, False)
                assert "It hurts" in failed.message
        assert len(api.requests) == (4 if retryable else 1)
