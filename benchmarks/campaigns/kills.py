"""`python benchmarks/campaigns/kills.py --kills N`: kills the server at random moments of a long run, which continues.

    --kills N      how many kills (default 200)
    --seed S       another seed for the random moments
    --window T     a window of T tokens, so that the conversation is compacted several times

The model is a script of 30 rounds with parallel calls and a plan. It continues from the round that the conversation
shows. Meanwhile the user accepts files and rejects one. After each kill a new server starts on the same storage and
continues the run. At the end, files and plan must be those of an undisturbed run, and the strict fake of the Messages
API must have refused nothing. Otherwise the exit code is 1.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from support.client import Client, WireError
from support.fake_api import Call, FakeApi, Text, Turn

Json = dict[str, Any]

ROUNDS = 30
FILES = 5
REJECTED = "rejected.txt"
SUMMED_UP = re.compile(r"Done up to step (\d+)")
LATENCY = 0.01  # the longest delay of an answer, in s, so that a kill may happen while the server waits for the model


@dataclass(frozen=True)
class End:
    """The result of a run: the files' texts and the plan's steps."""

    files: dict[str, str]
    plan: list[tuple[str, str, str]]


def model(body: Json) -> Turn:
    """The model's answer, derived from the conversation: the first step without a successful `todo` call.

    If the request asks for a summary, the answer is the summary; if no step is left, a final text.
    """
    time.sleep(random.uniform(0, LATENCY))
    texts = [block["text"] for message in body["messages"] for block in message["content"] if block["type"] == "text"]
    summed_up = max((int(n) for text in texts for n in SUMMED_UP.findall(text)), default=0)
    failed = {
        block["tool_use_id"]
        for message in body["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result" and block.get("is_error")
    }
    done = {
        block["input"]["reason"]
        for message in body["messages"]
        for block in message["content"]
        if isinstance(block, dict)
        and block["type"] == "tool_use"
        and block["name"] == "todo"
        and block["id"] not in failed
    }
    step = next((n for n in range(summed_up + 1, ROUNDS + 1) if f"step {n}" not in done), None)
    if texts[-1].startswith("<summarize>"):
        return Turn((Text(f"Done up to step {ROUNDS if step is None else step - 1}."),), chunk=5)
    return (
        Turn((Text("All steps are done."),)) if step is None else Turn((Text(f"Step {step}."), *calls(step)), chunk=20)
    )


def calls(step: int) -> Iterator[Call]:
    """The calls of a step: an edit, sometimes a read, a new file or a command, and finally the plan.

    The reason for the plan's rewrite names the step, so that the conversation shows that the step is done.
    """
    name, line = f"f{step % FILES}.txt", f"line {step}:"
    yield Call("edit_file", {"path": name, "old_text": line, "new_text": f"line {step}, changed:"})
    if step % 2 == 0:
        yield Call("read_file", {"path": name})
    if step % 6 == 0:
        yield Call("write_file", {"path": f"new{step}.txt", "content": f"made in step {step}\n"})
    if step == ROUNDS // 3:
        yield Call("write_file", {"path": REJECTED, "content": "not wanted\n"})
    if step % 10 == 5:
        yield Call("bash", {"command": "echo so far; sleep 0.05; echo done"})
    items = [
        {"content": f"Part {part}", "status": "completed" if step >= 5 * part else "pending"}
        for part in range(1, ROUNDS // 5 + 1)
    ]
    yield Call("todo", {"items": items, "reason": f"step {step}"})


def prepare(workspace: Path) -> None:
    workspace.mkdir(parents=True)
    for n in range(FILES):
        (workspace / f"f{n}.txt").write_text("".join(f"line {line}: {'word ' * 12}\n" for line in range(1, ROUNDS + 1)))


async def review(client: Client, session: Json) -> None:
    """Decides on the proposals file by file: rejects `REJECTED`, and accepts all others."""
    for file in (await client.request("agent/sessions/open", session))["edits"]["files"]:
        target = {**session, "target": {"uri": file["uri"]}}
        if file["uri"].endswith(REJECTED):
            await client.request("agent/edits/reject", {**target, "reason": "Not wanted."})
        else:
            await client.request("agent/edits/accept", target)


async def life(client: Client, session: Json) -> str:
    """Starts or continues the run with one server, and reviews during it and after it. Returns the session's id."""
    running = asyncio.ensure_future(client.run("Go on.", **session))
    try:
        found = session or {"sessionId": (await client.event("run_started"))["sessionId"]}
        while not running.done():
            await client.event("round_started")
            await review(client, found)
            await asyncio.wait([running], timeout=random.uniform(0, 0.1))
        assert (await running)["stopReason"] == "end_turn", running.result()
        await review(client, found)
    finally:
        running.cancel()
        await asyncio.wait([running])
    return found["sessionId"]


