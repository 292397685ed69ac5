"""The cost of the sandbox per command, compared with the bare command, in workspaces of 100 and of 100,000 files.

Part of `npm run bench`; to run only this part, use `.venv/bin/python benchmarks/speed/sandbox.py`. Figures are medians
in ms of alternating runs.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from fairlead.shell.layer import Entry, Launch, Layer, View
from fairlead.shell.sandbox.probe import probe
from fairlead.workspace.paths import Roots

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from speed.figures import Figures
from support.client import Client

RUNS = 40
SIZES = (100, 100_000)
SMALLEST = 2, (100,)
# by default not /tmp: a folder in memory may not support the sandbox's layers
PLACE = os.environ.get("TMPDIR", "/var/tmp")
STATUS = "git status --short"
TWICE = f"{STATUS} > /dev/null; {STATUS}"
VIEW = View({"f0/0.txt": Entry(b"proposed\n")})


def workspace(place: Path, files: int) -> Path:
    """Creates a Git repository with this many files, a multiple of 100, in folders of 100. Returns its path."""
    root = place / f"of {files}"
    for folder in range(max(1, files // 100)):
        (root / f"f{folder}").mkdir(parents=True)
        for n in range(100):
            (root / f"f{folder}/{n}.txt").write_text("x\n")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x", *arguments], cwd=root, check=True)
    return root


async def run(launch: Launch) -> None:
    process = await asyncio.create_subprocess_exec(
        *launch.argv,
        cwd=launch.cwd,
        env=dict(launch.env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=launch.pass_fds,
        start_new_session=True,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output


async def timed(launch: Launch) -> float:
    start = time.perf_counter()
    await run(launch)
    return time.perf_counter() - start


async def compare(root: Path, layers: Mapping[str, Layer], command: str, runs: int) -> dict[str, list[float]]:
    """The median times of a command in ms, bare and with each program that makes boxes: the total, then each part."""
    bare = Launch(["bash", "-c", "--", command], root, {"PATH": "/usr/bin:/bin"})
    taken: dict[str, list[list[float]]] = {name: [] for name in ("bare", *layers)}
    for _ in range(runs):
        taken["bare"].append([await timed(bare)])
        for name, layer in layers.items():
            times = [time.perf_counter()]
            box = await layer.open(command, VIEW)
            times.append(time.perf_counter())
            await run(box.launch)
            times.append(time.perf_counter())
            await box.close()
            times.append(time.perf_counter())
            taken[name].append([times[-1] - times[0], *(later - earlier for earlier, later in pairwise(times))])
    return {name: [statistics.median(part) * 1000 for part in zip(*all_, strict=True)] for name, all_ in taken.items()}


async def through_the_server(root: Path, runs: int) -> float:
    """The mean time of a `bash` call with `true` in a run, in ms, including the search for secrets."""
    taken: list[float] = []
    for count in (1, 1 + runs):
        replay = root.parent / "replay.yaml"
        turns = [{"calls": [{"bash": {"command": f"true {number}"}}]} for number in range(count)]
        replay.write_text(json.dumps({"replay": 1, "turns": [*turns, {"text": "Done."}]}))
        async with Client(root, settings={"replay": str(replay)}) as client:
            start = time.perf_counter()
            await client.run()
            taken.append(time.perf_counter() - start)
            assert len(client.events("command_ended")) == count
    return (taken[1] - taken[0]) / runs * 1000


async def measure(figures: Figures, runs: int, sizes: Sequence[int]) -> None:
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-", dir=PLACE) as folder:
        for files in sizes:
            root = workspace(Path(folder), files)
            found = await probe(Roots.of(root), Path(folder) / "state")
            if found.layers_folder is None:
                print(f"  no sandbox here: {found.reason}")
                return
            programs = {"unshare": "", **({"bubblewrap": found.bubblewrap} if found.bubblewrap else {})}
            layers = {n: await replace(found, bubblewrap=program).layer() for n, program in programs.items()}
            bare_true = 0.0
            totals: dict[str, dict[str, float]] = {}
            for command in ("true", "echo changed > f0/1.txt", STATUS, TWICE):
                times = await compare(root, layers, command, runs)
                totals[command] = {name: all_ for name, (all_, *_) in times.items()}
                bare = times.pop("bare")[0]
                bare_true = bare_true or bare
                if command == STATUS and files == sizes[-1]:
                    status = min(all_ for all_, *_ in times.values())
                    figures.compare(f"`{STATUS}` in {files:,} files", status, "ms", "bare", bare, 1.2)
                print(f"  {files:>7,} files, `{command}`{'':{max(0, 30 - len(command))}} bare {bare:6.1f}")
                for name, (all_, set_up, ran, read_back) in times.items():
                    parts = f"set-up {set_up:.1f}, run {ran:.1f}, read back {read_back:.1f}"
                    print(f"    {name:<40} {all_:10.1f}  {all_ - bare:+6.1f}  ({parts})")
            second = {name: totals[TWICE][name] - totals[STATUS][name] for name in totals[TWICE]}
            shown = ", ".join(f"{name} {taken:.1f}" for name, taken in second.items())
            print(f"  {files:>7,} files, the second `{STATUS}` in one box (bare: in one shell): {shown}")
            for layer in layers.values():
                await layer.aclose()
            taken = await through_the_server(root, runs)
            print(f"  {files:>7,} files, `true` through the server {taken:10.1f}")
            figures.add(f"a command beyond the bare one, {files:,} files", taken - bare_true, "ms", 30)


def main(figures: Figures, smallest: bool = False) -> None:
    print("the sandbox per command, in ms: in all, and beyond the bare command")
    asyncio.run(measure(figures, *(SMALLEST if smallest else (RUNS, SIZES))))


if __name__ == "__main__":
    main(Figures())
