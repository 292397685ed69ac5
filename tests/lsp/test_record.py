"""The record of a session's work over the wire: a line per run, a page for a pull request (P15 in docs/plan.md)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import bash
from support.client import Client
from support.sandbox import needs_sandbox

Json = dict[str, Any]
Replay = Callable[..., Json]

ALLOW = {"agent/approve": lambda _: {"option": "allow_once"}}
LINES = "".join(f"line {number}\n" for number in range(1, 21))


def todo(*items: tuple[str, str]) -> Json:
    return {"todo": {"items": [{"content": content, "status": status} for content, status in items]}}


def edit(path: str, old: str, new: str) -> Json:
    return {"edit_file": {"path": path, "old_text": f"{old}\n", "new_text": f"{new}\n"}}


@pytest.fixture
def sandbox() -> None:
    """The changes of a command are proposed only if it is sandboxed."""
    needs_sandbox()


async def page(client: Client, session: str) -> list[str]:
    """The page's lines below its title, without the durations of the commands."""
    markdown: str = (await client.request("agent/record", {"sessionId": session}))["markdown"]
    return [line.rsplit(", ", 1)[0] if "Ran `" in line else line for line in markdown.splitlines()[2:]]


WORK = [
    {"calls": [todo(("First", "in_progress"), ("Second", "pending"), ("Third", "pending"))]},
    {"calls": [edit("a.txt", "one", "ONE")]},
    {"calls": [todo(("First", "completed"), ("Second", "in_progress"), ("Third", "pending"))]},
    {"calls": [edit("b.txt", "b", "B"), bash("exit 3")]},
]
FIRST = ["- [x] First (unverified)", "  - To review: `a.txt`"]
SECOND = ["  - To review: `b.txt`", "  - Ran `exit 3`: exit code 3"]


@pytest.mark.parametrize("who", ["user", "model"])
async def test_p15_a_step_that_left_the_plan_stays_on_record(workspace: Path, replay: Replay, who: str) -> None:
    """A completed step that the user removes is listed as before. An unfinished step that the model omits is listed as
    dropped. A step in which nothing happened is not listed."""
    (workspace / "a.txt").write_text("one\n")
    (workspace / "b.txt").write_text("b\n")
    done = todo(("First", "completed"), ("Second", "completed"), ("Third", "pending"))
    only = todo(("First", "completed"))
    settings = replay(*WORK, {"calls": [done if who == "user" else only]}, {"text": "Done."})
    async with Client(workspace, settings=settings, answers=ALLOW) as client:
        result = await client.run()
        if who == "model":
            assert result["record"] == "1 of 1 step, 2 files to review, 1 command (1 failed). Unverified: First."
            line = "- [ ] Second (dropped from the plan)"
        else:
            line = "2 of 3 steps, 2 files to review, 1 command (1 failed). Not done: Third. Unverified: First, Second."
            assert result["record"] == line
            plan = client.last("agent/plan")
            ops = [{"op": "remove", "id": "2"}, {"op": "remove", "id": "3"}]
            params = {"sessionId": result["sessionId"], "revision": plan["revision"], "ops": ops}
            await client.request("agent/plan/edit", params)
            line = "- [x] Second (unverified)"
        assert await page(client, result["sessionId"]) == [*FIRST, line, *SECOND]


async def test_p15_the_record_covers_all_plans_of_the_session(workspace: Path, replay: Replay) -> None:
    """A second prompt has its own plan: earlier work is listed above it, and the line of the run counts both."""
    (workspace / "a.txt").write_text("one\n")
    (workspace / "b.txt").write_text("b\n")
    done = {"calls": [todo(("First", "completed"), ("Second", "completed"))]}
    other = {"calls": [todo(("Other", "in_progress"), ("More", "pending"), ("Most", "pending"))]}
    settings = replay(*WORK, done, {"text": "Done."}, other, {"text": "So."})
    async with Client(workspace, settings=settings, answers=ALLOW) as client:
        session = (await client.run("The first"))["sessionId"]
        record = (await client.run("The second", sessionId=session))["record"]
        assert record == (
            "2 of 5 steps, 2 files to review, 1 command (1 failed). Not done: Other, More, Most. "
            "Unverified: First, Second."
        )
        second = ["- [x] Second (unverified)", *SECOND]
        left = [f"- [ ] {name} (not done)" for name in ("Other", "More", "Most")]
        assert await page(client, session) == [*FIRST, *second, *left]


