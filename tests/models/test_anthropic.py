"""The Messages API for real: the SDK, a socket, and a server that refuses what the API refuses."""

import asyncio
import json
from dataclasses import replace
from itertools import pairwise
from threading import Event as Signal
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from fairlead.agent.errors import ModelError
from fairlead.agent.messages import History, ToolCall, ToolResult, text_block
from fairlead.agent.model import Clearing, ModelEvent, Reply, Retrying, TextDelta, ThinkingDelta, Usage
from fairlead.models.anthropic import AnthropicModel
from fairlead.models.retry import MAX_ATTEMPTS, RESTARTED
from models.asking import ANSWER, HELLO, MODEL, TOOLS, asked, endpoint, events, failure, opened, reply, shown
from support.fake_api import (
    BadJson,
    Call,
    Cut,
    FakeApi,
    HttpError,
    MidStreamError,
    Text,
    Thinking,
    Turn,
    Wait,
    event_names,
)


async def test_an_answer_streams_and_ends_with_the_reply() -> None:
    """Deltas as they come, thinking apart from text, then exactly one reply with calls, content and usage."""
    turn = Turn((Thinking("First this. 日本"), Text("I look."), Call("bash", {"command": "ls '日本'\n"})), chunk=4)
    with FakeApi([turn]) as api:
        async with opened(api) as model:
            seen = await events(model)
        last = seen[-1]
        assert isinstance(last, Reply)
        assert not any(isinstance(event, Reply) for event in seen[:-1])
        assert shown(seen) == "I look."
        assert "".join(event.text for event in seen if isinstance(event, ThinkingDelta)) == "First this. 日本"
        (call,) = last.calls
        assert (call.name, call.input, call.problem) == ("bash", {"command": "ls '日本'\n"}, None)
        assert [block["type"] for block in last.content] == ["thinking", "text", "tool_use"]
        assert (last.stop_reason, last.text, last.usage.requests) == ("tool_use", "I look.", 1)
        assert last.usage.input_tokens > 0
        assert last.usage.output_tokens > 0
        assert api.refusals == []


async def test_what_is_sent() -> None:
    """One streamed request with the system prompt, the tools, one automatic cache mark, and the key as a bearer."""
    with FakeApi([HELLO]) as api:
        async with opened(api, effort="low") as model:
            await events(model)
        (request,) = api.requests
        assert {key: value for key, value in request.body.items() if key not in ("messages", "tools")} == {
            "model": MODEL,
            "max_tokens": 1000,
            "stream": True,
            "cache_control": {"type": "ephemeral"},
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "low"},
            "system": "You help.",
        }
        assert request.body["tools"] == [
            {"name": "bash", "description": "Runs a command.", "input_schema": TOOLS[0].input_schema}
        ]
        assert request.raw.count(b"cache_control") == 1
        assert request.headers["authorization"] == "Bearer test-key"
        assert request.headers["content-type"] == "application/json"


def long_talk(count: int) -> list[dict[str, Any]]:
    """A conversation with so many commands, each with 4,000 characters of output."""
    history = History()
    history.add_prompt([text_block("hi")])
    for number in range(count):
        call = {"type": "tool_use", "id": f"t{number}", "name": "bash", "input": {"command": "ls"}}
        history.add_reply([call], [ToolCall(call["id"], "bash", call["input"])])
        history.add_results([ToolResult(call["id"], f"{number} " + "x" * 4000)])
    return list(history.messages)


async def test_fault_24_what_the_api_may_clear_by_itself() -> None:
    """docs/faults.md 24, docs/plan.md L15: asked for with its beta, and how much it cleared comes with the reply."""
    request = replace(asked(*long_talk(8)), clearing=Clearing(at=5000, at_least=1000, keep=3, lasting=("todo",)))
    with FakeApi([HELLO, HELLO]) as api:
        async with opened(api) as model:
            assert (await reply(model, request)).cleared == 5
            assert (await reply(model, replace(request, clearing=None))).cleared == 0
        first, second = api.requests
        assert first.body["context_management"] == {
            "edits": [
                {
                    "type": "clear_tool_uses_20250919",
                    "trigger": {"type": "input_tokens", "value": 5000},
                    "keep": {"type": "tool_uses", "value": 3},
                    "clear_at_least": {"type": "input_tokens", "value": 1000},
                    "exclude_tools": ["todo"],
                }
            ]
        }
        assert first.headers["anthropic-beta"] == "context-management-2025-06-27"
        assert "anthropic-beta" not in second.headers and "context_management" not in second.body
        assert api.refusals == []


