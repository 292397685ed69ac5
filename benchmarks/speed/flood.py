"""Measures the time and memory that 1 GB of a command's output costs the server (`npm run bench`, or this file alone).

The command runs through a real server, outside the sandbox. For comparison, a bare loop reads the same command from a
pipe without limits.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from support.client import Client

BYTES = 1_000_000_000
SMALLEST = 10_000_000


def command(size: int) -> str:
    return f"yes | head -c {size}"


def bare(size: int) -> float:
    """Seconds to read everything and discard it."""
    start = time.perf_counter()
    process = subprocess.Popen(["bash", "-c", command(size)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    while process.stdout.read(65536):
        pass
    process.wait()
    return time.perf_counter() - start


async def through_the_server(size: int) -> tuple[float, float, float, int, int]:
    """Seconds, the server's memory before and at its peak (MB), and the bytes that reached the user and the model."""
    with tempfile.TemporaryDirectory(prefix="fairlead-flood-") as folder:
        return await _measured(Path(folder), size)


async def _measured(folder: Path, size: int) -> tuple[float, float, float, int, int]:
    script = folder / "flood.replay.yaml"
    call = f'{{bash: {{command: "{command(size)}", unsandboxed: true}}}}'
    script.write_text(f"replay: 1\nturns:\n  - calls: [{call}]\n  - text: Done.\n")
    answers = {"agent/approve": lambda _: {"option": "allow_once"}}
    async with Client(folder, settings={"replay": str(script), "approvals": "ask"}, answers=answers) as client:
        server = psutil.Process(client.process.pid)
        await client.request("agent/sessions/create", {})
        before = peak = server.memory_info().rss / 1e6
        running = asyncio.ensure_future(client.run(deadline=300))
        while not running.done():
            await asyncio.wait([running], timeout=0.02)
            peak = max(peak, server.memory_info().rss / 1e6)
        [ended] = client.events("command_ended")
        [result] = client.events("tool_finished")
        return ended["seconds"], before, peak, len(client.text("tool_output")), len(result["text"])


def main(smallest: bool = False) -> None:
    size = SMALLEST if smallest else BYTES
    seconds, before, peak, shown, to_model = asyncio.run(through_the_server(size))
    print(f"a command that writes {size:,} bytes")
    print(f"  read by a bare loop, in s        {bare(size):8.2f}")
    print(f"  through the server, in s         {seconds:8.2f}")
    print(f"  the server's memory, in MB       {before:8.1f} before, {peak:.1f} at most")
    print(f"  reaches the user, in bytes       {shown:8,}")
    print(f"  reaches the model, in bytes      {to_model:8,}")


if __name__ == "__main__":
    main()
