"""Measures tool servers (`npm run bench`, or this file alone): what they cost without one, and what a call costs.

First come the start and the memory of the server without tool servers, with and without the SDK of MCP installed; then
a call of the tests' scripted server, next to the same call by a bare client on the SDK, and the time to collect what a
call wrote. The last two are measured in workspaces of different sizes.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import psutil
from mcp import Client as McpClient
from mcp import StdioServerParameters

from fairlead.shell.layer import DEFAULT_LIMITS, View
from fairlead.shell.services.process import ServiceProcess

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from speed.figures import Figures
from support.client import Client
from tool_servers.world import SCRIPTED, scripted, world

STARTS, CALLS, WRITES, SIZES = 7, 300, 30, (100, 100_000)
SMALLEST_STARTS, SMALLEST_CALLS, SMALLEST_WRITES, SMALLEST_SIZES = 1, 3, 2, (10, 100)
WRITTEN = (1, 100)
"""How many files a program writes before its changes are collected."""
SHELL = ["bash", "-c", 'while read -r line; do eval "$line"; done']
WITHOUT_SDK = "sys.modules.update(dict.fromkeys(('mcp', 'mcp_types')))"
SERVE = "import sys, runpy; {}; sys.argv = ['fairlead', 'serve']; runpy.run_module('fairlead', run_name='__main__')"


async def start(prepare: str) -> tuple[float, float]:
    """The time until a session exists, in ms, and the memory of the server then, in MB.

    Args:
        prepare: a statement that the server runs first.
    """
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as name:
        client = Client(Path(name))
        client.command = [sys.executable, "-c", SERVE.format(prepare)]
        began = time.perf_counter()
        async with client:
            await client.request("agent/sessions/create", {})
            taken = (time.perf_counter() - began) * 1000
            return taken, psutil.Process(client.process.pid).memory_info().rss / 1e6


async def timed(calls: int, call: Callable[[int], Awaitable[object]]) -> float:
    """The median time of a call in ms, after one that is not measured."""
    taken: list[float] = []
    for number in range(calls + 1):
        began = time.perf_counter()
        await call(number)
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken[1:])


async def bare_call(calls: int) -> float:
    server = StdioServerParameters(command=sys.executable, args=[str(SCRIPTED)])
    async with McpClient(server) as client:
        return await timed(calls, lambda _: client.call_tool("say", {"text": "hello"}))


async def our_calls(calls: int, sizes: Sequence[int]) -> list[float]:
    """The same call by Fairlead, in workspaces of so many files."""
    found_times: list[float] = []
    for size in sizes:
        async with world(scripted(), paths=files_of(size)) as found:
            say = found.tool("files__say")
            found_times.append(await timed(calls, lambda _, found=found, say=say: found.run(say, text="hello")))
    return found_times


def files_of(size: int) -> list[str]:
    """The files of a workspace, in folders of a hundred."""
    return [f"d{number // 100}/f{number}.txt" for number in range(size)]


async def collecting(size: int, times: int) -> list[float]:
    """The median time in ms to collect what a program in a box wrote, for each of `WRITTEN`."""
    medians: list[float] = []
    async with world(paths=files_of(size)) as found:
        for written in WRITTEN:
            process = await ServiceProcess.start(SHELL, await found.layer(), found.folder, View(), DEFAULT_LIMITS)
            stdin, stdout = process.process.stdin, process.process.stdout
            assert stdin is not None and stdout is not None
            taken: list[float] = []
            for number in range(times):
                stdin.write(f"for n in $(seq {written}); do echo {number} > w$n.txt; done; echo end\n".encode())
                await stdout.readline()
                began = time.perf_counter()
                changes = await process.take_changes()
                taken.append((time.perf_counter() - began) * 1000)
                assert len(changes.files) == written
            await process.end()
            medians.append(statistics.median(taken))
    return medians


def main(figures: Figures, smallest: bool) -> None:
    """Prints the figures, and adds those with a target."""
    starts, calls = (SMALLEST_STARTS, SMALLEST_CALLS) if smallest else (STARTS, CALLS)
    writes, sizes = (SMALLEST_WRITES, SMALLEST_SIZES) if smallest else (WRITES, SIZES)
    print("the server without tool servers: a session exists, in ms, and memory in MB (median of alternating starts)")
    started = [[asyncio.run(start(prepare)) for prepare in ("pass", WITHOUT_SDK)] for _ in range(starts)]
    with_sdk, without = (
        [statistics.median(each) for each in zip(*of, strict=True)] for of in zip(*started, strict=True)
    )
    print(f"  with the SDK of MCP              {with_sdk[0]:8.1f} {with_sdk[1]:8.1f}")
    print(f"  without                          {without[0]:8.1f} {without[1]:8.1f}")
    figures.compare("start with the SDK of MCP installed", with_sdk[0], "ms", "without it", without[0], 1.05)
    figures.compare("memory with the SDK of MCP installed", with_sdk[1], "MB", "without it", without[1], 1.02)
    print("a call of a tool server, in ms")
    small, large = asyncio.run(our_calls(calls, sizes))
    bare = asyncio.run(bare_call(calls))
    print(f"  a bare client                    {bare:8.2f}")
    for size, value in zip(sizes, (small, large), strict=True):
        print(f"  fairlead, of {size:>7,} files       {value:8.2f}")
    figures.compare("a call of a tool server", small, "ms", "bare client", bare, 2)
    figures.compare(f"a call of a tool server, {sizes[1]:,} files", large, "ms", f"{sizes[0]:,} files", small, 1.5)
    print("collecting what a call wrote, in ms")
    collected = [asyncio.run(collecting(size, writes)) for size in sizes]
    for at, written in enumerate(WRITTEN):
        small, large = (each[at] for each in collected)
        for size, value in zip(sizes, (small, large), strict=True):
            print(f"  {written:>5,} written, of {size:>7,} files  {value:8.2f}")
        name = f"collecting {written} of {sizes[1]:,} files"
        figures.compare(name, large, "ms", f"of {sizes[0]:,} files", small, 1.5)


if __name__ == "__main__":
    collected = Figures()
    main(collected, "--smallest" in sys.argv)
    print(f"\n{collected.table()}")