async def ended(client: Client, workspace: Path, session: str) -> End:
    opened = await client.request("agent/sessions/open", {"sessionId": session})
    assert opened["edits"]["files"] == [], opened["edits"]
    files = {path.name: path.read_text() for path in sorted(workspace.iterdir())}
    return End(files, [(item["id"], item["content"], item["status"]) for item in opened["plan"]["items"]])


async def run(folder: Path, api: FakeApi, lives: Iterator[float], window: int) -> tuple[End, int]:
    """Runs a session to its end, with a new server after each kill. Returns its end and the number of kills.

    `lives` are the seconds after which each server is killed. Once there are no more, the next server is not killed.
    """
    workspace = folder / "ws"
    prepare(workspace)
    env = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url}
    answers = {"agent/approve": lambda _: {"option": "allow_once"}}
    session: Json = {}
    killed = 0
    while True:
        settings = {"contextTokens": window}
        async with Client(workspace, env=env, storage=folder / "storage", answers=answers, settings=settings) as client:
            rows = (await client.request("agent/sessions/list", {}))["sessions"]
            assert len(rows) <= 1, rows
            session = {"sessionId": rows[0]["sessionId"]} if rows else session
            work = asyncio.ensure_future(life(client, session))
            seconds = next(lives, None)
            await asyncio.wait([work], timeout=seconds)
            if work.done():
                return await ended(client, workspace, work.result()), killed
            client.process.kill()
            await client.process.wait()
            killed += 1
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError, WireError):
                await work


async def campaign(folder: Path, kills: int, seed: int, window: int = 0) -> list[str]:
    """Kills this many servers. Returns the differences from an undisturbed run, and what the API refused."""
    chance = random.Random(seed)
    random.seed(seed)
    wrong: list[str] = []
    with FakeApi(turns=[model] * 100_000) as api:
        start = time.monotonic()
        expected, _ = await run(folder / "undisturbed", api, iter(()), window)
        seconds = time.monotonic() - start
        killed = number = 0
        while killed < kills:
            number += 1
            lives = (chance.uniform(0, seconds / 3) for _ in range(kills - killed))
            found, times = await run(folder / f"run{number}", api, lives, window)
            killed += times
            if found != expected:
                wrong.append(f"run {number} ({times} kills): {found} instead of {expected}")
            print(f"run {number}: {times} kills, {'as undisturbed' if found == expected else 'WRONG'}", flush=True)
        wrong += api.refusals
        if window:
            raw = [request.raw for request in api.requests]
            marks = (b"<summarize>", b"[Cleared to save space")
            summaries, notes = (sum(mark in body for body in raw) for mark in marks)
            print(f"{len(raw)} requests, {summaries} for a summary, {notes} with cleared results")
    print(f"{killed} kills in {number} runs; an undisturbed one takes {seconds:.1f} s; {len(wrong)} wrong", flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--window", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fairlead-kills-") as folder:
        wrong = asyncio.run(campaign(Path(folder), given.kills, given.seed, given.window))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
