"""A real llama.cpp server that dies, comes back, or is still loading its model."""

import asyncio
import signal
from pathlib import Path

import psutil

from local_model.llama import DEADLINE, TOOLS, Llama, until
from support.client import Client


async def test_a_server_that_starts_again_is_asked_again(api: str, workspace: Path) -> None:
    """A server that is killed mid-stream and started again is asked again in the same run."""
    async with Llama(4096, endless=True) as llama, Client(workspace, settings=llama.settings(api)) as client:
        run = asyncio.ensure_future(client.run("Tell me about apples.", DEADLINE))
        await client.event("text")
        await llama.kill()
        await client.event("retry")
        count = len(client.events("text"))
        await llama.start()
        await client.until(lambda: len(client.events("text")) > count, DEADLINE)
        await client.request("agent/cancel", {"sessionId": client.events()[0]["sessionId"]})
        assert (await run)["stopReason"] == "cancelled"


async def test_a_server_that_stays_down_ends_the_run(workspace: Path) -> None:
    """A server that is killed mid-stream and stays down ends the run with an error. The session can continue later."""
    (workspace / "plums.txt").write_text("One plum.\n", encoding="utf-8")
    async with Llama(4096, endless=True) as llama, Client(workspace, env=llama.env) as client:
        run = asyncio.ensure_future(client.run("Tell me about apples.", DEADLINE))
        await client.event("text")
        await llama.kill()
        outcome = await run
        assert outcome["error"]["kind"] == "network"
        assert f"No connection to {llama.url}" in outcome["message"]
        assert "saved" in outcome["message"]
        llama.template, llama.endless = TOOLS, False
        await llama.start()
        outcome = await client.run("Read plums.txt", DEADLINE, sessionId=outcome["sessionId"])
        assert outcome["stopReason"] == "end_turn"
        assert client.events("tool_finished")[-1]["text"] == "One plum.\n"


async def test_a_run_waits_while_the_model_is_loaded(workspace: Path) -> None:
    """The user is informed while the server is loading its model (503); the run continues when the model is ready."""
    (workspace / "plums.txt").write_text("One plum.\n", encoding="utf-8")
    llama = Llama(4096, TOOLS)
    try:
        async with Client(workspace, env=llama.env) as client:
            await llama.begin()

            async def loads() -> bool:
                status = await llama.status()
                assert status != 200, "the model was loaded before it could be seen loading"
                return status == 503

            await until(loads)
            llama.signal(signal.SIGSTOP)  # so that the request arrives before the model is loaded
            run = asyncio.ensure_future(client.run("Read plums.txt", DEADLINE))

            fairlead = psutil.Process(client.process.pid)

            async def asked() -> bool:
                links = fairlead.net_connections(kind="tcp")
                return any(link.raddr and link.raddr.port == llama.port for link in links)

            await until(asked)
            llama.signal(signal.SIGCONT)
            assert "Loading model" in (await client.event("retry"))["error"]["message"]
            assert (await run)["stopReason"] == "end_turn"
    finally:
        await llama.kill()
