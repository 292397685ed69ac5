"""What a check read decides what its result says (docs/plan.md P21), through the real server, in a real sandbox."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lsp.test_checks import runs
from lsp.test_verification import review, write_workspace
from support.calls import bash, edit
from support.client import Client, Json
from support.sandbox import needs_sandbox

Replay = Callable[..., Json]
CHECK = "grep -q two a.txt"


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


def plan(*statuses: str) -> Json:
    items = [{"content": f"Step {number}", "status": status} for number, status in enumerate(statuses, 1)]
    return {"todo": {"items": items}}


async def compare(client: Client) -> None:
    """Lets the server look at all files."""
    await client.request("agent/record", {"sessionId": client.last("agent/plan")["sessionId"]})


def steps(client: Client) -> list[str]:
    """What supports the steps."""
    return [item["verification"] for item in client.last("agent/plan")["items"]]


async def test_p21_only_a_change_of_what_it_read_makes_it_stale(workspace: Path, replay: Replay, storage: Path) -> None:
    """Whoever makes the change, also after a restart."""
    write_workspace(workspace)
    turns = [
        {"calls": [plan("in_progress"), edit("a.txt", "one", "two")]},
        {"calls": [plan("completed")]},
        {"text": "."},
    ]
    async with Client(workspace, settings={**replay(*turns), "checks": [CHECK]}, storage=storage) as client:
        await client.run()
        (workspace / "b.txt").write_text("by another program\n")
        (workspace / "new.txt").write_text("by another program\n")
        await compare(client)
        assert steps(client) == ["proved"]
    (workspace / "b.txt").unlink()
    async with Client(workspace, storage=storage) as client:
        await client.until(lambda: client.last("agent/plan") is not None)
        await compare(client)
        assert steps(client) == ["proved"]
        await review(client, "accept", target={"all": True})
        (workspace / "a.txt").write_text("two and more\n")
        await compare(client)
        await client.until(lambda: steps(client) == ["stale"])


async def test_p21_a_check_is_not_run_again_if_nothing_that_it_read_has_changed(
    workspace: Path, replay: Replay
) -> None:
    """So it says nothing about a step whose files it does not read."""
    write_workspace(workspace)
    turns = [
        {"calls": [plan("in_progress", "pending"), edit("a.txt", "one", "two")]},
        {"calls": [plan("completed", "in_progress"), edit("b.txt", "one", "two")]},
        {"calls": [plan("completed", "completed")]},
        {"text": "Done."},
    ]
    async with Client(workspace, settings={**replay(*turns), "checks": [CHECK]}) as client:
        await client.run()
        *_, completed = client.events("tool_finished")
        assert f"The check of #2 holds: `{CHECK}` passed, and nothing it depends on has" in completed["text"]
        assert steps(client) == ["proved", "unverified"]
        assert runs(client) == [(CHECK, 0, False), (CHECK, 1, True)]


async def test_p21_changes_that_no_check_has_read_are_listed_first(workspace: Path, replay: Replay) -> None:
    """If the user wants that. A search for the smallest set does not try them, and a step that they are all of is not
    verified."""
    write_workspace(workspace)
    turns = [
        {"calls": [plan("in_progress", "pending"), edit("a.txt", "one", "two")]},
        {"calls": [plan("completed", "in_progress"), edit("b.txt", "one", "two")]},
        {"calls": [plan("completed", "completed"), bash(CHECK)]},
        {"text": "Done."},
    ]
    settings = {**replay(*turns), "checks": [CHECK], "check": {"unreadFirst": True}}
    async with Client(workspace, settings=settings) as client:
        await client.run()
        files = [(Path(file["uri"]).name, file["unread"]) for file in client.last("agent/edits")["files"]]
        assert files == [("b.txt", True), ("a.txt", False)]
        session = client.last("agent/plan")["sessionId"]
        await client.until(lambda: steps(client) == ["proved", "unverified"])
        second = client.last("agent/plan")["items"][1]
        assert [Path(uri).name for uri in second["unread"]] == ["b.txt"]
        first = client.last("agent/plan")["items"][0]["evidence"]["commands"]
        assert [command["reads"] for command in first] == [1, 1]
        result = await client.request("agent/checks/minimize", {"sessionId": session, "check": CHECK})
        assert (
            result["message"]
            == f"`{CHECK}` needs 1 of 2 changes: it passes with this one, and fails without it. (3 runs)"
        )
