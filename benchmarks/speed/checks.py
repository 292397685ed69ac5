"""The cost of a step's evidence (`npm run bench`, or this file alone): of the digests of a session's known files, per
edit and per verification, and of a check, compared with the bare command.

In ms: the mean of some runs for a check, medians for everything else. The edit changes one file of the given size,
while the session knows others of 4 kB each.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from fairlead.edits.origins import Author
from fairlead.session.evidence.known_files import KnownFiles
from fairlead.shell.sandbox.probe import probe
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from support.client import Client
from tools.stand_ins import Documents

SIZES = (10_000, 100_000, 1_000_000)
KNOWN = (10, 1_000)
EDITS = 20
RUNS = 15
SMALLEST_SIZES, SMALLEST_KNOWN, SMALLEST_TIMES = (10_000,), (10,), 2
LINE = "a line of text that is forty bytes long\n"
COMMANDS = ("true", "python3 -c 'import time; time.sleep(0.5)'")
# by default not /tmp: a folder in memory may not support the sandbox's layers
PLACE = os.environ.get("TMPDIR", "/var/tmp")


async def digests(folder: Path, size: int, known: int, edits: int) -> tuple[float, float]:
    """The median times, in ms, for the digest of an edited file and for the state of all known files before a
    verification.
    """
    files = Files(Roots.of(folder), Documents())
    for number in range(known):
        (folder / f"{number}.txt").write_text(LINE * 100)
    path = folder / "edited.txt"
    path.write_text(LINE * (size // len(LINE)))
    states = KnownFiles(files)
    states.update([path, *(folder / f"{number}.txt" for number in range(known))])
    states.record_state("sandboxed")
    per_edit: list[float] = []
    per_state: list[float] = []
    for number in range(edits):
        await files.propose(path, f"{number}\n{LINE * (size // len(LINE))}", Author("1", "call"))
        start = time.perf_counter()
        states.update(files.take_touched())
        middle = time.perf_counter()
        states.record_state("sandboxed")
        per_edit.append(middle - start)
        per_state.append(time.perf_counter() - middle)
    return statistics.median(per_edit) * 1000, statistics.median(per_state) * 1000


async def through_the_server(root: Path, command: str, runs: int) -> float:
    """The mean time of a `todo` call with a check, in ms."""
    taken: list[float] = []
    for count in (1, 1 + runs):
        turns: list[object] = [{"calls": [completing(f"{command} # {number}")]} for number in range(count)]
        replay = root.parent / "replay.yaml"
        replay.write_text(json.dumps({"replay": 1, "turns": [*turns, {"text": "Done."}]}))
        async with Client(root, settings={"replay": str(replay)}) as client:
            start = time.perf_counter()
            await client.run(deadline=300)
            taken.append(time.perf_counter() - start)
            assert [event["exitCode"] for event in client.events("command_ended")] == [0] * count
    return (taken[1] - taken[0]) / runs * 1000


def completing(check: str) -> dict[str, object]:
    """A `todo` call that adds a step with a check and completes it."""
    return {"todo": {"items": [{"id": check, "content": "Step", "status": "completed", "check": check}]}}


async def bare(root: Path, command: str, runs: int) -> float:
    taken: list[float] = []
    for _ in range(runs):
        start = time.perf_counter()
        process = await asyncio.create_subprocess_exec("bash", "-c", "--", command, cwd=root)
        assert await process.wait() == 0
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000


async def measure(sizes: Sequence[int], known: Sequence[int], edits: int, runs: int) -> None:
    for count in known:
        for size in sizes:
            with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
                per_edit, per_state = await digests(Path(folder).resolve(), size, count, edits)
            print(
                f"  {size:>9,} bytes, {count:>5,} files known {per_edit:10.2f} an edit, {per_state:8.2f} a verification"
            )
    print("a check from its call to its result, in ms, and its ratio to the bare command")
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-", dir=PLACE) as folder:
        root = Path(folder).resolve() / "ws"
        root.mkdir()
        found = await probe(Roots.of(root), root.parent / "state")
        if found.layers_folder is None:
            print(f"  no sandbox here: {found.reason}")
            return
        for command in COMMANDS:
            check, alone = await through_the_server(root, command, runs), await bare(root, command, runs)
            print(f"  `{command}`{'':{43 - len(command)}}{check:8.1f}  bare {alone:6.1f}  ratio {check / alone:.2f}")


def main(smallest: bool = False) -> None:
    print("the digests of known files, in ms")
    asyncio.run(
        measure(SMALLEST_SIZES, SMALLEST_KNOWN, SMALLEST_TIMES, SMALLEST_TIMES)
        if smallest
        else measure(SIZES, KNOWN, EDITS, RUNS)
    )


if __name__ == "__main__":
    main()
