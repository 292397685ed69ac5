"""A session outlives its server: it is saved in the client's storage folder, and restored however the server ended."""

import asyncio
import threading
from pathlib import Path

from lsp.restarts import PLAN, SHOWING, Connect, Json, Replay, edit, edits, journal, journals, kill, listed
from support.client import Client
from support.conversations import shown_texts
from support.fake_api import Call, FakeApi, Text, Turn, Wait


async def never(_: Json) -> Json:
    await asyncio.Event().wait()
    return {}


async def test_fault_22_a_session_outlives_a_kill(workspace: Path, replay: Replay, storage: Path) -> None:
    """docs/faults.md 22: after SIGKILL and a restart, the session has its plan with all versions. Its amended proposals
    apply to the current text of the file. Nothing runs again automatically, and the conversation continues. Versions
    and the numbers of events continue to increase.
    """
    file = workspace / "a.txt"
    file.write_text("one\ntwo\nthree\nfour\nfive\n")
    turns = [{"calls": [{"todo": PLAN}, *edits(("two", "TWO"), ("five", "FIVE"))]}, {"text": "Proposed."}]
    async with Client(workspace, settings=replay(*turns), storage=storage) as client:
        session = (await client.run())["sessionId"]
        uri = file.as_uri()
        amended = "one\nTWO, by hand\nthree\nfour\nFIVE\n"
        await client.request("agent/edits/amend", {"sessionId": session, "uri": uri, "text": amended})
        before, seq = client.last("agent/plan"), client.events()[-1]["seq"]
        history = await client.request("agent/plan/history", {"sessionId": session})
        await kill(client)
    file.write_text("zero\none\ntwo\nthree\nfour\nfive\n")
    async with Client(workspace, settings=replay({"text": "I remember."}), storage=storage) as client:
        await client.until(lambda: client.last("agent/edits"))
        found = client.last("agent/edits")
        assert found["sessionId"] == session
        assert [(hunk["oldStart"], hunk["itemId"], hunk["state"]) for hunk in found["files"][0]["hunks"]] == [
            (3, "1", "pending"),
            (6, "1", "pending"),
        ]
        assert client.last("agent/plan")["items"] == before["items"]
        assert client.last("agent/plan")["version"] > before["version"]
        assert await client.request("agent/plan/history", {"sessionId": session}) == history
        assert client.events() == []
        review = await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        assert {outcome["outcome"] for outcome in review["outcomes"]} == {"applied"}
        assert file.read_text() == "zero\n" + amended
        assert (await client.run(sessionId=session))["message"] == "I remember."
        assert "the user edited your proposal for a.txt" in client.events("feedback")[0]["text"]
        assert client.events()[0]["seq"] > seq


async def test_fault_02_a_new_file_keeps_its_byte_order_mark_after_a_restart(
    workspace: Path, replay: Replay, storage: Path
) -> None:
    """docs/faults.md 2: the byte order mark of a new file is saved with its proposal."""
    call = {"write_file": {"path": "a.txt", "content": "\ufeffone\n"}}
    async with Client(workspace, settings=replay({"calls": [call]}, {"text": "."}), storage=storage) as client:
        session = (await client.run())["sessionId"]
        await kill(client)
    async with Client(workspace, storage=storage) as client:
        await client.request("agent/sessions/open", {"sessionId": session})
        await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
    assert (workspace / "a.txt").read_bytes() == b"\xef\xbb\xbfone\n"


async def test_fault_22_each_call_of_an_interrupted_round_has_a_result(
    connect: Connect, workspace: Path, storage: Path
) -> None:
    """docs/faults.md 22: the server is killed during the second of three calls. The first call has its own result. The
    second result says that the call was interrupted, and contains the output so far. The third says that the call was
    not run. The session is paused, and nothing is run again.
    """
    (workspace / "a.txt").write_text("one\n")
    command = "echo ran >> runs.log; echo the beginning; sleep 100"
    calls = (
        Call("edit_file", edit("one", "ONE")),
        Call("bash", {"command": command, "unsandboxed": True}),
        Call("edit_file", edit("ONE", "1")),
    )
    answers = {"agent/approve": lambda _: {"option": "allow_once"}}
    with FakeApi(turns=[Turn(calls), Turn((Text("Going on."),))]) as api:
        options: Json = {"capabilities": SHOWING, "storage": storage, "answers": answers}
        async with connect(api, **options) as client:
            _, running = client.begin("agent/runTask", {"prompt": "Do this."})
            await client.event("tool_output")
            session = client.events()[0]["sessionId"]
            while '"the beginning' not in journals(storage)[0].read_text():
                await listed(client)
            await kill(client, running)
        async with connect(api, **options) as client:
            row = await client.until(lambda: client.last("agent/sessions") and client.last("agent/sessions"))
            assert [(one["sessionId"], one["phase"]) for one in row["sessions"]] == [(session, "paused")]
            assert len(api.requests) == 1
            await client.run("Go on.", sessionId=session)
            assert (await listed(client))["Do this."]["phase"] == "idle"
        assert (workspace / "runs.log").read_text() == "ran\n"
        results = [block["content"] for block in api.requests[1].body["messages"][2]["content"]]
        assert results[0].startswith("Proposed")
        assert "Interrupted" in results[1] and results[1].endswith("the beginning\n")
        assert results[2].startswith("Not run")
        assert api.refusals == []


