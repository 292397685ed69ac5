"""docs/faults.md 63 and 64: a stop is answered at once, and one server handles many tasks at the same time."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lsp.restarts import SHOWING
from support.client import DEADLINE, Client
from support.fake_api import Call, FakeApi, HttpError, Text, Turn, Wait
from support.server_process import NEW_INTERPRETER

Connect = Callable[..., Client]
HERE = Turn((Text("I am here."),))
SHADOW = """import os, sys
with open(os.environ["GATE"], "rb") as gate:
    gate.read()
sys.path = [path for path in sys.path if path != os.path.dirname(__file__)]
del sys.modules["anthropic"]
import anthropic
"""


async def session_of(client: Client) -> str:
    return (await client.request("agent/sessions/create", {}))["sessionId"]


@contextmanager
def slow_sdk(folder: Path) -> Iterator[tuple[dict[str, str], Callable[[], None]]]:
    """An environment in which the import of the SDK waits for the test, with the function that releases it."""
    folder.mkdir()
    (folder / "anthropic.py").write_text(SHADOW)
    gate = folder / "gate"
    os.mkfifo(gate)
    both_ends = os.open(gate, os.O_RDWR)  # both ends, so that a read finds no end of file
    is_open = True

    def release() -> None:
        nonlocal is_open
        if is_open:
            is_open = False
            writer = os.open(gate, os.O_WRONLY)
            os.close(both_ends)
            os.close(writer)

    try:
        yield {"PYTHONPATH": str(folder), "GATE": str(gate)}, release
    finally:
        release()


@pytest.mark.slow
async def test_fault_63_64_stops_and_tasks_while_the_sdk_is_imported(connect: Connect, tmp_path: Path) -> None:
    """docs/faults.md 63 and 64: the import hangs.

    Two tasks that start together are accepted, a stop of the first is answered, the next task of the first's session is
    accepted at once, and requests are answered. After the import, the two tasks that were not stopped are done.
    """
    with FakeApi([HERE] * 3) as api, slow_sdk(tmp_path / "shadow") as (env, release):
        client = connect(api)
        client.env |= env
        client.command = NEW_INTERPRETER
        async with client:
            try:
                one, two = [await session_of(client) for _ in range(2)]
                began = [client.begin("agent/runTask", {"prompt": "go", "sessionId": each})[1] for each in (one, two)]
                for session in (one, two):
                    await client.event("round_started", sessionId=session)
                await client.request("agent/cancel", {"sessionId": one})
                assert (await asyncio.wait_for(began[0], 20))["stopReason"] == "cancelled"
                _, next_one = client.begin("agent/runTask", {"prompt": "again", "sessionId": one})
                await client.until(
                    lambda: len([e for e in client.events("round_started") if e["sessionId"] == one]) == 2
                )
                assert len((await client.request("agent/sessions/list", {}))["sessions"]) == 2
                assert api.requests == []
            finally:
                release()
            for answer in (began[1], next_one):
                assert (await answer)["message"] == "I am here."
        assert api.refusals == []


async def test_fault_63_a_blocked_process_ends_after_its_client() -> None:
    """docs/faults.md 63: the process ends even if its event loop is blocked when stdin ends."""
    code = """
import asyncio, sys, threading
from fairlead.app.streams import StdioFrames
async def main():
    StdioFrames(sys.stdin.buffer, lambda stream: stream.readline() or None, asyncio.get_running_loop(), end_after=0.1)
    threading.Event().wait()