async def test_fault_24_a_server_without_context_editing_is_not_asked_for_it_again() -> None:
    """docs/faults.md 24: room is made here then."""
    request = replace(asked(*long_talk(8)), clearing=Clearing(at=5000, at_least=1000, keep=3, lasting=()))
    with FakeApi([HELLO, HELLO], plain=True) as api:
        async with opened(api) as model:
            assert [(await reply(model, request)).cleared for _ in range(2)] == [0, 0]
        assert ["context_management" in request.body for request in api.requests][-2:] == [False, False]


async def test_unknown_events_fields_and_deltas_are_let_pass() -> None:
    """A later version of the API adds some."""
    with FakeApi([Turn((Text("Hi."), Call("bash", {"command": "ls"})), extra_events=True)]) as api:
        async with opened(api) as model:
            last = await reply(model)
        assert (last.text, last.calls[0].input) == ("Hi.", {"command": "ls"})


ERRORS = {
    "401": (HttpError(401, "authentication_error", "invalid x-api-key"), "auth", False, "“Agent: Set API Key”"),
    "402": (HttpError(402, "billing_error", "no credit"), "billing", False, "Add some, or use another key"),
    "403": (HttpError(403, "permission_error", "not allowed"), "auth", False, "Choose another model"),
    "404": (HttpError(404, "not_found_error", "model: nope"), "invalid_request", False, f"model's name (“{MODEL}”)"),
    "413": (HttpError(413, "request_too_large", "too large"), "context_overflow", False, "Start a new task"),
    "400": (HttpError(400, "invalid_request_error", "max_tokens: no"), "invalid_request", False, "refused the request"),
    "400, full": (
        HttpError(400, "invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum"),
        "context_overflow",
        False,
        "Start a new task",
    ),
    "400, full, elsewhere": (
        HttpError(400, "invalid_request_error", "the request exceeds the available context size"),
        "context_overflow",
        False,
        "Start a new task",
    ),
    "422": (HttpError(422, "invalid_request_error", "no"), "invalid_request", False, "refused the request"),
    "408": (HttpError(408, "timeout_error", "slow"), "overloaded", True, "took too long"),
    "409": (HttpError(409, "conflict", "again"), "overloaded", True, "took too long"),
    "429": (HttpError(429, "rate_limit_error", "slow down"), "rate_limit", True, "The rate limit is reached"),
    "500": (HttpError(500, "api_error", "oops"), "internal", True, "a fault of its own"),
    "502": (HttpError(502, "?", "bad gateway"), "internal", True, "a fault of its own"),
    "504": (HttpError(504, "timeout_error", "gateway"), "internal", True, "a fault of its own"),
    "529": (HttpError(529, "overloaded_error", "Overloaded"), "overloaded", True, "The model is overloaded"),
}


@pytest.mark.parametrize("name", ERRORS)
async def test_fault_25_an_error_says_its_kind_and_what_to_do(name: str) -> None:
    """docs/faults.md 18 and 25: retried only where that can help; the message has the advice and the server's words."""
    error, kind, retryable, advice = ERRORS[name]
    with FakeApi([error] * MAX_ATTEMPTS) as api:
        async with opened(api) as model:
            failed = await failure(model)
        assert (failed.kind, failed.retryable) == (kind, retryable)
        assert advice in failed.message
        assert f"({error.status}: {error.message})" in failed.message
        assert retryable == ("Fairlead tried 5 times. Your task and proposals are kept" in failed.message)
        # a bare 400 is asked once more without the fields that not every server knows
        assert len(api.requests) == (MAX_ATTEMPTS if retryable else 2 if "max_tokens" in error.message else 1)


REJECTED = HttpError(400, "invalid_request_error", "unsupported parameter")


async def test_a_server_that_does_not_say_which_field_it_does_not_know_is_asked_without() -> None:
    """Features are probed, never assumed; what it did not take the first time is not sent again."""
    picky = [lambda body: REJECTED if "thinking" in body else HELLO] * 3
    with FakeApi(picky) as api:
        async with opened(api, effort="low") as model:
            assert [shown(await events(model)) for _ in range(2)] == [ANSWER, ANSWER]
        optional = [
            [name for name in ("cache_control", "thinking", "output_config") if name in r.body] for r in api.requests
        ]
        assert optional == [["cache_control", "thinking", "output_config"], [], []]