async def test_fault_22_killed_twice_while_an_answer_streams(connect: Connect, workspace: Path, storage: Path) -> None:
    """docs/faults.md 22: the earlier rounds and the user's message that the model had not read yet are in the
    conversation, which the API accepts.
    """
    (workspace / "a.txt").write_text("one\n")
    never_set = threading.Event()
    cut = Wait(Turn((Text("I am about to..."),), chunk=4), never_set, before=4)
    turns = [Turn((Call("edit_file", edit("one", "ONE")),)), cut, cut, Turn((Text("All done."),))]
    with FakeApi(turns=turns) as api:
        options: Json = {"capabilities": SHOWING, "storage": storage}
        async with connect(api, **options) as client:
            _, running = client.begin("agent/runTask", {"prompt": "Do this."})
            await client.event("text")
            session = {"sessionId": client.events()[0]["sessionId"]}
            await client.request("agent/steer", {**session, "text": "Use tabs."})
            await kill(client, running)
        async with connect(api, **options) as client:
            _, running = client.begin("agent/runTask", {"prompt": "Go on.", **session})
            await client.event("text")
            await kill(client, running)
        async with connect(api, **options) as client:
            assert (await client.run("And on.", **session))["message"] == "All done."
            opened = await client.request("agent/sessions/open", session)
            assert shown_texts(opened, "prompt", "steered") == ["Do this.", "Use tabs.", "Go on.", "And on."]
            assert len(opened["edits"]["files"]) == 1
        assert api.refusals == []


async def test_fault_22_what_the_user_has_read_of_an_answer_is_shown_after_a_kill(
    connect: Connect, storage: Path
) -> None:
    """docs/faults.md 22: what streams in is saved within a second, not only at the end of the answer."""
    later = threading.Event()
    held = Wait(Turn((Text("Once upon a time"),), chunk=4), later, before=4)
    cut = Wait(held, threading.Event(), before=6)
    with FakeApi(turns=[cut]) as api:
        options: Json = {"capabilities": SHOWING, "storage": storage}
        async with connect(api, **options) as client:
            _, running = client.begin("agent/runTask", {"prompt": "Tell a story."})
            await client.event("text", text="Once")
            later.set()
            await client.until(lambda: "".join(event["text"] for event in client.events("text")) == "Once upon a ")
            session = {"sessionId": client.events()[0]["sessionId"]}
            async with asyncio.timeout(20):
                while "upon" not in journal(storage, session["sessionId"]).read_text():  # noqa: ASYNC110  the server writes it
                    await asyncio.sleep(0.02)
            await kill(client, running)
        async with connect(api, **options) as client:
            opened = await client.request("agent/sessions/open", session)
            assert "".join(shown_texts(opened, "text")) == "Once upon a "


async def test_fault_22_killed_while_an_accept_is_under_way(workspace: Path, replay: Replay, storage: Path) -> None:
    """docs/faults.md 22: the server is killed before the editor answers, but the editor applies the edit. After the
    restart, only the other file is still proposed.
    """
    (workspace / "a.txt").write_text("one\n")
    (workspace / "b.txt").write_text("one\n")
    other = {"edit_file": {**edit("one", "ONE"), "path": "b.txt"}}
    settings = replay({"calls": [*edits(("one", "ONE")), other]}, {"text": "."})
    asked = asyncio.Event()

    async def slow(_: Json) -> Json:
        asked.set()
        return await never({})

    options: Json = {"settings": settings, "storage": storage}
    async with Client(workspace, answers={"workspace/applyEdit": slow}, **options) as client:
        session = {"sessionId": (await client.run())["sessionId"]}
        target = {"target": {"uri": (workspace / "a.txt").as_uri()}}
        _, accepting = client.begin("agent/edits/accept", {**session, **target})
        await asked.wait()
        await kill(client, accepting)
    (workspace / "a.txt").write_text("ONE\n")  # the editor applied it after all
    async with Client(workspace, **options) as client:
        await client.until(lambda: client.last("agent/edits"))
        left = (await client.request("agent/sessions/open", session))["edits"]["files"]
        assert [file["uri"] for file in left] == [(workspace / "b.txt").as_uri()]
