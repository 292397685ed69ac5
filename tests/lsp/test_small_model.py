"""A second model for small work (docs/models.md): it writes titles and summaries."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.client import EDITOR, Client
from support.fake_api import Answer, Call, FakeApi, HttpError, Text, Thinking, Turn
from support.fake_openai import FakeOpenAi

Json = dict[str, Any]
DONE = Turn((Text("Done."),))
SUMMARY = Turn((Text("Files were written."),))
MILLION = {"input_tokens": 1_000_000, "output_tokens": 0}
MILLION_IN_CHAT = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
LIST = {**EDITOR, "experimental": {"agent": {"sessions": True}}}
PROMPT = "Write a program that prints all prime numbers below 100, please."


def settings(main: FakeApi, small: FakeOpenAi, small_price: float | None = 0.5, **more: Any) -> Json:
    """A large model at $3 per million tokens of input, and a small one."""
    prices = {"inputPrice": small_price, "outputPrice": 1} if small_price is not None else {}
    endpoints = {
        "main": {"baseUrl": main.url, "api": "messages", "models": {"large": {"inputPrice": 3, "outputPrice": 9}}},
        "other": {"baseUrl": small.base_url, "api": "chat", "models": {"little": prices}},
    }
    small_model = {"endpoint": "other", "model": "little"}
    return {"endpoints": endpoints, "endpoint": "main", "model": "large", "smallModel": small_model, **more}


async def titled(client: Client, title: str) -> None:
    """Waits until the list of sessions has a title."""
    no_rows: Json = {"sessions": []}
    await client.until(
        lambda: title in [row["title"] for row in (client.last("agent/sessions") or no_rows)["sessions"]]
    )


async def test_it_names_a_session_after_its_first_prompt(workspace: Path) -> None:
    """Without the quotes and the line breaks that models add. What it used counts for the session."""
    title = Turn((Text('\n"Prime numbers below 100"\n\nHope this helps!'),), usage=MILLION_IN_CHAT)
    main_turn = replace(DONE, usage=MILLION)
    with FakeApi([main_turn, main_turn], require_key=False) as main, FakeOpenAi([title], require_key=False) as small:
        async with Client(workspace, settings=settings(main, small), capabilities=LIST) as client:
            session = (await client.run(PROMPT))["sessionId"]
            await titled(client, "Prime numbers below 100")
            await client.run("Go on.", sessionId=session)
            record = (await client.request("agent/record", {"sessionId": session}))["record"]
            checkpoint = client.events("run_started")[-1]["checkpoint"]
            rewind = {"sessionId": session, "checkpoint": checkpoint, "scope": "fork"}
            await client.request("agent/sessions/rewind", rewind)
            page = (await client.request("agent/costs", {}))["markdown"]
            listed = (await client.request("agent/sessions/list", {}))["sessions"]
    assert PROMPT in json.dumps(small.requests[-1].body)
    assert (record["title"], record["costUsd"]) == ("Prime numbers below 100", pytest.approx(3 + 3 + 0.5, abs=0.001))
    # what a fork continues is not paid twice
    assert sorted((row["tokens"] > 0, row["costUsd"]) for row in listed) == [(False, None), (True, record["costUsd"])]
    assert page.count("| `Prime numbers below 100` | $6.50 |") == 2
    assert "Total" not in page


@pytest.mark.parametrize(
    "answer", [HttpError(400, "", "No."), HttpError(529, "overloaded_error", "Busy."), Turn((Text(" "),))]
)
async def test_without_a_title_the_prompt_is_the_title(workspace: Path, answer: Answer) -> None:
    """A failure is not shown, and there is no second attempt."""
    with FakeApi([DONE], require_key=False) as main, FakeOpenAi([answer], require_key=False) as small:
        async with Client(workspace, settings=settings(main, small), capabilities=LIST) as client:
            assert (await client.run(PROMPT))["stopReason"] == "end_turn"
            await titled(client, PROMPT)
            assert client.events("retry") == []


def asks_for_summary(body: Json) -> bool:
    return "<summarize>" in json.dumps(body["messages"][-1])


def sized(turn: Turn, body: Json) -> Turn:
    """The turn with the usage of a model that counts a token for every four characters."""
    return replace(turn, usage={"input_tokens": len(json.dumps(body["messages"])) // 4, "output_tokens": 0})


def writing() -> list[Answer]:
    """Turns that write eight files of 8,000 characters. A request for a summary gets one."""
    writes = (
        Turn((Thinking("Hm."), Call("write_file", {"path": f"{number}.md", "content": f"{number} {'text ' * 1600}\n"})))
        for number in range(8)
    )

    def play(body: Json) -> Turn:
        return sized(Turn((Text("A long story."),)) if asks_for_summary(body) else next(writes, DONE), body)

    return [play] * 12


@pytest.mark.parametrize("fails", [False, True])
async def test_it_writes_the_summary_of_a_long_conversation(workspace: Path, *, fails: bool) -> None:
    """If it cannot, for example because its own window is smaller, the session's model does."""

    def small_turn(body: Json) -> Turn | HttpError:
        if not asks_for_summary(body):
            return HttpError(400, "", "No.")
        too_long = "This model's maximum context length is 4096 tokens."
        return HttpError(400, "context_length_exceeded", too_long) if fails else replace(SUMMARY, usage=MILLION_IN_CHAT)

    with FakeApi(writing(), require_key=False) as main, FakeOpenAi([small_turn] * 5, require_key=False) as small:
        async with Client(workspace, settings=settings(main, small, contextTokens=10_000)) as client:
            assert (await client.run("Write them all, please."))["stopReason"] == "end_turn"
            assert any("summary" in event["text"] for event in client.events("compacted"))
            assert "Files were written." not in client.text()
            usage = client.events("usage")[-1]
        asked = [asks_for_summary(request.body) for request in main.requests]
        last = json.dumps(main.requests[-1].body)
        assert main.refusals == []
        assert any(asked) == fails
        assert ("Files were written." in last, "A long story." in last) == (not fails, fails)
        little = 0 if fails else sum(asks_for_summary(request.body) for request in small.requests)
        large = usage["inputTokens"] / 1_000_000 - little
        assert 0 < large < 0.1
        assert usage["costUsd"] == pytest.approx(3 * large + 0.5 * little)


async def test_a_small_model_of_unknown_price_does_not_hide_what_the_run_costs(workspace: Path) -> None:
    """The run's cost is unknown then, but what is known counts for the budget."""

    def small_turn(body: Json) -> Turn | HttpError:
        return SUMMARY if asks_for_summary(body) else HttpError(400, "", "No.")

    with FakeApi(writing(), require_key=False) as main, FakeOpenAi([small_turn] * 5, require_key=False) as small:
        given = settings(main, small, None, contextTokens=10_000, budget={"costUsd": 0.08})
        async with Client(workspace, settings=given) as client:
            result = await client.run("Write them all, please.")
            costs = [event["costUsd"] for event in client.events("usage")]
    assert costs[0] > 0 and costs[-1] is None
    assert (result["stopReason"], "and the budget is $0.08" in result["message"]) == ("budget", True), result["message"]
