"""Streams of the Messages API that are cut, cancelled or abandoned, and their connections."""

import asyncio
import gzip
from threading import Event as Signal
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from fairlead.agent.errors import ModelError
from fairlead.agent.model import ModelEvent, Reply, Retrying, ThinkingDelta, Used
from fairlead.models.common.http_model import load_sdk
from fairlead.models.common.retry import MAX_ATTEMPTS
from fairlead.models.common.transport import MAX_ANSWER, MAX_ERROR_BODY
from models.asking import ANSWER, HELLO, asked, events, failure, opened, reply, shown
from support.fake_api import Call, Cut, FakeApi, Raw, Text, Thinking, Turn, Wait, event_names


@pytest.mark.parametrize("how", ["close", "drop", "reset"])
async def test_fault_16_17_a_cut_stream_is_requested_again_and_shown_once(how: Any) -> None:
    """docs/faults.md 16 and 17, docs/plan.md L13: a stream may be cut before any of its events. A partial answer is
    never accepted.
    """
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


async def test_fault_17_a_stream_that_always_breaks_ends_with_a_clear_error() -> None:
    """docs/faults.md 17: the error comes after a limited number of attempts. The text is shown only once."""
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


def connections(api: FakeApi) -> int:
    """The number of open connections from this process to the server."""
    port = urlsplit(api.url).port
    here = psutil.Process().net_connections("tcp")
    return sum(c.status == psutil.CONN_ESTABLISHED and bool(c.raddr) and c.raddr.port == port for c in here)


@pytest.mark.parametrize("before", range(len(event_names(HELLO))))
async def test_fault_20_a_cancelled_request_closes_its_connection(before: int) -> None:
    """docs/faults.md 20: the connection is closed at once, wherever the stream hangs. The model can be used again."""
    with FakeApi([Wait(HELLO, Signal(), before), HELLO]) as api:
        async with opened(api) as model:
            running = asyncio.ensure_future(events(model))
            await asyncio.to_thread(api.wait_for_requests, 1)
            assert not running.done()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(running, 30)
            assert connections(api) == 0
            assert shown(await events(model)) == ANSWER


async def test_an_abandoned_stream_closes_its_connection() -> None:
    """Closing the generator closes the connection."""
    with FakeApi([Wait(HELLO, Signal(), 5)]) as api:
        async with opened(api) as model:
            stream = model.stream(asked())
            assert isinstance(await anext(stream), Used)
            await stream.aclose()
            assert connections(api) == 0


async def test_one_connection_serves_all_requests() -> None:
    """A new connection for each round would cost a handshake each time."""
    with FakeApi([HELLO, HELLO, HELLO]) as api:
        async with opened(api) as model:
            ports: set[int] = set()
            for _ in range(3):
                await reply(model)
                here = psutil.Process().net_connections("tcp")
                ports |= {c.laddr.port for c in here if c.raddr and c.raddr.port == urlsplit(api.url).port}
            assert len(ports) == 1
        assert connections(api) == 0


async def test_a_connection_that_the_server_closed_after_an_answer_is_replaced() -> None:
    """The next request uses a new connection at once, and this is not shown or counted as a retry."""
    with FakeApi([HELLO, HELLO, HELLO]) as api:
        api.answers_once = True
        async with opened(api) as model:
            for _ in range(3):
                assert not [event for event in await events(model) if isinstance(event, Retrying)]
        assert len(api.requests) == 3


async def test_a_model_can_be_used_again_after_it_was_closed() -> None:
    """Closing a model closes only its connections."""
    with FakeApi([HELLO, HELLO]) as api:
        async with opened(api) as model:
            await events(model)
            await model.aclose()
            assert shown(await events(model)) == ANSWER


