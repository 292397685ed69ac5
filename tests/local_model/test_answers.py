"""Runs with a real llama.cpp server: streamed text, a tool call, and a stop."""

import asyncio
from pathlib import Path

from local_model.llama import TOOLS, Llama, until
from support.client import Client


async def test_text_streams(workspace: Path) -> None:
    """The text of a local model arrives in pieces, its tokens are counted, and no key is needed."""
    async with Llama(2048) as llama:
        settings = {"model": "smollm2", "maxTokens": 24}
        async with Client(workspace, env=llama.env, settings=settings) as client:
            outcome = await client.run("Tell me about apples.")
    assert outcome["error"] is None
    assert client.events("run_started")[0]["model"] == "smollm2"
    assert len(client.events("text")) > 3
    assert client.text()
    assert not client.events("retry")
    usage = outcome["usage"]
    assert (usage["inputTokens"] > 100, usage["outputTokens"] > 3) == (True, True)


async def test_the_model_calls_a_tool(workspace: Path) -> None:
    """With a template that has tools, a local model calls one, reads its result, and ends its turn."""
    (workspace / "plums.txt").write_text("One plum.\n", encoding="utf-8")
    async with Llama(2048, TOOLS) as llama, Client(workspace, env=llama.env) as client:
        outcome = await client.run("Read plums.txt")
    assert outcome["stopReason"] == "end_turn"
    [ended] = client.events("tool_finished")
    assert (ended["isError"], ended["text"]) == (False, "One plum.\n")


async def test_a_stop_ends_the_run_and_the_answer(workspace: Path) -> None:
    """A stop in mid-stream ends the run at once, and the model's server stops generating."""
    async with Llama(4096, endless=True) as llama, Client(workspace, env=llama.env) as client:
        run = asyncio.ensure_future(client.run("Tell me about apples."))
        await client.event("text")
        assert (await llama.slot())["is_processing"]
        session = client.events("run_started")[0]["sessionId"]
        await client.request("agent/cancel", {"sessionId": session})
        assert (await run)["stopReason"] == "cancelled"

        async def idle() -> bool:
            return not (await llama.slot())["is_processing"]

        await until(idle)
        slot = await llama.slot()
        # an answer that is not stopped fills the window
        assert slot["n_prompt_tokens"] + slot["next_token"][0]["n_decoded"] < llama.window / 2
