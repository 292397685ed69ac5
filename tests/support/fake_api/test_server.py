"""The answers and faults of the fake Messages API, and how a test scripts them, with the real SDK."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from . import (
    Answer,
    BadJson,
    Call,
    Cut,
    FakeApi,
    HttpError,
    MaxTokensCut,
    MidStreamError,
    Text,
    Thinking,
    Turn,
    Wait,
    event_names,
)
from .turns import Event, call_json, pieces
from .wire import HEADERS, Json, ask, assistant, result, send, talk, text, thought, use, user

VERSION = {"anthropic-version": "2026-10-21"}
HARD = {"path": "Grüße/日本.py", "new_text": 'print("🌊\\n\t\x01")\n', "n": [1, None, {"deep": True}]}
PARALLEL = Turn(
    (
        Thinking("Erst lesen, dann ändern. 🌊", signature="sig-1"),
        Text("Ich sehe nach: 漢字 und 🌊."),
        Call("edit_file", HARD, id="toolu_a"),
        Call("bash", {"command": "ls"}, id="toolu_b"),
        Call("todo", {}, id="toolu_c"),
    )
)
DONE = Turn((Text("Done."),))


def names_on_the_wire(api: FakeApi) -> list[str]:
    """The names of the events of one raw stream."""
    lines = send(api.url, ask(stream=True))[1].decode().splitlines()
    return [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]


def content_of(api: FakeApi) -> list[Json]:
    """The content of one answer without a stream."""
    return json.loads(send(api.url, ask())[1])["content"]


@asynccontextmanager
async def sdk(api: FakeApi, **options: Any) -> AsyncIterator[anthropic.AsyncAnthropic]:
    # Plain HTTP only: loading the certificates would take most of a test's time.
    settings = {"max_retries": 0, "http_client": anthropic.DefaultAsyncHttpxClient(verify=False), **options}
    async with anthropic.AsyncAnthropic(api_key="test-key", base_url=api.url, **settings) as client:
        yield client


async def stream(api: FakeApi, *messages: Json, **options: Any) -> anthropic.types.Message:
    """The final message of one request through the SDK's stream helper."""
    async with sdk(api, **options) as client:
        asked = talk(*messages or (user("hi"),))
        async with client.messages.stream(**asked) as events:
            return await events.get_final_message()


async def note_types(events: AsyncIterable[Any], seen: list[str]) -> None:
    async for event in events:
        seen.append(event.type)


def blocks_of(message: anthropic.types.Message) -> list[Json]:
    return [block.to_dict() for block in message.content]


# Answers.


async def test_a_turn_arrives_whole_through_the_sdk() -> None:
    """Text, thinking and parallel tool calls come out of the SDK as they were scripted."""
    with FakeApi([PARALLEL]) as api:
        message = await stream(api)
        assert blocks_of(message) == [
            thought("Erst lesen, dann ändern. 🌊"),
            text("Ich sehe nach: 漢字 und 🌊."),
            use("toolu_a", name="edit_file", input=HARD),
            use("toolu_b", input={"command": "ls"}),
            use("toolu_c", name="todo"),
        ]
        assert message.stop_reason == "tool_use"
        assert message.usage.output_tokens > 1
        assert message.usage.cache_read_input_tokens == 0
        assert api.requests[0].headers["authorization"] == "Bearer test-key"
        assert api.requests[0].body["messages"] == [user("hi")]
        assert api.refusals == []


def test_the_events_of_a_stream_are_those_of_the_api() -> None:
    """The order is the API's, a tool's JSON is cut inside its escapes, and nothing is lost by the cuts."""
    with FakeApi([Turn((Text("x"), Call("bash", {"command": "\n🌊"})))]) as api:
        delta, stop = "content_block_delta", "content_block_stop"
        start = "content_block_start"
        expected = ["message_start", "ping", start, delta, stop, start, *[delta] * 6, stop]
        assert names_on_the_wire(api) == [*expected, "message_delta", "message_stop"]
    assert pieces(call_json({"a": "\n🌊"}), None) == ['{"a": "', "\\", "n\\ud83c", "\\ud", 'f0a"}']


@pytest.mark.parametrize("chunk", [1, 2, 1000])
async def test_deltas_of_any_size_give_the_same_message(chunk: int) -> None:
    """`chunk` changes the deltas, never the message."""
    with FakeApi([Turn(PARALLEL.blocks, chunk=chunk), PARALLEL]) as api:
        assert blocks_of(await stream(api)) == blocks_of(await stream(api))


