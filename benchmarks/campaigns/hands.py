"""The agent, the user and other programs change the same files, through editors that work well or badly.

`python benchmarks/campaigns/hands.py [SESSIONS]` plays many sessions, `test_hands.py` a few.

Every line of a file is unique and names its author. The agent proposes to capitalize some lines, a rename and a
deletion. The user types, opens and closes files, and decides. Other programs write closed files, also while the editor
has an edit that it has not applied. The editor applies an edit at once, late, in part or not at all, reports a wrong
result, or never answers. After each step, every line must occur exactly once, in capitals or not.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from support.client import EDITOR, Client, Json, WireError

FILES = ("a", "b", "old", "gone")
LINES = 12
PROPOSED = (2, 6, 9)
STEPS = 12
DECISIONS = ("accept", "accept", "accept", "reject", "undo", "redo")
# how the editor treats an edit (`Hands.apply`); `between`: files change before it applies the edit
EDITORS = ("prompt", "late", "between", "between", "refuses", "half", "nothing", "silent")
CANCELLED, REFUSED = -32800, -32803
UNCHECKED: Json = {**EDITOR, "experimental": {"agent": {"approvals": True}}}


def proposals() -> list[Json]:
    """The agent's calls: capitalize three lines in each of three files, rename one of them, and delete another file."""
    edits = [
        {"edit_file": {"path": name, "old_text": f"{name} {n}\n", "new_text": f"{name} {n}\n".upper()}}
        for name in FILES[:3]
        for n in PROPOSED
    ]
    return [*edits, {"rename_file": {"path": "old", "new_path": "new"}}, {"delete_file": {"path": "gone"}}]


