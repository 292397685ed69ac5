"""An agent that does not answer, read or end, and what a stop or the end of the server does then."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from hosted_agents.world import World, run
from support.client import Client, Json
from support.sandbox import needs_sandbox

QUESTION = {
    "toolCall": {"toolCallId": "c", "title": "ls", "kind": "execute", "rawInput": {"command": "ls"}},
    "options": [{"optionId": "yes", "kind": "allow_once"}],
}


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


@pytest.fixture
def world(workspace: Path, tmp_path: Path, home: Path) -> World:
    (workspace / "a.txt").write_text("one\n")
    return World(workspace, tmp_path, home)


async def stop(client: Client) -> Json:
    """Begins a run, and stops it once the agent's process has started."""
    working = asyncio.create_task(run(client))
    session_id = (await client.event("run_started"))["sessionId"]
    await processes_of(client, True)
    await client.request("agent/cancel", {"sessionId": session_id})
    return await working


async def processes_of(client: Client, exist: bool) -> None:
    """Waits until the agent's processes exist, or have ended."""
    async with asyncio.timeout(60):
        while bool(agent_processes(client)) != exist:  # noqa: ASYNC110  nothing reports it
            await asyncio.sleep(0.01)


def agent_processes(client: Client) -> list[int]:
    """The processes of the agent of this client's server."""
    assert client.workspace is not None
    script = str(client.workspace.parent / "script.json").encode()
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if script in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("method", ["initialize", "session/new", "session/prompt"])
async def test_one_that_never_answers_is_stopped(world: World, method: str) -> None:
    """docs/faults.md 286: the run ends, no process is left, and the next prompt works."""
    world.env["NEVER_ANSWERS"] = method
    async with world.client([{"say": "Next."}]) as client:
        result = await stop(client)
        assert result["stopReason"] == "cancelled"
        assert agent_processes(client) == []
    del world.env["NEVER_ANSWERS"]
    async with world.client() as client:
        assert (await run(client, sessionId=result["sessionId"]))["message"] == "Next."


async def test_one_that_does_not_react_to_a_cancellation_is_ended(world: World) -> None:
    """docs/faults.md 286: what it has written is proposed."""
    turn = [{"write": ["x.txt", "x\n"]}, {"hang": 1}]
    async with world.client(turn, [{"say": "Next."}]) as client:
        working = asyncio.create_task(run(client))
        session_id = (await client.event("run_started"))["sessionId"]
        await client.until(lambda: any(each["files"] for each in client.all("agent/edits")))
        await client.request("agent/cancel", {"sessionId": session_id})
        assert (await working)["stopReason"] == "cancelled"
        assert agent_processes(client) == []
        assert (await run(client, sessionId=session_id))["message"] == "Next."
        assert len(client.last("agent/edits")["files"]) == 1


async def test_one_that_does_not_read_is_stopped(world: World) -> None:
    """docs/faults.md 287: a prompt that is longer than the pipe does not hold up the stop."""
    world.env["READS_UNTIL"] = "session/new"
    async with world.client([]) as client:
        working = asyncio.create_task(run(client, "x" * 300_000))
        session_id = (await client.event("round_started"))["sessionId"]
        await client.request("agent/cancel", {"sessionId": session_id})
        assert (await working)["stopReason"] == "cancelled"
        assert agent_processes(client) == []


async def test_no_question_stays_open_after_the_turn(world: World) -> None:
    """docs/faults.md 288: the agent ends its turn while the user is asked. The next turn works."""
    asked, cancelled = asyncio.Event(), asyncio.Event()

    async def answer(params: Json) -> Json:
        if params["kind"] == "agent":
            return {"option": "allow_once"}
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return {}

    world.settings = {"approvals": "ask"}
    question = {"method": "session/request_permission", "id": "a", "params": QUESTION}
    turn = [{"question": question}, {"wait_state": "go"}, {"say": "Ended."}]
    async with world.client(turn, [{"say": "Next."}], answers={"agent/approve": answer}) as client:
        working = asyncio.create_task(run(client))
        async with asyncio.timeout(60):
            await asked.wait()
        (world.state / "go").touch()
        result = await working
        assert (result["stopReason"], result["message"]) == ("end_turn", "Ended.")
        await client.until(lambda: client.all("$/cancelRequest"))
        assert (await run(client, sessionId=result["sessionId"]))["message"] == "Next."


@pytest.mark.parametrize("signal_number", [signal.SIGKILL])
async def test_a_killed_server_leaves_no_process_and_loses_no_proposal(world: World, signal_number: int) -> None:
    """docs/faults.md 289: what was collected is proposed after the restart, and the agent's session goes on."""
    first = [{"say": "First."}, {"write": ["a.txt", "ONE\n"]}, {"daemon": "left-by-the-kill"}, {"hang": 1}]
    client = world.client(first, [{"read": "a.txt"}])
    async with client:
        working = asyncio.create_task(run(client))
        session_id = (await client.event("run_started"))["sessionId"]
        await client.until(lambda: any(each["files"] for each in client.all("agent/edits")))
        pids = agent_processes(client)
        assert pids
        os.kill(client.process.pid, signal_number)
        await client.process.wait()
        working.cancel()
        await processes_of(client, False)
    async with world.client() as client:
        opened = await client.request("agent/sessions/open", {"sessionId": session_id})
        assert [Path(file["uri"]).name for file in opened["edits"]["files"]] == ["a.txt"]
        assert (world.workspace / "a.txt").read_text() == "one\n"
        result = await run(client, "Go on.", sessionId=session_id)
        assert result["message"] == "<a.txt>ONE\n</a.txt>"


async def test_two_sessions_with_one_agent(world: World) -> None:
    """Each has its own process and its own proposals, at the same time."""
    turn = [{"write": ["a.txt", "ONE\n"]}, {"say": "Done."}]
    async with world.client(turn, turn, turn) as client:
        results = await asyncio.gather(run(client, "One."), run(client, "Two."), run(client, "Three."))
        assert len({each["sessionId"] for each in results}) == 3
        for each in results:
            assert each["stopReason"] == "end_turn", each
            opened = await client.request("agent/sessions/open", {"sessionId": each["sessionId"]})
            assert opened["hosted"] == "scripted"
