"""A session outlives its server: journalled in the client's storage folder, there after a restart, however it ended."""

import asyncio
import os
import re
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from watchfiles import awatch

from support.client import EDITOR, Client
from support.fake_api import Call, FakeApi, Text, Turn, Wait

Json = dict[str, Any]
Replay = Callable[..., Json]
Connect = Callable[..., Client]

KEY = "test-key"
DAY = 86_400.0
SHOWING = {**EDITOR, "experimental": {"agent": {"approvals": True, "questions": True, "sessions": True}}}
PLAN = {"items": [{"content": "Greet 世界", "status": "in_progress", "activeForm": "Greeting"}]}
DONE = {"items": [{"content": "Greet 世界", "status": "completed", "activeForm": "Greeting"}]}


def edit(old: str, new: str) -> Json:
    return {"path": "a.txt", "old_text": old, "new_text": new}


def edits(*pairs: tuple[str, str]) -> list[Json]:
    return [{"edit_file": edit(old, new)} for old, new in pairs]


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    return tmp_path / "storage"


def journals(storage: Path) -> list[Path]:
    return sorted((storage / "sessions").glob("*.jsonl"))


def journal(storage: Path, session: str) -> Path:
    return storage / "sessions" / f"{session}.jsonl"


async def kill(client: Client, *broken_off: asyncio.Future[Any]) -> None:
    client.process.kill()
    await client.process.wait()
    for answer in broken_off:
        with pytest.raises(ConnectionError):
            await answer


async def listed(client: Client) -> dict[str, Json]:
    """The rows by title."""
    return {row["title"]: row for row in (await client.request("agent/sessions/list", {}))["sessions"]}


async def never(_: Json) -> Json:
    await asyncio.Event().wait()
    return {}


async def test_fault_22_a_session_outlives_a_kill(workspace: Path, replay: Replay, storage: Path) -> None:
    """docs/faults.md 22: after SIGKILL and a restart session, plan with its versions and proposals are there, an
    amendment too, on the file as it is now; nothing is run again by itself, and the conversation goes on; versions
    and the events' numbers go on growing."""
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
        assert "changed by hand in your proposal for a.txt" in client.events("feedback")[0]["text"]
        assert client.events()[0]["seq"] > seq


async def test_fault_22_a_tool_that_was_interrupted_has_its_result(
    connect: Connect, workspace: Path, storage: Path
) -> None:
    """docs/faults.md 22: killed in the second of three calls: the first has its result, the second says that it was
    interrupted and what it wrote so far, the third that it was not run. The session is paused; nothing ran again."""
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
            while '"output":"the beginning' not in journals(storage)[0].read_text():
                await listed(client)
            await kill(client, running)
        async with connect(api, **options) as client:
            row = await client.until(lambda: client.last("agent/sessions") and client.last("agent/sessions"))
            assert [(one["sessionId"], one["state"]) for one in row["sessions"]] == [(session, "paused")]
            assert len(api.requests) == 1
            await client.run("Go on.", sessionId=session)
            assert (await listed(client))["Do this."]["state"] == "idle"
        assert (workspace / "runs.log").read_text() == "ran\n"
        results = [block["content"] for block in api.requests[1].body["messages"][2]["content"]]
        assert results[0].startswith("Proposed")
        assert "Interrupted" in results[1] and results[1].endswith("the beginning\n")
        assert results[2].startswith("Not run")
        assert api.refusals == []


async def test_fault_22_killed_in_a_stream_and_between_rounds(connect: Connect, workspace: Path, storage: Path) -> None:
    """docs/faults.md 22: killed while an answer streams, twice: the rounds before it are in the conversation, which
    the API accepts; a word to the run that it had not heard yet is heard."""
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
            said = [line["text"] for line in opened["transcript"] if line["role"] == "user"]
            assert said == ["Do this.", "Go on.", "Use tabs.", "And on."]
            assert len(opened["edits"]["files"]) == 1
        assert api.refusals == []


async def test_fault_22_killed_while_an_accept_is_under_way(workspace: Path, replay: Replay, storage: Path) -> None:
    """docs/faults.md 22: the server dies before the editor has answered; what the editor did then is taken as it is,
    and nothing is proposed twice."""
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
    (workspace / "a.txt").write_text("ONE\n")  # the editor came to it after all
    async with Client(workspace, **options) as client:
        await client.until(lambda: client.last("agent/edits"))
        left = (await client.request("agent/sessions/open", session))["edits"]["files"]
        assert [file["uri"] for file in left] == [(workspace / "b.txt").as_uri()]


