"""A folder replaces a file, and the file replaces the folder again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.client import Client
from support.workspace_edit import apply_workspace_edit

Replay = Callable[..., dict[str, Any]]


async def test_fault_14_a_file_becomes_a_folder_and_a_file_again(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 14: the deletion and the new file are accepted together, undone and redone. An undo leaves the
    folder if it contains other files.
    """
    (workspace / "a").write_bytes(b"a\xe9\n")
    calls = [
        {"delete_file": {"path": "a"}},
        {"write_file": {"path": "a/b/c", "content": "c\n"}},
    ]
    answers = {"workspace/applyEdit": apply_workspace_edit}
    async with Client(workspace, settings=replay({"calls": calls}, {"text": "."}), answers=answers) as client:
        session = (await client.run())["sessionId"]
        review = await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        assert {one["outcome"] for one in review["outcomes"]} == {"applied"}, review["outcomes"]
        assert (workspace / "a" / "b" / "c").read_text() == "c\n"
        await client.request("agent/edits/undo", {"sessionId": session})
        assert (workspace / "a").read_bytes() == b"a\xe9\n"
        await client.request("agent/edits/redo", {"sessionId": session})
        (workspace / "a" / "mine").write_text("mine\n")
        review = await client.request("agent/edits/undo", {"sessionId": session})
        outcomes = {Path(one["uri"]).name: one["outcome"] for one in review["outcomes"]}
        assert outcomes == {"a": "failed", "c": "applied"}
        assert (workspace / "a" / "mine").read_text() == "mine\n"
