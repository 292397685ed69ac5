"""`npm run bench`: runs all benchmarks of this folder, one after the other.

First come the gap per round, the start and the memory of the server, compared with a plain SDK loop and a bare server.
Then come the size of the plan in a request, and the other modules: pending files, the journal, the sandbox, search,
tool servers, long files, a flood of output, checks, language servers, and one long run (soak.py). Finally, it measures
the share of the input that the provider's cache does not have, and prints the figures that have a target
(docs/performance.md); `--json FILE` also writes them to a file.

With `--smallest`, each benchmark runs once, at its smallest size. The tests do that, so that none breaks unnoticed.

If a part fails, its error is printed and the other parts are measured. The exit code is then 1.

Everything runs on this machine: a Messages API server in a separate process, and the server over LSP as an editor
starts it. Most figures are medians. They depend on the machine, so compare only the ratios of one run.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

import psutil

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

import checks
import flood
import hosting
import journal
import language_servers
import long_files
import mcp_servers
import pending
import sandbox
import search
import soak
import subagents

from fairlead.plan import TodoManager
from fairlead.tools.todo import SPEC
from speed.figures import Figures
from speed.model_server import Api, gaps_of, seen_by, start_model_server
from support.client import Client, Json
from support.fake_api import Call, FakeApi, Text, Turn

HERE = Path(__file__).parent
STARTS, ROUNDS = 7, 200
SMALLEST_STARTS, SMALLEST_ROUNDS = 1, 3


@contextmanager
def workspace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as name:
        for n in range(2):
            Path(name, f"f{n}.txt").write_text("A line of text that is forty bytes long.\n" * 50)
        yield Path(name)


async def fairlead_run(rounds: int, api: Api = "messages") -> tuple[list[float], float, float]:
    """The gaps in ms, the memory in MB at the end, and the time from the task to its first request in ms."""
    process, url = start_model_server(rounds, api=api)
    env = {"BENCH_KEY": "k"}
    settings = {
        "endpoints": {"bench": {"baseUrl": url, "api": api, "keyVariable": "BENCH_KEY"}},
        "endpoint": "bench",
        "model": "x",
        "loop": {"maxRounds": rounds + 5, "maxIdleRounds": rounds + 5},
    }
    # journals are part of a round
    with workspace() as root, tempfile.TemporaryDirectory(prefix="fairlead-bench-") as storage:
        async with Client(root, env=env, settings=settings, storage=Path(storage)) as client:
            await client.request("agent/sessions/create", {})
            server = psutil.Process(client.process.pid)
            await wait_until_idle(server)
            await client.request("agent/warm", {})  # as an editor does when the input box for a task opens
            start = time.time()
            result = await client.run(deadline=300)
            assert result["stopReason"] == "end_turn", result
            memory = server.memory_info().rss / 1e6
    first, gaps = seen_by(process)
    return gaps, memory, (first - start) * 1000


async def wait_until_idle(server: psutil.Process) -> None:
    """Waits until the background import of the SDK is over and the process is idle."""
    quiet = 0
    while quiet < 5:
        before = sum(server.cpu_times()[:2])
        await asyncio.sleep(0.1)
        quiet = quiet + 1 if sum(server.cpu_times()[:2]) - before < 0.01 else 0


def sdk_run(rounds: int, api: Api = "messages") -> tuple[list[float], float]:
    """The gaps in ms, and the peak memory in MB."""
    process, url = start_model_server(rounds, api=api)
    peak = 0.0
    with workspace() as root:
        loop = subprocess.Popen([sys.executable, str(HERE / f"sdk_loop_{api}.py"), url, str(root)])
        while loop.poll() is None:
            try:
                peak = max(peak, psutil.Process(loop.pid).memory_info().rss / 1e6)
            except psutil.Error:
                break
            time.sleep(0.02)
    return gaps_of(process), peak


INITIALIZE = {"method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}
READY = [{"method": "initialized", "params": {}}, {"method": "agent/sessions/list", "params": {}}]


def start_up(command: list[str], then: Sequence[Json] = ()) -> float:
    """The time from the spawn to the answer to the last of these requests, sent after `initialize`, in ms."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None and process.stdout is not None
    for number, message in enumerate([INITIALIZE, *then], 1):
        is_request = message["method"] != "initialized"
        body = json.dumps({"jsonrpc": "2.0", **({"id": number} if is_request else {}), **message}).encode()
        process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        process.stdin.flush()
        while is_request and read_message(process.stdout).get("id") != number:
            pass
    elapsed = (time.perf_counter() - start) * 1000
    process.kill()
    process.wait()
    return elapsed


