"""Servers that answer with something other than a stream of the Messages API, or send nothing for a long time."""

import asyncio
from threading import Event as Signal

import pytest

from fairlead.agent.errors import Overflow
from fairlead.agent.model import Retrying
from fairlead.models.common.endpoint import CLOUD_SILENCE, LOCAL_SILENCE, SILENCE
from fairlead.models.common.retry import LOADING_DELAY, LOADING_LIMIT, MAX_ATTEMPTS
from models.asking import ANSWER, HELLO, endpoint, events, failure, opened, shown
from support.fake_api import FakeApi, HttpError, Page, Raw, Wait

SIGN_IN = """<!DOCTYPE html>
<html><head><title>Sign in to the &quot;Guest&quot; network</title><script>if (a < b) { go("x"); }</script></head>
<body><h1>Welcome</h1></body></html>"""
OPENAI = '{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{}}]}'
CHUNK = '{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"}}]}'
STREAM = "text/event-stream"
PAGES = {
    "a sign-in page": (
        Page("text/html; charset=utf-8", SIGN_IN),
        'a web page instead of a stream of events: “Sign in to the "Guest" network”',
    ),
    "a page that calls itself a stream": (Page(STREAM, "<html><body><p>No  such<br>host</body>"), "“No such host”"),
    "a page with a script": (
        Page("text/html", f"<html><head><title>Blocked</title></head><script>log({OPENAI})</script></html>"),
        "a web page instead of a stream of events: “Blocked”",
    ),
    "JSON": (
        Page("application/json", '{"status": "ok"}'),
        'application/json instead of a stream of events: “{"status": "ok"}”',
    ),
    "text": (
        Page("text/plain", "Unauthorized " * 100),
        "text/plain instead of a stream of events: “Unauthorized Unauthorized",
    ),
    "no content type": (Page("", "[]"), "something without a content type instead of a stream of events: “[]”"),
    "OpenAI's answer": (Page("application/json", OPENAI), "in the format of OpenAI's API"),
    "OpenAI's stream": (Page(STREAM, f"data: {CHUNK}\n\ndata: [DONE]\n\n"), "in the format of OpenAI's API"),
    "a complete message": (
        Page("application/json", '{"id":"msg_1","type":"message","content":[]}'),
        "a complete message",
    ),
    "a complete message with a call": (
        Page("application/json", '{"id":"msg_1","content":[{"type":"tool_use","input":{"choices":["a"]}}]}'),
        "a complete message",
    ),
}


@pytest.mark.parametrize("name", PAGES)
async def test_fault_83_a_response_without_a_stream_is_described_and_not_retried(name: str) -> None:
    """docs/faults.md 83: one short error without HTML says what was received and what to check."""
    page, said = PAGES[name]
    with FakeApi([page] * MAX_ATTEMPTS) as api:
        async with opened(api) as model:
            failed = await failure(model)
        kind = "proxy" if "page" in name else "wrong_server"
        assert (failed.kind, failed.retryable, len(api.requests)) == (kind, False, 1)
        assert failed.message.startswith(f"{api.url} ")
    assert said in failed.message
    assert "<" not in failed.message and len(failed.message) < 450
    assert ("http.proxy" in failed.message) == ("page" in name)


async def test_fault_83_an_error_with_status_200_is_recognized() -> None:
    """docs/faults.md 83: some servers refuse with status 200, in place of a stream or within it."""
    said = '{"error":{"code":400,"message":"exceeds the available context size","n_prompt_tokens":9,"n_ctx":8}}'
    for page in (Page("application/json", said), Page(STREAM, f"event: error\ndata: {said}\n\n")):
        with FakeApi([page]) as api:
            async with opened(api) as model:
                failed = await failure(model)
        assert (failed.kind, failed.overflow) == ("context_overflow", Overflow(window=8, request=9))


async def test_fault_83_the_title_of_an_error_page_is_shown() -> None:
    """docs/faults.md 83: the message contains the title without the HTML around it."""
    page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><hr>nginx</body></html>"
    with FakeApi([HttpError(502, "", "", body=page)] * MAX_ATTEMPTS) as api:
        async with opened(api) as model:
            failed = await failure(model)
    assert "(502: 502 Bad Gateway)" in failed.message


@pytest.mark.parametrize("body", [b"", b"\n" * 200_000, b": ping\n\n"], ids=["nothing", "blank lines", "a comment"])
async def test_fault_89_an_empty_answer_is_requested_again(body: bytes) -> None:
    """docs/faults.md 89: a connection may have broken before the first event."""
    with FakeApi([Raw(body), HELLO] + [Raw(body)] * MAX_ATTEMPTS) as api:
        async with opened(api) as model:
            assert shown(await events(model)) == ANSWER
            failed = await failure(model)
    assert (failed.kind, failed.retryable) == ("network", True)
    assert failed.message.startswith(f"The model's answer was empty. Fairlead tried {MAX_ATTEMPTS} times.")