@settings(deadline=None)
@given(st.text(), st.integers(min_value=1, max_value=5) | st.none())
def test_pieces_join_to_the_text(words: str, chunk: int | None) -> None:
    """No character is lost or doubled, and no piece is empty."""
    assert "".join(pieces(words, chunk)) == words
    assert all(pieces(words, chunk))


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.text(st.characters(codec=None)) | st.integers()))
def test_any_input_survives_the_wire(value: Json) -> None:
    """A model's JSON may contain lone surrogates. They arrive too, because they are escaped to keep the bytes UTF-8."""
    data = b"".join(Event("e", {"partial_json": call_json(value)}).encode()).decode()
    assert json.loads(json.loads(data.split("data: ")[1])["partial_json"]) == value


async def test_the_answer_is_accepted_when_it_comes_back() -> None:
    """An SDK client that sends back what it received, with a result for each call, is never refused."""
    with FakeApi([PARALLEL, PARALLEL_AGAIN, DONE]) as api:
        history = [user("hi")]
        for _ in range(2):
            content = blocks_of(await stream(api, *history))
            results = [result(block["id"]) for block in content if block["type"] == "tool_use"]
            history += [assistant(*content), user(*results)]
        assert blocks_of(await stream(api, *history)) == [text("Done.")]
        assert api.refusals == []


PARALLEL_AGAIN = Turn((Thinking("hm"), Call("bash", {}), Thinking("hm"), Call("bash", {})))


async def test_an_answer_without_a_stream() -> None:
    """A request without `stream` gets a JSON message. If its turn is a fault of a stream, the request is refused."""
    with FakeApi([Turn(PARALLEL.blocks, usage={"input_tokens": 7}), Cut(DONE, after=1)]) as api:
        async with sdk(api) as client:
            message = await client.messages.create(**ask())
            assert (message.stop_reason, message.usage.input_tokens) == ("tool_use", 7)
            assert [block.type for block in message.content] == ["thinking", "text", *["tool_use"] * 3]
            with pytest.raises(anthropic.BadRequestError, match="Cut answers only"):
                await client.messages.create(**ask())
        assert api.refusals == ["the script failed: ValueError: Cut answers only a request that is streamed"]


async def test_unknown_events_and_fields_do_not_disturb_the_sdk() -> None:
    """`extra_events` sends what a later API might send; the message is the same."""
    with FakeApi([Turn(PARALLEL.blocks, extra_events=True), PARALLEL]) as api:
        assert blocks_of(await stream(api)) == blocks_of(await stream(api))
    assert "future_event" in event_names(Turn((), extra_events=True))


@pytest.mark.parametrize(
    ("model", "display", "shown"),
    [
        ("claude-opus-5-5", None, "hm"),
        ("claude-opus-5-5", "omitted", ""),
        ("claude-sonnet-5-5", None, ""),
        ("claude-sonnet-5-5", "summarized", "hm"),
    ],
)
async def test_thinking_is_shown_only_where_the_api_shows_it(model: str, display: str, shown: str) -> None:
    """A thinking block without its text keeps its signature, and is accepted when it is sent back."""
    config = {"type": "adaptive", **({"display": display} if display else {})}
    with FakeApi([Turn((Thinking("hm"), Call("bash", {}))), DONE]) as api:
        async with sdk(api) as client:
            asked = {**ask(thinking=config), "model": model}
            async with client.messages.stream(**asked) as events:
                content = blocks_of(await events.get_final_message())
            assert content[0] == thought(shown, "sig_fake_0001")
            asked["messages"] += [assistant(*content), user(result("toolu_fake_0001"))]
            await client.messages.create(**asked)


# Scripts.


def test_the_script_may_grow_and_may_read_the_request() -> None:
    """A callable gets the body, `push` adds a turn, and a request without a turn is in `refusals`."""
    with FakeApi([lambda body: Turn((Text(body["messages"][0]["content"][0]["text"] * 2),))]) as api:
        assert content_of(api) == [text("hihi")]
        assert send(api.url, ask())[0] == 400
        api.push(DONE)
        assert content_of(api) == [text("Done.")]
        assert api.refusals == ["the script has no more turns"]


def test_an_error_in_the_script_is_reported() -> None:
    """`refusals` has a failed assertion in a callable, a count beyond the turn's events, and a cut without a call."""

    def fails(body: Json) -> Turn:
        raise AssertionError("no tools were sent")

    with FakeApi([fails, Cut(DONE, after=99), MaxTokensCut(DONE, json_chars=1)]) as api:
        assert [send(api.url, ask(stream=True))[0] for _ in range(3)] == [400] * 3
        assert api.refusals == [
            "the script failed: AssertionError: no tools were sent",
            f"the script failed: ValueError: the turn has {len(event_names(DONE))} events, not 99",
            "the script failed: ValueError: MaxTokensCut needs a turn with a Call",
        ]