def read_message(stream: IO[bytes]) -> Json:
    length = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        length = int(value) if name == b"Content-Length" else length
    assert length, "the server has ended"
    return json.loads(stream.read(length))


def median(values: list[float]) -> float:
    return statistics.median(values) if values else 0.0


def uncached(rounds: int) -> list[float]:
    """The share of the input that the provider's cache did not have, in percent, in one session and in the next."""

    async def run(api: FakeApi) -> list[Json]:
        with workspace() as root:
            env = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url}
            async with Client(root, env=env, settings={"loop": {"maxRounds": rounds + 5}}) as client:
                usages: list[Json] = []
                for _ in range(2):
                    result = await client.run(deadline=300)
                    assert result["stopReason"] == "end_turn", result
                    usages.append(client.events("usage")[-1])
                return usages

    turns = [Turn((Call("write_file", {"path": "notes.txt", "content": "round 0\n"}),))]
    for number in range(1, rounds):
        edit = {"path": "notes.txt", "old_text": f"round {number - 1}", "new_text": f"round {number}"}
        turns.append(Turn((Call("edit_file", edit),)))
    with FakeApi([*turns, Turn((Text("Done."),))] * 2, caching=True) as api:
        usages = asyncio.run(run(api))
    return [
        100
        * (1 - used["cacheReadTokens"] / sum(used[f"{kind}Tokens"] for kind in ("cacheRead", "cacheWrite", "input")))
        for used in usages
    ]


def plan_cost() -> None:
    """Prints how many characters the plan adds to a request (a token is about four)."""
    plan = TodoManager()
    items = [{"content": f"Add type hints to module {n}", "status": "pending"} for n in range(8)]
    result = plan.update([{**items[0], "status": "in_progress", "activeForm": "Adding type hints"}, *items[1:]])
    for _ in range(3):
        plan.note_round_without_update()
    reminder = plan.reminder()
    schema = json.dumps({"name": SPEC.name, "description": SPEC.description, "input_schema": SPEC.input_schema})
    print("the plan in characters of a request")
    print(f"  the tool, once and cached        {len(schema):8}")
    print(f"  a rewrite's result, eight steps  {len(result):8}")
    print(f"  a reminder                       {len(reminder.text) if reminder else 0:8}")


def measure_gap(figures: Figures, rounds: int) -> None:
    """The gap, a task's first request and the memory, next to a plain loop on the SDK."""
    print(
        f"gap between an answer and the next request, in ms (median of the first 50 of {rounds} rounds, of the last 20)"
    )
    ours, memory, first = asyncio.run(fairlead_run(rounds))
    plain, plain_memory = sdk_run(rounds)
    print(f"  fairlead server, everything on   {median(ours[:50]):8.2f} {median(ours[-20:]):8.2f}")
    print(f"  plain loop on the SDK's helper   {median(plain[:50]):8.2f} {median(plain[-20:]):8.2f}")
    beside = "plain SDK loop"
    figures.compare("gap, first 50 rounds", median(ours[:50]), "ms", beside, median(plain[:50]), 1)
    figures.compare(f"gap, last 20 of {rounds} rounds", median(ours[-20:]), "ms", beside, median(plain[-20:]), 1)
    print(f"task to its first request when warm, in ms{first:19.2f}")
    figures.add("a task's first request, server warm", first, "ms", 10)
    print(f"memory after {rounds} rounds, in MB (resident)")
    print(f"  fairlead server                  {memory:8.1f}")
    print(f"  plain loop on the SDK's helper   {plain_memory:8.1f}")
    figures.add(f"memory after {rounds} rounds", memory, "MB", 120)


