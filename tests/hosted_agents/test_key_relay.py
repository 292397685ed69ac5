"""What an agent sends to the relay that puts the user's key into its requests (docs/faults.md 278)."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import h11
import pytest
import yaml

from fairlead.hosted_agents.key_relay import KeyRelay
from fairlead.hosted_agents.local_http import MAX_CONNECTIONS, LocalServer

KEY = "real-key"
REQUESTS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("requests.yaml").read_text("utf-8"))


class Api:
    """A stand-in for the API: it answers each request, and saves what it got."""

    def __init__(self) -> None:
        self.requests: list[h11.Request] = []
        self.received = 0
        self.answer = h11.Response(status_code=200, headers=[("content-length", "2")])
        self._server: asyncio.Server

    @property
    def targets(self) -> list[str]:
        return [each.target.decode() for each in self.requests]

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[int]:
        """Its port."""
        async with await asyncio.start_server(self._accept, "127.0.0.1", 0) as server:
            yield server.sockets[0].getsockname()[1]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await self._answer(reader, writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        http = h11.Connection(h11.SERVER)
        while True:
            event = http.next_event()
            if event is h11.NEED_DATA:
                http.receive_data(await reader.read(1 << 16))
            elif isinstance(event, h11.Request):
                self.requests.append(event)
            elif isinstance(event, h11.Data):
                self.received += len(event.data)
            elif isinstance(event, h11.EndOfMessage):
                has_body = self.requests[-1].method != b"HEAD"
                answer = [self.answer, *([h11.Data(data=b"ok")] if has_body else []), h11.EndOfMessage()]
                writer.write(b"".join(http.send(each) or b"" for each in answer))
                http.start_next_cycle()
            else:
                writer.close()
                return


@asynccontextmanager
async def relaying() -> AsyncIterator[tuple[KeyRelay, Api]]:
    api = Api()
    async with api.serving() as port:
        relay = KeyRelay(f"http://127.0.0.1:{port}/base/", KEY)
        await relay.start()
        try:
            yield relay, api
        finally:
            await relay.aclose()


async def exchange(relay: LocalServer, data: bytes) -> bytes:
    """Sends bytes, and nothing after them. Returns everything that comes back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", relay.service.port)
    try:
        writer.write(data)
        await writer.drain()
        writer.write_eof()
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


def statuses(answers: bytes) -> list[int]:
    return [int(each) for each in re.findall(rb"HTTP/1\.1 ([0-9]{3})", answers)]


@pytest.mark.parametrize("case", [pytest.param(each, id=each["name"]) for each in REQUESTS])
async def test_only_a_request_with_the_password_reaches_the_api(case: dict[str, Any]) -> None:
    """docs/faults.md 278: anything else is refused, with the reason."""
    async with relaying() as (relay, api):
        send = case["send"].replace("PASSWORD", relay.password).replace("HOST", f"127.0.0.1:{relay.service.port}")
        send = send.replace("PORT", str(relay.service.port)).replace("LONG", "x" * 100_000)
        answers = await exchange(relay, send.encode())
        assert statuses(answers) == case["gets"], answers
        assert api.targets == case.get("api", [])
        for request in api.requests:
            headers = dict(request.headers)
            assert KEY in f"{request.target!r} {headers}"
            assert relay.password not in f"{request.target!r} {headers}"
            assert headers[b"host"].startswith(b"127.0.0.1:")
            assert b"upgrade" not in headers
        assert KEY.encode() not in answers


def request(relay: KeyRelay, more: str = "", target: str = "/1") -> bytes:
    return f"POST {target} HTTP/1.1\r\nHost: relay\r\nx-api-key: {relay.password}\r\n{more}\r\n".encode()


async def test_a_redirect_to_another_host_is_not_followed() -> None:
    """docs/faults.md 279: the key is for the host of the API alone."""
    async with relaying() as (relay, api), (other := Api()).serving() as port:
        location = f"http://127.0.0.1:{port}/stolen"
        api.answer = h11.Response(status_code=307, headers=[("location", location), ("content-length", "2")])
        answers = await exchange(relay, request(relay))
    assert statuses(answers) == [307]
    assert location.encode() in answers
    assert other.requests == []


async def test_a_large_body_is_passed_on_in_pieces() -> None:
    """docs/faults.md 280: bodies of 40 MB arrive completely, and another request is answered meanwhile."""
    async with relaying() as (relay, api):
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.service.port)
        writer.write(request(relay, f"Content-Length: {40 << 20}\r\n", "/large"))
        await api_has(api, 1)
        assert statuses(await exchange(relay, request(relay))) == [200]
        writer.write(b"x" * (40 << 20))
        await writer.drain()
        writer.write_eof()
        assert statuses(await reader.read()) == [200]
        writer.close()
    assert (api.targets, api.received) == (["/base/large", "/base/1"], 40 << 20)


async def test_many_slow_connections_leave_the_server_its_descriptors() -> None:
    """docs/faults.md 281: those above the limit are closed. The others go on."""
    async with relaying() as (relay, _):
        opened = [await asyncio.open_connection("127.0.0.1", relay.service.port) for _ in range(MAX_CONNECTIONS)]
        for _, writer in opened:
            writer.write(b"POST /1 HT")
        assert await exchange(relay, request(relay)) == b""
        reader, writer = opened.pop()
        writer.write(request(relay).removeprefix(b"POST /1 HT"))
        writer.write_eof()
        assert statuses(await reader.read()) == [200]
        for _, writer in opened:
            writer.close()
        async with asyncio.timeout(60):
            while not await exchange(relay, request(relay)):
                pass


async def test_an_answer_has_only_the_encoding_that_the_agent_asks_for() -> None:
    async with relaying() as (relay, api):
        await exchange(relay, request(relay))
        await exchange(relay, request(relay, "Accept-Encoding: br\r\n"))
    encodings = [dict(each.headers).get(b"accept-encoding") for each in api.requests]
    assert encodings == [None, b"br"]


async def api_has(api: Api, count: int) -> None:
    async with asyncio.timeout(60):
        while len(api.requests) < count:  # noqa: ASYNC110  the API has no event for it
            await asyncio.sleep(0.01)
