"""One session that is continued with models of other APIs, and returns to the first."""

import json
from pathlib import Path
from typing import Any

from support.client import Client
from support.fake_api import Call, FakeApi, Text, Thinking, Turn
from support.fake_openai import FakeOpenAi

PLAN = [{"content": "Write a.txt", "status": "completed"}, {"content": "Look at it", "status": "pending"}]


def answers(name: str, *calls: Call) -> list[Turn]:
    """A round with thinking and calls, and an answer."""
    return [
        Turn((Thinking(f"{name} thinks."), Text(f"{name} works."), *calls)),
        Turn((Text(f"{name} is done."),)),
    ]


async def test_a_session_goes_through_each_api_and_returns(workspace: Path) -> None:
    """The plan, the proposals and the conversation stay. Each server gets only its own thinking back.

    The stand-ins refuse what the real servers refuse: calls without results, ids and fields of another API. DeepSeek
    also refuses calls of others, which have no thinking of its own, until it gets an empty one.
    """
    (workspace / "b.txt").write_text("B\n", encoding="utf-8")
    read = Call("read_file", {"path": "b.txt"})
    todo, write = Call("todo", {"items": PLAN}), Call("write_file", {"path": "a.txt", "content": "A\n"})
    first = answers("First", todo, write, read)
    with (
        FakeApi([*first, *answers("Fourth", read)], key="m") as messages,
        FakeOpenAi(answers("Second", read, read), key="c", server="deepseek") as chat,
        FakeOpenAi(answers("Third", read), key="r") as responses,
    ):
        endpoints = {
            "a": {"baseUrl": messages.url, "api": "messages", "keyVariable": "A_KEY"},
            "b": {"baseUrl": chat.base_url, "api": "chat", "keyVariable": "B_KEY"},
            "c": {"baseUrl": responses.base_url, "api": "responses", "keyVariable": "C_KEY"},
        }
        env = {"A_KEY": "m", "B_KEY": "c", "C_KEY": "r"}
        settings = {"endpoints": endpoints, "endpoint": "a", "model": "model-a"}
        async with Client(workspace, settings=settings, env=env) as client:
            session = dict[str, Any]()
            states = list[Any]()
            for endpoint in "abca":
                if session:
                    choice = {**session, "endpoint": endpoint, "model": f"model-{endpoint}"}
                    await client.request("agent/models/choose", choice)
                result = await client.run(f"Ask {endpoint}.", **session)
                assert (result["stopReason"], result["message"].endswith("is done.")) == ("end_turn", True), result
                session = {"sessionId": result["sessionId"]}
                opened = await client.request("agent/sessions/open", session)
                steps = [(item["content"], item["status"]) for item in opened["plan"]["items"]]
                states.append((steps, [file["hunks"] for file in opened["edits"]["files"]]))
        assert (messages.refusals, responses.refusals) == ([], [])
        assert chat.refusals == ["The `reasoning_content` in the thinking mode must be passed back to the API."]
        assert states == states[:1] * 4
        sent = {
            name: json.dumps(api.requests[-1].body)
            for name, api in zip("abc", (messages, chat, responses), strict=True)
        }
    for text in ("First works.", "Second works.", "Third works.", "Ask b.", "Ask c."):
        assert text in sent["a"]
    assert [name in sent["a"] for name in ("First thinks", "Second thinks", "Third thinks")] == [True, False, False]
    assert [name in sent["b"] for name in ("First thinks", "Second thinks")] == [False, True]
    assert [name in sent["c"] for name in ("First thinks", "Second thinks")] == [False, False]
