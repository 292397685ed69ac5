"""The replay model: plays a recording in place of a model, and its name says so."""

import time
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.errors import ModelError
from fairlead.agent.model import ModelEvent, Reply, Request, Stop, TextDelta, ThinkingDelta, Usage
from fairlead.messages.parts import Call, Note, Result, Text
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.factory import ModelChoice, open_model
from fairlead.models.recording import Recording, Turn, write_recording
from fairlead.models.replay import ReplayModel
from support.messages import user

REQUEST = Request("system", [], [user("whatever")])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "my recording.yaml"


def recorded(path: Path, *turns: Turn, **fields: Any) -> ReplayModel:
    write_recording(path, Recording(turns, **fields))
    return ReplayModel(path)


async def events(model: ReplayModel, request: Request = REQUEST) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


async def reply(model: ReplayModel, request: Request = REQUEST) -> Reply:
    last = (await events(model, request))[-1]
    assert isinstance(last, Reply)
    return last


async def test_it_plays_each_turn_once_in_order(path: Path) -> None:
    """Thinking and text are played as deltas, followed by a reply with content, calls and usage."""
    calls = (("read_file", {"path": "a.py"}), ("bash", {"command": "ls"}))
    model = recorded(path, Turn("我 look first.", "Hm, so.", calls, usage=Usage(1, 2, 3, 4, 5)), Turn("Done."))
    seen = await events(model)
    last = seen[-1]
    assert isinstance(last, Reply)
    assert "".join(event.text for event in seen if isinstance(event, ThinkingDelta)) == "Hm, so."
    assert [event.text for event in seen if isinstance(event, TextDelta)] == ["我 ", "look ", "first."]
    assert [(call.name, call.input, call.problem) for call in last.calls] == [(*call, None) for call in calls]
    assert list(map(type, last.parts)) == [Text, Call, Call]
    assert (last.stop, last.usage) == ("calls", Usage(1, 2, 3, 4, 5))
    second = await reply(model)
    assert (second.text, second.stop, second.calls) == ("Done.", "done", [])


def with_results(*texts: str) -> Request:
    results = [Result(f"call-{number}", text) for number, text in enumerate(texts)]
    return Request("system", [], [*REQUEST.messages, user(*results, Note("reminder", "no hint"))])


async def test_a_turn_for_a_result_is_skipped_without_it(path: Path) -> None:
    """Only the results of the last calls count: not what the user said, and not earlier results."""
    turns = [Turn("1"), Turn("2", when="failed"), Turn("3", when="whatever"), Turn("4"), Turn("5", when="hint")]
    model = recorded(path, *turns)
    assert [(await reply(model, with_results("ok", "it failed"))).text for _ in range(3)] == ["1", "2", "4"]
    model = recorded(path, *turns)
    assert [(await reply(model)).text, (await reply(model, with_results("ok"))).text] == ["1", "4"]
    with pytest.raises(ModelError, match="has ended"):
        await reply(model, with_results("ok"))


async def test_every_call_has_an_id_of_its_own(path: Path) -> None:
    """The API refuses a history with repeated ids."""
    model = recorded(path, *[Turn(calls=(("bash", {}), ("bash", {})))] * 3)
    replies = [await reply(model) for _ in range(3)]
    ids = [call.id for answer in replies for call in answer.calls]
    assert len(set(ids)) == 6


@pytest.mark.parametrize("stop", ["cut_off", "refused", "done"])
async def test_a_stop_reason_can_be_played(path: Path, stop: Stop) -> None:
    """A recording can set any stop reason, even one that contradicts the calls. Tests need that."""
    assert (await reply(recorded(path, Turn(calls=(("bash", {}),), stop=stop)))).stop == stop


@pytest.mark.parametrize("text", ["", " \n"])
async def test_an_empty_text_is_no_block(path: Path, text: str) -> None:
    """An empty or blank text adds no block: the API would refuse it in the next request."""
    assert (await reply(recorded(path, Turn(text)))).parts == []


async def test_after_the_last_turn_each_request_fails(path: Path) -> None:
    """The error has the kind `replay_ended` and names the recording."""
    model = recorded(path, Turn("One."))
    await reply(model)
    for _ in range(2):
        with pytest.raises(ModelError) as error:
            await events(model)
        assert error.value.kind == "replay_ended"
        assert error.value.message.startswith("The recording my recording.yaml has ended.")


async def test_a_mistake_in_the_file_is_reported_with_the_first_request(path: Path) -> None:
    """Opening the model does not fail. When the file is corrected, the same model plays it."""
    path.write_text("replay: 1\nturns:\n- txt: x\n", encoding="utf-8")
    model = ReplayModel(path)
    with pytest.raises(ModelError, match="line 3: turn 1: unknown field"):
        await events(model)
    path.write_text("replay: 1\nturns:\n- text: x\n", encoding="utf-8")
    assert (await reply(model)).text == "x"


async def test_there_is_a_pause_after_each_word(path: Path) -> None:
    """A stream can also be closed between two words."""
    model = recorded(path, Turn("one two three"), Turn("so long " * 100), pace=0.02)
    began = time.monotonic()
    await reply(model)
    assert time.monotonic() - began >= 0.05
    stream = model.stream(REQUEST)
    assert await anext(stream) == TextDelta("so ")
    await stream.aclose()


def test_its_name_says_replay(path: Path) -> None:
    """The model's name begins with `replay` and contains the name of the recording's file."""
    assert recorded(path, Turn("x")).name == "replay (my recording.yaml)"


def test_a_recording_takes_precedence_over_an_endpoint(path: Path) -> None:
    """If a recording is set, it is played instead of the endpoint. Its file is not opened yet, so it need not exist."""
    endpoint = Endpoint("claude-x", 100, None, None, "key", None)
    assert open_model(ModelChoice(endpoint, path)).name == "replay (my recording.yaml)"
    assert open_model(ModelChoice(endpoint)).name == "claude-x"
