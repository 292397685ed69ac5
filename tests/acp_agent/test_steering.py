"""Prompts while a turn works: they reach the run, or wait for their turn. Each request is answered."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from acp_agent.conftest import Open
from acp_agent.raw_client import Failed, Json, RawClient, by_kind, connected
from conftest import KEY
from support.fake_api import Call, FakeApi, Text, Turn

WAIT = {"calls": [{"bash": {"command": "true", "network": True}}]}
"""Asks the user, so the run goes on until the test answers."""
EDIT = {"calls": [{"edit_file": {"path": "a.txt", "old_text": "one", "new_text": "two"}}]}
END = {"stopReason": "end_turn"}
CANCELLED = {"stopReason": "cancelled"}


@pytest.fixture
def file(workspace: Path) -> Path:
    path = workspace / "a.txt"
    path.write_text("one\n")
    return path


def questions(client: RawClient) -> list[Json]:
    return [each for each in client.received if each.get("method") == "session/request_permission"]


def answer(client: RawClient, kind: str) -> None:
    """Answers the last question."""
    question = questions(client)[-1]
    client.send({"jsonrpc": "2.0", "id": question["id"], "result": by_kind(kind)(question["params"])})


async def asked_in_run(client: RawClient, session: str, prompt: str = "Wait") -> "asyncio.Future[Json]":
    """The answer to a prompt whose run asks the user and waits."""
    client.permission = lambda _: None
    before = len(questions(client))
    turn = client.begin_prompt(session, prompt)
    await client.until(lambda: len(questions(client)) > before)
    return turn


async def test_a_message_reaches_the_run(agent: Open, workspace: Path) -> None:
    """The model reads it between two rounds. Both prompts are answered when the turn ends, the first one first. It is
    part of the conversation, which a load replays."""
    async with agent(WAIT, {"text": "Done."}) as client:
        session = await client.new(workspace)
        first = await asked_in_run(client, session)
        second = client.begin_prompt(session, "Use three instead")
        with pytest.raises(Failed, match="no option colour"):  # so the prompt before has been read
            await client.request("session/set_config_option", sessionId=session, configId="colour", value="x")
        answer(client, "reject_once")
        answers = [await first, await second]
        assert [each["result"] for each in answers] == [END, END]
        assert client.received.index(answers[0]) < client.received.index(answers[1])
        await client.request("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        assert client.text("user_message_chunk") == "WaitUse three instead"


async def test_the_model_reads_the_message(workspace: Path, tmp_path: Path) -> None:
    """It is part of the next request of the same run."""
    call = Call("bash", {"command": "true", "network": True})
    with FakeApi([Turn((call,)), Turn((Text("Done."),))]) as api:
        options = ("--storage", str(tmp_path / "sessions"))
        async with connected(tmp_path, *options, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=api.url) as client:
            await client.initialize()
            session = await client.new(workspace)
            first = await asked_in_run(client, session)
            second = client.begin_prompt(session, "Use three instead")
            await client.request("session/list")
            answer(client, "reject_once")
            assert [(await first)["result"], (await second)["result"]] == [END, END]
    assert api.refusals == []
    assert len(api.requests) == 2
    assert "Use three instead" in str(api.requests[1].body["messages"][-1])


async def test_a_prompt_during_the_review_waits(agent: Open, workspace: Path, file: Path) -> None:
    """As does a command and a prompt with an attachment during a run: each has its own turn, in order."""
    link = {"type": "resource_link", "uri": file.as_uri(), "name": "a.txt"}
    async with agent(EDIT, {"text": "First."}, {"text": "Second."}, {"text": "Third."}) as client:
        session = await client.new(workspace)
        turn = await asked_in_run(client, session, "Write two")
        later = [client.begin_prompt(session, each) for each in ("Then?", "/plan", link)]
        await client.request("session/list")
        assert not any(each.done() for each in (turn, *later))
        answer(client, "allow_once")
        assert [(await each)["result"] for each in (turn, *later)] == [END] * 4
        assert file.read_text() == "two\n"
        text = client.text()
        assert text.index("First.") < text.index("Second.") < text.index("no plan yet") < text.index("Third.")


@pytest.mark.parametrize("waiting", [1, 3])
async def test_a_cancel_ends_all_prompts(agent: Open, workspace: Path, file: Path, waiting: int) -> None:
    """Those that reached the run and those that wait. A prompt after the cancel works."""
    async with agent(EDIT, {"text": "First."}, {"text": "Again."}) as client:
        session = await client.new(workspace)
        turns = [await asked_in_run(client, session, "Write two")]
        turns += [client.begin_prompt(session, f"Prompt {number}") for number in range(waiting)]
        client.notify("session/cancel", sessionId=session)
        after = client.begin_prompt(session, "Hello")
        assert [(await each)["result"] for each in turns] == [CANCELLED] * len(turns)
        assert (await after)["result"] == END
        assert "Again." in client.text()
        assert "1 file left to review" in client.text()
        assert file.read_text() == "one\n"


async def test_a_flood_of_prompts_is_limited(agent: Open, workspace: Path, file: Path) -> None:
    """docs/faults.md 292: those above the limit are refused; a cancel ends the others, and the session works."""
    async with agent(EDIT, {"text": "First."}, {"text": "Again."}) as client:
        session = await client.new(workspace)
        turns = [await asked_in_run(client, session, "Write two")]
        turns += [client.begin_prompt(session, "/plan") for _ in range(500)]
        refused = [(await each)["error"] for each in turns[21:]]
        assert {(each["code"], each["message"].split(".")[0]) for each in refused} == {
            (-32600, "20 prompts of this session wait already")
        }
        client.notify("session/cancel", sessionId=session)
        assert [(await each)["result"] for each in turns[:21]] == [CANCELLED] * 21
        assert await client.prompt(session, "Hello") == "end_turn"


async def test_the_steering_extension(agent: Open, workspace: Path, file: Path) -> None:
    """A client that knows it reads whether the run takes its message; if not, it sends a prompt."""
    message: dict[str, Any] = {"prompt": [{"type": "text", "text": "Use three instead"}]}
    idle = {"outcome": "promptRequired", "reason": "noRunningTurn"}
    async with agent(WAIT, EDIT, {"text": "Done."}) as client:
        initialized = await client.request("initialize", protocolVersion=1)
        assert initialized["_meta"]["steering"] == {"supported": True}
        session = await client.new(workspace)
        assert await client.request("_session/steering", sessionId=session, **message) == idle
        turn = await asked_in_run(client, session)
        assert await client.request("_session/steering", sessionId=session, **message) == {"outcome": "injected"}
        answer(client, "reject_once")
        await client.until(lambda: len(questions(client)) == 2)  # the review, which is no run
        assert await client.request("_session/steering", sessionId=session, **message) == idle
        answer(client, "reject_once")
        assert (await turn)["result"] == END
        with pytest.raises(Failed, match="Unknown session"):
            await client.request("_session/steering", sessionId="0123456789ab", **message)


async def test_a_message_at_the_end_of_a_run_is_worked_on(agent: Open, workspace: Path) -> None:
    """While a hook is asked about at the end of the run, the run no longer reads messages: the turn goes on with it."""
    (workspace / ".claude").mkdir()
    hooks = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    (workspace / ".claude" / "settings.json").write_text(json.dumps(hooks))
    async with agent({"text": "First."}, {"text": "Second."}) as client:
        session = await client.new(workspace)
        first = await asked_in_run(client, session)
        assert "hook of the event `Stop`" in client.asked()[0]["toolCall"]["title"]
        second = client.begin_prompt(session, "And now?")
        await client.request("session/list")
        client.permission = by_kind("reject_once")
        answer(client, "reject_once")
        assert [(await each)["result"] for each in (first, second)] == [END, END]
        assert client.text().index("First.") < client.text().index("Second.")