async def test_undo_outlives_a_kill(workspace: Path, replay: Replay, storage: Path) -> None:
    """What was decided can be taken back after a restart, and done again: an accept, in the file, and a rejection; and
    what was rejected is refused when it comes again."""
    (workspace / "a.txt").write_text("one\ntwo\n")
    (workspace / "b.txt").write_text("one\n")
    other = {"edit_file": {**edit("one", "ONE"), "path": "b.txt"}}
    settings = replay({"calls": [*edits(("one", "ONE")), other]}, {"text": "."})
    async with Client(workspace, settings=settings, storage=storage) as client:
        session = {"sessionId": (await client.run())["sessionId"]}
        await client.request("agent/edits/accept", {**session, "target": {"uri": (workspace / "a.txt").as_uri()}})
        await client.request("agent/edits/reject", {**session, "target": {"all": True}, "reason": "No."})
        await kill(client)
    settings = replay({"calls": [other]}, {"text": "."})
    async with Client(workspace, settings=settings, storage=storage) as client:
        await client.run("Again.", **session)
        assert "rejected this same change before. The reason given: No." in client.events("tool_finished")[0]["text"]
        edits_now = (await client.request("agent/edits/undo", session))["edits"]
        assert [file["uri"] for file in edits_now["files"]] == [(workspace / "b.txt").as_uri()]
        await client.request("agent/edits/undo", session)
        assert (workspace / "a.txt").read_text() == "one\ntwo\n"
        await kill(client)
    async with Client(workspace, settings=settings, storage=storage) as client:
        await client.request("agent/edits/redo", session)
        assert (workspace / "a.txt").read_text() == "ONE\ntwo\n"


async def test_the_persons_plan_outlives_a_kill(connect: Connect, storage: Path) -> None:
    """What the person did to the plan between runs is told after a restart, and a step that they dropped stays out."""
    back = {"items": [{"content": "Go"}, {"content": "Stay"}]}
    turns = [
        Turn((Call("todo", back),)),
        Turn((Text("."),)),
        Turn((Call("todo", back),)),
        Turn((Text("."),)),
    ]
    with FakeApi(turns=turns) as api:
        async with connect(api, storage=storage) as client:
            session = {"sessionId": (await client.run())["sessionId"]}
            ops = [{"op": "remove", "id": "2"}]
            revision = client.last("agent/plan")["revision"]
            await client.request("agent/plan/edit", {**session, "revision": revision, "ops": ops})
            await kill(client)
        async with connect(api, storage=storage) as client:
            await client.run("Go on.", **session)
            assert "The user changed the plan" in client.events("feedback")[0]["text"]
            refused = client.events("tool_finished")[0]
            assert refused["isError"] and "dropped this step (Stay)" in refused["text"]
        assert api.refusals == []


async def test_sessions_at_rest_are_listed_and_come_back_when_asked_for(
    workspace: Path, replay: Replay, storage: Path
) -> None:
    """With nothing left to decide, a session is in the list of the next server, the newest first; opened, its
    conversation is there, and it can be gone on with; deleted, it is gone with its file."""
    settings = replay({"calls": [{"todo": DONE}]}, {"text": "First."}, {"text": "Second."})
    async with Client(workspace, settings=settings, storage=storage) as client:
        first = (await client.run("The first"))["sessionId"]
        second = (await client.run("The second"))["sessionId"]
        before = await client.request("agent/sessions/list", {})
    async with Client(workspace, settings=replay({"text": "Third."}), storage=storage) as client:
        assert await client.request("agent/sessions/list", {}) == before
        assert [row["sessionId"] for row in before["sessions"]] == [second, first]
        assert client.all("agent/plan") == []
        opened = await client.request("agent/sessions/open", {"sessionId": first})
        assert [line["text"] for line in opened["transcript"]] == ["The first", "todo", "First."]
        assert (opened["plan"]["completed"], opened["state"]) == (1, "idle")
        assert (await client.run("And?", sessionId=first))["message"] == "Third."
        assert list(await listed(client)) == ["The first", "The second"]
        await client.request("agent/sessions/delete", {"sessionId": second})
        assert [path.stem for path in journals(storage)] == [first]
        assert [path.name for path in (storage / "sessions").iterdir() if second in path.name] == []
        assert (await client.error("agent/sessions/open", {"sessionId": second})).code == -32602