async def test_the_certificates_are_read_once_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later session creates its client without reading them, even if they can no longer be read."""
    await asyncio.to_thread(load_sdk, "anthropic")
    monkeypatch.setenv("SSL_CERT_FILE", "/not/there")
    with FakeApi([HELLO]) as api:
        async with opened(api) as model:
            assert (await reply(model)).text == ANSWER


async def test_a_request_uses_the_warm_connection() -> None:
    """docs/protocol.md, `agent/warm`: the request that opens the connection contains neither the key nor a body."""
    with FakeApi([HELLO]) as api:
        async with opened(api) as model:
            await asyncio.gather(model.connect(), model.connect())
            warm = api.connections
            assert (await reply(model)).text == ANSWER
            assert api.connections == warm
            [head, *_] = api.heads
            assert not head.keys() & {"x-api-key", "authorization", "content-type"}
            assert len(api.requests) == 1


async def test_a_warm_connection_that_the_server_has_closed_is_replaced() -> None:
    """This is not shown or counted as a retry. If there is no server, `connect` raises nothing."""
    with FakeApi([HELLO]) as api:
        api.answers_once = True
        async with opened(api) as model:
            await model.connect()
            assert not [event for event in await events(model) if isinstance(event, Retrying)]
    async with opened(api) as model:
        await model.connect()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("form", ["{other}/v1/messages", "//localhost:{port}/", "https://127.0.0.1:{own}/v1/messages"])
async def test_fault_155_a_redirect_to_another_origin_gets_nothing(status: int, form: str) -> None:
    """docs/faults.md 155: neither the conversation nor the key goes to another scheme, host or port. The error names
    both addresses, and there is no other attempt.
    """
    with FakeApi([HELLO]) as other, FakeApi() as api:
        own, port = urlsplit(api.url).port, urlsplit(other.url).port
        target = form.format(other=other.url, port=port, own=own)
        api.push(Raw(b"", {"location": target, "content-length": "0"}, status))
        async with opened(api) as model:
            error = await failure(model)
        assert (error.kind, error.retryable) == ("wrong_server", False)
        named = urlsplit(f"http:{target}" if target.startswith("//") else target)
        assert f"{api.url} redirects to {named.scheme}://{named.netloc}." in str(error)
        assert (len(api.requests), len(other.requests)) == (1, 0)


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_within_the_origin_is_followed(status: int) -> None:
    """The other address gets the same request."""
    with FakeApi() as api:
        api.push(Raw(b"", {"location": "/v1/messages?again=1", "content-length": "0"}, status))
        api.push(HELLO)
        async with opened(api) as model:
            assert shown(await events(model)) == ANSWER
        first, second = api.requests
        assert first.raw == second.raw


SAID = b'{"type": "error", "error": {"type": "invalid_request_error", "message": "Never again'


@pytest.mark.parametrize("status", [400, 404, 429, 500])
@pytest.mark.parametrize("is_compressed", [False, True])
async def test_fault_156_of_a_large_error_only_the_beginning_is_read(status: int, is_compressed: bool) -> None:
    """docs/faults.md 156: the error is there although its body is long, also if it decompresses to a thousand times its
    size or never ends.
    """
    body = SAID + b"!" * (50_000_000 if is_compressed else 2 * MAX_ERROR_BODY)
    headers = {"content-type": "application/json", "content-length": "1000000000000"}
    if is_compressed:
        body, headers = gzip.compress(body), {**headers, "content-encoding": "gzip"}
    with FakeApi([Raw(body, headers, status)] * MAX_ATTEMPTS) as api:
        async with opened(api) as model:
            error = await failure(model)
    assert f"({status}: " in str(error)
    assert "Never again!!!" in str(error)
    assert len(str(error)) < 1000


async def test_fault_157_an_answer_without_end_is_an_error() -> None:
    """docs/faults.md 157: all that a server sends for one answer is limited, also what no event contains."""
    line = b": " + b"x" * 100_000 + b"\n\n"
    body = line * (MAX_ANSWER // len(line) + 2)
    with FakeApi([Raw(body, {"content-type": "text/event-stream"})] * MAX_ATTEMPTS) as api:
        async with opened(api) as model:
            error = await failure(model)
    assert f"an answer of more than {MAX_ANSWER:,} bytes" in str(error)
