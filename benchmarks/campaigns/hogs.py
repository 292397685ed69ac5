"""`python benchmarks/campaigns/hogs.py`: commands that use all resources that they can get, in the sandbox.

    --only TEXT            only the commands with this text in their name
    --without-bubblewrap   as if bubblewrap were not installed (needs root)
    --user UID             runs the server as an ordinary user (needs root)
    --processes N          the limit on processes (setting bash.processes)
    --memory MB            the limit on memory (setting bash.memoryMb)

For each command it prints the server's slowest answer, the most processes and the most memory of the command, when its
last process had ended and when its changes were read back (in seconds after its end or its time limit), and why it was
ended. The exit code is 1 if an answer took more than a second, a process was still running 5 s after that end or limit,
or the file that the command wrote first was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from fairlead.shell.layer import Limits
from support.client import Client

LIMIT = 5  # the time limit of each command, in seconds
SLOWEST, GONE = 1.0, 5.0  # in seconds; the tool fails if an answer or the end of the last process takes longer
C_LOOP = "#include <unistd.h>\nint main() { for (;;) if (fork() == 0) setsid(); }"
PYTHON_LOOP = "import os\nwhile 1:\n    if os.fork() == 0: os.setsid()"
STUBBORN_LOOP = """import os
while 1:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: pass"""
BUSY = """import os, sys
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        os.setsid()
        while 1: pass"""
ONE_HOG = "b = []\nwhile 1: b.append(b'x' * (64 << 20))"
MANY_HOGS = """import os, time
for _ in range(50):
    if os.fork() == 0:
        b = [b'x' * (16 << 20) for _ in range(64)]
        time.sleep(60)"""
FILES = """import os
for n in range(300_000):
    if n % 1000 == 0: os.mkdir(str(n)); os.chdir(str(n))
    open(f'{n}.txt', 'w').write('x')
    if n % 1000 == 999: os.chdir('..')"""
HOGS = {
    "fork loop in C": f"echo '{C_LOOP}' | gcc -x c - -o /tmp/loop && /tmp/loop",
    "fork loop in Python": f'python3 -c "{PYTHON_LOOP}"',
    "stubborn fork loop in Python": f'python3 -c "{STUBBORN_LOOP}"',
    "fork loop in bash": "b() { b | b & }; b; sleep 60",
    "busy processes below the limit": f'python3 -c "{BUSY}" {{below}}; sleep 60',
    "memory in one process": f'python3 -c "{ONE_HOG}"; sleep 60',
    "memory in 50 processes": f'python3 -c "{MANY_HOGS}"; sleep 60',
    "memory in /tmp": "head -c 100G /dev/zero > /tmp/a; head -c 100G /dev/zero > /dev/shm/b; sleep 60",
    "300,000 small files": f'python3 -c "{FILES}"',
    "one file of 2 GB": "head -c 2000000000 /dev/zero > big.bin",
}


@dataclass
class Figures:
    """Measurements of a command, in seconds and MB. `gone` and `read_back` count from its end or its time limit."""

    slowest: float = 0.0
    processes: int = 0
    memory: float = 0.0
    gone: float = 0.0
    read_back: float = 0.0
    kept: bool = False
    last: str = ""
    problems: list[str] = field(default_factory=list)


def in_folder(folder: Path) -> Iterator[int]:
    """The ids of the processes whose working directory is this folder: those of the command."""
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.readlink(f"/proc/{name}/cwd") == str(folder):
                yield int(name)


def available_memory() -> float:
    """The memory that the system can still give to processes, in MB."""
    text = Path("/proc/meminfo").read_text()
    return int(text.split("MemAvailable:")[1].split()[0]) / 1000


async def look(client: Client, folder: Path, figures: Figures, running: asyncio.Future[Any]) -> None:
    """Measures the server's answers, and the command's processes and memory, until the run is over."""
    before = available_memory()
    while not running.done():
        began = time.monotonic()
        await client.request("agent/sessions/list", {})
        figures.slowest = max(figures.slowest, time.monotonic() - began)
        figures.memory = max(figures.memory, before - available_memory())
        processes = sum(1 for _ in in_folder(folder))
        figures.processes = max(figures.processes, processes)
        figures.gone = time.monotonic() if processes else figures.gone
        await asyncio.wait([running], timeout=0.02)


async def attack(place: Path, command: str, limits: dict[str, int]) -> Figures:
    """Runs one command through a new server, which has ended when this returns.

    `problems` names the processes of the command that are left after the run.
    """
    folder, script = place / "ws", place / "hog.replay.yaml"
    folder.mkdir()
    call = {"bash": {"command": f"echo kept > '!kept.txt'; {command}", "timeout_seconds": LIMIT}}
    script.write_text(json.dumps({"replay": 1, "turns": [{"calls": [call]}, {"text": "."}]}))
    figures = Figures()
    settings = {"replay": str(script), "bash": limits}
    async with Client(folder, settings=settings, storage=place / "storage") as client:
        running = asyncio.ensure_future(client.run(deadline=600))
        await client.event("command")
        began = time.monotonic()
        await look(client, folder, figures, running)
        await running
        figures.problems += [f"process {pid} is left" for pid in in_folder(folder)]
        [ended] = client.events("command_ended")
        [finished] = client.events("tool_finished")
        over = began + ended["seconds"]
        figures.gone, figures.read_back = max(0.0, figures.gone - over), time.monotonic() - over
        lines = finished["text"].strip().splitlines()
        figures.last = next((line for line in lines if line.startswith(("Ended", "Killed"))), lines[-1])
        edits = [method for method, _ in client.log if method == "agent/edits"]
        figures.kept = bool(edits) and any(
            each["uri"].endswith("/%21kept.txt") for each in client.last("agent/edits")["files"]
        )
    return figures


def judge(figures: Figures) -> list[str]:
    """Describes what is wrong with the measurements."""
    found = [*figures.problems]
    if figures.slowest > SLOWEST:
        found.append("an answer took too long")
    if figures.gone > GONE:
        found.append("its processes ended too late")
    if not figures.kept:
        found.append("its change was lost")
    return found


def restart_command(given: argparse.Namespace) -> list[str]:
    """The command that starts this tool again, without bubblewrap or as another user."""
    again = [sys.executable, __file__, "--only", given.only]
    again += ["--processes", str(given.processes), "--memory", str(given.memory)]
    if given.user:
        again = ["setpriv", "--reuid", given.user, "--regid", given.user, "--clear-groups", *again]
    if given.without_bubblewrap:
        hide = f'mount --bind /dev/null {shutil.which("bwrap")} && exec "$@"'
        again = ["unshare", "--mount", "sh", "-c", hide, "sh", *again]
    return again


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--without-bubblewrap", action="store_true")
    parser.add_argument("--user", default="")
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--memory", type=int, default=0)
    given = parser.parse_args()
    if given.user or given.without_bubblewrap:
        command = restart_command(given)
        os.execvp(command[0], command)
    limits = {"processes": given.processes, "memoryMb": given.memory}
    below = Limits.from_settings(given.processes).processes * 4 // 5
    wrong = False
    print(f"{'':34} slowest answer  processes  memory   gone  read back  last words")
    for name, command in HOGS.items():
        if given.only in name:
            with tempfile.TemporaryDirectory(prefix="fairlead-hogs-", dir="/var/tmp") as place:
                os.environ["HOME"] = place
                figures = asyncio.run(attack(Path(place), command.replace("{below}", str(below)), limits))
            found = judge(figures)
            wrong = wrong or bool(found)
            took = f"{figures.slowest:12.2f} s {figures.processes:10} {figures.memory:5.0f} MB"
            row = f"{name:34} {took} {figures.gone:4.1f} s {figures.read_back:8.1f} s  {figures.last[:90]}"
            print(row, "; ".join(found).upper(), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
