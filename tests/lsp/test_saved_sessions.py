"""Saved sessions: which server sees them, when they are deleted, and what is never saved."""

import contextlib
import os
import re
from pathlib import Path

import pytest

from lsp.restarts import (
    PLAN,
    SHOWING,
    Connect,
    Json,
    Replay,
    edit,
    edits,
    journal,
    journals,
    kill,
    listed,
    open_elsewhere,
)
from support.client import Client, WireError
from support.conversations import shown_texts
from support.fake_api import Call, FakeApi, Text, Turn

KEY = "test-key"
DAY = 86_400.0
DONE = {"items": [{"content": "Greet 世界", "status": "completed", "activeForm": "Greeting"}]}


async def test_finished_sessions_are_listed_and_can_be_opened(workspace: Path, replay: Replay, storage: Path) -> None:
    """After a restart, finished sessions are listed, the newest first. Each can be opened with its conversation,
    continued, and deleted with its file."""
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
        assert shown_texts(opened, "prompt", "text") == ["The first", "First."]
        assert (opened["plan"]["completed"], opened["phase"]) == (1, "idle")
        assert (await client.run("And?", sessionId=first))["message"] == "Third."
        assert list(await listed(client)) == ["The first", "The second"]
        await client.request("agent/sessions/delete", {"sessionId": second})
        assert [path.stem for path in journals(storage)] == [first]
        assert [path.name for path in (storage / "sessions").iterdir() if second in path.name] == []
        assert (await client.error("agent/sessions/open", {"sessionId": second})).code == -32602


async def test_fault_46_two_windows_share_no_journal(workspace: Path, replay: Replay, storage: Path) -> None:
    """docs/faults.md 46: two servers run on one workspace and one storage. Neither sees proposals or text of the
    other. Each lists the sessions that the other has open, also those that began later, and gets them when the other
    has ended."""
    (workspace / "a.txt").write_text("one\ntwo\n")
    first = replay({"calls": edits(("one", "ONE"))}, {"text": "."})
    async with Client(workspace, settings=first, capabilities=SHOWING, storage=storage) as one:
        mine = (await one.run("The first"))["sessionId"]
        second = replay({"calls": edits(("two", "TWO"))}, {"text": "."})
        async with Client(workspace, settings=second, capabilities=SHOWING, storage=storage) as other:
            theirs = (await other.run("The second"))["sessionId"]
            assert await open_elsewhere(one) == {"The second": True, "The first": False}
            assert await open_elsewhere(other) == {"The second": False, "The first": True}
            assert (await listed(other))["The first"]["pendingFiles"] == 1
            assert {edits["sessionId"] for edits in other.all("agent/edits")} == {theirs}
            assert (await other.error("agent/runTask", {"prompt": "x", "sessionId": mine})).code == -32803
            texts = {path.stem: path.read_text() for path in journals(storage)}
            assert ("ONE" in texts[mine], "TWO" in texts[mine]) == (True, False)
            assert ("ONE" in texts[theirs], "TWO" in texts[theirs]) == (False, True)
            await kill(one)
            await other.until(lambda: mine in [edits["sessionId"] for edits in other.all("agent/edits")])
            assert await open_elsewhere(other) == {"The second": False, "The first": False}
            assert {edits["sessionId"] for edits in other.all("agent/edits")} == {mine, theirs}


async def test_a_finished_session_can_be_opened_when_the_other_window_has_ended(
    workspace: Path, replay: Replay, storage: Path
) -> None:
    """A finished session is refused while another server has it open. When that server ends, the client is notified
    and can open it (as when a window is reloaded and its earlier server still runs)."""
    settings = replay({"calls": [{"todo": PLAN}]}, {"text": "."})
    async with Client(workspace, settings=settings, storage=storage) as one:
        mine = (await one.run("The first"))["sessionId"]
        async with Client(workspace, settings=settings, storage=storage) as other:
            assert await open_elsewhere(other) == {"The first": True}
            assert (await other.error("agent/sessions/open", {"sessionId": mine})).code == -32803
            assert (await other.error("agent/sessions/open", {"sessionId": mine})).code == -32803
            await kill(one)
            await other.until(lambda: other.last("agent/plan"))
            opened = await other.request("agent/sessions/open", {"sessionId": mine})
            assert shown_texts(opened, "prompt", "text") == ["The first", "."]
            assert await open_elsewhere(other) == {"The first": False}


