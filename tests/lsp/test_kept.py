"""What is left to review outlives the server: written to the client's storage folder, there after a restart."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.client import Client

Replay = Callable[..., dict[str, Any]]
PLAN = {"todo": {"items": [{"content": "Greet 世界", "status": "in_progress", "activeForm": "Greeting"}]}}


def edit(old: str, new: str) -> dict[str, Any]:
    return {"edit_file": {"path": "a.txt", "old_text": old, "new_text": new}}


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    return tmp_path / "storage"


def snapshots(storage: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in (storage / "sessions").glob("*.json")]


async def kept(client: Client, storage: Path, holds: Callable[[dict[str, Any]], bool]) -> None:
    """Waits until the snapshot on disk says something."""

    async def poll() -> bool:
        # any request: what is due is written in between
        await client.request("workspace/textDocumentContent", {"uri": "fairlead-base://x/y"})
        return any(holds(snapshot) for snapshot in snapshots(storage))

    while not await poll():
        pass


async def test_fault_22_proposals_outlive_a_kill(workspace: Path, replay: Replay, storage: Path) -> None:
    """docs/faults.md 22: after SIGKILL and a restart session, plan and proposals are there, an amendment too, on the
    file as it is now; nothing is run again by itself, and the conversation goes on."""
    file = workspace / "a.txt"
    file.write_text("one\ntwo\nthree\nfour\nfive\n")
    turns = [{"calls": [PLAN, edit("two", "TWO"), edit("five", "FIVE")]}, {"text": "Proposed."}]
    async with Client(workspace, settings=replay(*turns), storage=storage) as client:
        session = (await client.run())["sessionId"]
        uri = file.as_uri()
        amended = "one\nTWO, by hand\nthree\nfour\nFIVE\n"
        await client.request("agent/edits/amend", {"sessionId": session, "uri": uri, "text": amended})
        before = client.last("agent/plan")
        await kept(client, storage, lambda snapshot: snapshot["proposals"][0]["proposed"] == amended)
        client.process.kill()
        await client.process.wait()
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
        assert client.events() == []
        review = await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        assert {outcome["outcome"] for outcome in review["outcomes"]} == {"applied"}
        assert file.read_text() == "zero\n" + amended
        assert (await client.run(sessionId=session))["message"] == "I remember."
        assert "changed by hand in your proposal for a.txt" in client.events("feedback")[0]["text"]
    assert snapshots(storage) == []


async def test_what_no_snapshot_is_is_left_alone(workspace: Path, replay: Replay, storage: Path) -> None:
    """A torn, a foreign and a later format: the server starts, says so in its log, and touches none of them."""
    folder = storage / "sessions"
    folder.mkdir(parents=True)
    texts = {"torn": '{"format": 1, "id"', "list": "[1]", "later": '{"format": 99}', "odd": '{"format": 1, "id": "x"}'}
    for name, text in texts.items():
        (folder / f"{name}.json").write_text(text)
    async with Client(workspace, settings=replay({"text": "Fine."}), storage=storage) as client:
        assert (await client.run())["stopReason"] == "end_turn"
        assert client.last("agent/edits") is None
    assert {path.stem: path.read_text() for path in folder.iterdir()} == texts


async def test_another_workspace_does_not_see_them(
    tmp_path: Path, workspace: Path, replay: Replay, storage: Path
) -> None:
    """One storage folder, two workspaces: each has its own sessions."""
    (workspace / "a.txt").write_text("one\n")
    async with Client(
        workspace, settings=replay({"calls": [edit("one", "1")]}, {"text": "."}), storage=storage
    ) as client:
        await client.run()
    assert len(snapshots(storage)) == 1
    other = tmp_path / "other"
    other.mkdir()
    async with Client(other, settings=replay({"text": "."}), storage=storage) as client:
        await client.run()
        assert client.last("agent/edits") is None
    async with Client(workspace, settings=replay({"text": "."}), storage=storage) as client:
        await client.until(lambda: client.last("agent/edits"))


async def test_no_folder_to_write_to(workspace: Path, replay: Replay, tmp_path: Path) -> None:
    """A storage folder that cannot be written: the run goes on in memory."""
    (workspace / "a.txt").write_text("one\n")
    blocked = tmp_path / "file"
    blocked.write_text("")
    async with Client(
        workspace, settings=replay({"calls": [edit("one", "1")]}, {"text": "."}), storage=blocked
    ) as client:
        assert (await client.run())["stopReason"] == "end_turn"
        assert len(client.last("agent/edits")["files"]) == 1