def measure_chat(figures: Figures, rounds: int) -> None:
    """The same gap with Chat Completions, next to a plain loop on OpenAI's SDK."""
    ours, memory, _ = asyncio.run(fairlead_run(rounds, "chat"))
    plain, plain_memory = sdk_run(rounds, "chat")
    print("the same with Chat Completions, in ms and MB")
    print(f"  fairlead server, everything on   {median(ours[:50]):8.2f} {median(ours[-20:]):8.2f} {memory:8.1f}")
    print(
        f"  plain loop on OpenAI's SDK       {median(plain[:50]):8.2f} {median(plain[-20:]):8.2f} {plain_memory:8.1f}"
    )
    beside = "plain loop on OpenAI's SDK"
    figures.compare("gap with Chat Completions", median(ours[:50]), "ms", beside, median(plain[:50]), 1)
    figures.add(f"memory after {rounds} rounds with Chat Completions", memory, "MB", 120)


def measure_start(figures: Figures, starts: int) -> None:
    """The start of the server, next to a bare one."""
    print("spawn to initialize answered, in ms (median of alternating starts)")
    commands = {
        "fairlead serve": [sys.executable, "-m", "fairlead", "serve"],
        "bare pygls server": [sys.executable, str(HERE / "bare_server.py")],
    }
    started = [[start_up(command) for command in commands.values()] for _ in range(starts)]
    serve, bare = (median(list(times)) for times in zip(*started, strict=True))
    for name, time_taken in zip(commands, (serve, bare), strict=True):
        print(f"  {name:<33}{time_taken:8.2f}")
    ready = median([start_up(commands["fairlead serve"], READY) for _ in range(starts)])
    print(f"  fairlead, the next request too   {ready:8.2f}")
    figures.compare("spawn to `initialize`", serve, "ms", "bare pygls", bare, 1.1)


def measure_uncached(figures: Figures, rounds: int) -> None:
    """The share of the input that is not read from the provider's cache."""
    cold, warm = uncached(rounds)
    figures.add("not cached of 50 rounds, nothing cached before", cold, "%", 2)
    figures.add("not cached of 50 rounds of the next session", warm, "%", 2)


def main() -> int:
    """Runs all benchmarks. Returns the exit code: 1 if something could not be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smallest", action="store_true", help="run each benchmark once, at its smallest size")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures that have a target")
    given = parser.parse_args()
    smallest, figures = given.smallest, Figures()
    parts: dict[str, Callable[[], None]] = {
        "gap": lambda: measure_gap(figures, SMALLEST_ROUNDS if smallest else ROUNDS),
        "chat": lambda: measure_chat(figures, SMALLEST_ROUNDS if smallest else ROUNDS),
        "start": lambda: measure_start(figures, SMALLEST_STARTS if smallest else STARTS),
        "plan": plan_cost,
        **{
            part.__name__: partial(part.main, figures, smallest)
            for part in (pending, journal, sandbox, search, mcp_servers, hosting, subagents)
        },
        **{part.__name__: partial(part.main, smallest) for part in (long_files, flood, checks, language_servers, soak)},
        "cached share": lambda: measure_uncached(figures, SMALLEST_ROUNDS if smallest else 50),
    }
    for name, part in parts.items():
        with figures.measuring(name):
            part()
    print(f"\n{figures.table()}")
    if given.json is not None:
        figures.write(given.json)
    if figures.failed:
        print(f"\nNot measured, or only in part: {'; '.join(figures.failed)}")
    return 1 if figures.failed else 0


def main_with_temporary_home() -> int:
    """Runs `main` with a temporary home folder, in which the servers create their layers."""
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as home:
        os.environ.update({"HOME": home, "USERPROFILE": home, "LOCALAPPDATA": home})
        return main()


if __name__ == "__main__":
    sys.exit(main_with_temporary_home())
