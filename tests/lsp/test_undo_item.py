"""The undo of a plan item's accepted changes, which is itself a decision (docs/protocol.md, `agent/edits/undo`)."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import edit, write
from support.client import Client, Json
from support.sandbox import needs_sandbox

Replay = Callable[..., Json]


@pytest.fixture
def sandboxed() -> None:
    needs_sandbox()


def plan(*statuses: str) -> Json:
    return {"todo": {"items": [{"content": f"Step {n}", "status": status} for n, status in enumerate(statuses, 1)]}}


def files(workspace: Path) -> dict[str, tuple[bytes | None, int]]:
    """The bytes and the permissions of each file and folder; None: it is a folder."""
    return {
        path.relative_to(workspace).as_posix(): (
            path.read_bytes() if path.is_file() else None,
            path.stat().st_mode & 0o777,
        )
        for path in workspace.rglob("*")
    }


async def run_and_accept(client: Client, **params: Any) -> str:
    """Runs the next turns of the recording, and accepts what they propose. Returns the id of the session."""
    session: str = (await client.run(**params))["sessionId"]
    await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
    return session


async def undo_item(client: Client, session: str, item_id: str) -> dict[str, tuple[str, str]]:
    """The outcome and the message for each file."""
    review = await client.request("agent/edits/undo", {"sessionId": session, "item": item_id})
    return {Path(each["uri"]).name: (each["outcome"], each["message"]) for each in review["outcomes"]}


async def check_round_trip(client: Client, workspace: Path) -> None:
    """Accepts everything and undoes the item, then undoes and redoes this undo. Compares the files each time."""
    before = files(workspace)
    session = await run_and_accept(client)
    accepted = files(workspace)
    assert accepted != before
    outcomes = await undo_item(client, session, "1")
    assert {outcome for outcome, _ in outcomes.values()} == {"applied"}
    assert files(workspace) == before
    for method, wanted in (("undo", accepted), ("redo", before), ("undo", accepted)):
        await client.request(f"agent/edits/{method}", {"sessionId": session})
        assert files(workspace) == wanted


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are POSIX")
async def test_files_that_an_item_moved_and_deleted_come_back(workspace: Path, replay: Replay) -> None:
    """They have the same bytes and permissions as before, however often the undo is undone and redone.

    New folders are removed.
    """
    for name in ("moved.txt", "deleted.txt"):
        (workspace / name).write_bytes("été\n".encode("latin-1"))
        (workspace / name).chmod(0o750)
    calls: list[Json] = [
        {"rename_file": {"path": "moved.txt", "new_path": "new/folder/new.txt"}},
        {"delete_file": {"path": "deleted.txt"}},
    ]
    settings = replay({"calls": [plan("in_progress"), *calls]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        await check_round_trip(client, workspace)


@pytest.mark.usefixtures("sandboxed")
async def test_binary_files_and_permissions_that_an_item_changed_are_undone(workspace: Path, replay: Replay) -> None:
    """The undo removes a picture that a command made, and resets permissions that it set, alone or with the text."""
    for name in ("run.sh", "both.sh"):
        (workspace / name).write_text("ls\n")
    command = "printf '\\211PNG\\0' > logo.png; chmod +x run.sh both.sh; echo ls -l > both.sh"
    settings = replay({"calls": [plan("in_progress"), {"bash": {"command": command}}]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        await check_round_trip(client, workspace)
        session = client.events()[0]["sessionId"]
        assert set(await undo_item(client, session, "1")) == {"logo.png", "run.sh", "both.sh"}


@pytest.mark.usefixtures("sandboxed")
async def test_an_earlier_accept_of_the_file_as_a_whole_stays(workspace: Path, replay: Replay) -> None:
    """The permissions that the item set, with which a line of another item was accepted, and that line."""
    script = workspace / "run.sh"
    script.write_text("one\ntwo\nthree\n")
    settings = replay(
        {"calls": [plan("pending", "in_progress"), edit("run.sh", "one", "1")]},
        {"calls": [plan("in_progress", "completed"), {"bash": {"command": "chmod +x run.sh"}}]},
        {"text": "."},
        {"calls": [plan("in_progress", "completed"), edit("run.sh", "three", "3")]},
        {"text": "."},
    )
    async with Client(workspace, settings=settings) as client:
        session = await run_and_accept(client)
        await run_and_accept(client, sessionId=session)
        assert script.read_text() == "1\ntwo\n3\n"
        assert await undo_item(client, session, "1") == {"run.sh": ("applied", "")}
        assert script.read_text() == "1\ntwo\nthree\n"
        assert script.stat().st_mode & 0o100


async def test_a_new_file_that_another_item_changed_stays(workspace: Path, replay: Replay) -> None:
    """The message says that the file was changed since. After the undo of the later item, the file can be removed."""
    settings = replay(
        {"calls": [plan("in_progress", "pending"), write("new.txt", "one\n")]},
        {"text": "."},
        {"calls": [plan("completed", "in_progress"), edit("new.txt", "one", "two")]},
        {"text": "."},
    )
    async with Client(workspace, settings=settings) as client:
        session = await run_and_accept(client)
        await run_and_accept(client, sessionId=session)
        reason = "new.txt has been changed again since. Undo that first, or edit the file yourself."
        assert await undo_item(client, session, "1") == {"new.txt": ("failed", reason)}
        assert (workspace / "new.txt").read_text() == "two\n"
        assert await undo_item(client, session, "2") == {"new.txt": ("applied", "")}
        assert (workspace / "new.txt").read_text() == "one\n"
        assert await undo_item(client, session, "1") == {"new.txt": ("applied", "")}
        assert files(workspace) == {}


async def test_what_was_undone_is_not_undone_again(workspace: Path, replay: Replay) -> None:
    """Another item makes the same change later, and keeps it. An undo of the undo makes the change the item's again."""
    (workspace / "a.txt").write_text("one\n")
    change = edit("a.txt", "one", "1")
    settings = replay(
        {"calls": [plan("in_progress", "pending"), change]},
        {"text": "."},
        {"calls": [plan("completed", "in_progress"), change]},
        {"text": "."},
    )
    async with Client(workspace, settings=settings) as client:
        session = await run_and_accept(client)
        assert await undo_item(client, session, "1") == {"a.txt": ("applied", "")}
        await client.request("agent/edits/undo", {"sessionId": session})
        assert await undo_item(client, session, "1") == {"a.txt": ("applied", "")}
        await run_and_accept(client, sessionId=session)
        error = await client.error("agent/edits/undo", {"sessionId": session, "item": "1"})
        assert (error.code, error.message) == (-32803, "There is no accepted change of this step to undo.")
        assert (workspace / "a.txt").read_text() == "1\n"
        assert await undo_item(client, session, "2") == {"a.txt": ("applied", "")}
        assert (workspace / "a.txt").read_text() == "one\n"


async def test_a_file_that_the_user_had_deleted_is_deleted_again(workspace: Path, replay: Replay) -> None:
    """The accept of a change to it restored the file. Its undo, and the undo of that, leave no empty file."""
    (workspace / "a.txt").write_text("one\n")
    settings = replay({"calls": [plan("in_progress"), edit("a.txt", "one", "1")]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        session = (await client.run())["sessionId"]
        (workspace / "a.txt").unlink()
        accept = {"sessionId": session, "target": {"all": True}, "resolution": "proposed"}
        await client.request("agent/edits/accept", accept)
        assert (workspace / "a.txt").read_text() == "1\n"
        assert await undo_item(client, session, "1") == {"a.txt": ("applied", "")}
        assert files(workspace) == {}
        await client.request("agent/edits/undo", {"sessionId": session})
        assert (workspace / "a.txt").read_text() == "1\n"
