"""Models with small windows, on servers with their own error texts (tests/support/fake_api/fixtures/refusals.yaml)."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.client import Client
from support.fake_api import Call, FakeApi, FakeWindow, Request, Text, Turn
from support.fake_api.window import REFUSALS, tokens_of

pytestmark = pytest.mark.slow

Connect = Callable[..., Client]
Json = dict[str, Any]
OLD, NEW = "def f0():\n    return 0\n", "def f0() -> int:\n    return 0\n"
PLAN = [{"content": "Add the type", "status": "in_progress"}, {"content": "Say it", "status": "pending"}]
LOCAL = {"model": "some-local-model", "maxTokens": 32_000}
TASK = [
    Call("todo", {"items": PLAN}),
    Call("read_file", {"path": "long.txt"}),
    Call("read_file", {"path": "code.py"}),
    Call("read_file", {"path": "long.txt", "offset": 500}),
    Call("edit_file", {"path": "code.py", "old_text": OLD, "new_text": NEW}),
    Call("search", {"pattern": "line"}),
]


def played(calls: list[Call]) -> Callable[[Json], Turn]:
    """A model that makes the calls one by one, again for each prompt, and answers a request for a summary."""
    rest = list(calls)

    def turn(body: Json) -> Turn:
        if "<summarize>" in json.dumps(body["messages"][-1]):
            return Turn((Text("The file code.py has been read."),))
        if rest:
            return Turn((rest.pop(0),))
        rest.extend(calls)
        return Turn((Text("Done."),))

    return turn


def write_files(workspace: Path) -> None:
    (workspace / "long.txt").write_text("".join(f"line {number} of a long file\n" for number in range(3000)))
    (workspace / "code.py").write_text(OLD + "".join(f"def f{n}():\n    return {n}\n" for n in range(1, 12)))


def request_text(request: Request) -> str:
    return json.dumps(request.body["messages"])


def fitting_requests(api: FakeApi, window: int, server: str) -> list[Request]:
    """The requests that were not refused because of their length."""
    fake = FakeWindow(window, server)
    return [request for request in api.requests if fake.refusal(request.body) is None]


# in this order: the window cuts the answer; space is reserved for it; the error is a plain string; it names no size
@pytest.mark.parametrize("window", [4096, 8192])
@pytest.mark.parametrize("server", ["llama.cpp", "vLLM 0.15", "LM Studio", "Amazon Bedrock"])
async def test_fault_80_a_task_is_done_in_a_small_window(
    connect: Connect, workspace: Path, server: str, window: int
) -> None:
    """docs/faults.md 80: 4k or 8k tokens are enough, even with a file that is longer and a `maxTokens` of 32,000."""
    write_files(workspace)
    names_size = REFUSALS[server].get("names", True)
    with FakeApi([played(TASK)] * 20, window=FakeWindow(window, server)) as api:
        async with connect(api, settings=LOCAL) as client:
            result = await client.run("Add a return type to f0 in code.py.")
            assert (result["stopReason"], result["message"]) == ("end_turn", "Done."), result
            (proposal,) = client.last("agent/edits")["files"]
            assert proposal["uri"].endswith("code.py")
            limits = {event["contextLimit"] for event in client.events("usage")}
        assert api.refusals == []
        fitting = fitting_requests(api, window, server)
        assert len(api.requests) - len(fitting) <= (2 if names_size else 5)
        assert limits <= {None, window} if names_size else max(filter(None, limits)) > window / 2
        last = json.dumps(fitting[-1].body["messages"])
        assert "Add a return type to f0" in last and "[>] #1: Add the type" in last
        assert any("of this result are left out here" in request_text(request) for request in fitting)


async def test_fault_80_a_long_conversation_learns_the_window_from_the_refusal(
    connect: Connect, workspace: Path
) -> None:
    """docs/faults.md 80: if the next model has a small window, the conversation is shortened only until it fits."""
    write_files(workspace)
    read = [Call("read_file", {"path": "long.txt", "limit": 300, "offset": n * 300 + 1}) for n in range(5)]
    with FakeApi([played(read)] * 6) as api:
        async with connect(api, settings={"model": "some-model"}) as client:
            session = (await client.run("Read it."))["sessionId"]
            client.notify("workspace/didChangeConfiguration", {"settings": LOCAL})
            api.window = FakeWindow(8192)
            api.push(played([]))
            api.push(played([]))
            before = len(api.requests)
            assert (await client.run("And now?", sessionId=session))["stopReason"] == "end_turn"
            assert client.events("usage")[-1]["contextLimit"] == 8192
        refused, *asked = api.requests[before:]
        assert tokens_of(refused.body) > 8192
        assert tokens_of(asked[-1].body) > 8192 / 3
        assert api.refusals == []


async def test_fault_80_a_window_that_was_made_larger_is_used(connect: Connect, workspace: Path) -> None:
    """docs/faults.md 80: a learned window applies to one run, since the model's server may get a larger one."""
    write_files(workspace)
    read = [Call("read_file", {"path": "long.txt", "limit": 300, "offset": n * 300 + 1}) for n in range(4)]
    with FakeApi([played(read)] * 20, window=FakeWindow(4096)) as api:
        async with connect(api, settings=LOCAL) as client:
            session = (await client.run("Read it."))["sessionId"]
            assert client.events("usage")[-1]["contextLimit"] == 4096
            api.window, before = FakeWindow(16_384), len(api.requests)
            assert (await client.run("Once more.", sessionId=session))["stopReason"] == "end_turn"
        asked = [tokens_of(request.body) for request in api.requests[before:]]
        assert 4096 < max(asked) < 16_384


@pytest.mark.parametrize("server", ["vLLM 0.15", "vLLM 0.16", "vLLM 0.9", "LiteLLM before Anthropic"])
async def test_fault_81_an_answer_limit_beyond_the_window_is_lowered(connect: Connect, server: str) -> None:
    """docs/faults.md 81: it is lowered once, to what fits, and nothing of the conversation is lost."""
    with FakeApi([Turn((Call("list_files", {}),)), played([])], window=FakeWindow(32_768, server)) as api:
        async with connect(api, settings=LOCAL) as client:
            result = await client.run("Look around.")
            assert (result["stopReason"], client.events("compacted")) == ("end_turn", [])
        first, *rest = [request.body["max_tokens"] for request in api.requests]
        assert (first, len(rest)) == (32_000, 2)
        assert all(28_000 < most < 31_500 for most in rest)


@pytest.mark.parametrize("server", ["llama.cpp", "vLLM 0.15", "Amazon Bedrock"])
async def test_fault_82_a_window_too_small_for_any_task_is_reported_with_advice(connect: Connect, server: str) -> None:
    """docs/faults.md 82: the message names the sizes and how to give each server a larger window; it suggests a new
    task only if that can help."""
    with FakeApi([played([])], window=FakeWindow(1500, server)) as api:
        async with connect(api, settings=LOCAL) as client:
            result = await client.run("Add a type.")
            assert (result["stopReason"], result["error"]["kind"]) == ("error", "context_overflow")
            assert re.search(r"the instructions and the tools take about \d,\d{3} tokens", result["message"])
            for part in ("-c 16384", "OLLAMA_CONTEXT_LENGTH", "LM Studio"):
                assert part in result["message"]
            names_size = REFUSALS[server].get("names", True)
            assert (", and the window has 1,500." in result["message"]) == names_size
            assert ("and the window has" in result["message"]) == names_size
            assert ("new task" not in result["message"]) == names_size
        assert len(api.requests) <= 2
        assert api.refusals == []