class Hands:
    """One session: its files, their expected lines, and the actions so far."""

    def __init__(self, client: Client, workspace: Path, seed: int, counts: Counter[str]) -> None:
        self.client, self.root, self.rng, self.counts = client, workspace, Random(seed), counts
        self.checks = client.capabilities is EDITOR
        self.wanted = {name: [f"{name} {n}" for n in range(LINES)] for name in FILES}
        self.written = 0
        self.done: list[str] = [f"seed {seed}, {'checks' if self.checks else 'does not check'}"]

    async def play(self) -> None:
        for name, lines in self.wanted.items():
            (self.root / name).write_text("".join(f"{line}\n" for line in lines))
        self.session = (await self.client.run())["sessionId"]
        steps: list[Callable[[], Any]] = [self.write, self.write, self.toggle, self.decide, self.decide]
        for _ in range(STEPS):
            step = self.rng.choice(steps)()
            if step is not None:
                await step
            self.check()
        self.client.answers["workspace/applyEdit"] = self.client.apply_edit
        await self.client.request("agent/edits/reject", {"sessionId": self.session, "target": {"all": True}})
        for uri in list(self.client.buffers):
            self.client.close(uri)
        (self.root / "new").unlink(missing_ok=True)

    # the user and other programs

    def place(self, name: str) -> Path:
        """The current path of a file, which may have been renamed."""
        moved = self.root / "new"
        return moved if name == "old" and moved.exists() else self.root / name

    def text(self, name: str) -> str | None:
        path = self.place(name)
        buffer = self.client.buffers.get(path.as_uri())
        return buffer[0] if buffer else path.read_text() if path.exists() else None

    def write(self, name: str = "") -> None:
        """Adds a line: typed by the user if the file is open, otherwise written by another program."""
        name = name or self.rng.choice(FILES)
        text = self.text(name)
        if text is None:
            return
        self.written += 1
        line = f"{name} mine {self.written}"
        lines = text.splitlines(keepends=True)
        lines.insert(self.rng.randint(0, len(lines)), f"{line}\n")
        self.wanted[name].append(line)
        path = self.place(name)
        if path.as_uri() in self.client.buffers:
            self.client.type(path, "".join(lines))
        else:
            path.write_text("".join(lines))
        self.done.append(f"write {line}")

    def toggle(self) -> None:
        """Opens a file, or saves and closes it."""
        path = self.place(self.rng.choice(FILES))
        if path.as_uri() in self.client.buffers:
            path.write_text(self.client.buffers[path.as_uri()][0])
            self.client.close(path.as_uri())
        elif path.exists():
            self.client.open(path)
        self.done.append(f"toggle {path.name}")

    async def decide(self) -> None:
        kind = self.rng.choice(DECISIONS)
        self.editor = self.rng.choice(EDITORS)
        if self.editor in ("nothing", "silent") and self.rng.random() < 0.6:
            self.editor = "prompt"
        params: Json = {"sessionId": self.session}
        if kind in ("accept", "reject"):
            files = (self.client.last("agent/edits") or {"files": []})["files"]
            params["target"] = {"all": True}
            if files and self.rng.random() < 0.7:
                file = self.rng.choice(files)
                params["target"] = {"uri": file["uri"]}
                if file["kind"] == "modify" and file["hunks"]:
                    params["target"]["hunk"] = self.rng.choice(file["hunks"])["id"]
        self.done.append(f"{kind} {params.get('target')} with the editor “{self.editor}”")
        asked = len(self.client.all("workspace/applyEdit"))
        self.client.answers["workspace/applyEdit"] = self.apply
        number, answer = self.client.begin(f"agent/edits/{kind}", params)
        if self.editor == "silent":
            await self.client.until(lambda: answer.done() or len(self.client.all("workspace/applyEdit")) > asked)
            self.client.notify("$/cancelRequest", {"id": number})
        try:
            review = await asyncio.wait_for(answer, 30)
            self.counts.update(f"{kind}: {one['outcome']}" for one in review["outcomes"])
            if kind == "accept" and self.editor in ("refuses", "nothing") and self.checks:
                applied = [one for one in review["outcomes"] if one["outcome"] == "applied"]
                assert not applied, (self.done, applied)
        except WireError as error:
            if error.code not in (CANCELLED, REFUSED):
                raise
            self.counts[f"{kind}: {error.code}"] += 1

    # the editor

    def apply(self, params: Json) -> Any:
        match self.editor:
            case "refuses":
                return {"applied": False, "failureReason": "no"}
            case "nothing":
                return {"applied": True}
            case "silent":
                return asyncio.Event().wait()
            case "late":
                asyncio.get_running_loop().call_soon(self.client.apply_edit, params)
                return {"applied": True}
            case "half":
                changes = params["edit"]["documentChanges"]
                self.client.apply_edit({**params, "edit": {"documentChanges": changes[: len(changes) // 2]}})
                return {"applied": False}
            case "between":
                self.editor = "prompt"
                self.write()
                self.write()
        return self.client.apply_edit(params)

    # checks

    def check(self) -> None:
        for name, wanted in self.wanted.items():
            text = self.text(name)
            if text is None and name == "gone":
                assert len(wanted) == LINES, (self.done, f"{name} was deleted with {wanted[LINES:]}")
                continue
            found = Counter((text or "").lower().splitlines())
            assert found == Counter(wanted), (self.done, name, text)


async def campaign(sessions: int, first: int = 0) -> Counter[str]:
    """Plays half of the sessions with an editor that checks edits, and half with one that does not.

    Both halves use every second seed from `first` on. Returns how often each decision had each outcome.

    Raises:
        AssertionError: a line is missing or duplicated; the message contains the seed and all steps.
    """
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder).resolve() / "agent.replay.yaml"
        recording.write_text(json.dumps({"replay": 1, "turns": [{"calls": proposals()}, {"text": "Done."}]}))
        for capabilities in (EDITOR, UNCHECKED):
            workspace = Path(folder).resolve() / ("checks" if capabilities is EDITOR else "unchecked")
            workspace.mkdir()
            settings = {"replay": str(recording)}
            async with Client(workspace, settings=settings, capabilities=capabilities) as client:
                for seed in range(first, first + sessions, 2):
                    await Hands(client, workspace, seed, counts).play()
    return counts


if __name__ == "__main__":
    began = time.monotonic()
    found = asyncio.run(campaign(int(sys.argv[1]) if len(sys.argv) > 1 else 400))
    print(f"No line was lost or doubled ({time.monotonic() - began:.0f} s).")
    print(*(f"  {what:24} {count}" for what, count in sorted(found.items())), sep="\n")
