"""`python benchmarks/campaigns/answers.py`: broken and hostile answers of a model's server, sent to the real server.

    --only TEXT   only the answers with this text in their name

The answers are those of tests/faults/answers.py. Each is sent to a new server: once until the run ends or repeats the
request, and once until the run is stopped in the middle. For each, it prints the server's slowest answer to another
request meanwhile, how long the stop took, and the most memory that the server used. The exit code is 1 if an answer
took more than a second, a stop more than 200 ms, the memory reached 400 MB, or the next task did not work.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from faults.answers import ANSWERS, DEFAULTS, Answer
from support.client import Client
from support.raw_server import RawServer

SLOWEST, STOP, MEMORY = 1.0, 0.2, 400.0  # seconds, seconds and MB; more is wrong
PATIENCE = 10.0  # seconds until an answer is stopped that neither ends nor is repeated
EARLY = 0.05  # seconds until the second one is stopped


@dataclass
class Figures:
    """Measurements of an answer, in seconds and MB."""

    slowest: float = 0.0
    stop: float = 0.0
    memory: float = 0.0
    ended: str = ""

    def problems(self) -> list[str]:
        found = ["SLOW"] if self.slowest > SLOWEST else []
        found += ["LATE STOP"] if self.stop > STOP else []
        return [*found, "MEMORY"] if self.memory >= MEMORY else found


def peak(pid: int) -> float:
    """The most memory that a process has used since `forget_peak`, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1000


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


async def ask(client: Client, figures: Figures) -> None:
    """Sends one other request."""
    began = time.perf_counter()
    await client.request("agent/sessions/list", {})
    figures.slowest = max(figures.slowest, time.perf_counter() - began)


async def run(client: Client, session: str, figures: Figures, patience: float) -> Any:
    """Runs a task. Stops it after `patience` seconds, or when its request is repeated."""
    before = len(client.events("retry"))
    _, running = client.begin("agent/runTask", {"prompt": "go", "sessionId": session})
    began = time.perf_counter()
    while not running.done() and len(client.events("retry")) == before and time.perf_counter() - began < patience:
        await ask(client, figures)
        await asyncio.wait([running], timeout=0.005)
    if not running.done():
        began = time.perf_counter()
        await asyncio.gather(client.request("agent/cancel", {"sessionId": session}), running)
        figures.stop = max(figures.stop, time.perf_counter() - began)
    return running.result()


def client_for(answer: Answer, folder: Path, port: int) -> Client:
    """A client whose server asks this port."""
    url = f"{answer.scheme}://127.0.0.1:{port}"
    settings: dict[str, Any] = {"maxSilenceSeconds": answer.silence}
    env = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": url}
    if answer.api:
        settings |= {"endpoint": "own", "model": "m", "endpoints": {"own": {"api": answer.api, "baseUrl": f"{url}/v1"}}}
    if answer.cloud:
        settings |= {"endpoint": answer.cloud, "model": "x", "baseUrl": url, "cloud": {"region": "eu-central-1"}}
        env |= {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    return Client(folder, settings=settings, env=env)


async def attack(answer: Answer, folder: Path) -> Figures:
    """Sends one answer through a new server."""
    figures, done = Figures(), DEFAULTS[answer.cloud or answer.api]
    with RawServer(done) as server:
        async with client_for(answer, folder, server.port) as client:
            session = (await client.request("agent/sessions/create", {}))["sessionId"]
            await run(client, session, Figures(), 60)  # imports the SDK
            forget_peak(client.process.pid)
            server.default = answer.parts
            figures.ended = (await run(client, session, figures, PATIENCE))["message"]
            await run(client, session, figures, EARLY)
            server.default = done
            last = await run(client, session, figures, 60)
            figures.memory = peak(client.process.pid)
            if answer.scheme == "http" and last["message"] != "Done.":
                figures.ended = f"THE NEXT TASK DID NOT WORK: {last['message']}"
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    worst, wrong = Figures(), 0
    print(f"{'':44} slowest answer     stop  memory")
    for answer in ANSWERS:
        if given.only in answer.name:
            with tempfile.TemporaryDirectory(prefix="fairlead-answers-") as place:
                os.environ["HOME"] = place
                figures = asyncio.run(attack(answer, Path(place)))
            took = f"{figures.slowest * 1000:11.0f} ms {figures.stop * 1000:5.0f} ms {figures.memory:4.0f} MB"
            problems = figures.problems() + (["BROKEN"] if figures.ended.startswith("THE NEXT") else [])
            wrong += bool(problems)
            print(f"{answer.name:44} {took}  {' '.join(problems)} {figures.ended[:60]!r}", flush=True)
            for name in ("slowest", "stop", "memory"):
                setattr(worst, name, max(getattr(worst, name), getattr(figures, name)))
    total = f"{worst.slowest * 1000:11.0f} ms {worst.stop * 1000:5.0f} ms {worst.memory:4.0f} MB"
    print(f"{'worst':44} {total}\n{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
