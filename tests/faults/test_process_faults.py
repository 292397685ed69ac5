"""Commands that outlive a call or a run, through a real server: each is ended and leaves no process."""

import asyncio
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.client import Client

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="these commands need Linux")]
Replay = Callable[..., dict[str, Any]]
ALLOW: dict[str, Any] = {"agent/approve": lambda _: {"option": "allow_once"}}
# each command needs an approval, and runs outside of the sandbox even where there is one (which has its own tests)
ASK = {"approvals": "ask"}
# seconds that a busy machine may need; a quiet one needs two
BUSY = 30


@pytest.fixture
def nap() -> str:
    """A command that sleeps, and that no other test runs."""
    return f"sleep {random.randint(10**6, 10**7)}"


def running(command: str) -> bool:
    return any(
        process.info["cmdline"] == command.split() and process.info["status"] != psutil.STATUS_ZOMBIE
        for process in psutil.process_iter(["cmdline", "status"])
    )


async def has_started(command: str) -> bool:
    """Whether the command starts within 20 seconds. The output of an `echo` before it may arrive earlier."""
    deadline = time.monotonic() + 20
    while not running(command):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True


@pytest.mark.parametrize("end", ["kill", "shutdown"])
async def test_fault_28_a_process_that_left_its_group_ends_with_the_server(
    workspace: Path, replay: Replay, nap: str, end: str
) -> None:
    """docs/faults.md 28: such a process ends when the server is killed or shut down."""
    call = {"bash": {"command": f"setsid {nap} & echo on; {nap}", "unsandboxed": True}}
    async with Client(workspace, settings=replay({"calls": [call]}, {"text": "."}, **ASK), answers=ALLOW) as client:
        _, answer = client.begin("agent/runTask", {"prompt": "Do it."})
        await client.event("tool_output", text="on\n")
        assert await has_started(nap)
        began = time.monotonic()
        if end == "kill":
            client.process.kill()
        else:
            await client.request("shutdown", None)
            client.notify("exit", None)
        await client.process.wait()
        while running(nap):
            assert time.monotonic() - began < BUSY
            await asyncio.wait([asyncio.ensure_future(asyncio.sleep(0.02))])
        answer.cancel()


async def test_a_background_command_outlives_its_run_until_the_user_ends_it(
    workspace: Path, replay: Replay, nap: str
) -> None:
    """docs/protocol.md, `agent/command/stop`: its end is reported and recorded under its step, and is not a failure."""
    steps = {"todo": {"items": [{"content": "Serve", "status": "in_progress"}]}}
    call = {"bash": {"command": f"echo on; {nap}", "unsandboxed": True, "background": True}}
    turns = [{"calls": [steps, call]}, {"text": "."}, {"calls": [{"bash_output": {"id": "cmd-1"}}]}, {"text": "."}]
    async with Client(workspace, settings=replay(*turns, **ASK), answers=ALLOW) as client:
        session = (await client.run())["sessionId"]
        started = await client.event("command", handle="cmd-1")
        assert (started["itemId"], started["mode"], started["cwd"]) == ("1", "workspace", str(workspace))
        await client.event("tool_output", text="on\n")
        assert await has_started(nap)
        assert await client.request("agent/command/stop", {"sessionId": session, "handle": "cmd-1"}) is None
        assert not running(nap)
        ended = await client.event("command_ended", handle="cmd-1")
        assert (ended["ended"], ended["exitCode"]) == ("stopped", None)
        [item] = client.last("agent/plan")["items"]
        assert [(run["stopped"], run["exitCode"]) for run in item["evidence"]["commands"]] == [(True, None)]
        await client.run(sessionId=session)
        assert client.events("tool_finished")[-1]["text"].startswith("on\n(cmd-1: killed, ")
        error = await client.error("agent/command/stop", {"sessionId": session, "handle": "cmd-2"})
        assert (error.code, error.message) == (-32602, "There is no background command 'cmd-2'. Known ones: cmd-1.")


@pytest.mark.parametrize("end", ["agent/cancel", "close"])
async def test_background_commands_end_with_a_stop_and_with_the_server(
    workspace: Path, replay: Replay, nap: str, end: str
) -> None:
    """No process is left, however the command ends."""
    call = {"bash": {"command": f"echo on; {nap}", "unsandboxed": True, "background": True}}
    async with Client(workspace, settings=replay({"calls": [call]}, {"text": "."}, **ASK), answers=ALLOW) as client:
        session = (await client.run())["sessionId"]
        await client.event("tool_output", text="on\n")
        assert await has_started(nap)
        if end == "agent/cancel":
            await client.request(end, {"sessionId": session})
            await client.event("command_ended", ended="stopped")
            assert not running(nap)
    assert not running(nap)
