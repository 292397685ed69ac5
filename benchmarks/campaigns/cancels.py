"""Cancels a scripted run at every event of its streams, and sends the next prompt at once.

`python benchmarks/campaigns/cancels.py` cancels at every event, `test_cancels.py` at some of them. With `--busy N`, N
processes keep the machine busy meanwhile. The last lines report how long the stops took, and, for comparison, how long
a bare pygls server took to answer at the same time.

The run plans, searches, and makes parallel calls that write a file, run a command and read a file. In each session, it
is cancelled at another event, once or twice, by the id of its request or of its session. The next prompt is sent before
the cancelled run has answered. The strict fake API must not refuse any request.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from support.client import Client
from support.fake_api import Call, FakeApi, Text, Thinking, Turn, Wait, event_names

PLAN = [{"content": "Write both", "status": "in_progress"}, {"content": "Check", "status": "pending"}]
ROUNDS = (
    Turn((Thinking("Hm."), Text("I plan."), Call("todo", {"items": PLAN}), Call("search", {"pattern": "x"})), chunk=12),
    Turn(
        (
            Text("Both at once."),
            Call("write_file", {"path": "a.txt", "content": "a\n"}),
            Call("bash", {"command": "echo ran"}),
            Call("read_file", {"path": "a.txt"}),
        ),
        chunk=12,
    ),
    Turn((Text("All done."),), chunk=3),
)
NEXT = Turn((Text("I am here."),))
WAYS = (
    ("agent/cancel",),
    ("$/cancelRequest",),
    ("agent/cancel", "agent/cancel"),
    ("$/cancelRequest", "agent/cancel"),
    ("agent/cancel", "$/cancelRequest"),
)


def points() -> Iterator[tuple[int, int]]:
    """The points at which the run may be cancelled: the index of a round, and the number of its events that were sent.

    With 0, only the headers of the answer were sent.
    """
    for number, turn in enumerate(ROUNDS):
        for before in range(len(event_names(turn)) + 1):
            yield number, before


async def cancel_at(client: Client, api: FakeApi, number: int, before: int, ways: tuple[str, ...]) -> float:
    """Begins a run, cancels it at the given event in each of these ways, and checks the answer to the next prompt.

    Returns:
        The seconds from the first cancel to the answer of the cancelled run.

    Raises:
        AssertionError: something is wrong; the message names the point.
    """
    where = f"round {number}, event {before}, cancelled by {ways}"
    session = (await client.request("agent/sessions/create", {}))["sessionId"]
    hold = threading.Event()
    for turn in ROUNDS[:number]:
        api.push(turn)
    api.push(Wait(ROUNDS[number], hold, before))
    asked = len(api.requests)
    request, first = client.begin("agent/runTask", {"prompt": "go", "sessionId": session})
    await asyncio.to_thread(api.wait_for_requests, asked + number + 1, 60)
    answers, sent = [first], time.monotonic()
    took = asyncio.get_running_loop().create_future()
    first.add_done_callback(lambda _: took.set_result(time.monotonic() - sent))
    for way in ways:
        if way == "agent/cancel":
            answers.append(client.begin(way, {"sessionId": session})[1])
        else:
            client.notify(way, {"id": request})
    api.push(NEXT)
    result = await client.request("agent/runTask", {"prompt": "Still there?", "sessionId": session})
    stopped, *_ = await asyncio.gather(*answers)
    hold.set()
    assert stopped["stopReason"] == "cancelled", where
    assert (result["stopReason"], result["message"]) == ("end_turn", "I am here."), where
    assert api.refusals == [], where
    mine: list[Any] = [event for event in client.events() if event["sessionId"] == session]
    kinds = [event["kind"] for event in mine if event["kind"] in ("run_started", "run_finished")]
    assert kinds == ["run_started", "run_finished"] * 2, where
    ends = [index for index, event in enumerate(mine) if event["kind"] == "run_finished"]
    late = "".join(event["text"] for event in mine[ends[0] :] if event["kind"] == "text")
    assert late == "I am here.", f"{where}: text of the cancelled run came after its end"
    check_results(api.requests[-1].body["messages"], where)
    return await took


def check_results(messages: list[dict[str, Any]], where: str) -> None:
    """Checks that each call has exactly one result, in the next message."""
    for message, following in zip(messages, [*messages[1:], {"content": []}], strict=True):
        calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        results = [block["tool_use_id"] for block in following["content"] if block["type"] == "tool_result"]
        assert calls == results, where


async def campaign(every: int = 1) -> list[float]:
    """Cancels at each `every`-th point, in a new session each time. Returns how many seconds each stop took."""
    took: list[float] = []
    with tempfile.TemporaryDirectory() as folder, FakeApi() as api:
        env = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url}
        allow = {"agent/approve": lambda _: {"option": "allow_once"}}
        async with Client(Path(folder), env=env, answers=allow) as client:
            for number, before in list(points())[::every]:
                took.append(await cancel_at(client, api, number, before, WAYS[len(took) % len(WAYS)]))
    return took


async def answers_of_a_bare_server(done: asyncio.Event) -> list[float]:
    """Measures repeatedly, until `done`, how many seconds an empty pygls server takes to answer."""
    took: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        client = Client(Path(folder))
        client.command = [sys.executable, str(Path(__file__).parents[1] / "speed" / "bare_server.py")]
        async with client:
            while not done.is_set():
                began = time.monotonic()
                await client.error("nothing/there", {})
                took.append(time.monotonic() - began)
                await asyncio.sleep(0.1)
    return took


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keeps the machine busy with this many processes until the block ends."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def shown(what: str, took: list[float]) -> str:
    ordered = sorted(took)
    names = {"median": 0.5, "95 %": 0.95, "longest": 1.0}
    parts = (
        f"{name} {ordered[min(int(len(ordered) * at), len(ordered) - 1)] * 1000:.0f} ms" for name, at in names.items()
    )
    return f"{what} ({len(ordered)} times): {', '.join(parts)}"


async def measured(processes: int) -> tuple[list[float], list[float]]:
    """The times of all stops of a campaign, and of the answers of an empty server at the same time."""
    with busy(processes):
        done = asyncio.Event()
        bare = asyncio.ensure_future(answers_of_a_bare_server(done))
        try:
            stops = await campaign()
        finally:
            done.set()
        return stops, await bare


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="processes that keep the machine busy")
    stops, bare = asyncio.run(measured(parser.parse_args().busy))
    print(f"{len(stops)} sessions cancelled, each answered the next prompt, nothing refused")
    print(shown("a stop, until the run's answer", stops))
    print(shown("a bare pygls server's answer", bare))
