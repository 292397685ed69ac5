"""Cancels a scripted run at every event of its streams, and asks the next thing at once.

`python tests/campaign/cancels.py` plays it whole, `test_cancels.py` a part of it.

The run looks, proposes with parallel calls, and runs a command. In each session it is cancelled at another event, once
or twice, by its id or by its session, and the next prompt is sent before the cancelled run has answered. The strict
fake API must refuse nothing.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

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
    """Each round, and each of its events before which the run may be cancelled; 0 is before the first byte."""
    for number, turn in enumerate(ROUNDS):
        for before in range(len(event_names(turn)) + 1):
            yield number, before


async def cancel_at(client: Client, api: FakeApi, number: int, before: int, ways: tuple[str, ...]) -> None:
    """One session: runs up to there, is cancelled in each of these ways, and answers the next prompt.

    Raises:
        AssertionError: something came otherwise than promised; the message names the point.
    """
    where = f"round {number}, event {before}, cancelled by {ways}"
    session = (await client.request("agent/sessions/create", {}))["sessionId"]
    hold = threading.Event()
    for turn in ROUNDS[:number]:
        api.push(turn)
    api.push(Wait(ROUNDS[number], hold, before))
    asked = len(api.requests)
    request, first = client.begin("agent/runTask", {"prompt": "go", "sessionId": session})
    await asyncio.to_thread(api.wait_for_requests, asked + number + 1, 20)
    answers = [first]
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
    assert late == "I am here.", f"{where}: text of the cancelled run came behind its end"
    check_results(api.requests[-1].body["messages"], where)


def check_results(messages: list[dict[str, Any]], where: str) -> None:
    """Each call has exactly one result, in the message behind it."""
    for message, behind in zip(messages, [*messages[1:], {"content": []}], strict=True):
        calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        results = [block["tool_use_id"] for block in behind["content"] if block["type"] == "tool_result"]
        assert calls == results, where


async def campaign(every: int = 1) -> int:
    """Cancels at each `every`-th event; returns how many sessions were played."""
    played = 0
    with tempfile.TemporaryDirectory() as folder, FakeApi() as api:
        env = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url}
        allow = {"agent/approve": lambda _: {"option": "allow_once"}}
        async with Client(Path(folder), env=env, answers=allow) as client:
            for number, before in list(points())[::every]:
                await cancel_at(client, api, number, before, WAYS[played % len(WAYS)])
                played += 1
    return played


if __name__ == "__main__":
    began = time.monotonic()
    count = asyncio.run(campaign())
    print(
        f"{count} sessions cancelled, each answered the next prompt, nothing refused ({time.monotonic() - began:.1f} s)"
    )
