"""The undo of a plan item's accepted changes, which is itself a decision (docs/protocol.md, `agent/edits/undo`)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.calls import edit
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


async def undo_item(client: Client, session: str, item_id: str) -> dict[str, tuple[str, str]]:
    """The outcome and the message for each file."""
    review = await client.request("agent/edits/undo", {"sessionId": session, "item": item_id})
    return {Path(each["uri"]).name: (each["outcome"], each["message"]) for each in review["outcomes"]}


@pytest.mark.usefixtures("sandboxed")
async def test_what_an_item_moved_deleted_and_changed_is_as_before(workspace: Path, replay: Replay) -> None:
    """Files have the same bytes and permissions as before, however often the undo is undone and redone. New folders,
    and a picture that a command made, are removed.
    """
    for name in ("moved.txt", "deleted.txt", "run.sh", "both.sh"):
        (workspace / name).write_bytes("été\n".encode("latin-1"))
        (workspace / name).chmod(0o640)
    command = "printf '\\211PNG\\0' > logo.png; chmod +x run.sh both.sh; echo ls -l > both.sh"
    calls: list[Json] = [
        {"rename_file": {"path": "moved.txt", "new_path": "new/folder/new.txt"}},
        {"delete_file": {"path": "deleted.txt"}},
        {"bash": {"command": command}},
    ]
    settings = replay({"calls": [plan("in_progress"), *calls]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        before = files(workspace)
        session = (await client.run())["sessionId"]
        await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        accepted = files(workspace)
        assert accepted != before
        outcomes = await undo_item(client, session, "1")
        assert {outcome for outcome, _ in outcomes.values()} == {"applied"}
        assert files(workspace) == before
        for method, wanted in (("undo", accepted), ("redo", before), ("undo", accepted)):
            await client.request(f"agent/edits/{method}", {"sessionId": session})
            assert files(workspace) == wanted


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