async def until_open_elsewhere(client: Client, expected: list[bool]) -> None:
    """Waits until the latest list of sessions has these values of `openElsewhere`. None may have arrived yet."""

    def found() -> bool:
        latest = client.all("agent/sessions")[-1:]
        return [row["openElsewhere"] for sessions in latest for row in sessions["sessions"]] == expected

    await client.until(found)


async def test_a_finished_session_that_another_window_opens_later(
    workspace: Path, replay: Replay, storage: Path
) -> None:
    """The next list says so, and so does the list that follows a refused request. A deleted session is not listed. One
    that nobody requested is only listed when the other window has ended."""
    settings = replay({"text": "."})
    async with Client(workspace, settings=settings, storage=storage) as client:
        opened, deleted = [(await client.run(title))["sessionId"] for title in ("Opened", "Deleted")]
    options: Json = {"settings": settings, "capabilities": SHOWING, "storage": storage}
    async with Client(workspace, **options) as other:
        async with Client(workspace, **options) as one:
            assert await open_elsewhere(other) == {"Deleted": False, "Opened": False}
            await one.request("agent/sessions/open", {"sessionId": opened})
            assert await open_elsewhere(other) == {"Deleted": False, "Opened": True}
            await one.request("agent/sessions/open", {"sessionId": deleted})
            assert (await other.error("agent/sessions/open", {"sessionId": deleted})).code == -32803
            await until_open_elsewhere(other, [True, True])
            await one.request("agent/sessions/delete", {"sessionId": deleted})
            assert list(await listed(one)) == ["Opened"]
            await until_open_elsewhere(other, [True])
        await until_open_elsewhere(other, [False])
        assert other.all("agent/plan") == []


@pytest.mark.parametrize("is_seen", [True, False])
async def test_a_finished_session_that_another_window_continued_is_restored(
    workspace: Path, replay: Replay, storage: Path, is_seen: bool
) -> None:
    """With the changes to review that the other window left, whether or not this one saw the session in use. A session
    that the other window deleted is no longer listed."""
    (workspace / "a.txt").write_text("one\n")
    nothing = replay({"text": "."})
    async with Client(workspace, settings=nothing, storage=storage) as client:
        continued, deleted = [(await client.run(title))["sessionId"] for title in ("Continued", "Deleted")]
    options: Json = {"capabilities": SHOWING, "storage": storage}
    async with Client(workspace, settings=nothing, **options) as other:
        assert len(await listed(other)) == 2
        async with Client(
            workspace, settings=replay({"calls": edits(("one", "ONE"))}, {"text": "."}), **options
        ) as one:
            await one.run("More", sessionId=continued)
            await one.request("agent/sessions/delete", {"sessionId": deleted})
            if is_seen:
                assert await open_elsewhere(other) == {"Continued": True}
        if not is_seen:
            await other.request("agent/sessions/list", {})
        await other.until(lambda: other.all("agent/edits"))
        [row] = (await listed(other)).values()
        assert (row["sessionId"], row["pendingFiles"], row["openElsewhere"]) == (continued, 1, False)


async def test_a_session_is_listed_once_if_the_request_that_loads_it_is_cancelled(
    workspace: Path, replay: Replay, storage: Path
) -> None:
    """The session is loaded although the answer is no longer wanted."""
    settings = replay({"calls": [{"todo": DONE}]}, {"text": "."})
    async with Client(workspace, settings=settings, storage=storage) as client:
        session = (await client.run("The first"))["sessionId"]
    async with Client(workspace, settings=settings, storage=storage) as client:
        number, answer = client.begin("agent/sessions/open", {"sessionId": session})
        client.notify("$/cancelRequest", {"id": number})
        with contextlib.suppress(WireError):
            await answer
        await client.until(lambda: client.last("agent/plan"))
        rows = (await client.request("agent/sessions/list", {}))["sessions"]
        assert [row["sessionId"] for row in rows] == [session]


