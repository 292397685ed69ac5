"""The cost of a search, compared with ripgrep alone, in workspaces of 100 and of 100,000 files.

Part of `npm run bench`; to run only this part, use `.venv/bin/python benchmarks/speed/search.py`. All figures are in
ms: the mean of several searches, and the median of several runs of ripgrep.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from fairlead.workspace.ripgrep import executable
from speed.figures import Figures
from speed.sandbox import PLACE, workspace
from support.client import Client

RUNS = 10
SIZES = (100, 100_000)
SMALLEST = 2, (100,)


def ripgrep_time(root: Path) -> float:
    """The time that ripgrep alone takes, in ms, with the options that a search needs."""
    start = time.perf_counter()
    command = [executable(), "--json", "--hidden", "-e", "needle", "."]
    found = subprocess.run(command, cwd=root, capture_output=True, check=False)
    assert found.returncode == 1, found.stderr
    return (time.perf_counter() - start) * 1000


async def through_the_server(root: Path, runs: int) -> float:
    """The mean time of a `search` call in ms, from the difference between a run with one call and one with many."""
    taken: list[float] = []
    for count in (1, 1 + runs):
        replay = root.parent / "replay.yaml"
        turns = [{"calls": [{"search": {"pattern": f"needle{number}"}}]} for number in range(count)]
        replay.write_text(json.dumps({"replay": 1, "turns": [*turns, {"text": "Done."}]}))
        async with Client(root, settings={"replay": str(replay)}) as client:
            start = time.perf_counter()
            await client.run()
            taken.append(time.perf_counter() - start)
            assert not any(ended["isError"] for ended in client.events("tool_finished"))
    return (taken[1] - taken[0]) / runs * 1000


async def measure(figures: Figures, runs: int, sizes: Sequence[int]) -> None:
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-", dir=PLACE) as folder:
        for files in sizes:
            root = workspace(Path(folder), files)
            ripgrep_time(root)  # so that the files are in the system's cache for both measurements
            ours = await through_the_server(root, runs)
            ripgrep = statistics.median(ripgrep_time(root) for _ in range(runs))
            print(f"  {files:>7,} files                   {ours:10.1f}   ripgrep {ripgrep:10.1f}")
            if files == sizes[-1]:
                figures.compare(f"search in {files:,} files", ours, "ms", "ripgrep", ripgrep, 1.3)


def main(figures: Figures, smallest: bool = False) -> None:
    print("a search, in ms")
    asyncio.run(measure(figures, *(SMALLEST if smallest else (RUNS, SIZES))))


if __name__ == "__main__":
    main(Figures())
