"""The cost of the sandbox per command, compared with the bare command, in workspaces of 100, 10,000 and
100,000 files.

Part of `npm run bench`; to run only this part, use `.venv/bin/python benchmarks/speed/sandbox.py`. Figures are medians
in ms of alternating runs.
"""

import asyncio
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from fairlead.errors import ToolError
from fairlead.shell.layer import Entry, Launch, Layer, View
from fairlead.shell.sandbox.probe import probe
from fairlead.workspace.paths import Roots

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from speed.figures import Figures
from support.client import Client

RUNS = 40
SIZES = (100, 10_000, 100_000)
SMALLEST = 2, (100,)
# by default not /tmp: a folder in memory may not support the sandbox's layers
PLACE = os.environ.get("TMPDIR", "/var/tmp")
STATUS = "git status --short"
TWICE = f"{STATUS} > /dev/null; {STATUS}"
LEAVE = "echo 1 > made.o"
VIEW = View({"f0/0.txt": Entry(b"proposed\n")})


def workspace(place: Path, files: int) -> Path:
    """Creates a Git repository with this many files, a multiple of 100, in folders of 100. Returns its path."""
    root = place / f"of {files}"
    for folder in range(max(1, files // 100)):
        (root / f"f{folder}").mkdir(parents=True)
        for n in range(100):
            (root / f"f{folder}/{n}.txt").write_text("x\n")
    (root / ".gitignore").write_text("*.o\n")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x", *arguments], cwd=root, check=True)
    return root


class CommandFailed(Exception):
    """A command did not end with 0, or its box could not be made. The text says how it ended, and why if known."""


async def run(launch: Launch) -> None:
    process = await asyncio.create_subprocess_exec(
        *launch.argv,
        cwd=launch.cwd,
        env=dict(launch.env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        pass_fds=launch.pass_fds,
        start_new_session=True,
    )
    output, _ = await process.communicate()
    if process.returncode != 0:
        raise CommandFailed(f"exit code {process.returncode}, output {output.decode('utf-8', 'replace')!r}")


async def timed(launch: Launch) -> list[float]:
    """The time of a command in s. Raises CommandFailed."""
    start = time.perf_counter()
    await run(launch)
    return [time.perf_counter() - start]


async def timed_in_box(layer: Layer, command: str) -> list[float]:
    """The time of a command in a box, in s: the total, the set-up, the run and the read back. Raises CommandFailed."""
    failures: list[str] = []
    times = [time.perf_counter()]
    try:
        box = await layer.open(command, VIEW)
        times.append(time.perf_counter())
        try:
            await run(box.launch)
        except CommandFailed as failed:
            failures.append(str(failed))
        times.append(time.perf_counter())
        await box.close()  # raises the launcher's error if the command was not started
        times.append(time.perf_counter())
    except ToolError as error:
        failures.append(str(error))
    if failures:
        raise CommandFailed("; ".join(failures))
    return [times[-1] - times[0], *(later - earlier for earlier, later in pairwise(times))]


@dataclass(frozen=True)
class Row:
    """What was measured of a command in one way to run it."""

    medians: Sequence[float]
    """In ms: the total, then each part. NaN if all runs failed."""
    runs: int
    failures: Sequence[str]
    """How each failed run ended; their times do not count."""

    @property
    def mark(self) -> str:
        return f"{len(self.failures)} of {self.runs} runs failed" if self.failures else ""


async def compare(root: Path, layers: Mapping[str, Layer], command: str, runs: int) -> dict[str, Row]:
    """Alternating runs of a command, bare and with each program that makes boxes."""
    bare = Launch(["bash", "-c", "--", command], root, {"PATH": "/usr/bin:/bin"})
    ways: dict[str, Callable[[], Awaitable[list[float]]]] = {
        "bare": partial(timed, bare),
        **{name: partial(timed_in_box, layer, command) for name, layer in layers.items()},
    }
    taken: dict[str, list[list[float]]] = {name: [] for name in ways}
    failures: dict[str, list[str]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, way in ways.items():
            try:
                taken[name].append(await way())
            except CommandFailed as failed:
                failures[name].append(str(failed))
    rows: dict[str, Row] = {}
    for name in ways:
        parts = [statistics.median(part) * 1000 for part in zip(*taken[name], strict=True)]
        rows[name] = Row(parts or [math.nan] * 4, runs, failures[name])
    return rows


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
            totals: dict[str, dict[str, float]] = {}
            for command in ("true", "echo changed > f0/1.txt", STATUS, TWICE):
                rows = await compare(root, layers, command, runs)
                totals[command] = {name: row.medians[0] for name, row in rows.items()}
                show(figures, rows, files, command)
                if command == STATUS and files == sizes[-1]:
                    bare, *boxed = rows.values()
                    best = min(boxed, key=lambda row: (math.isnan(row.medians[0]), row.medians[0]))
                    name, mark = f"`{STATUS}` in {files:,} files", best.mark or bare.mark
                    figures.compare(name, best.medians[0], "ms", "bare", bare.medians[0], 1.2, mark)
            for layer in layers.values():
                await timed_in_box(layer, LEAVE)
            show(figures, await compare(root, layers, "true # after a build", runs), files, "true # after a build")
            second = {name: totals[TWICE][name] - totals[STATUS][name] for name in totals[TWICE]}
            shown = ", ".join(f"{name} {taken:.1f}" for name, taken in second.items())
            print(f"  {files:>7,} files, the second `{STATUS}` in one box (bare: in one shell): {shown}")
            for layer in layers.values():
                await layer.aclose()
            with figures.measuring(f"a command through the server, {files:,} files"):
                taken = await through_the_server(root, runs)
                print(f"  {files:>7,} files, `true` through the server {taken:10.1f}")
                beyond = taken - totals["true"]["bare"]
                figures.add(f"a command beyond the bare one, {files:,} files", beyond, "ms", 30)


def show(figures: Figures, rows: Mapping[str, Row], files: int, command: str) -> None:
    """Prints the rows of a command. Failed runs are listed with how they ended, here and in `figures.failed`."""
    bare = rows["bare"].medians[0]
    print(f"  {files:>7,} files, `{command}`{'':{max(0, 30 - len(command))}} bare {bare:6.1f}")
    for name, row in rows.items():
        if name != "bare":
            total, set_up, ran, read_back = row.medians
            parts = f"set-up {set_up:.1f}, run {ran:.1f}, read back {read_back:.1f}"
            print(f"    {name:<40} {total:10.1f}  {total - bare:+6.1f}  ({parts})")
        if row.failures:
            print(f"      {row.mark}:", *sorted(set(row.failures)), sep="\n        ")
            figures.failed.append(f"`{command}` in {files:,} files, {name}: {row.mark}")


def main(figures: Figures, smallest: bool = False) -> None:
    print("the sandbox per command, in ms: in all, and beyond the bare command")
    asyncio.run(measure(figures, *(SMALLEST if smallest else (RUNS, SIZES))))


if __name__ == "__main__":
    main(Figures())
