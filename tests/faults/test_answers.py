"""docs/faults.md 160: answers that no model's server should send, from a server that need not speak HTTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from fairlead.agent.events import Event
from fairlead.models.anthropic.messages_api import MessagesApiModel
from fairlead.models.common.endpoint import Cloud, Endpoint
from fairlead.models.openai.chat import ChatModel
from fairlead.models.openai.responses import ResponsesModel
from faults.answers import ANSWERS, DEFAULTS, Answer
from support.bare_agent import BareAgent
from support.raw_server import RawServer

MAX_MESSAGE = 3000  # characters
ENDING = [
    pytest.param(answer, id=answer.name, marks=[pytest.mark.slow] if answer.slow else [])
    for answer in ANSWERS
    if answer.ends
]
ENDLESS = [pytest.param(answer, id=answer.name) for answer in ANSWERS if not answer.ends]


@asynccontextmanager
async def agent_for(answer: Answer, server: RawServer, seen: list[Event]) -> AsyncIterator[BareAgent]:
    """An agent whose model is the server."""
    cloud = Cloud("bedrock", "eu-central-1") if answer.cloud else None
    base_url = f"{answer.scheme}://127.0.0.1:{server.port}"
    endpoint = Endpoint(
        "claude-opus-5-5", 1000, None, base_url, "test-key", None, cloud=cloud, max_silence=answer.silence
    )
    models = {"": MessagesApiModel, "chat": ChatModel, "responses": ResponsesModel}
    model = models[answer.api](endpoint, _at_once)
    try:
        yield BareAgent(model, seen.append)
    finally:
        await model.aclose()


async def _at_once(seconds: float) -> None:
    assert 0 <= seconds <= 60


class Ticks:
    """Counts how often another task of the event loop runs."""

    def __init__(self) -> None:
        self.count = 0
        self._next = asyncio.Event()

    async def tick(self) -> None:
        while True:
            await asyncio.sleep(0.001)
            self.count += 1
            self._next.set()
            self._next = asyncio.Event()

    async def wait_for(self, count: int) -> None:
        for _ in range(count):
            await self._next.wait()


@asynccontextmanager
async def ticking() -> AsyncIterator[Ticks]:
    """Runs another task meanwhile."""
    ticks = Ticks()
    task = asyncio.ensure_future(ticks.tick())
    try:
        yield ticks
    finally:
        task.cancel()


@pytest.mark.parametrize("answer", ENDING)
async def test_fault_160_an_answer_ends_the_run_as_it_must(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/faults.md 160: the message says what was received, the request is repeated as often as that can help, other
    work goes on meanwhile, and the next run works.
    """
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    seen = list[Event]()
    with RawServer(DEFAULTS[answer.cloud or answer.api]) as server:
        server.answers = [answer.parts] * answer.tries
        async with agent_for(answer, server, seen) as agent:
            async with ticking() as ticks:
                first = await agent.run("hi")
            assert (first.error.kind if first.error else "", server.answers) == (answer.kind, [])
            assert answer.says in first.message and "Internal error" not in first.message
            assert first.error is None or len(first.message) <= MAX_MESSAGE
            assert ticks.count > 0
            if answer.scheme == "https":
                return
            second = await agent.run("Still there?")
            assert (second.stop_reason, second.message) == ("end_turn", "Done.")
    assert server.problems == []


@pytest.mark.parametrize("answer", ENDLESS)
async def test_fault_160_a_stop_ends_an_answer_that_may_last_for_ever(answer: Answer) -> None:
    """docs/faults.md 160: a server may send comments as long as it likes. A stop ends the run; the next one works."""
    with RawServer(DEFAULTS[answer.cloud or answer.api]) as server:
        server.answers = [answer.parts]
        async with agent_for(answer, server, []) as agent, ticking() as ticks:
            running = asyncio.ensure_future(agent.run("hi"))
            await asyncio.to_thread(server.wait_for_requests, 1)
            await ticks.wait_for(20)
            assert not running.done()
            running.cancel()
            assert (await running).stop_reason == "cancelled"
            assert (await agent.run("Still there?")).message == "Done."
    assert server.problems == []
