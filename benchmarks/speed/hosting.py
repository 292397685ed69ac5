"""Measures hosting (`npm run bench`, or this file alone): a turn of an agent in Fairlead, next to the same agent bare.

The agent is that of the tests. In a turn, it makes calls that each run a shell command, which writes a file: a question
first, then the command, then the report of its result. Before each call it thinks (`--think 0,0.1,1`, in s): a real
agent waits for its model then. The bare client allows everything. The time is from the prompt to its answer, with the
agent started before.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from hosted_agents.world import AGENT, World, run
from speed.figures import Figures

TURNS, CALLS, SIZES = 7, 30, (100, 20_000)
THINKS, THINKING_TURNS, THINKING_CALLS = (0.0, 0.1, 1.0), 3, 10
SMALLEST_TURNS, SMALLEST_CALLS, SMALLEST_SIZES, SMALLEST_THINKS = 1, 2, (10,), (0.0, 0.01)
TARGET = 1.5
"""How much longer than a bare turn a hosted one may take, if the agent thinks."""


def turn(calls: int, think: float) -> list[dict[str, Any]]:
    steps = [({"pause": think}, {"shell": f"echo $RANDOM > w{number}.txt"}) for number in range(calls)]
    return [step for each in steps for step in each]


class Bare:
    """The agent with a client that only answers its questions."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._stdin, self._stdout, self._number = process.stdin, process.stdout, 0

    @classmethod
    @asynccontextmanager
    async def started(cls, folder: Path, turns: Sequence[Any]) -> AsyncIterator["Bare"]:
        script, state = folder / "script.json", folder / "state"
        script.write_text(json.dumps(turns))
        state.mkdir()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(AGENT), str(script)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "AGENT_STATE": str(state)},
            cwd=folder / "ws",
        )
        agent = cls(process)
        await agent.ask("initialize", {"protocolVersion": 1})
        await agent.ask("session/new", {"cwd": str(folder / "ws"), "mcpServers": []})
        try:
            yield agent
        finally:
            agent._stdin.close()
            await process.wait()

    async def ask(self, method: str, params: dict[str, Any]) -> None:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = json.loads(await self._stdout.readline())
            if message.get("method") == "session/request_permission":
                outcome = {"outcome": {"outcome": "selected", "optionId": "yes"}}
                self._send({"id": message["id"], "result": outcome})
            elif message.get("id") == self._number:
                return

    def _send(self, message: dict[str, Any]) -> None:
        self._stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


async def measure(folder: Path, size: int, turns: int, calls: int, think: float) -> tuple[float, float, float, float]:
    """The median times of a hosted turn and of a bare one, in s, and the server's memory before and after all, in MB.

    The turns alternate.

    Args:
        think: how long the agent thinks before each call, in s.
    """
    hosted, bare = workspace(folder / "hosted", size), workspace(folder / "bare", size)
    script = [turn(calls, think)] * (turns + 1)
    world = World(hosted / "ws", hosted, Path(os.environ["HOME"]))
    async with world.client(*script) as client, Bare.started(bare, script) as agent:
        before = memory(client.process.pid)
        session_id, taken = None, list[tuple[float, float]]()
        for _ in range(turns + 1):
            began = time.perf_counter()
            result = await run(client, **({"sessionId": session_id} if session_id else {}))
            ended = time.perf_counter()
            assert result["stopReason"] == "end_turn", result
            await agent.ask("session/prompt", {"prompt": []})
            session_id = result["sessionId"]
            taken.append((ended - began, time.perf_counter() - ended))
        ours, theirs = (statistics.median(each) for each in zip(*taken[1:], strict=True))
        return ours, theirs, before, memory(client.process.pid)


def memory(pid: int) -> float:
    """The memory of a process in MB."""
    return psutil.Process(pid).memory_info().rss / 1e6


def workspace(folder: Path, size: int) -> Path:
    """A folder with a workspace of so many files, in folders of a hundred."""
    for number in range(size):
        path = folder / f"ws/d{number // 100}/f{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("one\n")
    return folder


def measured(size: int, turns: int, calls: int, think: float) -> tuple[float, float, float, float]:
    """As `measure`, with a home and a workspace of its own."""
    home = os.environ["HOME"]
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as name:
        os.environ["HOME"] = str(Path(name, "home"))
        try:
            Path(name, "home").mkdir()
            return asyncio.run(measure(Path(name), size, turns, calls, think))
        finally:
            os.environ["HOME"] = home


def thinks_of(arguments: Sequence[str]) -> Sequence[float] | None:
    """The times of `--think`; None if it is not given."""
    given = next((value for name, value in pairwise(arguments) if name == "--think"), None)
    return [float(each) for each in given.split(",")] if given is not None else None


def main(figures: Figures, smallest: bool, thinks: Sequence[float] | None = None) -> None:
    """Prints the figures, and adds those with a target."""
    sizes = SMALLEST_SIZES if smallest else SIZES
    for think in thinks or (SMALLEST_THINKS if smallest else THINKS):
        turns, calls = (THINKING_TURNS, THINKING_CALLS) if think else (TURNS, CALLS)
        if smallest:
            turns, calls = SMALLEST_TURNS, SMALLEST_CALLS
        print(f"{calls} calls that each write a file after {think:g} s of thinking, in ms (median of {turns} turns)")
        for size in sizes if not think else sizes[:1]:
            ours, alone, before, after = measured(size, turns, calls, think)
            print(f"  {size:7,} files: hosted {ours * 1000:8.1f}   bare {alone * 1000:8.1f}   {ours / alone:5.2f}")
            print(f"  {size:7,} files: memory of the server before {before:6.1f} MB, after {after:6.1f} MB")
            name = f"a hosted turn in {size:,} files" + (f", thinking {think:g} s per call" if think else "")
            figures.compare(name, ours * 1000, "ms", "bare", alone * 1000, TARGET)


if __name__ == "__main__":
    collected = Figures()
    main(collected, "--smallest" in sys.argv, thinks_of(sys.argv))
    print(f"\n{collected.table()}")
