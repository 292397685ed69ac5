"""Measures subagents (`npm run bench`, or this file alone): three explorers at once, next to one.

The model is a stand-in that answers each request after a fixed time, so that only the order of the work counts.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Timer
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from speed.figures import Figures
from support.client import Client
from support.fake_api import Call, FakeApi, Text, Turn, Wait

RUNS, ROUNDS, SECONDS, FILES, LINES = 3, 3, 1.0, 20, 200
SMALLEST_RUNS, SMALLEST_SECONDS = 1, 0.1
TASK = "Look into part {}."


def after(seconds: float, turn: Turn) -> Wait:
    """A turn that the server holds back for a time."""
    ready = Event()
    Timer(seconds, ready.set).start()
    return Wait(turn, ready, 0)


def answer(count: int, seconds: float, body: dict[str, Any]) -> Wait | Turn:
    """The next turn of a conversation: the main one calls `count` explorers, each of which reads in some rounds."""
    messages = body["messages"]
    first = messages[0]["content"]
    text = first if isinstance(first, str) else first[0]["text"]
    rounds = sum(message["role"] == "assistant" for message in messages)
    if not text.startswith("Look into"):
        calls = tuple(Call("explore", {"title": f"Part {n}", "task": TASK.format(n)}) for n in range(count))
        return Turn(calls) if rounds == 0 else Turn((Text("Done."),))
    reads = tuple(Call("read_file", {"path": f"f{rounds * 5 + n}.txt"}) for n in range(5))
    return after(seconds, Turn(reads) if rounds < ROUNDS else Turn((Text("It is in f1.txt:1."),)))


async def run(count: int, seconds: float) -> tuple[float, int]:
    """The time of a run with `count` explorers in seconds, and the characters that its conversation has at the end."""
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as name:
        for number in range(FILES):
            (Path(name) / f"f{number}.txt").write_text(f"line {number}\n" * LINES)
        answers = [lambda body: answer(count, seconds, body)] * (2 + count * (ROUNDS + 1))
        with FakeApi(answers) as api:
            settings = {"baseUrl": api.url, "approvals": "sandboxed"}
            async with Client(Path(name), settings=settings, env={"ANTHROPIC_API_KEY": "test-key"}) as client:
                began = time.perf_counter()
                await client.run("Find it.")
                taken = time.perf_counter() - began
            mine = [each for each in api.requests if "Find it." in str(each.body["messages"][:1])]
            return taken, len(str(mine[-1].body["messages"]))


def main(figures: Figures, smallest: bool) -> None:
    """Prints the figures, and adds those with a target."""
    runs, seconds = (SMALLEST_RUNS, SMALLEST_SECONDS) if smallest else (RUNS, SECONDS)
    print(f"a run with explorers that send {ROUNDS + 1} requests, each answered after {seconds:g} s (median of {runs})")
    found = [[asyncio.run(run(count, seconds)) for count in (1, 3)] for _ in range(runs)]
    (one, small), (three, large) = (
        [statistics.median(each) for each in zip(*of, strict=True)] for of in zip(*found, strict=True)
    )
    print(f"  one        {one:8.2f} s, {small:9,.0f} characters in the main conversation")
    print(f"  three      {three:8.2f} s, {large:9,.0f} characters")
    figures.compare("three explorers at once", three, "s", "one", one, 1.2)


if __name__ == "__main__":
    collected = Figures()
    main(collected, "--smallest" in sys.argv)
    print(f"\n{collected.table()}")