@pytest.mark.parametrize("begun", [False, True])
async def test_fault_83_a_silent_server_has_its_own_error(begun: bool) -> None:
    """docs/faults.md 83: the server may be silent before or during an answer. The error names the setting; there is no
    retry.
    """
    turn = Wait(HELLO, Signal(), 3 if begun else 0)
    with FakeApi([turn] * MAX_ATTEMPTS) as api:
        async with opened(api, max_silence=0.2) as model:
            failed = await failure(model)
        await asyncio.to_thread(api.wait_for_requests, 1)  # the limit may end before the server has read the request
        assert f"{api.url} is connected, but has sent nothing for 0.2 seconds" in failed.message
        assert "maxSilenceSeconds" in failed.message and "network" not in failed.message
        assert (failed.kind, len(api.requests)) == ("network", 1)


async def test_fault_83_a_server_that_sends_no_status_line_is_silent_too() -> None:
    """docs/faults.md 83: a server that accepts the request and sends nothing has the same error."""

    async def read(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    quiet = await asyncio.start_server(read, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{quiet.sockets[0].getsockname()[1]}"
    async with opened(base_url=url, max_silence=0.2) as model:
        failed = await failure(model)
    quiet.close()
    assert "has sent nothing for 0.2 seconds" in failed.message


def test_fault_83_a_local_server_may_be_silent_for_long() -> None:
    """docs/faults.md 83: a server in the user's network may be silent for an hour. Elsewhere, a dead connection is
    noticed within minutes.
    """
    local = [
        "http://localhost:1",
        "http://127.0.0.1",
        "http://[::1]:8",
        "http://192.168.1.5:1",
        "http://gpu",
        "http://x.local",
        "http://100.64.0.1:11434",
        "http://100.127.255.254",
        "http://[fd7a:115c:a1e0::1]:8",
        "https://gpu.tail1234.ts.net",
    ]
    remote = [
        "https://api.anthropic.com",
        "https://8.8.8.8",
        "http://100.63.255.255",
        "http://100.128.0.1",
        "http://127.0.0.1.example.com",
        "http://ts.net",
        None,
    ]
    assert {endpoint(base_url=url).silence for url in local} == {LOCAL_SILENCE}
    assert {endpoint(base_url=url).silence for url in remote} == {SILENCE}
    assert endpoint(base_url=local[0], max_silence=7).silence == 7
    assert SILENCE < CLOUD_SILENCE < LOCAL_SILENCE


LOADING = {
    "llama.cpp": (503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
    "Hugging Face": (503, {"error": "Model bigscience/bloom is currently loading", "estimated_time": 20.0}),
    "Ollama": (500, {"error": "llm server loading model"}),
}


@pytest.mark.parametrize("server", LOADING)
async def test_fault_83_a_run_waits_while_the_model_is_loaded(server: str) -> None:
    """docs/faults.md 83: the run waits for longer than after other errors, and each retry says why."""
    status, body = LOADING[server]
    with FakeApi([HttpError(status, "", "", body=body)] * 30 + [HELLO]) as api:
        async with opened(api) as model:
            seen = await events(model)
    assert shown(seen) == ANSWER
    waited = [event for event in seen if isinstance(event, Retrying)]
    assert [event.attempt for event in waited] == list(range(1, 31))
    assert {event.delay for event in waited} == {LOADING_DELAY}
    assert all(event.error.message.startswith("The model's server is still loading the model.") for event in waited)


async def test_fault_83_waiting_for_a_model_ends_after_the_limit() -> None:
    """docs/faults.md 83: the limit applies to the sum of all pauses, including those of `retry-after`. Other failures
    still count as attempts.
    """
    loading = HttpError(503, "", "", {"retry-after": "60"}, body=LOADING["llama.cpp"][1])
    with FakeApi([loading] * 100) as api:
        async with opened(api) as model:
            failed = await failure(model)
        assert len(api.requests) == LOADING_LIMIT / 60 + 1
    assert (failed.kind, failed.retryable) == ("overloaded", True)
    assert "Fairlead waited 30 minutes" in failed.message
    with FakeApi([loading] + [HttpError(503, "", "busy")] * MAX_ATTEMPTS) as api:
        async with opened(api) as model:
            assert f"Fairlead tried {MAX_ATTEMPTS} times" in (await failure(model)).message
