"""`python benchmarks/campaigns/repositories.py`: a task in each repository that is made to hang an agent.

    --only TEXT    only the repositories with this text in their name

In each of `tests/faults/hostile_repositories.py`, a scripted model lists, searches, reads, runs commands and proposes a
file, which is then accepted. For each it prints how long the task took, the server's slowest answer meanwhile, how long
a stop of a second task took, and the most memory of the server. The exit code is 1 if the work could not be done.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from faults.hostile_repositories import REPOSITORIES
from support.client import Client, WireError

SECONDS = 2  # the time limit of the command that runs git, which waits for a pipe without end
CALLS: tuple[dict[str, Any], ...] = (
    {"list_files": {}},
    {"search": {"pattern": "hello"}},
    {"search": {"pattern": "no such text"}},
    {"read_file": {"path": "a.txt"}},
    {"bash": {"command": "cat a.txt && ls -a | head -n 3 && echo shown"}},
    {"bash": {"command": "git status --porcelain | head -n 3", "timeout_seconds": SECONDS}},
    {"write_file": {"path": "new.txt", "content": "new\n"}},
)


@dataclass
class Work:
    """What happened in a repository."""

    results: list[str] = field(default_factory=list[str])
    """Of the calls."""
    stop_reason: str = ""
    accepted: str | None = None
    """The content of the accepted file on disk."""
    pwned: bool = False
    """Whether a program of the repository ran outside of the sandbox."""
    seconds: float = 0.0
    slowest_answer: float = 0.0
    stop: float = 0.0
    answers: int = 0
    memory: int = 0
    """The most that the server used, in bytes; 0 if the system does not say."""

    @property
    def is_done(self) -> bool:
        """Whether the work could be done."""
        listed, found, _, read, ran, _, _ = self.results if len(self.results) == len(CALLS) else [""] * len(CALLS)
        return (
            self.stop_reason == "end_turn"
            and ("a.txt" in listed or "narrow it" in listed)
            and "hello" in found
            and "hello" in read
            and "shown" in ran
            and self.accepted == "new\n"
            and not self.pwned
        )


async def work_in(name: str, folder: Path) -> Work:
    """Makes a repository in a new folder, and works in it."""
    root, work = folder / "repository", Work()
    for part in ("objects", "refs/heads", "info"):
        (root / ".git" / part).mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n")
    (root / "a.txt").write_text("hello\n")
    REPOSITORIES[name](root)
    script = folder / "script.replay.yaml"
    turns = [{"calls": [call]} for call in CALLS]
    sleep = {"calls": [{"search": {"pattern": "hello"}}, {"bash": {"command": "sleep 600"}}]}
    script.write_text(json.dumps({"replay": 1, "turns": [*turns, {"text": "Done."}, sleep, {"text": "Never."}]}))
    began = time.monotonic()
    async with Client(root, settings={"replay": str(script)}, storage=folder / "storage") as client:
        asking = asyncio.ensure_future(_ask(client, work))
        try:
            result = await client.run()
            work.seconds, work.stop_reason = time.monotonic() - began, result["stopReason"]
            work.results = [event["text"] for event in client.events("tool_finished")]
            session = result["sessionId"]
            target = {"uri": (root / "new.txt").as_uri()}
            if any(each["uri"] == target["uri"] for each in client.last("agent/edits")["files"]):
                await client.request("agent/edits/accept", {"sessionId": session, "target": target})
                work.accepted = (root / "new.txt").read_text()
            run = asyncio.ensure_future(client.run(sessionId=session))
            await client.until(lambda: len(client.events("tool_started")) > len(CALLS))
            stopping = time.monotonic()
            await client.request("agent/cancel", {"sessionId": session})
            await run
            work.stop = time.monotonic() - stopping
        finally:
            asking.cancel()
        work.memory = _peak(client.process.pid)
    work.pwned = any(path.name == "pwned" for path in root.iterdir())
    return work


async def _ask(client: Client, work: Work) -> None:
    """Asks the server something all the time."""
    while True:
        began = time.monotonic()
        await client.error("nothing/there", {})
        work.answers += 1
        work.slowest_answer = max(work.slowest_answer, time.monotonic() - began)
        await asyncio.sleep(0.02)


def _peak(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


def remove(folder: Path) -> None:
    """Removes a folder, however deep it is."""
    subprocess.run(["rm", "-rf", str(folder)], check=False)


async def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    only, failed = parser.parse_args().only, 0
    print(f"{'':44}  task s  slowest answer s  stop s  memory MB")
    for name in [name for name in REPOSITORIES if only in name]:
        folder = Path(tempfile.mkdtemp(prefix="fairlead-repository-"))
        try:
            try:
                work = await work_in(name, folder)
            except (TimeoutError, WireError) as error:
                work = Work(stop_reason=repr(error))
            failed += not work.is_done
            print(
                f"{name:44}  {work.seconds:6.1f}  {work.slowest_answer:16.2f}  {work.stop:6.2f}  {work.memory >> 20:9}"
                + ("" if work.is_done else f"  not done: {work}")
            )
        finally:
            remove(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