async def test_a_refusal_that_has_another_reason_costs_no_feature() -> None:
    """Nor does one that comes when the fields are known to be taken: it is not asked a second time then."""
    credit = HttpError(400, "invalid_request_error", "Your credit balance is too low")
    with FakeApi([credit, credit, HELLO, credit]) as api:
        async with opened(api) as model:
            assert "credit balance" in (await failure(model)).message
            assert shown(await events(model)) == ANSWER
            assert "credit balance" in (await failure(model)).message
        assert ["thinking" in request.body for request in api.requests] == [True, False, True, True]


async def test_fault_18_overloaded_twice_then_fine() -> None:
    """docs/faults.md 18: it recovers, tells of each retry, and does as `retry-after` asks."""
    overloaded = HttpError(529, "overloaded_error", "Overloaded", {"retry-after": "0"})
    limited = HttpError(429, "rate_limit_error", "Wait", {"retry-after-ms": "20"})
    with FakeApi([overloaded, limited, HELLO]) as api:
        model = AnthropicModel(endpoint(api))
        seen = await events(model)
        await model.aclose()
        assert [(e.attempt, e.delay) for e in seen if isinstance(e, Retrying)] == [(1, 0.0), (2, 0.02)]
        assert shown(seen) == ANSWER


@pytest.mark.parametrize("header", ["Fri, 20 Nov 2026 12:00:00 GMT", "soon", "-5", "nan"])
async def test_a_retry_after_that_is_no_number_of_seconds_does_no_harm(header: str) -> None:
    """A date, nonsense: then the own pause holds; never a negative one."""
    with FakeApi([HttpError(529, "overloaded_error", "Overloaded", {"retry-after": header}), HELLO]) as api:
        async with opened(api) as model:
            seen = await events(model)
        (retry,) = [event for event in seen if isinstance(event, Retrying)]
        assert 0 <= retry.delay <= 1
        assert shown(seen) == ANSWER


async def test_a_server_that_answers_with_a_page_is_an_error_with_its_words() -> None:
    """A proxy's HTML is no reason to fail differently."""

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
    assert (failed.kind, failed.retryable) == ("auth", False)
    assert "403" in failed.message


@pytest.mark.parametrize("how", ["close", "drop", "reset"])
async def test_fault_16_17_a_cut_stream_is_asked_for_again_and_seen_once(how: Any) -> None:
    """docs/faults.md 16 and 17, docs/plan.md L13: cut before each of its events; nothing half is taken for whole."""
    blocks = (Thinking("Hm, 世界.", signature="sig"), Text("Hello, 世界 🌍."), Call("bash", {"command": "ls"}))
    turn = Turn(blocks, chunk=6)
    count = len(event_names(turn))
    with FakeApi() as api:
        async with opened(api) as model:
            for after in range(count):
                api.push(Cut(turn, after, how))
                api.push(turn)
                seen = await events(model)
                last = seen[-1]
                assert isinstance(last, Reply), after
                assert shown(seen) == "Hello, 世界 🌍.", after
                assert "".join(e.text for e in seen if isinstance(e, ThinkingDelta)) == "Hm, 世界.", after
                assert [e.attempt for e in seen if isinstance(e, Retrying)] == [1], after
                assert [call.input for call in last.calls] == [{"command": "ls"}], after
        assert len(api.requests) == 2 * count
        assert len({request.raw for request in api.requests}) == 1


async def test_fault_17_another_answer_after_a_cut_is_announced() -> None:
    """docs/faults.md 17: what was seen stays seen, and the new answer comes whole behind a line that says so."""
    with FakeApi([Cut(HELLO, after=6), Turn((Text("Good day."),))]) as api:
        async with opened(api) as model:
            seen = await events(model)
        before, after = shown(seen).split(RESTARTED)
        assert ANSWER.startswith(before)
        assert after == "Good day."


