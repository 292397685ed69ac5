"""Runs with a real llama.cpp server, through each of its APIs: streamed text, a tool call, and a stop."""

import asyncio
import time
from pathlib import Path

from local_model.llama import TOOLS, Llama, until
from support.client import Client

AT_REST = 0.2
"""Seconds in which a run ends after a stop (docs/faults.md)."""


async def test_text_streams(api: str, workspace: Path) -> None:
    """The text of a local model arrives in pieces, its tokens are counted, and no key is needed."""
    named = {"model": "smollm2", "maxTokens": 24}
    async with Llama(2048) as llama, Client(workspace, settings=llama.settings(api, **named)) as client:
        outcome = await client.run("Tell me about apples.")
    assert outcome["error"] is None
    assert client.events("run_started")[0]["model"] == "smollm2"
    assert len(client.events("text")) > 3
    assert client.text()
    assert not client.events("retry")
    usage = outcome["usage"]
    assert (usage["inputTokens"] > 100, usage["outputTokens"] > 3) == (True, True)


async def test_the_model_calls_a_tool(api: str, workspace: Path) -> None:
    """With a template that has tools, a local model calls one, reads its result, and ends its turn."""
    (workspace / "plums.txt").write_text("One plum.\n", encoding="utf-8")
    async with Llama(2048, TOOLS) as llama, Client(workspace, settings=llama.settings(api)) as client:
        outcome = await client.run("Read plums.txt")
    assert outcome["stopReason"] == "end_turn"
    [ended] = client.events("tool_finished")
    assert (ended["isError"], ended["text"]) == (False, "One plum.\n")


async def test_a_stop_ends_the_run_and_the_answer(api: str, workspace: Path) -> None:
    """A stop in mid-stream ends the run at once, and the model's server stops generating."""
    async with Llama(4096, endless=True) as llama, Client(workspace, settings=llama.settings(api)) as client:

        async def idle() -> bool:
            return not (await llama.slot())["is_processing"]

        took: list[float] = []
        for number in range(1, 4):
            run = asyncio.ensure_future(client.run("Tell me about apples."))
            await client.until(lambda: len(client.events("run_started")) == number)  # noqa: B023  awaited at once
            count = len(client.events("text"))
            await client.until(lambda: len(client.events("text")) > count)  # noqa: B023  awaited at once
            assert not await idle()
            stopped = time.monotonic()
            await client.request("agent/cancel", {"sessionId": client.events("run_started")[-1]["sessionId"]})
            assert (await run)["stopReason"] == "cancelled"
            took.append(time.monotonic() - stopped)
            await until(idle)
            slot = await llama.slot()
            # an answer that is not stopped fills the window
            assert slot["n_prompt_tokens"] + slot["next_token"][0]["n_decoded"] < llama.window / 2
        assert min(took) < AT_REST, took  # other programs on the machine can only add to it