async def test_another_workspace_does_not_see_them(
    tmp_path: Path, workspace: Path, replay: Replay, storage: Path
) -> None:
    """One storage folder, two workspaces: each has its own sessions."""
    (workspace / "a.txt").write_text("one\n")
    settings = replay({"calls": edits(("one", "1"))}, {"text": "."})
    async with Client(workspace, settings=settings, storage=storage) as client:
        await client.run()
    other = tmp_path / "other"
    other.mkdir()
    async with Client(other, settings=replay({"text": "."}), storage=storage) as client:
        assert await listed(client) == {}
        assert client.last("agent/edits") is None
    async with Client(workspace, settings=replay({"text": "."}), storage=storage) as client:
        await client.until(lambda: client.last("agent/edits"))


async def test_fault_46_two_windows_share_no_journal(workspace: Path, replay: Replay, storage: Path) -> None:
    """docs/faults.md 46: two servers on one workspace and one storage, both with a run: neither has a proposal or a
    line of the other; what one has open the other neither shows nor takes, and gets when the first is gone."""
    (workspace / "a.txt").write_text("one\ntwo\n")
    first = replay({"calls": edits(("one", "ONE"))}, {"text": "."})
    async with Client(workspace, settings=first, capabilities=SHOWING, storage=storage) as one:
        mine = (await one.run("The first"))["sessionId"]
        second = replay({"calls": edits(("two", "TWO"))}, {"text": "."})
        async with Client(workspace, settings=second, capabilities=SHOWING, storage=storage) as other:
            theirs = (await other.run("The second"))["sessionId"]
            assert list(await listed(one)) == ["The first"]
            assert list(await listed(other)) == ["The second"]
            assert {edits["sessionId"] for edits in other.all("agent/edits")} == {theirs}
            assert (await other.error("agent/runTask", {"prompt": "x", "sessionId": mine})).code == -32803
            texts = {path.stem: path.read_text() for path in journals(storage)}
            assert ("ONE" in texts[mine], "TWO" in texts[mine]) == (True, False)
            assert ("ONE" in texts[theirs], "TWO" in texts[theirs]) == (False, True)
            await kill(one)
            await other.until(lambda: "The first" in str(other.last("agent/sessions")))
            assert {edits["sessionId"] for edits in other.all("agent/edits")} == {mine, theirs}


async def test_a_client_that_wants_one_task_takes_no_other(workspace: Path, replay: Replay, storage: Path) -> None:
    """`restore: false`: nothing comes back by itself, all are listed, those of another process too, and each comes back
    for the request that names it, unless the other process has it still."""
    (workspace / "a.txt").write_text("one\ntwo\n")
    first, second = edits(("one", "ONE")), edits(("two", "TWO"))
    settings = replay({"calls": [{"todo": PLAN}, *first]}, {"text": "."}, {"calls": second}, {"text": "."})
    options: Json = {"settings": settings, "capabilities": SHOWING, "storage": storage}
    async with Client(workspace, **options) as one:
        mine = (await one.run("The first"))["sessionId"]
        async with Client(workspace, **options, restore=False) as other:
            row = (await listed(other))["The first"]
            assert row["sessionId"] == mine
            assert (row["state"], row["completed"], row["total"], row["pendingFiles"]) == ("idle", 0, 1, 1)
            refused = await other.error("agent/sessions/open", {"sessionId": mine})
            assert (refused.code, "another window or terminal" in refused.message) == (-32803, True)
            await other.run("The second")
            await kill(one)
            assert len((await other.request("agent/sessions/open", {"sessionId": mine}))["edits"]["files"]) == 1
        async with Client(workspace, **options, restore=False) as other:
            assert list(await listed(other)) == ["The second", "The first"]
            assert other.all("agent/edits") == []


