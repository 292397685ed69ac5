"""The contract of the model port (agent/model.py): each model passes the same tests. Add a new one to `BENCHES`."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Model, ModelEvent, Reply, TextDelta, ThinkingDelta, Usage, Used
from fairlead.messages.history import History
from fairlead.messages.images import image_of
from fairlead.messages.parts import Call, Foreign, Note, Prompt, Result, Thinking
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.openai.chat import ChatModel
from fairlead.models.openai.responses import ResponsesModel
from fairlead.models.recording import Recording, Turn, write_recording
from fairlead.models.replay import ReplayModel
from models import tiny_model
from models.asking import asked, opened
from support import fake_api
from support.fake_openai import FakeOpenAi
from support.pictures import png

Bench = Callable[[Path, Sequence[Turn]], AbstractAsyncContextManager[Model]]
"""Opens a model whose server gives these answers, then none. It fails the test if a request is not as the server's
protocol demands.
"""


def scripted(turns: Sequence[Turn], refused: str) -> list[fake_api.Scripted]:
    """The answers of a stand-in, then a refused key."""
    stops = {"cut_off": "max_tokens", None: None}
    answers: list[fake_api.Scripted] = [
        fake_api.Turn(
            (
                *([fake_api.Thinking(turn.thinking)] if turn.thinking else []),
                *([fake_api.Text(turn.text)] if turn.text else []),
                *(fake_api.Call(name, given) for name, given in turn.calls),
            ),
            stops[turn.stop],
            chunk=3,
        )
        for turn in turns
    ]
    return [*answers, fake_api.HttpError(401, refused, "This key is not valid.")]


@asynccontextmanager
async def messages_api(folder: Path, turns: Sequence[Turn]) -> AsyncIterator[Model]:
    with fake_api.FakeApi(scripted(turns, "authentication_error")) as api:
        async with opened(api) as model:
            yield model
        assert api.refusals == []


def openai(open_model: Callable[[Endpoint], Model], server: str) -> Bench:
    """A model of one of OpenAI's APIs, whose server is a row of fake_openai/fixtures/servers.yaml."""

    @asynccontextmanager
    async def bench(folder: Path, turns: Sequence[Turn]) -> AsyncIterator[Model]:
        with FakeOpenAi(scripted(turns, "invalid_request_error"), server=server) as api:
            model = open_model(Endpoint("m", 1000, "low", api.base_url, "test-key", None))
            yield model
            await model.aclose()
            assert api.refusals == []

    return bench


@asynccontextmanager
async def replay(folder: Path, turns: Sequence[Turn]) -> AsyncIterator[Model]:
    path = folder / "recording.yaml"
    write_recording(path, Recording(tuple(turns)))
    yield ReplayModel(path)


@asynccontextmanager
async def tiny(folder: Path, turns: Sequence[Turn]) -> AsyncIterator[Model]:
    whys = {"cut_off": "length", None: "end"}
    remaining = list(enumerate(turns))

    async def server(lines: list[str]) -> dict[str, Any]:
        assert lines
        await asyncio.sleep(0)
        if not remaining:
            return {"error": "No more answers."}
        number, turn = remaining.pop(0)
        calls = [(f"{number}.{index}", name, given) for index, (name, given) in enumerate(turn.calls)]
        why = "call" if calls and turn.stop is None else whys[turn.stop]
        used = {"input_tokens": len(json.dumps(lines)), "output_tokens": len(turn.text) + 1}
        return {"thought": turn.thinking, "said": turn.text, "calls": calls, "why": why, "used": used}

    yield tiny_model.TinyModel(server)


BENCHES: dict[str, Bench] = {
    "messages": messages_api,
    "chat": openai(ChatModel, "vllm"),
    "responses": openai(ResponsesModel, "openai"),
    "replay": replay,
    "tiny": tiny,
}
each_model = pytest.mark.parametrize("bench", BENCHES.values(), ids=BENCHES)
LONG = Turn(
    "Hello, 世界 🌍. How are you today?", "First this. 日本", (("bash", {"command": "ls '日本'\n"}), ("todo", {}))
)


async def ask(model: Model, history: History | None = None) -> list[ModelEvent]:
    request = asked(*history.messages) if history else asked()
    return [event async for event in model.stream(request)]


async def answered(model: Model, history: History | None = None) -> Reply:
    last = (await ask(model, history))[-1]
    assert isinstance(last, Reply)
    return last


