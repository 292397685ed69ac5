"""`python benchmarks/campaigns/starts.py --starts N`: several servers start at once with one state folder, N times.

    --starts N     how many times (default 50)
    --servers S    how many servers each time (default 16)
    --seed S       another seed for the choice of killed servers

All servers run a task of four sandboxed commands at the same time. Half of the servers are killed after their answer,
so the next start finds folders without an owner. A failure is a command that is refused or does not end, or a folder
that still exists after the last sweep. The exit code is 1 if there is any failure.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from fairlead.shell.sandbox.layer.layer_folder import sweep
from support.client import Client
from support.server_process import ForkedServer

Json = dict[str, Any]

COMMANDS = 4
SECONDS = 120.0


async def run_server(
    workspace: Path, storage: Path, together: asyncio.Barrier, number: int, *, kill: bool
) -> list[str]:
    """Runs one server. Returns a message for each command that was refused or did not end."""
    calls = [{"bash": {"command": f"echo {number}.{n} > out.{n}; cat out.{n}"}} for n in range(COMMANDS)]
    turns = [*({"calls": [call]} for call in calls), {"text": "."}]
    script = storage.with_name(f"script{number}.replay.yaml")
    script.write_text(json.dumps({"replay": 1, "turns": turns}))
    async with Client(workspace, settings={"replay": str(script)}, storage=storage) as client:
        async with asyncio.timeout(SECONDS):  # another server may have failed to start
            await together.wait()
        await client.run(deadline=SECONDS)
        texts = [event["text"] for event in client.events("tool_finished")]
        if kill:
            client.process.kill()
            await client.process.wait()
    wrong = [text for n, text in enumerate(texts) if not text.startswith(f"{number}.{n}\n")]
    return [*wrong, *["a command did not end"] * (COMMANDS - len(texts))]


async def start(folder: Path, servers: int, chance: random.Random) -> list[str]:
    """Starts `servers` servers, which begin their runs at the same moment. Returns a message for each failure."""
    workspace, storage = folder / "ws", folder / "storage"
    workspace.mkdir(exist_ok=True)
    together = asyncio.Barrier(servers)
    killed = set(chance.sample(range(servers), servers // 2))
    lives = [run_server(workspace, storage, together, n, kill=n in killed) for n in range(servers)]
    wrong: list[str] = []
    for result in await asyncio.gather(*lives, return_exceptions=True):
        wrong += [f"a server failed: {result!r}"] if isinstance(result, BaseException) else result
    return wrong


async def campaign(folder: Path, starts: int, servers: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    wrong: list[str] = []
    for number in range(1, starts + 1):
        before = time.monotonic()
        refused = await start(folder, servers, chance)
        wrong += refused
        took = time.monotonic() - before
        print(
            f"start {number}: {servers * COMMANDS - len(refused)} commands, {len(refused)} refused, {took:.1f} s",
            flush=True,
        )
    layers = folder / "storage" / "layers"
    left = len(list(layers.iterdir()))
    sweep(layers)
    wrong += [f"still there: {path}" for path in layers.iterdir()]
    done = f"{starts} starts of {servers} servers, {starts * servers * COMMANDS} commands"
    print(f"{done}: {len(wrong)} wrong; {left} folders of killed servers at the end", flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=50)
    parser.add_argument("--servers", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    ForkedServer.use()  # otherwise, the imports would delay the servers by different times
    with tempfile.TemporaryDirectory(prefix="fairlead-starts-") as folder:
        wrong = asyncio.run(campaign(Path(folder), given.starts, given.servers, given.seed))
    print("\n".join(wrong[:20]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
