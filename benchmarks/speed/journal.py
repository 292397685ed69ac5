"""What a session saves for each edit of a long file. Part of `npm run bench`; this file can also be run alone.

Each round edits one line of the same file, as an agent does, and sends a call of about 300 bytes. The size is that of
the journal when the last request arrives, so it includes the conversation.
"""

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from speed.figures import Figures
from support.client import Client
from support.fake_api import Call, FakeApi, Text, Turn

FILE = 500_000  # bytes
EDITS, SMALLEST = 60, 3


def line(number: int, value: str) -> str:
    return f"    value_{number} = {value}({number}, other)\n"


async def measured(figures: Figures, edits: int) -> None:
    count = FILE // len(line(10_000, "compute"))
    step = count // edits

    def edit(number: int) -> Turn:
        at = number * step
        old, new = line(at, "compute"), line(at, "calculate")
        return Turn((Call("edit_file", {"path": "long.py", "old_text": old, "new_text": new}),))

    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
        workspace, storage = Path(folder, "workspace"), Path(folder, "storage")
        workspace.mkdir()
        text = "".join(line(number, "compute") for number in range(count))
        (workspace / "long.py").write_text(text)
        saved: list[int] = []

        def last(_: dict[str, Any]) -> Turn:
            saved.append(journal(storage).stat().st_size)
            return Turn((Text("Done."),))

        with FakeApi([*map(edit, range(edits)), last]) as api:
            env = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url}
            settings = {"loop": {"maxRounds": edits + 5, "maxIdleRounds": edits + 5}}
            async with Client(workspace, env=env, settings=settings, storage=storage) as client:
                result = await client.run(deadline=600)
                assert result["stopReason"] == "end_turn", result
                session: str = result["sessionId"]
            async with Client(workspace, env=env, storage=storage) as client:
                start = time.perf_counter()
                opened = await client.request("agent/sessions/open", {"sessionId": session}, 600)
                taken = (time.perf_counter() - start) * 1000
                assert len(opened["edits"]["files"][0]["hunks"]) == edits, opened
    per_edit = (saved[0] - len(json.dumps(text))) / edits
    print(f"  the journal beyond the file, per edit {per_edit / 1000:8.2f} kB; whole {saved[0] / 1e6:.2f} MB")
    print(f"  opening the saved session             {taken:8.1f} ms")
    figures.add(f"journal per edit of a file of {FILE // 1000} kB", per_edit / 1000, "kB", 3)


def journal(storage: Path) -> Path:
    (path,) = storage.rglob("*.jsonl")
    return path


def main(figures: Figures, smallest: bool = False) -> None:
    edits = SMALLEST if smallest else EDITS
    print(f"{edits} rounds that each edit one line of a file of {FILE:,} bytes")
    asyncio.run(measured(figures, edits))


if __name__ == "__main__":
    main(Figures())