async def test_waiting_for_requests() -> None:
    """`wait_for_requests` returns when the request has arrived; its error says how many have."""
    with FakeApi([DONE]) as api:
        waiting = asyncio.create_task(asyncio.to_thread(api.wait_for_requests, 1))
        await stream(api)
        assert [request.path for request in await waiting] == ["/v1/messages"]
        with pytest.raises(TimeoutError, match="1 of 2 requests"):
            api.wait_for_requests(2, timeout=0.001)


def test_a_connection_stays_open_after_answers_and_refusals() -> None:
    """JSON, a refusal and a stream go over one connection."""
    with FakeApi([DONE, DONE]) as api:
        connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=5)
        ports = set()
        for body in (ask(), {}, ask(stream=True)):
            connection.request("POST", "/v1/messages", json.dumps(body).encode(), HEADERS)
            ports.add(connection.sock.getsockname()[1])
            connection.getresponse().read()
        connection.close()
        assert len(ports) == 1


# Keys and paths.


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "x-api-key header is required"),
        ({"authorization": "Bearer wrong"}, "Invalid bearer token"),
        ({"authorization": "test-key"}, "Invalid bearer token"),
        ({"x-api-key": "wrong"}, "invalid x-api-key"),
        ({"authorization": "Bearer test-key", "x-api-key": "wrong"}, "invalid x-api-key"),
    ],
)
def test_a_missing_or_wrong_key_is_an_error(headers: Mapping[str, str], message: str) -> None:
    """A missing or wrong key is a 401, not a refusal of the request; it takes no turn of the script."""
    with FakeApi([DONE]) as api:
        status, answer = send(api.url, ask(), {**headers, **VERSION})
        error = {"type": "authentication_error", "message": message}
        assert (status, json.loads(answer)["error"]) == (401, error)
        assert api.refusals == []
        assert send(api.url, ask(), {"x-api-key": "test-key", **VERSION})[0] == 200


def test_no_key_needed() -> None:
    """`require_key=False` accepts any key or none."""
    with FakeApi([DONE, DONE], require_key=False) as api:
        assert send(api.url, ask(), VERSION)[0] == 200
        assert send(api.url, ask(), {"x-api-key": "any", **VERSION})[0] == 200


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/messages/count_tokens"), ("GET", "/v1/messages"), ("GET", "/")]
)
def test_other_methods_and_paths_are_not_found(method: str, path: str) -> None:
    """Requests with other methods or paths are recorded too, so that a test can check that there were none."""
    with FakeApi([DONE]) as api:
        status, answer = send(api.url, ask(), method=method, path=path)
        assert (status, json.loads(answer)["error"]["type"]) == (404, "not_found_error")
        assert [(request.method, request.path) for request in api.requests] == [(method, path)]


# Faults.


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (HttpError(401, "authentication_error", "invalid x-api-key"), anthropic.AuthenticationError),
        (HttpError(403, "permission_error", "no"), anthropic.PermissionDeniedError),
        (HttpError(404, "not_found_error", "model: x"), anthropic.NotFoundError),
        (HttpError(413, "request_too_large", "too large"), anthropic.APIStatusError),
        (HttpError(429, "rate_limit_error", "slow", {"retry-after": "7"}), anthropic.RateLimitError),
        (HttpError(500, "api_error", "oh"), anthropic.InternalServerError),
        (HttpError(529, "overloaded_error", "Overloaded"), anthropic.InternalServerError),
    ],
    ids=lambda value: str(getattr(value, "status", "")),
)
async def test_http_errors(error: HttpError, raised: type[anthropic.APIStatusError]) -> None:
    """The SDK raises its own class for each status, with the API's type, message and headers."""
    with FakeApi([error]) as api:
        with pytest.raises(raised, match=error.message) as caught:
            await stream(api)
        assert (caught.value.status_code, caught.value.type) == (error.status, error.error_type)
        assert dict(error.headers).items() <= dict(caught.value.response.headers).items()
        assert caught.value.request_id == caught.value.response.json()["request_id"]
        assert api.refusals == []


async def test_the_sdk_retries_an_overloaded_server() -> None:
    """Each attempt takes one turn of the script."""
    busy = HttpError(529, "overloaded_error", "Overloaded", {"retry-after-ms": "1"})
    with FakeApi([busy, busy, DONE]) as api:
        assert blocks_of(await stream(api, max_retries=2)) == [text("Done.")]
        assert len(api.requests) == 3