@each_model
async def test_an_answer_streams_and_ends_with_one_reply(bench: Bench, tmp_path: Path) -> None:
    """The deltas are the reply's text and thinking, and what was used is its usage."""
    async with bench(tmp_path, [LONG]) as model:
        *seen, reply = await ask(model)
    assert isinstance(reply, Reply)
    assert not any(isinstance(event, Reply) for event in seen)
    assert "".join(event.text for event in seen if isinstance(event, TextDelta)) == reply.text == LONG.text
    assert "".join(event.text for event in seen if isinstance(event, ThinkingDelta)) == LONG.thinking
    assert sum((event.usage for event in seen if isinstance(event, Used)), Usage()) == reply.usage
    assert reply.usage.requests == 1
    assert tuple((call.name, call.input) for call in reply.calls) == LONG.calls
    assert all(call.id and call.problem is None for call in reply.calls)
    assert len({call.id for call in reply.calls}) == len(reply.calls)


@each_model
@pytest.mark.parametrize(
    ("turn", "stop"),
    [(Turn("Done."), "done"), (Turn(calls=(("todo", {}),)), "calls"), (Turn("I wi", stop="cut_off"), "cut_off")],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_reply_says_why_it_ended(bench: Bench, tmp_path: Path, turn: Turn, stop: str) -> None:
    async with bench(tmp_path, [turn]) as model:
        reply = await answered(model)
    assert reply.stop == stop
    assert reply.stop_name


@each_model
async def test_a_conversation_goes_on_after_calls(bench: Bench, tmp_path: Path) -> None:
    """What a model answered can be sent back to it, with a result for each call."""
    async with bench(tmp_path, [LONG, LONG, Turn("Done.")]) as model:
        history = History()
        history.add_user_message([Prompt("Do it."), Note("context", "In a.py.")])
        for _ in range(2):
            reply = await answered(model, history)
            calls = history.add_reply(reply.parts)
            history.add_results(Result(call.id, "", is_error=index > 0) for index, call in enumerate(calls))
            history.add_to_user_message([Note("reminder", "Update your todos.")])
        assert (await answered(model, history)).text == "Done."


@each_model
async def test_a_conversation_that_another_model_began_goes_on(bench: Bench, tmp_path: Path) -> None:
    """docs/faults.md: what the other provider sealed, its ids and names, and pictures do not prevent an answer."""
    history = History()
    history.add_user_message([Prompt("Look."), image_of("image/png", png(8, 8))])
    odd = Call("call|1 =", "look up!", {"é": "🚀"}, "Its input is incomplete.")
    sealed = Thinking("Hm.", "other", {"id": "r1"}), Foreign("other", {"type": "search"})
    [call] = history.add_reply([*sealed, odd])
    history.add_results([Result(call.id, "A", images=(image_of("image/png", png(8, 8)),))])
    history.add_reply([*sealed])
    history.add_user_message([Prompt("And now?", while_working=True)])
    async with bench(tmp_path, [Turn("Done.")]) as model:
        assert (await answered(model, history)).text == "Done."


@each_model
async def test_an_answer_can_be_left_after_any_event_and_the_next_one_is_complete(bench: Bench, tmp_path: Path) -> None:
    """A stop of the user may come at any moment."""
    async with bench(tmp_path, [LONG]) as model:
        count = len(await ask(model))
    for leaves_after in range(count):
        async with bench(tmp_path, [LONG, Turn("Done.")]) as model:
            async with aclosing(model.stream(asked())) as stream:
                for _ in range(leaves_after):
                    await anext(stream)
            if leaves_after == 0:  # it was not asked yet
                assert (await answered(model)).text == LONG.text
            assert (await answered(model)).text == "Done."


@each_model
async def test_a_failure_is_a_model_error_for_the_user(bench: Bench, tmp_path: Path) -> None:
    async with bench(tmp_path, []) as model:
        with pytest.raises(ModelError) as failed:
            await ask(model)
    assert failed.value.kind != "internal"
    assert failed.value.message


@each_model
async def test_a_model_can_be_connected_and_closed_at_any_time(bench: Bench, tmp_path: Path) -> None:
    async with bench(tmp_path, [Turn("One."), Turn("Two.")]) as model:
        await model.connect()
        await model.connect()
        assert (await answered(model)).text == "One."
        await model.aclose()
        assert (await answered(model)).text == "Two."
        await model.aclose()
        await model.aclose()
    assert model.name
