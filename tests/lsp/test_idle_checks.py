"""Stale verifications run again while nothing happens (docs/plan.md P26): a real server, in a real sandbox."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lsp.test_checks import runs
from lsp.test_reads import CHECK, compare, plan, steps
from lsp.test_verification import review, write_workspace
from support.calls import bash, edit
from support.client import Client, Json
from support.sandbox import needs_sandbox

Replay = Callable[..., Json]
AT_ONCE: Json = {"check.idleSeconds": 0.01, "check.idleMaxLoad": 1_000_000}
TURNS: list[Json] = [
    {"calls": [plan("in_progress"), edit("a.txt", "one", "two")]},
    {"calls": [plan("completed")]},
    {"text": "."},
]


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


async def test_p26_a_stale_tick_is_verified_again_or_broken(workspace: Path, replay: Replay) -> None:
    """Whatever changed the file, and also after the tick was broken. Nothing runs twice on the same files."""
    write_workspace(workspace)
    async with Client(workspace, settings={**replay(*TURNS), "checks": [CHECK], **AT_ONCE}) as client:
        await client.run()
        await review(client, "accept", target={"all": True})
        before = len(runs(client))
        for text, state in (("two, more\n", "verified"), ("three\n", "failed"), ("two again\n", "verified")):
            (workspace / "a.txt").write_text(text)
            await client.until(lambda: steps(client) == [state])  # noqa: B023
        assert [code for _, code, _ in runs(client)[before:]] == [0, 1, 0]
        assert not client.events("check_finished")


async def test_p26_nothing_runs_unless_the_setting_is_on(workspace: Path, replay: Replay) -> None:
    """The tick stays stale."""
    write_workspace(workspace)
    async with Client(workspace, settings={**replay(*TURNS), "checks": [CHECK]}) as client:
        await client.run()
        await review(client, "accept", target={"all": True})
        before = runs(client)
        (workspace / "a.txt").write_text("two, more\n")
        await compare(client)
        await client.until(lambda: steps(client) == ["stale"])
        assert runs(client) == before


async def test_p26_nothing_runs_on_a_busy_machine_or_with_a_question(workspace: Path, replay: Replay) -> None:
    """A command that needs no question still runs when the machine is quiet again."""
    write_workspace(workspace)
    settings = {**replay(*TURNS), "checks": [CHECK], **AT_ONCE, "check.idleMaxLoad": 0, "bash.allow": [CHECK]}
    async with Client(workspace, settings=settings) as client:
        await client.run()
        await review(client, "accept", target={"all": True})
        before = runs(client)
        asking = {"check.idleMaxLoad": 1_000_000, "approvals": "ask", "bash.allow": []}
        for change in ({"check.idleMaxLoad": 0}, asking):
            client.notify("workspace/didChangeConfiguration", {"settings": change})
            (workspace / "a.txt").write_text(f"two, {len(change)}\n")
            await compare(client)
            await client.until(lambda: steps(client) == ["stale"])
        assert runs(client) == before
        client.notify("workspace/didChangeConfiguration", {"settings": {"bash.allow": [CHECK]}})
        await client.until(lambda: steps(client) == ["verified"])


async def test_p26_typing_stops_it_without_a_trace(workspace: Path, replay: Replay) -> None:
    """It runs again with what was typed."""
    write_workspace(workspace)
    check = "grep -q two a.txt && while grep -q wait a.txt; do sleep 0.02; done"
    async with Client(workspace, settings={**replay(*TURNS), "checks": [check], **AT_ONCE}) as client:
        await client.run()
        await review(client, "accept", target={"all": True})
        before = len(runs(client))
        uri = client.open(workspace / "a.txt")
        client.type(workspace / "a.txt", "two, wait\n")
        await client.until(lambda: steps(client) == ["stale"])
        client.type(workspace / "a.txt", "two, go\n")
        await client.until(lambda: steps(client) == ["verified"])
        client.close(uri)
        assert [code for _, code, _ in runs(client)[before:]] == [0]


async def test_p26_a_restored_session_says_which_ticks_no_longer_hold(
    workspace: Path, replay: Replay, storage: Path
) -> None:
    """Whenever the files have changed. A tick that holds again is no longer named."""
    write_workspace(workspace)
    turns = [
        {"calls": [plan("in_progress", "pending"), edit("a.txt", "one", "two")]},
        {"calls": [plan("completed", "in_progress"), edit("b.txt", "one", "two"), bash("python3 -m compileall b.txt")]},
        {"calls": [plan("completed", "completed")]},
        {"text": "."},
    ]
    async with Client(workspace, settings={**replay(*turns), "checks": [CHECK]}, storage=storage) as client:
        await client.run()
        await review(client, "accept", target={"all": True})
        (workspace / "a.txt").write_text("three\n")
        await compare(client)
        await client.until(lambda: steps(client)[0] == "stale")
        assert client.last("agent/plan")["lapsed"] == []
        session = client.last("agent/plan")["sessionId"]
    async with Client(workspace, storage=storage) as client:
        opened = await client.request("agent/sessions/open", {"sessionId": session})
        assert opened["plan"]["lapsed"] == ["1"]
        (workspace / "a.txt").write_text("two\n")
        await compare(client)
        await client.until(lambda: client.last("agent/plan")["lapsed"] == [])


async def test_p26_the_change_that_broke_a_tick_is_named(workspace: Path, replay: Replay, storage: Path) -> None:
    """A change of the agent that was accepted later, or an edit of the user's own, among others that are harmless."""
    write_workspace(workspace)
    check = "grep -q two a.txt && grep -q good b.txt"
    (workspace / "b.txt").write_text("good\n1\n2\n3\n")
    turns = [
        {"calls": [plan("in_progress", "pending"), edit("a.txt", "one", "two")]},
        {"calls": [plan("completed", "in_progress")]},
        {"calls": [edit("b.txt", "1", "one")]},
        {"calls": [edit("a.txt", "two", "2")]},
        {"calls": [edit("b.txt", "2", "two")]},
        {"text": "."},
    ]
    settings = {**replay(*turns), "checks": [check], **AT_ONCE}
    async with Client(workspace, settings=settings, storage=storage) as client:
        await client.run()
        await review(client, "accept", target={"all": True})
        found = await client.until(lambda: client.last("agent/plan")["items"][0]["brokenBy"])
        a, b = (workspace / "a.txt").as_uri(), (workspace / "b.txt").as_uri()
        assert found == {"maker": "agent", "itemId": "2", "files": [a], "firstLine": 1, "lastLine": 1}
        (workspace / "a.txt").write_text("two\n")
        await client.until(lambda: steps(client)[0] == "proved")
        assert client.last("agent/plan")["items"][0]["brokenBy"] is None
        client.open(workspace / "b.txt")
        client.open(workspace / "a.txt")
        client.type(workspace / "a.txt", "two, still\n")
        client.type(workspace / "b.txt", "bad\n1\n2\n3\n")
        client.type(workspace / "a.txt", "two, too\n")
        await client.until(lambda: steps(client)[0] == "failed")
        found = await client.until(lambda: client.last("agent/plan")["items"][0]["brokenBy"])
        assert (found["maker"], found["files"], found["firstLine"]) == ("user", [b], 1)
