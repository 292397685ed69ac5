"""Runs with dasLLAMA, a server of models that shares no code with llama.cpp. It has only Chat Completions."""

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.messages.history import History
from fairlead.messages.parts import Prompt, Result, Text
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.openai.chat import ChatModel
from local_model.asking import ask
from local_model.gguf import with_q5_1
from local_model.llama import DEADLINE, model_file
from local_model.programs import DASLLAMA, running
from support.client import Client

NEEDED = [DASLLAMA]
MODEL = "smollm2.gguf"
CALL = '<tool_call>\n{"name": "read_file", "arguments": {"path": "NAME"}}\n</tool_call>'
"""How the server has the model write calls. The tiny model writes one only if it repeats it, as it did before."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server, whose window has 4,096 tokens."""
    folder = tmp_path_factory.mktemp("dasllama")
    with_q5_1(model_file(), folder / MODEL)
    program = Path(os.environ[DASLLAMA], "dasllama", "_sdk", "dasllama-server.exe")
    one = ["--gpu", "off", "--threads", "1", "--streams", "1", "--ctx", "4096"]
    with running([str(program), "--model", str(folder / MODEL), *one, "--port"], folder, "/v1/models") as url:
        yield url


def settings(server: str, **more: Any) -> dict[str, Any]:
    """The settings of a user who names the address and the window, and not the API."""
    return {"endpoints": {"das": {"baseUrl": server}}, "endpoint": "das", "contextTokens": 4096, **more}


async def test_text_streams_through_the_api_that_is_found(server: str, workspace: Path) -> None:
    """The API and the only model are found, and the text arrives in pieces."""
    async with Client(workspace, settings=settings(server, maxTokens=60)) as client:
        outcome = await client.run("Tell me about apples.", DEADLINE)
    assert outcome["error"] is None
    assert client.events("run_started")[0]["model"] == MODEL
    assert len(client.events("text")) > 1
    assert outcome["usage"]["outputTokens"] > 3


def calls_of(names: list[str]) -> str:
    return "\n".join(CALL.replace("NAME", name) for name in names)


@pytest.mark.parametrize("names", [["plums.txt"], ["plums.txt", "pears.txt"]])
async def test_calls_go_out_and_their_results_come_back(server: str, names: list[str]) -> None:
    """One call, and two at once. The next answer is one to the results."""
    model = ChatModel(Endpoint(MODEL, 120, None, f"{server}/v1", None, None))
    history = History()
    for earlier in ["apples.txt", "figs.txt"], ["pears.txt", "dates.txt"]:
        written = calls_of(earlier[: len(names)])
        history.add_user_message([Prompt(f"Repeat this:\n{written}")])
        history.add_reply([Text(written)])
    history.add_user_message([Prompt(f"Repeat this:\n{calls_of(names)}")])
    _, reply = await ask(model, *history.messages)
    calls = history.add_reply(reply.parts)
    assert reply.stop == "calls"
    assert [(call.name, call.input, call.problem) for call in calls] == [
        ("read_file", {"path": name}, None) for name in names
    ]
    history.add_results([Result(call.id, "One plum.") for call in calls])
    _, reply = await ask(model, *history.messages)
    assert "One plum." in reply.text
    assert reply.usage.cache_read_tokens > 0
    await model.aclose()


async def test_a_stop_ends_the_run_and_the_answer(server: str, workspace: Path) -> None:
    """After a stop in mid-stream, the server, which answers one request at a time, answers the next one."""
    async with Client(workspace, settings=settings(server)) as client:
        for number in (1, 2):
            run = asyncio.ensure_future(client.run("Write a long story about apples.", DEADLINE))
            await client.until(lambda: len(client.events("run_started")) == number)  # noqa: B023  awaited at once
            count = len(client.events("text"))
            await client.until(lambda: len(client.events("text")) > count)  # noqa: B023  awaited at once
            await client.request("agent/cancel", {"sessionId": client.events("run_started")[-1]["sessionId"]})
            assert (await run)["stopReason"] == "cancelled"


async def test_a_restored_session_learns_the_window(
    server: str, workspace: Path, tmp_path: Path, replay: Callable[..., dict[str, Any]]
) -> None:
    """A restored session that does not fit learns the size of the window from the refusal, and continues."""
    storage = tmp_path / "storage"
    (workspace / "plums.txt").write_text("one plum and one pear\n" * 800, encoding="utf-8")
    recorded = replay({"calls": [{"read_file": {"path": "plums.txt"}}]}, {"text": "Done."})
    async with Client(workspace, settings=recorded, storage=storage) as client:
        session = (await client.run("Read plums.txt"))["sessionId"]
    unknown = settings(server, maxTokens=60, contextTokens=0)
    async with Client(workspace, settings=unknown, storage=storage) as client:
        outcome = await client.run("Tell me about apples.", DEADLINE, sessionId=session)
    assert outcome["error"] is None, outcome
    assert client.text()
    assert len(client.events("compacted")) == 1
    assert client.events("usage")[-1]["contextLimit"] == 4096


async def test_an_unknown_model_is_named(server: str, workspace: Path) -> None:
    """The error has the name of the model."""
    async with Client(workspace, settings=settings(server, model="plum-7b")) as client:
        outcome = await client.run("Do it.", DEADLINE)
    assert outcome["stopReason"] == "error"
    assert "plum-7b" in outcome["message"]
    assert not client.events("retry")