async def test_fault_52_a_window_closes_while_another_ones_session_comes_free(
    workspace: Path, replay: Replay, storage: Path
) -> None:
    """docs/faults.md 52: a server that is ending does not take over sessions of a killed one, and ends cleanly."""
    (workspace / "a.txt").write_text("one\n")
    first = replay({"calls": edits(("one", "ONE"))}, {"text": "."})
    async with Client(workspace, settings=first, storage=storage) as one:
        await one.run("The first")
        # so this server needs a second to end, in which it searches for the other session again
        stubborn = {"bash": {"command": "trap '' TERM; echo on; while true; do sleep 9; done", "background": True}}
        second = replay({"calls": [stubborn]}, {"text": "."})
        allow = {"agent/approve": lambda _: {"option": "allow_once"}}  # where there is no sandbox
        async with Client(workspace, settings=second, storage=storage, answers=allow) as other:
            await other.run("The second")
            await other.until(lambda: "on" in other.text("tool_output"))
            await kill(one)


async def test_a_client_that_restores_no_session_can_open_any(workspace: Path, replay: Replay, storage: Path) -> None:
    """`restore: false`: all sessions are listed, also those of other processes. Each is restored by a request that
    names it, unless another process has it open."""
    (workspace / "a.txt").write_text("one\ntwo\n")
    first, second = edits(("one", "ONE")), edits(("two", "TWO"))
    settings = replay({"calls": [{"todo": PLAN}, *first]}, {"text": "."}, {"calls": second}, {"text": "."})
    options: Json = {"settings": settings, "capabilities": SHOWING, "storage": storage}
    async with Client(workspace, **options) as one:
        mine = (await one.run("The first"))["sessionId"]
        async with Client(workspace, **options, restore=False) as other:
            row = (await listed(other))["The first"]
            assert row["sessionId"] == mine
            assert (row["phase"], row["completed"], row["total"], row["pendingFiles"]) == ("idle", 0, 1, 1)
            assert row["openElsewhere"]
            refused = await other.error("agent/sessions/open", {"sessionId": mine})
            assert (refused.code, "another window or terminal" in refused.message) == (-32803, True)
            uri = f"fairlead-proposed://{mine}{(workspace / 'a.txt').as_posix()}"
            assert refused.message in (await other.request("workspace/textDocumentContent", {"uri": uri}))["text"]
            await other.run("The second")
            await kill(one)
            assert not (await listed(other))["The first"]["openElsewhere"]
            assert len((await other.request("agent/sessions/open", {"sessionId": mine}))["edits"]["files"]) == 1
        async with Client(workspace, **options, restore=False) as other:
            assert list(await listed(other)) == ["The second", "The first"]
            assert other.all("agent/edits") == []


async def test_old_sessions_are_deleted(connect: Connect, workspace: Path, replay: Replay, storage: Path) -> None:
    """`sessions.keepDays`: older finished sessions are deleted at the next start. Undecided ones stay at any age.
    With 0, finished sessions end with the process."""
    (workspace / "a.txt").write_text("one\n")
    done = Turn((Text("."),))
    turns = [done, Turn((Call("edit_file", edit("one", "1")),)), done, done]
    with FakeApi(turns=turns) as api:
        async with connect(api, storage=storage) as client:
            old = [(await client.run(title))["sessionId"] for title in ("Old and done", "Old and pending")]
            await client.run("New")
    for session in old:
        path = storage / "sessions" / f"{session}.jsonl"
        path.write_text(re.sub(r"\b1[67]\d{8}\.\d+", lambda when: str(float(when[0]) - 31 * DAY), path.read_text()))
        os.utime(path, (0, 0))
    settings = replay({"text": "."})
    async with Client(workspace, settings=settings, storage=storage) as client:
        assert set(await listed(client)) == {"Old and pending", "New"}
    async with Client(workspace, settings={**settings, "sessions": {"keepDays": 0}}, storage=storage) as client:
        assert set(await listed(client)) == {"Old and pending"}
        await client.run("Not kept")
        assert set(await listed(client)) == {"Old and pending", "Not kept"}
    async with Client(workspace, settings=settings, storage=storage) as client:
        assert set(await listed(client)) == {"Old and pending"}


