"""docs/faults.md 6 and 72: other programs change the same files. The proposals follow, and the model gets feedback."""

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.calls import LINES, edit
from support.client import Client, Json
from support.fake_api import Call, FakeApi, Text, Turn, Wait

Connect = Callable[..., Client]
Replay = Callable[..., dict[str, Any]]

DONE = Turn((Text("Done."),))


def notes_in(api: FakeApi, request: int) -> list[str]:
    """The text blocks after the results in the last message of a request."""
    content = api.requests[request].body["messages"][-1]["content"]
    assert content[0]["type"] == "tool_result"
    return [block["text"] for block in content if block["type"] == "text"]


async def next_edits(client: Client, version: int) -> Json:
    """Waits for proposals that are newer than `version`, and returns their state."""
    await client.until(lambda: client.last("agent/edits")["version"] > version)
    return client.last("agent/edits")


def notified(client: Client) -> int:
    """How often the client received the proposals."""
    return sum(method == "agent/edits" for method, _ in client.log)


def replace_file(path: Path, text: str) -> None:
    """Writes like an editor that saves to a file with another name, which then replaces the first file."""
    other = path.with_name(".other")
    other.write_text(text)
    os.replace(other, path)


async def test_fault_06_a_proposal_follows_a_file_that_is_replaced(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 6: no request from the client is needed, even if the other program does not write to the file."""
    file = workspace / "a"
    file.write_text(LINES)
    async with Client(
        workspace, settings=replay({"calls": [edit("a", "line 5\n", "LINE 5\n")]}, {"text": "."})
    ) as client:
        await client.run()
        before = client.last("agent/edits")
        replace_file(file, LINES.replace("line 1\n", "line 0\nline 1\n"))
        state = await next_edits(client, before["version"])
        assert [(hunk["state"], hunk["oldStart"]) for hunk in state["files"][0]["hunks"]] == [("pending", 6)]


async def test_fault_72_files_that_change_together_are_reported_together(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 72: 40 files that change at once cause fewer than ten notifications."""
    names = [f"{n}.txt" for n in range(40)]
    for name in names:
        (workspace / name).write_text(LINES)
    calls = [edit(name, "line 5\n", "LINE 5\n") for name in names]
    async with Client(workspace, settings=replay({"calls": calls}, {"text": "."})) as client:
        await client.run()
        before = notified(client)
        for name in names:
            (workspace / name).write_text("top\n" + LINES)
        await client.until(
            lambda: all(each["hunks"][0]["oldStart"] == 6 for each in client.last("agent/edits")["files"])
        )
        assert notified(client) - before < 10


async def test_fault_06_a_file_that_is_created_meanwhile_is_noticed(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 6: a proposed file that another program creates is a conflict, even in a folder that is new."""
    calls = [{"write_file": {"path": path, "content": "agent\n"}} for path in ("new", "made/by/hand")]
    async with Client(workspace, settings=replay({"calls": calls}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        version = client.last("agent/edits")["version"]
        (workspace / "new").write_text("mine\n")
        state = await next_edits(client, version)
        assert {Path(file["uri"]).name: file["state"] for file in state["files"]} == {
            "new": "conflict",
            "hand": "pending",
        }
        (workspace / "made" / "by").mkdir(parents=True)
        (workspace / "made" / "by" / "hand").write_text("mine\n")
        params = {"sessionId": session, "target": {"all": True}}
        review = await client.request("agent/edits/accept", params)
        assert {one["outcome"] for one in review["outcomes"]} == {"conflict"}
        assert (workspace / "made" / "by" / "hand").read_text() == "mine\n"


async def test_fault_06_the_agents_own_command_counts_as_another_program(workspace: Path, connect: Connect) -> None:
    """docs/faults.md 6: a formatter outside the sandbox changes a file that the model edited; both changes remain."""
    (workspace / "a").write_text(LINES)
    command = Turn((Call("bash", {"command": "sed -i.bak 's/line 9/nine/' a && rm a.bak", "unsandboxed": True}),))
    first = Turn((Call("edit_file", edit("a", "line 5", "FIVE")["edit_file"]),))
    with FakeApi([first, command, Turn((Call("read_file", {"path": "a"}),)), DONE]) as api:
        async with connect(api, answers={"agent/approve": lambda _: {"option": "allow_once"}}) as client:
            await client.run()
            assert client.events("tool_finished")[-1]["text"] == LINES.replace("line 5", "FIVE").replace(
                "line 9", "nine"
            )
        notes = [note for note in notes_in(api, 2) if note.startswith("<files_changed>")]
        assert [note.splitlines()[2] for note in notes] == ["- a: lines 9"]
        assert api.refusals == []


async def test_a_review_is_reported_to_the_model_after_the_next_results(workspace: Path, connect: Connect) -> None:
    """docs/protocol.md, `feedback`: decisions during the stream reach the model after the results of that round."""
    (workspace / "a").write_text(LINES)
    go_on = threading.Event()
    calls = [edit("a", "line 2\n", "TWO\n"), edit("a", "line 8\n", "EIGHT\n")]
    turns = [
        Turn(tuple(Call(name, given) for call in calls for name, given in call.items())),
        Wait(Turn((Call("read_file", {"path": "a", "limit": 2}),)), go_on, before=1),
        DONE,
    ]
    with FakeApi(turns) as api:
        async with connect(api) as client:
            session = (await client.request("agent/sessions/create", {}))["sessionId"]
            run = asyncio.ensure_future(client.run(sessionId=session))
            await client.until(lambda: len(client.events("tool_finished")) == 2)
            first, second = [hunk["id"] for hunk in client.last("agent/edits")["files"][0]["hunks"]]
            uri = (workspace / "a").as_uri()
            target = {"uri": uri, "hunk": first}
            params = {"sessionId": session, "target": target, "reason": "two is two"}
            await client.request("agent/edits/reject", params)
            await client.request("agent/edits/accept", {"sessionId": session, "target": {"uri": uri, "hunk": second}})
            go_on.set()
            assert (await run)["stopReason"] == "end_turn"
        assert api.refusals == []
        content = api.requests[-1].body["messages"][-1]["content"]
        assert [block["type"] for block in content] == ["tool_result", "text"]
        assert content[0]["content"].startswith("line 1\nline 2\n")
        note = content[1]["text"]
        assert note.startswith("<review>\n")
        assert '- rejected in a; the lines with - stay: The reason given: "two is two"' in note
        assert "  -line 2\n  +TWO\n" in note
        assert "- accepted: a" in note
        [event] = client.events("feedback")
        assert event["text"] == note
    assert (workspace / "a").read_text() == LINES.replace("line 8", "EIGHT")
