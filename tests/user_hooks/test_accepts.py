"""Hooks around the user's own accepts and checks: a real server process and real boxes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import edit, write
from support.client import Client, Json
from user_hooks.test_runs import proposed

pytestmark = pytest.mark.usefixtures("box")
ALLOW: dict[str, Any] = {"agent/approve": lambda _: {"option": "allow_once"}}
ALL = {"all": True}
Define = Callable[..., None]
Replay = Callable[..., Json]


async def accept(client: Client, session: str) -> Json:
    return await client.request("agent/edits/accept", {"sessionId": session, "target": ALL})


async def test_a_hook_refuses_an_accept(workspace: Path, define: Define, replay: Replay) -> None:
    """It gets the files, and sees the proposed texts. Nothing is written until it agrees."""
    define(BeforeAccept="grep -q '\"files\"' && ! grep -q TODO a.txt || { echo 'a.txt has a TODO.' >&2; exit 2; }")
    settings = replay(
        {"calls": [write("a.txt", "TODO\n")]}, {"text": "."}, {"calls": [edit("a.txt", "TODO", "ok")]}, {"text": "."}
    )
    async with Client(workspace, settings=settings, answers=ALLOW) as client:
        session = (await client.run())["sessionId"]
        error = await client.error("agent/edits/accept", {"sessionId": session, "target": ALL})
        assert error.message == "A hook refused this: a.txt has a TODO."
        assert not (workspace / "a.txt").exists()
        assert client.last("agent/edits")["files"]
        await client.run(sessionId=session)
        await accept(client, session)
    assert (workspace / "a.txt").read_text() == "ok\n"


async def test_what_a_hook_changes_before_an_accept_is_seen_first(
    workspace: Path, define: Define, replay: Replay
) -> None:
    """docs/faults.md 248: also if the hook changes something each time. The second accept goes through."""
    define(BeforeAccept="echo license >> a.txt")
    settings = replay({"calls": [write("a.txt", "text\n")]}, {"text": "."})
    async with Client(workspace, settings=settings, answers=ALLOW) as client:
        session = (await client.run())["sessionId"]
        error = await client.error("agent/edits/accept", {"sessionId": session, "target": ALL})
        assert error.message == "A hook changed what is proposed (a.txt). Review it, then accept again."
        assert not (workspace / "a.txt").exists()
        assert await proposed(client, session, workspace / "a.txt") == "text\nlicense\n"
        [started] = [event for event in client.events("tool_started") if event["name"] == "hook"]
        assert (started["title"], started["runId"]) == ("Hook BeforeAccept: echo license >> a.txt", None)
        await accept(client, session)
    assert (workspace / "a.txt").read_text() == "text\nlicense\n"


async def test_only_the_files_that_a_hook_has_seen_are_accepted_next(
    workspace: Path, define: Define, replay: Replay
) -> None:
    """docs/faults.md 262: after it has changed one file, it is asked about another one all the same."""
    define(BeforeAccept="grep -q b.txt && { echo 'Not b.txt.' >&2; exit 2; }; echo license >> a.txt")
    settings = replay({"calls": [write("a.txt", "a\n"), write("b.txt", "b\n")]}, {"text": "."})
    async with Client(workspace, settings=settings, answers=ALLOW) as client:
        session = (await client.run())["sessionId"]
        a, b = ({"sessionId": session, "target": {"uri": (workspace / name).as_uri()}} for name in ("a.txt", "b.txt"))
        assert "A hook changed what is proposed (a.txt)." in (await client.error("agent/edits/accept", a)).message
        assert (await client.error("agent/edits/accept", b)).message == "A hook refused this: Not b.txt."
        await client.request("agent/edits/accept", a)
    assert (workspace / "a.txt").read_text() == "a\nlicense\n"
    assert not (workspace / "b.txt").exists()


async def test_what_changes_while_a_hook_decides_is_not_accepted(
    workspace: Path, define: Define, replay: Replay
) -> None:
    """docs/faults.md 268: also if the client does not say which version the user saw."""
    define(BeforeAccept="true")
    settings = replay({"calls": [write("a.txt", "a\n")]}, {"text": "."})

    async def amend(_: Json) -> Json:
        await client.request("agent/edits/amend", {"sessionId": session, "uri": file["uri"], "text": "b\n"})
        return {"option": "allow_once"}

    async with Client(workspace, settings=settings, answers={"agent/approve": amend}) as client:
        session = (await client.run())["sessionId"]
        [file] = client.last("agent/edits")["files"]
        error = await client.error("agent/edits/accept", {"sessionId": session, "target": ALL})
        assert not (workspace / "a.txt").exists()
        await accept(client, session)
    assert error.message == "The proposal changed. Review it again."
    assert (workspace / "a.txt").read_text() == "b\n"


async def test_a_hook_learns_what_was_accepted(workspace: Path, define: Define, replay: Replay) -> None:
    """It sees the files as they are now. What it changes is proposed."""
    define(AfterAccept="cat > got.json; cat a.txt >> log.txt")
    settings = replay({"calls": [write("a.txt", "text\n")]}, {"text": "."})
    async with Client(workspace, settings=settings, answers=ALLOW) as client:
        session = (await client.run())["sessionId"]
        await accept(client, session)
        assert (workspace / "a.txt").read_text() == "text\n"
        await client.until(lambda: len(client.last("agent/edits")["files"]) == 2)
        given = json.loads(await proposed(client, session, workspace / "got.json"))
        assert await proposed(client, session, workspace / "log.txt") == "text\n"
    assert given["files"] == [str(workspace / "a.txt")]
    assert not (workspace / "got.json").exists()


@pytest.mark.parametrize(("check", "outcome"), [("test -e a.txt", "passed"), ("test -e b.txt", "failed")])
async def test_a_hook_learns_the_outcome_of_the_users_check(
    workspace: Path, define: Define, replay: Replay, check: str, outcome: str
) -> None:
    define(StepChecked="cat > got.json")
    settings = replay({"calls": [write("a.txt", "text\n")]}, {"text": "."}, checks=[check])
    async with Client(workspace, settings=settings, answers=ALLOW) as client:
        session = (await client.run())["sessionId"]
        await client.request("agent/checks/run", {"sessionId": session})
        await client.until(lambda: len(client.last("agent/edits")["files"]) == 2)
        given = json.loads(await proposed(client, session, workspace / "got.json"))
    assert (given["hook_event_name"], given["outcome"]) == ("StepChecked", outcome)


async def test_the_end_of_the_server_ends_a_hook(workspace: Path, define: Define, replay: Replay) -> None:
    """docs/faults.md 249: one that still runs does not keep the server, and what it changed is discarded."""
    define(AfterAccept="touch begun; sleep 100000")
    settings = replay({"calls": [write("a.txt", "text\n")]}, {"text": "."})
    async with Client(workspace, settings=settings, answers=ALLOW) as client:
        session = (await client.run())["sessionId"]
        await accept(client, session)
        await client.until(lambda: client.all("agent/approve"))
    assert {path.name for path in workspace.iterdir()} == {".claude", "a.txt"}


async def test_a_stopped_run_ends_its_hook(workspace: Path, define: Define, replay: Replay) -> None:
    """docs/faults.md 249: the call that the hook followed keeps its result, and the session does the next task."""
    define(PostToolUse=("Write", "sleep 100000"))
    settings = replay({"calls": [write("a.txt", "text\n")]}, {"text": "Next."})
    async with Client(workspace, settings=settings, answers=ALLOW) as client:
        session = (await client.request("agent/sessions/create", {}))["sessionId"]
        number, run = client.begin("agent/runTask", {"prompt": "Do it.", "sessionId": session})
        await client.until(lambda: client.all("agent/approve"))
        client.notify("$/cancelRequest", {"id": number})
        ended = await run
        assert ended["stopReason"] == "cancelled"
        assert [event["text"] for event in client.events("tool_finished")] == ["Proposed (new file, 1 line)."]
        assert (await client.run(sessionId=session))["message"] == "Next."
        assert client.last("agent/edits")["files"]