async def test_no_folder_to_write_to(workspace: Path, replay: Replay, tmp_path: Path) -> None:
    """A storage folder that cannot be written: the person is told once, and the run goes on in memory."""
    (workspace / "a.txt").write_text("one\n")
    blocked = tmp_path / "file"
    blocked.write_text("")
    settings = replay({"calls": edits(("one", "1"))}, {"text": "."}, {"text": "."})
    async with Client(workspace, settings=settings, storage=blocked) as client:
        session = await client.run()
        assert session["stopReason"] == "end_turn"
        assert len(client.last("agent/edits")["files"]) == 1
        await client.run("Again.", sessionId=session["sessionId"])
        told = client.all("window/showMessage")
        assert ["cannot be kept for the next start" in one["message"] for one in told] == [True]


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("unshare") is None, reason="needs a small file system")
async def test_a_full_disk(workspace: Path, replay: Replay, tmp_path: Path) -> None:
    """The storage is full in the middle of a run: said once, the run goes on, and the server's end is orderly."""
    (workspace / "a.txt").write_text("one\n")
    big = "x" * 400_000
    turns = [{"calls": [{"write_file": {"path": f"f{n}.txt", "content": f"{n}{big}"}}]} for n in range(6)]
    storage = tmp_path / "small"
    storage.mkdir()
    mount = f"mount -t tmpfs -o size=1m small {storage}"
    probe = await asyncio.create_subprocess_exec("unshare", "-rm", "sh", "-c", mount, stderr=asyncio.subprocess.DEVNULL)
    if await probe.wait() != 0:
        pytest.skip("no small file system can be mounted here")
    client = Client(workspace, settings=replay(*turns, {"text": "."}), storage=storage)
    client.command = ["unshare", "-rm", "sh", "-c", f'{mount} && exec "$@"', "sh", *client.command]
    async with client:
        assert (await client.run())["stopReason"] == "end_turn"
        assert len(client.last("agent/edits")["files"]) == 6
        told = [one["message"] for one in client.all("window/showMessage")]
        assert ["cannot be kept for the next start" in text for text in told] == [True]


@pytest.mark.parametrize("how", ["while it is quiet", "as it ends"])
async def test_room_again_keeps_what_could_not_be_written(
    workspace: Path, replay: Replay, tmp_path: Path, how: str
) -> None:
    """docs/faults.md 22: what was said to be tried again is, also where nothing happens in the task any more."""
    (workspace / "a.txt").write_text("one\n")
    blocked = tmp_path / "file"
    blocked.write_text("")
    settings = replay({"calls": edits(("one", "1"))}, {"text": "."})
    client = Client(workspace, settings=settings, storage=blocked)
    async with client:
        session = (await client.run())["sessionId"]
        blocked.unlink()
        if how == "while it is quiet":
            async for _ in awatch(tmp_path, rust_timeout=200, yield_on_timeout=True):
                if list(blocked.glob("sessions/*.jsonl")):
                    break
            client.process.kill()
            await client.process.wait()
    async with Client(workspace, settings=settings, storage=blocked) as again:
        opened = await again.request("agent/sessions/open", {"sessionId": session})
        assert len(opened["edits"]["files"]) == 1


DAMAGED = {
    "a row that is none": '{"row":["t","never",0,0]}\n',
    "a time that is none": '{"at":1.0,"phase":["running",1e300]}\n',
    "a message that is none": '{"at":1.0,"messages":[0,[{"role":"user","content":"plain"}]]}\n',
    "a plan that is none": '{"at":1.0,"plan":{"rounds":0,"version":"x","revision":null,"items":[]}}\n',
    "brackets": "[" * 100_000 + "\n",
}


@pytest.mark.parametrize("line", DAMAGED.values(), ids=DAMAGED)
async def test_a_damaged_file_hides_no_other_task(workspace: Path, replay: Replay, storage: Path, line: str) -> None:
    """docs/faults.md 22: the others are there and listed, whatever one of them says."""
    (workspace / "a.txt").write_text("one\n")
    settings = replay({"calls": edits(("one", "1"))}, {"text": "."})
    async with Client(workspace, settings=settings, storage=storage) as client:
        session = (await client.run())["sessionId"]
    good = storage / "sessions" / f"{session}.jsonl"
    damaged = good.with_name("bad000000000.jsonl")
    damaged.write_text(good.read_text() + line)
    said = damaged.read_text()
    async with Client(workspace, settings=settings, storage=storage) as client:
        rows = (await client.request("agent/sessions/list", {}))["sessions"]
        assert session in [row["sessionId"] for row in rows]
        opened = await client.request("agent/sessions/open", {"sessionId": session})
        assert len(opened["edits"]["files"]) == 1
        told = [one["message"] for one in client.all("window/showMessage")]
        left = len(rows) == 2 or (damaged.read_text() == said and "cannot be read" in " ".join(told))
        assert left, "neither there nor named"