@pytest.mark.parametrize(("how", "raised"), [("drop", httpx2.RemoteProtocolError), ("reset", httpx2.ReadError)])
async def test_a_lost_connection_raises_after_the_received_events(how: Any, raised: type[Exception]) -> None:
    """The events before the cut arrive, then the transport's own error is raised."""
    seen: list[str] = []
    with FakeApi([Cut(DONE, after=4, how=how)]) as api:
        async with sdk(api) as client, client.messages.stream(**ask()) as events:
            with pytest.raises(raised):
                await note_types(events, seen)
    assert seen == ["message_start", "content_block_start", "content_block_delta", "text"]


async def test_a_clean_end_too_early_looks_like_a_success() -> None:
    """The SDK raises no error: the message only lacks its stop reason and the call's input, so clients must check."""
    turn = Turn((Call("bash", {"command": "rm -rf build"}),), chunk=8)
    with FakeApi([Cut(turn, after=6)]) as api:
        message = await stream(api)
        assert (message.stop_reason, blocks_of(message)[0]["input"]) == (None, {})


@pytest.mark.parametrize("after", range(len(event_names(DONE)) + 1))
def test_a_cut_sends_exactly_the_events_before_it(after: int) -> None:
    """`after` counts events, from none to all of them."""
    with FakeApi([Cut(DONE, after)]) as api:
        assert names_on_the_wire(api) == list(event_names(DONE))[:after]


async def test_a_hanging_stream_ends_with_its_client() -> None:
    """A client may abandon a stream that hangs, and the server handles the next request."""
    with FakeApi([Cut(DONE, after=4, how="hang"), DONE]) as api:
        async with sdk(api) as client, client.messages.stream(**ask()) as events:
            async for event in events:
                if event.type == "text":
                    break
        assert blocks_of(await stream(api)) == [text("Done.")]


@pytest.mark.parametrize(
    "turn", [Cut(DONE, after=3, how="hang"), Wait(DONE, threading.Event(), before=3)], ids=["hang", "wait"]
)
async def test_nothing_blocks_the_end_of_the_server(turn: Answer) -> None:
    """Leaving the `with` block ends a stream that hangs or is held, and its client sees an error."""
    with FakeApi([turn]) as api:
        reading = asyncio.create_task(stream(api))
        await asyncio.to_thread(api.wait_for_requests, 1)
    with pytest.raises((httpx2.TransportError, anthropic.APIConnectionError)):
        await reading


async def test_a_held_stream_continues_when_the_test_allows_it() -> None:
    """`Wait` sends the events before its position at once, and the rest when the event is set."""
    go = threading.Event()
    seen: list[str] = []
    with FakeApi([Wait(DONE, go, before=4)]) as api:
        async with sdk(api) as client, client.messages.stream(**ask()) as events:
            async for event in events:
                seen.append(event.type)
                if event.type == "text":
                    go.set()
    assert seen[-1] == "message_stop"


async def test_an_error_event_inside_a_success() -> None:
    """The SDK raises an APIStatusError with status 200 and the event's type."""
    with FakeApi([MidStreamError(DONE, after=3)]) as api:
        with pytest.raises(anthropic.APIStatusError, match="Overloaded") as caught:
            await stream(api)
        assert (caught.value.status_code, caught.value.type) == (200, "overloaded_error")


async def test_max_tokens_cuts_the_json_of_the_last_call() -> None:
    """The stream is complete, the cut call's input is not. Earlier calls are unchanged, later blocks are missing."""
    turn = Turn((Call("todo", {"a": 1}), Call("bash", {"command": "rm -rf build"}), Text("gone")))
    with FakeApi([MaxTokensCut(turn, json_chars=len('{"command": "rm -rf b'))]) as api:
        message = await stream(api)
        assert message.stop_reason == "max_tokens"
        assert [block["input"] for block in blocks_of(message)] == [{"a": 1}, {}]


async def test_json_that_is_not_an_input() -> None:
    """Invalid JSON makes the SDK's helper raise ValueError; a list stays a list."""
    with FakeApi([BadJson("bash", '{"command": oops}'), BadJson("bash", "[1, 2]")]) as api:
        with pytest.raises(ValueError, match="Unable to parse tool parameter JSON"):
            await stream(api)
        (block,) = (await stream(api)).content
        assert block.type == "tool_use"
        assert block.input == [1, 2]