@pytest.mark.usefixtures("sandbox")
async def test_p15_the_record_has_the_outcome_of_each_change(workspace: Path, replay: Replay, storage: Path) -> None:
    """An outcome is accepted, rejected, undone, to review, or withdrawn by the agent. A rename counts as one file, also
    after it is accepted. Files that a command changed are included. A restart does not change the record.
    """
    (workspace / "sub").mkdir()
    for name in ("a.txt", "b.txt", "c.txt", "d.txt", "sub/e.txt"):
        (workspace / name).write_text(LINES)
    settings = replay(
        {"calls": [bash("echo x > made.txt")]},
        {"calls": [todo(("One", "in_progress"), ("Two", "pending"))]},
        {"calls": [edit("sub/../a.txt", "line 2", "LINE 2"), edit("a.txt", "line 9", "LINE 9")]},
        {"calls": [{"rename_file": {"path": "b.txt", "new_path": "new.txt"}}, edit("c.txt", "line 2", "LINE 2")]},
        {"calls": [{"rename_file": {"path": "sub/e.txt", "new_path": "f.txt"}}]},
        {"calls": [todo(("One", "completed"), ("Two", "in_progress"))]},
        {
            "calls": [
                edit("a.txt", "line 16", "LINE 16"),
                edit("c.txt", "line 16", "LINE 16"),
                edit("d.txt", "line 2", ""),
            ]
        },
        {"calls": [edit("d.txt", "line 1\n", "line 1\nline 2"), todo(("One", "completed"), ("Two", "completed"))]},
        {"text": "Done."},
    )
    async with Client(workspace, settings=settings, answers=ALLOW, storage=storage) as client:
        result = await client.run()
        session = result["sessionId"]
        assert result["record"] == "2 of 2 steps, 5 files to review, 1 command. Unverified: One, Two."
        before = ["- Before the plan", "  - To review: `made.txt`", "  - Ran `echo x > made.txt`: exit code 0"]
        assert await page(client, session) == [
            *before,
            "- [x] One (unverified)", "  - To review: `a.txt`, `b.txt` → `new.txt`, `c.txt`, `sub/e.txt` → `f.txt`",
            "- [x] Two (unverified)", "  - To review: `a.txt`, `c.txt`", "  - No longer proposed: `d.txt`",
        ]  # fmt: skip

        async def decide(verb: str, name: str, hunk: int | None = None) -> None:
            uri = (workspace / name).as_uri()
            files = {file["uri"]: file for file in client.last("agent/edits")["files"]}
            target = {"uri": uri} if hunk is None else {"uri": uri, "hunk": files[uri]["hunks"][hunk]["id"]}
            await client.request(f"agent/edits/{verb}", {"sessionId": session, "target": target})

        await decide("accept", "a.txt", 1)
        await decide("reject", "a.txt", 0)
        await decide("accept", "c.txt")
        await client.request("agent/edits/undo", {"sessionId": session, "item": "1"})
        await decide("accept", "b.txt")
        await decide("reject", "sub/e.txt")
        await decide("reject", "made.txt")
        await client.request("agent/edits/undo", {"sessionId": session})
        decided = [
            *before,
            "- [x] One (unverified)",
            "  - Changed: `b.txt` → `new.txt`",
            "  - Undone: `a.txt` (in part), `c.txt`",
            "  - Rejected: `a.txt` (in part), `sub/e.txt` → `f.txt`",
            "- [x] Two (unverified)",
            "  - Changed: `c.txt`",
            "  - To review: `a.txt`",
            "  - No longer proposed: `d.txt`",
        ]
        assert await page(client, session) == decided
    async with Client(workspace, settings=replay({"text": "So."}), storage=storage) as client:
        await client.request("agent/sessions/open", {"sessionId": session})
        assert await page(client, session) == decided
        record = (await client.run("And?", sessionId=session))["record"]
        assert record == "2 of 2 steps, 5 files (2 to review, 2 accepted, 1 rejected), 1 command. Unverified: One, Two."
