"""Answers of servers that differ from OpenAI's, as files in quirks/, through the model and a socket."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.agent.errors import ModelError
from fairlead.agent.model import ModelEvent, Reply, TextDelta, ThinkingDelta, Usage
from fairlead.messages.history import History
from fairlead.messages.images import image_of
from fairlead.messages.parts import Call, Foreign, Note, Part, Prompt, Result, Text, Thinking
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.openai.chat import ChatModel
from fairlead.models.openai.responses import ResponsesModel
from models.asking import asked, no_pause
from support.fake_api import HttpError, Raw
from support.fake_api.turns import Answer, Step, Streamed
from support.pictures import png
from support.scripted_server import Request, ScriptedServer

Json = dict[str, Any]
FOLDER = Path(__file__).parent / "quirks"
CASES = [
    pytest.param(path.stem, case, id=f"{path.stem}: {case['quirk']} ({case['server']})")
    for path in sorted(FOLDER.glob("*.yaml"))
    for case in yaml.safe_load(path.read_text(encoding="utf-8"))
]
MOST_REQUESTS = 3
"""One with all optional fields, and those without some of them."""
FIELDS = {"input": "input_tokens", "cached": "cache_read_tokens", "written": "cache_write_tokens", "cost": "cost"}
FIELDS["output"] = "output_tokens"


class AnyServer(ScriptedServer):
    """Takes any request, and answers with bytes, or with the list of its models."""

    def __init__(self, answers: list[Answer], models: list[str]) -> None:
        super().__init__(answers)
        self._models = models

    def _check(self, request: Request, fault: str | None) -> Json | None:
        if request.method == "GET":
            return {"data": [{"id": name} for name in self._models]}
        assert fault is None
        return None

    def _play(self, scripted: Streamed, request: Request) -> list[Step]:
        raise ValueError("the answers are bytes")

    def error(self, error: HttpError, request_id: str) -> tuple[Any, Mapping[str, str]]:
        return {"error": {"message": error.message}}, {}


def raw(answer: Any) -> Answer:
    """A stream, whose lines are events, or an error."""
    if isinstance(answer, str):
        return Raw("\n\n".join([*answer.splitlines(), ""]).encode())
    return Raw(answer["body"].encode(), {"content-type": "application/json"}, answer["status"])


def history_of(case: Json) -> History:
    """The conversation before the first request."""
    history = History()
    pictures = [image_of("image/png", png(8, 8))] if case.get("picture") else []
    history.add_user_message([Prompt("hi"), *pictures])
    if case.get("history"):  # a round of another model
        thinking = Thinking("Hm.", "other", {"signature": "s"})
        history.add_reply([thinking, Text("I look."), Call("call_of_another_model", "bash", {"command": "ls"})])
        history.add_results([Result("call_of_another_model", "ok")])
        history.add_to_user_message([Note("reminder", "Update your todos.")])
    return history


def seen_part(part: Part) -> Json:
    """A part of a reply as the files have it."""
    match part:
        case Text(text):
            return {"text": text}
        case Thinking(text):
            return {"thinking": text}
        case Foreign(_, data):
            return {"foreign": dict(data)}
        case Call(call_id, name, given, problem):
            return {"call": [call_id, name, given], **({"problem": problem} if problem else {})}
        case _:
            raise AssertionError(part)


def at(body: Any, path: str) -> Any:
    """The value at a path such as `messages.2.content`; None if there is none."""
    for step in path.split("."):
        if isinstance(body, list):
            body = body[int(step)]
        else:
            body = body.get(step)
            if body is None:
                return None
    return body


async def answer(model: ChatModel | ResponsesModel, history: History) -> tuple[list[ModelEvent], Reply]:
    *before, reply = [event async for event in model.stream(asked(*history.messages))]
    assert isinstance(reply, Reply)
    return before, reply


def continue_with(history: History, reply: Reply) -> None:
    """Adds the reply, and a result for each call."""
    calls = history.add_reply(reply.parts)
    if calls:
        history.add_results([Result(call.id, "ok") for call in calls])
    else:
        history.add_user_message([Prompt("And now?")])


@pytest.mark.parametrize(("file", "case"), CASES)
async def test_a_quirk_becomes_the_right_reply_or_error(file: str, case: Json) -> None:
    """The parts, the reason and the tokens are right, and the next request has what the server wants back."""
    is_responses = file == "responses"
    history = history_of(case)
    answers = list(map(raw, case["answers"]))
    if "error" in case:  # the last one also answers a request without the optional fields
        answers += answers[-1:] * 3
    with AnyServer(answers, case.get("has", [])) as server:
        endpoint = Endpoint(case.get("model", "m"), 1000, case.get("effort"), f"{server.url}/v1", "test-key", None)
        model = ResponsesModel(endpoint, no_pause) if is_responses else ChatModel(endpoint, no_pause)
        try:
            if "error" in case:
                with pytest.raises(ModelError) as failed:
                    await answer(model, history)
                check_error(case, failed.value)
                assert len(server.requests) <= MOST_REQUESTS
                return
            before, reply = await answer(model, history)
            for _ in range(case.get("rounds", 1) - 1):
                continue_with(history, reply)
                before, reply = await answer(model, history)
            check_reply(case, before, reply)
            assert len(server.requests) == len(case["answers"])
            check_last(case, server.requests[-1].body)
            if "next" in case:
                continue_with(history, reply)
                server.push(raw(case["answers"][-1]))
                await answer(model, history)
                check_next(case, server.requests[-1].body, is_responses=is_responses)
        finally:
            await model.aclose()


def check_reply(case: Json, before: list[ModelEvent], reply: Reply) -> None:
    parts = list(map(seen_part, reply.parts))
    problems = [
        (part.pop("problem", ""), wanted.pop("problem", "")) for part, wanted in zip(parts, case["parts"], strict=False)
    ]
    assert parts == case["parts"]
    assert all((wanted in said) if wanted else not said for said, wanted in problems), problems
    assert (reply.stop, reply.explanation) == (case["stop"], case.get("explanation", ""))
    assert reply.tagged_thinking == case.get("tagged_thinking", "")
    if not case.get("unseen"):  # until the last event
        assert "".join(event.text for event in before if isinstance(event, TextDelta)) == reply.text
        assert "".join(event.text for event in before if isinstance(event, ThinkingDelta)) == reply.thinking
    if "usage" in case:
        assert reply.usage == Usage(1, **{FIELDS[name]: count for name, count in case["usage"].items()})


def check_error(case: Json, error: ModelError) -> None:
    wanted = case["error"]
    assert error.kind == wanted["kind"], error.message
    assert list(error.help.models) == wanted.get("models", [])
    assert wanted["says"] in error.message
    assert "Anthropic" not in error.message and "ANTHROPIC" not in error.message
    if "overflow" in wanted:
        assert [error.overflow.request, error.overflow.window] == wanted["overflow"]


def check_last(case: Json, body: Json) -> None:
    for path, value in case.get("last", {}).items():
        assert at(body, path) == value, path
    for path, pattern in case.get("matches", {}).items():
        assert re.fullmatch(pattern, at(body, path)), path


def check_next(case: Json, body: Json, *, is_responses: bool) -> None:
    sent = body["input"][1:] if is_responses else body["messages"][2:]
    assert sent[: len(case["next"])] == case["next"]