async def test_fault_17_a_stream_that_always_breaks_ends_with_a_clear_error() -> None:
    """docs/faults.md 17: bounded, and the text was still seen once."""
    with FakeApi([Cut(HELLO, after=6, how="drop")] * MAX_ATTEMPTS) as api:
        async with opened(api) as model:
            seen: list[ModelEvent] = []

            async def watch() -> None:
                async for event in model.stream(asked()):
                    seen.append(event)

            with pytest.raises(ModelError) as error:
                await watch()
        assert (error.value.kind, error.value.retryable) == ("network", True)
        assert ANSWER.startswith(shown(seen))
        assert len([event for event in seen if isinstance(event, Retrying)]) == MAX_ATTEMPTS - 1


IN_STREAM = {
    "overloaded_error": ("overloaded", True),
    "rate_limit_error": ("rate_limit", True),
    "api_error": ("internal", True),
    "an_error_of_the_future": ("internal", True),
    "authentication_error": ("auth", False),
    "invalid_request_error": ("invalid_request", False),
}


@pytest.mark.parametrize("kind", IN_STREAM)
async def test_fault_19_an_error_inside_a_200(kind: str) -> None:
    """docs/faults.md 19: it is what its type says, as if the status had said so, wherever it comes."""
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


def connections(api: FakeApi) -> int:
    """How many connections this process, as a client, holds to the server."""
    port = urlsplit(api.url).port
    here = psutil.Process().net_connections("tcp")
    return sum(c.status == psutil.CONN_ESTABLISHED and bool(c.raddr) and c.raddr.port == port for c in here)


@pytest.mark.parametrize("before", range(len(event_names(HELLO))))
async def test_fault_20_a_cancelled_request_closes_its_connection(before: int) -> None:
    """docs/faults.md 20: at once, wherever the stream hangs; the model can be asked again."""
    with FakeApi([Wait(HELLO, Signal(), before), HELLO]) as api:
        async with opened(api) as model:
            running = asyncio.ensure_future(events(model))
            await asyncio.to_thread(api.wait_for_requests, 1)
            assert not running.done()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(running, 1)
            assert connections(api) == 0
            assert shown(await events(model)) == ANSWER


async def test_a_stream_that_is_left_early_closes_its_connection() -> None:
    """Whoever has seen enough closes the generator, and the server is free."""
    with FakeApi([Wait(HELLO, Signal(), 5)]) as api:
        async with opened(api) as model:
            stream = model.stream(asked())
            assert isinstance(await anext(stream), TextDelta)
            await stream.aclose()
            assert connections(api) == 0


async def test_one_connection_serves_all_requests() -> None:
    """A connection for each round would cost a handshake each time."""
    with FakeApi([HELLO, HELLO, HELLO]) as api:
        async with opened(api) as model:
            ports: set[int] = set()
            for _ in range(3):
                await reply(model)
                here = psutil.Process().net_connections("tcp")
                ports |= {c.laddr.port for c in here if c.raddr and c.raddr.port == urlsplit(api.url).port}
            assert len(ports) == 1
        assert connections(api) == 0


async def test_a_model_can_be_used_again_after_it_was_closed() -> None:
    """Closing lets go of connections only."""
    with FakeApi([HELLO, HELLO]) as api:
        async with opened(api) as model:
            await events(model)
            await model.aclose()
            assert shown(await events(model)) == ANSWER


async def test_a_server_without_extras_gets_none() -> None:
    """No caching, thinking or effort: each is left out once it was refused and never sent again; no retry is shown."""
    with FakeApi([HELLO, HELLO], plain=True, require_key=False) as api:
        async with opened(api, api_key=None, effort="high") as model:
            first = await events(model)
            assert (shown(first), any(isinstance(event, Retrying) for event in first)) == (ANSWER, False)
            refused = len(api.refusals)
            assert refused == 3
            second = await reply(model)
            assert len(api.refusals) == refused
        assert second.usage == Usage(1, second.usage.input_tokens, 0, 0, second.usage.output_tokens)
        last = api.requests[-1].body
        assert {"cache_control", "thinking", "output_config"}.isdisjoint(last)
        assert last["system"] == "You help."


async def test_a_refusal_that_only_mentions_thinking_leaves_it_on() -> None:
    """A block of the conversation that was refused is an error to show, not a server without thinking."""
    error = HttpError(400, "invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block")
    with FakeApi([error, HELLO]) as api:
        async with opened(api) as model:
            assert (await failure(model)).kind == "invalid_request"
            assert len(api.requests) == 1
            await events(model)
        assert "thinking" in api.requests[-1].body


