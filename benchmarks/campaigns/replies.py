"""`python benchmarks/campaigns/replies.py --cases N`: runs the agent loop with N answers that are nonsense.

    --cases N    how many answers (default 20000)
    --seed S     another seed for the random answers
    --api NAME   only the answers of this API: messages, chat or responses

Each API gets a third of the answers. Each answer is a web page, an error with any status, headers and body, or a stream
in which fields have other types and events are missing, repeated or moved (tests/support/nonsense.py). It is sent over
HTTP, once, twice or to every attempt. The run must end with a message for the user and never with an internal error,
and the next run must work with a history that the API accepts. The reader of recordings gets as many damaged
recordings. The exit code is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, seed, settings

from fairlead.agent.errors import ModelError
from fairlead.agent.events import Event, Text, Thinking
from fairlead.agent.outcome import Outcome
from fairlead.models.anthropic.messages_api import MessagesApiModel
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.http_model import HttpModel
from fairlead.models.common.retry import MAX_ATTEMPTS
from fairlead.models.openai.chat import ChatModel
from fairlead.models.openai.responses import ResponsesModel
from fairlead.models.recording import read_recording
from support.bare_agent import BareAgent
from support.fake_api import FakeApi, Raw, Turn
from support.fake_api import Text as SaidText
from support.fake_openai import FakeOpenAi
from support.nonsense import APIS, http_responses, recordings

BATCH = 250
"""Cases for one server. A server saves all requests, so it is replaced after this many."""
DONE = Turn((SaidText("Done."),))
MAX_MESSAGE = 3000
# refusals that do not count: the stand-in does not know what it sent as bytes, or the block types of a later API
UNKNOWABLE = ("signature", "thinking", "does not match any of the expected tags", "Input tag", "reasoning")
UNKNOWABLE += ("could not be verified",)
MODELS: dict[str, Callable[[Endpoint, Callable[[float], Awaitable[None]]], HttpModel]] = {
    "messages": MessagesApiModel,
    "chat": ChatModel,
    "responses": ResponsesModel,
}


class NonsenseServer:
    """Answers with the `pending` responses, and then with `DONE`."""

    def __init__(self, api: str) -> None:
        self.pending: list[Raw] = []
        self.open_model = MODELS[api]
        turns = [self._answer] * (BATCH * 20)
        self.api = FakeApi(turns) if api == "messages" else FakeOpenAi(turns, server="vllm")
        self.path = "" if api == "messages" else "/v1"

    def _answer(self, _: object) -> Raw | Turn:
        return self.pending.pop(0) if self.pending else DONE


async def converse(server: NonsenseServer, response: Raw, times: int) -> tuple[Outcome, Outcome, list[Event]]:
    """Runs two prompts in one session. Returns both outcomes and all events.

    The first `times` requests of the first run get `response`, all other requests a normal answer.
    """
    url = f"{server.api.url}{server.path}"
    endpoint = Endpoint("claude-opus-5-5", 1000, None, url, "test-key", None, max_silence=5)
    model, seen = server.open_model(endpoint, _at_once), list[Event]()
    agent = BareAgent(model, seen.append)
    try:
        server.pending = [response] * times
        first = await agent.run("hi")
        server.pending = []
        return first, await agent.run("Still there?"), seen
    finally:
        await model.aclose()


async def _at_once(seconds: float) -> None:
    assert 0 <= seconds <= 60


def check(server: NonsenseServer, response: Raw, times: int, endings: Counter[str]) -> None:
    """Checks one answer. An AssertionError says what is wrong."""
    before = len(server.api.refusals)
    first, second, seen = asyncio.run(converse(server, response, times))
    endings[first.error.kind if first.error else first.stop_reason] += 1
    assert "Internal error in Fairlead" not in first.message, first.message
    assert first.message.strip(), "no message"
    assert first.error is None or len(first.message) <= MAX_MESSAGE, first.message
    shown = [event.text for event in seen if isinstance(event, Text | Thinking)]
    assert "".join([first.message, *shown]).encode()
    refused = [text for text in server.api.refusals[before:] if not any(part in text for part in UNKNOWABLE)]
    assert refused == [], refused
    if len(server.api.refusals) == before:
        assert (second.stop_reason, second.message) == ("end_turn", "Done."), second


def check_recording(path: Path, data: bytes, endings: Counter[str]) -> None:
    """Checks one recording. An AssertionError says what is wrong."""
    path.write_bytes(data)
    refused = None
    try:
        read_recording(path)
    except ModelError as error:
        refused = error
    endings["recording: refused" if refused else "recording: read"] += 1
    if refused is not None:
        assert (refused.kind, refused.retryable) == ("replay", False)
        assert str(path) in refused.message and refused.message.encode()


def batch(folder: Path, cases: int, number: int, endings: Counter[str], api: str) -> None:
    """Checks answers and recordings. Raises the error that hypothesis found, with its smallest example."""
    server = NonsenseServer(api)
    path = folder / "odd.replay.yaml"
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    limits = settings(max_examples=cases, database=None, deadline=None, suppress_health_check=slow)

    @seed(number)
    @limits
    @given(http_responses(api), st.sampled_from([1, 1, 2, MAX_ATTEMPTS]))
    def answers(response: Raw, times: int) -> None:
        check(server, response, times, endings)

    @seed(number)
    @limits
    @given(recordings())
    def files(data: bytes) -> None:
        check_recording(path, data, endings)

    with server.api:
        answers()
    files()


def campaign(folder: Path, cases: int, number: int, apis: Sequence[str] = APIS) -> Counter[str]:
    """Runs the cases in batches. Returns how many cases ended in each way."""
    logging.getLogger("fairlead").setLevel(logging.CRITICAL)
    endings = Counter[str]()
    for done in range(0, cases, BATCH):
        api = apis[done // BATCH % len(apis)]
        batch(folder, min(BATCH, cases - done), number * 1_000_000 + done, endings, api)
        print(f"{min(done + BATCH, cases)} cases: {dict(endings)}", flush=True)
    return endings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--api", choices=APIS)
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fairlead-replies-") as folder:
        endings = campaign(Path(folder), given.cases, given.seed, [given.api] if given.api else APIS)
    print(f"{given.cases} answers and recordings in {time.monotonic() - began:.0f} s: {dict(endings)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