async def test_what_cannot_be_read_is_left_alone(workspace: Path, replay: Replay, storage: Path) -> None:
    """A foreign file and one of a later format: the server starts, the person is told, and neither is touched; a torn
    last line is dropped."""
    folder = storage / "sessions"
    folder.mkdir(parents=True)
    head = f'{{"format":1,"id":"torn","root":"{workspace}"}}\n'
    torn = head + '{"at":1.0,"title":"Torn","phase":["running",1.0]}\n{"at":2.0,"title":"Th'
    odd = {"list.jsonl": "[1]\n", "later.jsonl": '{"format": 99}\n', "bad.jsonl": head + '{"plan": 3}\n'}
    for name, text in {**odd, "torn.jsonl": torn}.items():
        (folder / name).write_text(text)
    async with Client(workspace, settings=replay({"text": "Fine."}), storage=storage) as client:
        found = await listed(client)
        assert {title: row["state"] for title, row in found.items()} == {"Torn": "paused"}
        assert (await client.run())["stopReason"] == "end_turn"
        told = [one["message"] for one in client.all("window/showMessage")]
        assert sorted(name for name in ("list", "later", "bad", "torn") if f"task {name} " in " ".join(told)) == [
            "bad", "later", "list",
        ]  # fmt: skip
    assert {name: (folder / name).read_text() for name in odd} == odd


async def test_old_sessions_are_pruned(connect: Connect, workspace: Path, replay: Replay, storage: Path) -> None:
    """`sessions.keepDays`: what is at rest for longer goes at the next start; what is pending stays however old it is.
    With 0 nothing outlives the process."""
    (workspace / "a.txt").write_text("one\n")
    said = Turn((Text("."),))
    turns = [said, Turn((Call("edit_file", edit("one", "1")),)), said, said]
    with FakeApi(turns=turns) as api:
        async with connect(api, storage=storage) as client:
            old = [(await client.run(title))["sessionId"] for title in ("Old and done", "Old and pending")]
            await client.run("New")
    for session in old:
        path = storage / "sessions" / f"{session}.jsonl"
        path.write_text(re.sub(r"\b1[67]\d{8}\.\d+", lambda when: str(float(when[0]) - 31 * DAY), path.read_text()))
    settings = replay({"text": "."})
    async with Client(workspace, settings=settings, storage=storage) as client:
        assert set(await listed(client)) == {"Old and pending", "New"}
    async with Client(workspace, settings={**settings, "sessions": {"keepDays": 0}}, storage=storage) as client:
        assert set(await listed(client)) == {"Old and pending"}
        await client.run("Not kept")
        assert set(await listed(client)) == {"Old and pending", "Not kept"}
    async with Client(workspace, settings=settings, storage=storage) as client:
        assert set(await listed(client)) == {"Old and pending"}


async def test_other_workspaces_are_forgotten(tmp_path: Path, replay: Replay, storage: Path) -> None:
    """Of a workspace that nobody opens again, what is at rest goes after the same time; what is undecided goes with its
    folder, but not before."""
    settings = replay({"calls": [{"write_file": {"path": "a.txt", "content": "one\n"}}]}, {"text": "."})
    kept: dict[str, Path] = {}
    for name in ("here", "there", "gone"):
        folder = tmp_path / name
        folder.mkdir()
        async with Client(folder, settings=settings, storage=storage) as client:
            undecided, decided = [(await client.run(name))["sessionId"] for _ in range(2)]
            await client.request("agent/edits/reject", {"sessionId": decided, "target": {"all": True}})
            kept |= {name: journal(storage, undecided), f"{name}, at rest": journal(storage, decided)}
    (tmp_path / "gone").rename(tmp_path / "moved")
    async with Client(tmp_path / "here", settings=settings, storage=storage) as client:
        await listed(client)
        assert [name for name, path in kept.items() if not path.exists()] == []
    for path in kept.values():
        path.write_text(re.sub(r"\b1[67]\d{8}\.\d+", lambda when: str(float(when[0]) - 31 * DAY), path.read_text()))
        os.utime(path, (0, 0))
    async with Client(tmp_path / "here", settings=settings, storage=storage) as client:
        await listed(client)
        assert [name for name, path in kept.items() if path.exists()] == ["here", "there"]


async def test_fault_40_no_key_in_the_journals(connect: Connect, storage: Path) -> None:
    """docs/faults.md 40: the key that the server was given is in no file of the storage, whatever the model does and
    the server is told."""
    calls = Turn((Call("bash", {"command": "env; cat /proc/self/environ"}), Call("read_file", {"path": "no.txt"})))
    answers = {"agent/approve": lambda _: {"option": "allow_once"}}
    with FakeApi(turns=[calls, Turn((Text("."),))], key=KEY) as api:
        async with connect(api, storage=storage, answers=answers) as client:
            await client.request("agent/credentials", {"apiKey": KEY})
            await client.run("Do this.")
            await kill(client)
    files = [path for path in storage.rglob("*") if path.is_file()]
    assert any(b"Do this." in path.read_bytes() for path in files)
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert {oct(path.stat().st_mode & 0o077) for path in files if os.name == "posix"} == {"0o0"}
