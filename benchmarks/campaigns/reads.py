"""`python benchmarks/campaigns/reads.py`: what the recording of reads costs, and whether it misses anything.

    --only TEXT   only the checks with this text in their name
    --runs N      how many times each check runs, with and without the recording in turn (default 5)
    --copies N    how large the projects are: how many copies of some files each has (default 40)

Runs the checks of small projects of many tools in the sandbox. For each it prints the shortest time without the
recording, the ratio of the shortest time with it, the same ratio for the time of the processors, which depends less on
other work of the machine, and how many paths were recorded. `strace` is the reference for
what is missing: paths that two of its runs saw, and that were neither recorded nor are a folder above such a path.
Tools that are not installed are named. `FAIRLEAD_TEST_MODULES` names a `node_modules` with more of them. The exit code
is 1 if a path of a project is missing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from fairlead.shell.layer import View
from fairlead.shell.reads import Reads
from session.checked_projects import CheckedProject, projects
from shell.boxes import Boxes, boxes, start

STRACE = "strace -f -qq -y -s 4096 -e trace=%file -o /tmp/strace.out -- bash -c {}; cat /tmp/strace.out"
# what belongs to the process or the machine, and the private folders of the box
NOT_FILES = ("/proc", "/dev", "/sys", "/tmp", "/run")
# a relative path in an open folder or the current one; otherwise the path alone
PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
# the process id at the end of temporary names
PID = re.compile(r"\.\d+$")
# calls that the recording leaves out
LEFT_OUT = re.compile(r"\b(readlink|readlinkat|getcwd|fstat|symlink|symlinkat)\(")


@dataclass(frozen=True)
class Took:
    """How long a check took, and how long the processors worked for it and its box, in seconds."""

    wall: float
    processors: float


def shortest(runs: list[Took]) -> Took:
    return Took(min(run.wall for run in runs), min(run.processors for run in runs))


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True)
class Row:
    """The measurements of one check, in seconds and paths."""

    bare: Took
    recorded: Took
    paths: int
    missing: frozenset[str]
    missing_inside: frozenset[str]
    """Those in the project."""


async def timed(box: Boxes, command: str, *, records: bool) -> tuple[Took, Reads | None]:
    """How long a command takes whose builds are discarded. Raises AssertionError if it fails."""
    opened = await box.layer.open(command, View(retained=False), background=True, records=records)
    before, used = time.monotonic(), processor_time()
    process = await start(opened)
    output, _ = await process.communicate()
    took = Took(time.monotonic() - before, processor_time() - used)
    reads = (await opened.close()).reads
    assert process.returncode == 0, output.decode(errors="replace")
    return took, reads


async def traced(box: Boxes, command: str, folder: Path) -> set[str]:
    """The paths that `strace` sees: absolute, or relative if it does not say to which folder."""
    quoted = "'" + command.replace("'", "'\\''") + "'"
    ran = await box.run(STRACE.replace("{}", quoted), retained=False, background=True)
    found: set[str] = set()
    for line in ran.output.splitlines():
        if line[:1].isdigit() and not LEFT_OUT.search(line) and "AT_EMPTY_PATH" not in line:
            for base, text in PATH.findall(line.split(" = ")[0].split(", [", 1)[0]):
                path = text.encode().decode("unicode_escape", "replace")
                if path and not path.endswith("/bash"):  # strace itself looks for it
                    found.add(PID.sub("", os.path.normpath(os.path.join(base, path))))
    return {path for path in found if not path.startswith(NOT_FILES) or path.startswith(str(folder))}


def missing_paths(seen: set[str], reads: Reads) -> frozenset[str]:
    """The paths that were not recorded, and that are no folder above a recorded one."""
    known: set[str] = set()
    for access in reads.accesses:
        path = PID.sub("", os.path.normpath(access.path))
        while path not in known and path != "/":
            known.add(path)
            path = os.path.dirname(path)
    relative = {path for path in seen if not path.startswith("/")}
    ends = {path[at:] for path in known for at, each in enumerate(path, 1) if each == "/"} if relative else set[str]()
    return frozenset((seen - relative - known - {"/"}) | (relative - ends - {"."}))


async def measure(project: CheckedProject, place: Path, runs: int, copies: int) -> Row:
    """Measures a check. Raises AssertionError if it fails or is not recorded completely."""
    folder = place / "ws"
    folder.mkdir()
    project.write(folder, copies)
    async with boxes(folder, place / "state") as box:
        await timed(box, project.check, records=False)
        bare, recorded, every = list[Took](), list[Took](), list[Reads]()
        for _ in range(runs):
            bare.append((await timed(box, project.check, records=False))[0])
            took, reads = await timed(box, project.check, records=True)
            assert reads is not None and reads.is_complete, reads and reads.doubt
            recorded.append(took)
            every.append(reads)
        seen = await traced(box, project.check, folder) & await traced(box, project.check, folder)
    assert seen, "strace saw nothing"
    missing = missing_paths(seen, every[-1])
    inside = frozenset(path for path in missing if not path.startswith("/") or path.startswith(f"{folder}/"))
    return Row(shortest(bare), shortest(recorded), len(every[-1].accesses), missing, inside)


async def campaign(only: str, runs: int, copies: int) -> bool:
    """Prints a table. Returns whether no path of a project is missing."""
    print(
        "| check | bare, s | recorded, ratio | processors, ratio | paths | missing in the project | missing elsewhere |"
    )
    print("|---|---|---|---|---|---|---|")
    skipped, is_right = dict[str, str](), True
    for project in projects():
        if only not in project.name:
            continue
        if missing := project.missing():
            skipped[project.name] = missing
            continue
        with tempfile.TemporaryDirectory(prefix="fairlead-reads-") as place:
            try:
                row = await measure(project, Path(place).resolve(), runs, copies)
            except AssertionError as error:
                print(f"| {project.name} | failed: {str(error)[-200:]!r} |", flush=True)
                is_right = False
                continue
        ratio, elsewhere = row.recorded.wall / row.bare.wall, row.missing - row.missing_inside
        processors = row.recorded.processors / row.bare.processors
        times = f"{row.bare.wall:.2f} | {ratio:.2f} | {processors:.2f}"
        paths = f"{row.paths} | {len(row.missing_inside)} | {len(elsewhere)}"
        print(f"| {project.name} | {times} | {paths} |", flush=True)
        for path in sorted(row.missing)[:8]:
            print(f"    {path}", file=sys.stderr)
        is_right = is_right and not row.missing_inside
    for name, missing in skipped.items():
        print(f"Not installed for {name}: {missing}")
    return is_right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--copies", type=int, default=40)
    given = parser.parse_args()
    return 0 if asyncio.run(campaign(given.only, given.runs, given.copies)) else 1


if __name__ == "__main__":
    sys.exit(main())
