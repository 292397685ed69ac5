"""The cost of pending files (`npm run bench`, or this file alone), in a run in which each round edits a different file.

In ms: the gap between an answer and the next request while few or many files are pending, then decisions with all of
them pending. Also counts the states that the client receives during the run, and their sizes.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from speed.figures import Figures
from speed.model_server import NEW, OLD, gaps_of, start_model_server
from support.client import EDITOR, Client, Json

PENDING = (20, 200, 800)
SMALLEST = (2, 4)
SAMPLE = 20
"""The gap while N files are pending is the median of this many rounds that end with N files."""
LINE = "A line of text that is forty bytes long.\n"
STATES = ("agent/plan", "agent/edits", "agent/plan/changed", "agent/edits/changed")
INCREMENTAL: Json = {**EDITOR, "experimental": {"agent": {**EDITOR["experimental"]["agent"], "incremental": True}}}


class CountingClient(Client):
    """Counts the notifications of states and of differences and their sizes, without storing their content."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.counts, self.sizes = Counter[str](), Counter[str]()

    async def _take(self, message: Json) -> None:
        method = message.get("method", "")
        if method in STATES:
            self.counts[method] += 1
            self.sizes[method] += len(json.dumps(message, separators=(",", ":")))
            return
        await super()._take(message)


async def measured(figures: Figures, pending: Sequence[int], capabilities: Json) -> None:
    rounds = pending[-1]
    process, url = start_model_server(rounds, "edit_file")
    env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url}
    settings = {"loop": {"maxRounds": rounds + 5, "maxIdleRounds": rounds + 5}}
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
        root = Path(folder).resolve() / "workspace"
        root.mkdir()
        for number in range(rounds):
            (root / f"f{number}.txt").write_text(OLD + LINE * 20)
        storage = root.parent / "storage"
        async with CountingClient(
            root, env=env, settings=settings, storage=storage, capabilities=capabilities
        ) as client:
            session: str = (await client.request("agent/sessions/create", {}))["sessionId"]
            result = await client.run(deadline=600, sessionId=session)
            assert result["stopReason"] == "end_turn", result
            all_gaps, gaps = gaps_of(process), dict[int, float]()
            for count in pending:
                sample = all_gaps[max(0, count - SAMPLE) : count]
                gaps[count] = statistics.median(sample)
                print(f"  gap with {count:>5,} files pending       {gaps[count]:8.1f}, most {max(sample):.1f}")
            few, many = pending[0], pending[-1]
            figures.compare(f"gap with {many} files pending", gaps[many], "ms", f"with {few}", gaps[few], 1.5)
            for method in STATES:
                print(f"  {method:<33}{client.counts[method]:8,} notifications, {client.sizes[method] / 1e6:.2f} MB")
            figures.add(f"states of {rounds} rounds", client.sizes.total() / 1e6, "MB", 2)
            await decisions(figures, client, session, root)


async def decisions(figures: Figures, client: CountingClient, session: str, root: Path) -> None:
    edits = (await client.request("agent/sessions/open", {"sessionId": session}))["edits"]
    file = edits["files"][0]
    one = {"uri": file["uri"], "hunk": file["hunks"][0]["id"]}
    everything = {"sessionId": session, "target": {"all": True}}
    pending = len(edits["files"])
    decided = {"sessionId": session, "target": one}
    await timed(figures, "accept one hunk", client.request("agent/edits/accept", decided, 600), 20)
    await timed(figures, "accept all", client.request("agent/edits/accept", everything, 600), 1000)
    assert (root / f"f{pending - 1}.txt").read_text().startswith(NEW)
    await timed(figures, "undo all", client.request("agent/edits/undo", {"sessionId": session}, 600), 1000)
    assert (root / f"f{pending - 1}.txt").read_text().startswith(OLD)


async def timed(figures: Figures, name: str, request: Awaitable[Any], target: float) -> None:
    start = time.perf_counter()
    await request
    taken = (time.perf_counter() - start) * 1000
    figures.add(name, taken, "ms", target)
    print(f"  {name:<33}{taken:8.1f}")


def main(figures: Figures, smallest: bool = False) -> None:
    pending = SMALLEST if smallest else PENDING
    print(f"{pending[-1]} rounds that each edit another file, in ms (median of {SAMPLE} rounds)")
    for name, capabilities in (("differences", INCREMENTAL), ("whole states", EDITOR)):
        print(f"  with {name}:")
        # the targets are for clients that announce `incremental`, as the VS Code client does
        kept = figures if capabilities is INCREMENTAL else Figures()
        asyncio.run(measured(kept, pending, capabilities))


if __name__ == "__main__":
    main(Figures())