async def test_old_sessions_of_other_workspaces_are_deleted_too(tmp_path: Path, replay: Replay, storage: Path) -> None:
    """Finished sessions of other workspaces are deleted after the same time. Undecided ones stay, even if their folder
    is absent, for example because its drive was removed."""
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
        assert [name for name, path in kept.items() if path.exists()] == ["here", "there", "gone"]


async def test_opening_two_folders_together_deletes_no_session(tmp_path: Path, replay: Replay, storage: Path) -> None:
    """The limit on the number of finished sessions applies to each folder separately."""
    folders = [tmp_path / "one", tmp_path / "two"]
    settings = replay({"text": "."})
    for folder in folders:
        folder.mkdir()
        async with Client(folder, settings=settings, storage=storage) as client:
            saved = journal(storage, (await client.run(folder.name))["sessionId"])
        for number in range(120):
            saved.with_stem(f"{folder.name}{number}").write_bytes(saved.read_bytes())
    async with Client(folders[0], settings=settings, storage=storage, more_folders=folders[1:]) as client:
        assert len((await client.request("agent/sessions/list", {}))["sessions"]) == 242


async def test_fault_40_no_key_in_the_journals(connect: Connect, storage: Path) -> None:
    """docs/faults.md 40: no file of the storage contains the key, although the client has sent it to the server and the
    model has run a command that prints environment variables.
    """
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


async def test_fault_147_the_sessions_of_a_renamed_folder_are_adopted(
    tmp_path: Path, replay: Replay, storage: Path
) -> None:
    """docs/faults.md 147: they are offered and not listed until the client adopts them. Then their paths lead to the
    new folder: a proposal is accepted there, and one for a text that has changed is in conflict. The sessions of a
    folder that exists are not offered."""
    former, folder, other = (tmp_path / name for name in ("former", "renamed", "other"))
    settings = replay({"calls": edits(("one", "1"), ("three", "3"))}, {"text": "."})
    for place in (former, other):
        place.mkdir()
        (place / "a.txt").write_text("one\n\n\ntwo\n\n\nthree\n")
        async with Client(place, settings=settings, storage=storage) as client:
            await client.run(place.name)
    former.rename(folder)
    (folder / "a.txt").write_text("one\n\n\ntwo\n\n\nTHREE\n")
    adopt = {"former": former.as_uri(), "folder": folder.as_uri()}
    async with Client(folder, storage=storage) as client:
        assert await listed(client) == {}
        offered = await client.request("agent/sessions/former", {})
        assert offered == {"folders": [{"uri": former.as_uri(), "sessions": 1}]}
        for wrong, reason in (
            ({"former": other.as_uri()}, f"{other} exists, so its sessions stay with it."),
            ({"folder": other.as_uri()}, f"{other} is not open. Open it first."),
        ):
            error = await client.error("agent/sessions/adopt", {**adopt, **wrong})
            assert (error.code, error.message) == (-32803, reason)
        assert await client.request("agent/sessions/adopt", adopt) == {"adopted": 1}
        again = await client.error("agent/sessions/adopt", adopt)
        assert again.message == f"No saved session belongs to {former}."
        row = (await listed(client))["former"]
        opened = await client.request("agent/sessions/open", {"sessionId": row["sessionId"]})
        [file] = opened["edits"]["files"]
        assert file["uri"] == (folder / "a.txt").as_uri()
        first, second = file["hunks"]
        assert (first["conflict"], second["conflict"]["current"]) == (None, "THREE\n")
        target = {"uri": file["uri"], "hunk": first["id"]}
        await client.request("agent/edits/accept", {"sessionId": row["sessionId"], "target": target})
        assert (folder / "a.txt").read_text() == "1\n\n\ntwo\n\n\nTHREE\n"
        assert (await client.request("agent/sessions/former", {}))["folders"] == []
        assert not former.exists()
    async with Client(folder, storage=storage) as client:
        assert list(await listed(client)) == ["former"]
