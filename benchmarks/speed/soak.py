"""Measures the server's memory and the time per round at the start and the end of a run of 500 rounds with reviews.

`python benchmarks/speed/soak.py [ROUNDS]`. The model is the strict fake of the Messages API in this process. The server
is a separate process, as an editor starts it. The context window is small, so the conversation outgrows it several
times. The time of a round is the time from one request to the next, including the fake's checks.
"""

import asyncio
import json
import statistics
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from support.client import Client
from support.fake_api import Call, FakeApi, Text, Turn

FILES = 20
WINDOW = 60_000
ROUNDS, SMALLEST = 500, 12
SAMPLE = 50  # rounds at the start and at the end
REVIEW_EVERY = 10


class Script:
    """The model's turns: a read, a write and a command together; every tenth turn also updates the plan."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.played = self.summaries = 0

    def __call__(self, body: dict[str, Any]) -> Turn:
        usage = {"input_tokens": len(json.dumps(body["messages"])) // 4}
        if "<summarize>" in json.dumps(body["messages"][-1]["content"][-1:]):
            self.summaries += 1
            return Turn((Text(f"{self.played} rounds are done."),), usage=usage)
        self.played += 1
        if self.played > self.rounds:
            return Turn((Text("All done."),), usage=usage)
        name = f"{self.played % FILES}.txt"
        text = f"round {self.played}\n" + "a line of text\n" * 200
        calls = [
            Call("read_file", {"path": name}),
            Call("write_file", {"path": name, "content": text}),
            Call("bash", {"command": f"true {self.played}"}),
        ]
        if self.played % REVIEW_EVERY == 1:
            calls.append(Call("todo", {"items": [{"content": f"Part {self.played}", "status": "in_progress"}]}))
        return Turn((Text("Continue."), *calls), usage=usage)


async def soak(rounds: int) -> None:
    script = Script(rounds)
    with tempfile.TemporaryDirectory() as folder, FakeApi([script] * (2 * rounds)) as api:
        workspace, storage = Path(folder, "workspace"), Path(folder, "storage")
        workspace.mkdir()
        for number in range(FILES):
            (workspace / f"{number}.txt").write_text("a line of text\n" * 200)
        env = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url}
        settings = {"loop": {"maxRounds": rounds + 1}, "contextTokens": WINDOW}
        allow = {"agent/approve": lambda _: {"option": "allow_once"}}
        async with Client(workspace, env=env, settings=settings, answers=allow, storage=storage) as client:
            server = psutil.Process(client.process.pid)
            memory: list[float] = []
            _, answer = client.begin("agent/runTask", {"prompt": "Work for a long time."})
            for done in range(REVIEW_EVERY, rounds + 1, REVIEW_EVERY):
                await client.until(lambda done=done: script.played >= done, 600)
                await accept(client)
                memory.append(server.memory_info().rss / 1e6)
            result = await answer
            saved = sum(path.stat().st_size for path in storage.rglob("*") if path.is_file())
        assert (result["stopReason"], api.refusals) == ("end_turn", []), (result, api.refusals[:1])
        times = [request.at for request in api.requests]
    gaps = [(after - before) * 1000 for before, after in pairwise(times)]
    print(f"{rounds} rounds, {len(times)} requests, {script.summaries} of them for a summary; nothing was refused")
    print(f"ms per round    first {SAMPLE}: {summary(gaps[:SAMPLE])}   last {SAMPLE}: {summary(gaps[-SAMPLE:])}")
    print(f"server's memory after {REVIEW_EVERY} rounds: {memory[0]:.0f} MB   at the end: {memory[-1]:.0f} MB")
    print(f"saved on disk   {saved / 1e6:.1f} MB")


def summary(gaps: list[float]) -> str:
    return f"median {statistics.median(gaps):.0f}, maximum {max(gaps):.0f}"


async def accept(client: Client) -> None:
    """The user accepts all current proposals."""
    edits = client.last("agent/edits")
    if edits is not None and edits["files"]:
        await client.request("agent/edits/accept", {"sessionId": edits["sessionId"], "target": {"all": True}})


def main(smallest: bool = False) -> None:
    rounds = SMALLEST if smallest else ROUNDS
    print(f"one run of {rounds} rounds, with reviews")
    asyncio.run(soak(rounds))


if __name__ == "__main__":
    asyncio.run(soak(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS))