asyncio.run(main())
"""
    command = [sys.executable, "-c", code]
    blocked = await asyncio.create_subprocess_exec(*command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    async with asyncio.timeout(DEADLINE):
        _, stack = await blocked.communicate()
    assert (blocked.returncode, b"in main" in stack) == (1, True)


async def test_fault_63_a_stop_is_answered_whatever_the_run_waits_for(connect: Connect) -> None:
    """docs/faults.md 63: an API that never answers or falls silent, a retry in an hour, a question, an approval, an
    editor that never answers, a command that does not end: each stop is answered meanwhile, and the session does the
    next task."""
    never, silent = asyncio.Event(), threading.Event()
    hour = HttpError(429, "rate_limit_error", "Later", {"retry-after": "3600"})
    command = {"command": "trap '' TERM; echo on; while :; do sleep 1; done"}
    cases: dict[str, tuple[Any, str, dict[str, Any]]] = {
        "no answer": (Wait(HERE, silent, 0), "round_started", {}),
        "silence": (Wait(HERE, silent, 4), "text", {}),
        "a retry": (hour, "retry", {}),
        "a question": (Turn((Call("ask_user", {"question": "Sure?"}),)), "tool_started", {"name": "ask_user"}),
        "an approval": (Turn((Call("bash", {**command, "network": True}),)), "tool_started", {"name": "bash"}),
        "the editor": (Turn((Call("code", {"action": "problems"}),)), "tool_started", {"name": "code"}),
        "a command": (Turn((Call("bash", command),)), "tool_output", {}),
    }

    async def approve(request: dict[str, Any]) -> dict[str, str]:
        if request["network"]:
            await never.wait()
        return {"option": "allow_once"}

    answers: dict[str, Any] = {"agent/approve": approve}
    answers |= dict.fromkeys(("agent/ask", "agent/editor/diagnostics"), lambda _: never.wait())
    abilities = SHOWING["experimental"]["agent"] | {"editor": True}
    capabilities = {**SHOWING, "experimental": {"agent": abilities}}
    with FakeApi() as api:
        async with connect(api, answers=answers, capabilities=capabilities) as client:
            for name, (turn, kind, fields) in cases.items():
                api.push(turn)
                session, asked = await session_of(client), len(api.requests)
                _, answer = client.begin("agent/runTask", {"prompt": name, "sessionId": session})
                await client.event(kind, sessionId=session, **fields)
                await asyncio.to_thread(api.wait_for_requests, asked + 1)
                await client.request("agent/cancel", {"sessionId": session})
                assert (await asyncio.wait_for(answer, 20))["stopReason"] == "cancelled", name
                api.push(HERE)
                assert (await client.run("Still there?", sessionId=session))["message"] == "I am here.", name
            silent.set()
        assert api.refusals == []


async def test_fault_64_fifty_sessions_and_hundreds_of_messages(connect: Connect) -> None:
    """docs/faults.md 64: fifty tasks run at once in one server, every other one is stopped and restarted, and each gets
    twenty messages. Each task has its own answer, and each message reaches its own session."""
    count, words = 50, 20
    gate = threading.Event()

    def answer(body: dict[str, Any]) -> Any:
        texts = [block["text"] for message in body["messages"] for block in message["content"]]
        number = texts[0].split()[-1]
        if any("word" in text for text in texts):
            return Turn((Text(f"{number}: {sum(text.count('word') for text in texts)}"),))
        return Wait(Turn((Text("Nothing yet."),)), gate, 1)

    with FakeApi([answer] * (3 * count)) as api:
        async with connect(api) as client:
            sessions = [await session_of(client) for _ in range(count)]
            running: dict[int, asyncio.Future[Any]] = {}
            stopped: list[asyncio.Future[Any]] = []
            for number, session in enumerate(sessions):
                task = {"prompt": f"Task {number}", "sessionId": session}
                running[number] = client.begin("agent/runTask", task)[1]
                if number % 2:
                    client.begin("agent/cancel", {"sessionId": session})
                    stopped.append(running[number])
                    running[number] = client.begin("agent/runTask", task)[1]
            for answered in stopped:
                assert (await answered)["stopReason"] == "cancelled"
            for number, session in enumerate(sessions):
                runs = 1 + number % 2
                await client.until(lambda s=session, n=runs: started(client, s) == n)
            spoken = [
                client.begin("agent/steer", {"sessionId": session, "text": f"word {word}"})[1]
                for word in range(words)
                for session in sessions
            ]
            queued = [(await one)["queued"] for one in spoken]
            assert queued == [word + 1 for word in range(words) for _ in sessions]
            gate.set()
            for number, answered in running.items():
                result = await answered
                assert (result["sessionId"], result["stopReason"]) == (sessions[number], "end_turn")
                assert result["message"] == f"{number}: {words}"
        assert api.refusals == []


def started(client: Client, session: str) -> int:
    return len([event for event in client.events("run_started") if event["sessionId"] == session])