async def test_thinking_goes_back_as_it_came() -> None:
    """The API refuses a thought that was changed, left out or moved: hidden ones, several, and between calls."""
    turns = [
        Turn((Thinking("One. 日本 "), Call("bash", {"n": "a"}), Thinking("Two."), Call("bash", {"n": "b"}))),
        Turn((Thinking(""), Text("So."), Call("bash", {"command": "c"}))),
        HELLO,
    ]
    history = History()
    history.add_prompt([text_block("hi")])
    with FakeApi(turns) as api:
        async with opened(api, model="claude-sonnet-5-5") as model:
            for _ in turns:
                answer = await reply(model, asked(*history.messages))
                history.add_reply(answer.content)
                if answer.calls:
                    history.add_results([ToolResult(call.id, "ok") for call in answer.calls])
        assert api.refusals == []
        assert [m["content"] for m in api.requests[-1].body["messages"] if m["role"] == "assistant"] == [
            m["content"] for m in history.messages[:-1] if m["role"] == "assistant"
        ]


async def test_a_call_with_a_problem_can_be_sent_back() -> None:
    """docs/faults.md 15, 21: whatever was wrong with it, the next request is one that the API accepts."""
    bad = ['{"command": "rm', '{"n": 1e999}', '{"s": "\\ud800"}', '["x"]', "[" * 5000, '{"n": NaN}']
    history = History()
    history.add_prompt([text_block("hi")])
    with FakeApi([BadJson("bash", text) for text in bad] + [HELLO]) as api:
        async with opened(api) as model:
            for _ in bad:
                answer = await reply(model, asked(*history.messages))
                assert answer.calls[0].problem
                history.add_reply(answer.content)
                history.add_results([ToolResult(answer.calls[0].id, answer.calls[0].problem, is_error=True)])
            await reply(model, asked(*history.messages))
        assert api.refusals == []


async def test_twenty_rounds_come_from_the_cache_and_each_message_is_encoded_once() -> None:
    """The bytes that were sent never change, so each request reads from the cache all that the one before wrote."""
    rounds = 20
    turns = [Turn((Thinking(f"{n}?"), Text(f"Round {n} 日本"), Call("bash", {"é": "🚀"}))) for n in range(rounds)]
    history = History()
    history.add_prompt([text_block("Do it. " * 100)])
    total = Usage()
    sent_before = 0
    with FakeApi([*turns, HELLO], caching=True) as api:
        async with opened(api) as model:
            for number in range(rounds + 1):
                answer = await reply(model, asked(*history.messages))
                used = answer.usage
                assert used.cache_read_tokens >= sent_before - 1
                sent_before = used.cache_read_tokens + used.cache_write_tokens
                total += used
                history.add_reply(answer.content)
                if answer.calls:
                    notes = ["<reminder>Update your todos.</reminder>"] if number % 3 == 2 else []
                    history.add_results([ToolResult(call.id, "output " * 30) for call in answer.calls], notes)
        bodies = [request.raw for request in api.requests]
        assert api.refusals == []
    assert all(later.startswith(body[: -len(b"]}")]) for body, later in pairwise(bodies))
    assert all(json.loads(body)["cache_control"] == {"type": "ephemeral"} for body in bodies)
    assert all(body.count(b"cache_control") == 1 for body in bodies)
    everything = total.input_tokens + total.cache_read_tokens + total.cache_write_tokens
    assert total.requests == rounds + 1
    assert total.cache_read_tokens / everything > 0.85
    assert total.input_tokens == 0


async def test_another_conversation_is_encoded_anew() -> None:
    """What was kept of one is never sent in another, and a shorter one leaves nothing behind."""
    first = [{"role": "user", "content": [text_block("one")]}]
    answer = {"role": "assistant", "content": [text_block("x")]}
    longer = [*first, answer, {"role": "user", "content": [text_block("y")]}]
    other = [{"role": "user", "content": [text_block("one")]}]
    with FakeApi([HELLO] * 4) as api:
        async with opened(api) as model:
            for messages in (longer, first, other, longer):
                await reply(model, asked(*messages))
        assert [request.body["messages"] for request in api.requests] == [longer, first, other, longer]
