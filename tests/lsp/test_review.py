"""The review over LSP (docs/protocol.md): accept, reject, open documents, conflicts, and refusals by the editor."""

import shutil
import subprocess
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from support.calls import edit
from support.client import EDITOR, NOTHING, Client, Json, uri_path
from support.other_program import replace_text

Replay = Callable[..., dict[str, Any]]


async def test_fault_14_a_file_that_the_editor_still_shows_is_renamed(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 14: accept, undo and redo work, although VS Code may report much later, or never, that the old
    path's document was closed.
    """
    (workspace / "old").write_text("1\n")
    calls = [{"rename_file": {"path": "old", "new_path": "new"}}]

    async with Client(workspace, settings=replay({"calls": calls}, {"text": "."})) as client:

        def apply(params: Any) -> Any:
            for change in params["edit"]["documentChanges"]:
                if change.get("kind") == "rename":
                    uri_path(change["oldUri"]).rename(uri_path(change["newUri"]))
                    client.open(uri_path(change["newUri"]), "1\n")
            return {"applied": True}

        client.answers["workspace/applyEdit"] = apply
        client.open(workspace / "old", "1\n")
        session = (await client.run())["sessionId"]
        accepted = {"sessionId": session, "target": {"all": True}}
        for method, params, left in (
            ("accept", accepted, ["new"]),
            ("undo", {"sessionId": session}, ["old"]),
            ("redo", {"sessionId": session}, ["new"]),
            ("undo", {"sessionId": session}, ["old"]),
        ):
            review = await client.request(f"agent/edits/{method}", params)
            assert [(each["outcome"], each["message"]) for each in review["outcomes"]] == [("applied", "")]
            assert [path.name for path in workspace.iterdir()] == left
        [file] = review["edits"]["files"]
        assert (file["kind"], file["state"]) == ("rename", "pending")


async def test_a_decision_on_a_rename_is_not_reported_as_changed_files(workspace: Path, replay: Replay) -> None:
    """The feedback reports the user's decision, but not the files that appear and disappear because of it."""
    (workspace / "old").write_text("1\n")
    rename = {"calls": [{"rename_file": {"path": "old", "new_path": "new"}}]}
    async with Client(workspace, settings=replay(rename, *[{"text": "."}] * 4)) as client:
        session = (await client.run())["sessionId"]
        for method, target in (("reject", {"target": {"all": True}}), ("undo", {}), ("redo", {})):
            await client.request(f"agent/edits/{method}", {"sessionId": session, **target})
            await client.run(sessionId=session)
        assert ["<files_changed>" in event["text"] for event in client.events("feedback")] == [False] * 3
        notes = [event["text"].splitlines()[2] for event in client.events("feedback")]
    assert notes == ["- rejected: the new name of old.", "- undone: Reject old", "- redone: Reject old"]


async def test_both_sides_of_the_diff_can_be_read(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md: `fairlead-base` and `fairlead-proposed` are refreshed on change. The content of an unknown URI
    says that the URI is unknown.
    """
    file = workspace / "a ü.txt"
    file.write_text("1\n", encoding="utf-8")
    (workspace / "b.txt").write_text("1\n")
    settings = replay({"calls": [edit("a ü.txt", "1", "2"), edit("b.txt", "1", "2")]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        await client.until(lambda: client.last("client/registerCapability"))
        session = (await client.request("agent/sessions/create", {}))["sessionId"]
        await client.run(sessionId=session)
        path = file.as_uri().removeprefix("file://")

        async def content(uri: str) -> str:
            return (await client.request("workspace/textDocumentContent", {"uri": uri}))["text"]

        schemes = ("fairlead-base", "fairlead-proposed")
        assert await content(f"fairlead-base://{session}{path}") == "1\n"
        assert await content(f"fairlead-proposed://{session}{path}") == "2\n"
        assert "no longer exists" in await content(f"fairlead-proposed://unknown{path}")
        assert "does not know" in await content("fairlead-proposed:nonsense")
        assert client.last("workspace/textDocumentContent/refresh") is None
        replace_text(file, "mine\n")
        await client.until(lambda: client.last("workspace/textDocumentContent/refresh"))
        assert await content(f"fairlead-base://{session}{path}") == "mine\n", "a diff shows both sides of a conflict"
        replace_text(file, "1\n")
        await client.until(lambda: len(client.all("workspace/textDocumentContent/refresh")) == 2)
        await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        await client.until(lambda: len(client.all("workspace/textDocumentContent/refresh")) >= 4)
        await client.request("agent/sessions/list", {})
        refreshed = [unquote(each["uri"]) for each in client.all("workspace/textDocumentContent/refresh")]
        assert sorted(refreshed[2:]) == [unquote(f"{scheme}://{session}{path}") for scheme in schemes]


@pytest.mark.parametrize("count", [3, 12])
async def test_fault_146_the_editor_writes_what_is_open_in_it(workspace: Path, replay: Replay, count: int) -> None:
    """docs/faults.md 146: the editor writes documents and the files that it claims, and the server the others, however
    many they are. A file that the editor refuses stays proposed, with its reason."""
    names = [f"f{number}.txt" for number in range(count)]
    opened, claimed, refused = names[:3] if count > 3 else (*names[:2], "")
    for name in names:
        (workspace / name).write_text("1\n")
    reason = f"{refused} is open as a notebook."

    def claims(params: Json) -> Json:
        asked = [Path(uri).name for uri in params["uris"]]
        assert opened not in asked
        return {
            "claimed": [uri for uri in params["uris"] if uri.endswith(claimed)],
            "refused": [{"uri": uri, "reason": reason} for uri in params["uris"] if refused and uri.endswith(refused)],
        }

    settings = replay({"calls": [edit(name, "1", "2") for name in names]}, {"text": "."})
    async with Client(workspace, settings=settings, answers={"agent/editor/claims": claims}) as client:
        client.open(workspace / opened)
        session = (await client.run())["sessionId"]
        for method, text in (("accept", "2\n"), ("undo", "1\n"), ("redo", "2\n")):
            target = {"target": {"all": True}} if method == "accept" else {}
            review = await client.request(f"agent/edits/{method}", {"sessionId": session, **target})
            failed = {
                Path(one["uri"]).name: one["message"] for one in review["outcomes"] if one["outcome"] != "applied"
            }
            assert failed == ({refused: reason} if refused and method == "accept" else {})
            written = [name for name in names if name not in (opened, refused)]
            assert [(workspace / name).read_text() for name in written] == [text] * len(written)
            changes = client.last("workspace/applyEdit")["edit"]["documentChanges"]
            assert [Path(change["textDocument"]["uri"]).name for change in changes] == [opened, claimed]
        assert len(client.all("workspace/applyEdit")) == 3


def _by_permissions(path: Path, is_writable: bool) -> None:
    path.chmod(0o644 if is_writable else 0o444)


def _by_attribute(attribute: str) -> Callable[[Path, bool], None]:
    """Sets an attribute of the file system that not even root can write against. Skips the test without such a one."""

    def set_writable(path: Path, is_writable: bool) -> None:
        command = ["chattr", f"{'-' if is_writable else '+'}{attribute}", str(path)]
        if shutil.which("chattr") is None or subprocess.run(command, check=False, capture_output=True).returncode:
            pytest.skip("no attributes of files here")

    return set_writable


@pytest.mark.parametrize(
    "set_writable",
    [_by_permissions, _by_attribute("i"), _by_attribute("a")],
    ids=["permissions", "immutable", "append-only"],
)
async def test_fault_146_a_read_only_file_stays_proposed(
    workspace: Path, replay: Replay, set_writable: Callable[[Path, bool], None]
) -> None:
    """docs/faults.md 146: also if the server could replace it, because its folder is writable. Other files are
    accepted, and so is this one when it is writable."""
    for name in ("fixed.txt", "free.txt"):
        (workspace / name).write_text("1\n")
    settings = replay({"calls": [edit(name, "1", "2") for name in ("fixed.txt", "free.txt")]}, {"text": "."})
    async with AsyncExitStack() as stack:
        stack.callback(set_writable, workspace / "fixed.txt", True)
        set_writable(workspace / "fixed.txt", False)
        client = await stack.enter_async_context(Client(workspace, settings=settings, capabilities=NOTHING))
        session = (await client.run())["sessionId"]
        accept = {"sessionId": session, "target": {"all": True}}
        review = await client.request("agent/edits/accept", accept)
        found = {Path(one["uri"]).name: one["message"] for one in review["outcomes"]}
        assert found == {"fixed.txt": "This file is read-only. Make it writable, then try again.", "free.txt": ""}
        assert [Path(file["uri"]).name for file in review["edits"]["files"]] == ["fixed.txt"]
        assert (workspace / "fixed.txt").read_text() == "1\n"
        set_writable(workspace / "fixed.txt", True)
        await client.request("agent/edits/accept", accept)
        assert (workspace / "fixed.txt").read_text() == "2\n"


async def test_fault_146_a_file_in_a_read_only_folder_is_not_deleted(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 146: the reason is not only that the editor failed. Accepted when the folder is writable."""
    set_writable = _by_attribute("i")
    file = workspace / "folder" / "a.txt"
    file.parent.mkdir()
    file.write_text("1\n")
    file.with_name("b.txt").write_text("the folder stays\n")
    settings = replay({"calls": [{"delete_file": {"path": "folder/a.txt"}}]}, {"text": "."})
    async with AsyncExitStack() as stack:
        stack.callback(set_writable, file.parent, True)
        set_writable(file.parent, False)
        client = await stack.enter_async_context(Client(workspace, settings=settings))
        client.open(file)
        session = (await client.run())["sessionId"]
        accept = {"sessionId": session, "target": {"all": True}}
        [outcome] = (await client.request("agent/edits/accept", accept))["outcomes"]
        assert outcome["message"] == "The file's folder is read-only. Make it writable, then try again."
        assert client.all("workspace/applyEdit") == []
        set_writable(file.parent, True)
        await client.request("agent/edits/accept", accept)
        assert not file.exists()


@pytest.mark.parametrize("capabilities", [EDITOR, NOTHING], ids=["by the editor", "by the server"])
async def test_a_deleted_file_is_restored_at_its_new_path(workspace: Path, replay: Replay, capabilities: Json) -> None:
    """The user deleted a file after the agent proposed to rename it. The accept can be undone and redone."""
    old, new = workspace / "old.txt", workspace / "new.txt"
    old.write_text("1\n")
    settings = replay({"calls": [{"rename_file": {"path": "old.txt", "new_path": "new.txt"}}]}, {"text": "."})
    async with Client(workspace, settings=settings, capabilities=capabilities) as client:
        session = (await client.run())["sessionId"]
        old.unlink()
        accept = {"target": {"all": True}, "resolution": "proposed"}
        for method, given, exists in (("accept", accept, True), ("undo", {}, False), ("redo", {}, True)):
            review = await client.request(f"agent/edits/{method}", {"sessionId": session, **given})
            assert [outcome["outcome"] for outcome in review["outcomes"]] == ["applied"], review["outcomes"]
            assert list(workspace.iterdir()) == ([new] if exists else [])
        assert new.read_text() == "1\n"


async def test_an_undone_file_returns_to_its_place(workspace: Path, replay: Replay) -> None:
    """The files are listed as they were first changed, also after decisions and an undo."""
    names = ["c.txt", "a.txt", "b.txt"]
    for name in names:
        (workspace / name).write_text("1\n")

    def listed(client: Client) -> list[str]:
        return [Path(file["uri"]).name for file in client.last("agent/edits")["files"]]

    settings = replay({"calls": [edit(name, "1", "2") for name in names]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        session = {"sessionId": (await client.run())["sessionId"]}
        for name in ("c.txt", "a.txt"):
            await client.request("agent/edits/accept", {**session, "target": {"uri": (workspace / name).as_uri()}})
        assert listed(client) == ["b.txt"]
        for expected in (["a.txt", "b.txt"], names):
            await client.request("agent/edits/undo", session)
            assert listed(client) == expected


@pytest.mark.parametrize("pairs", [[("one", "ONE")], [("one", "ONE"), ("two", "TWO")]])
async def test_an_accept_is_undone_if_the_user_has_restored_the_text(
    workspace: Path, replay: Replay, pairs: list[tuple[str, str]]
) -> None:
    """With the editor's own undo, for example: the change is proposed again, and the file stays as it is."""
    before = "one\n" + "same\n" * 8 + "two\n"
    (workspace / "a.txt").write_text(before)
    settings = replay({"calls": [edit("a.txt", old, new) for old, new in pairs]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        session = {"sessionId": (await client.run())["sessionId"]}
        proposed = client.last("agent/edits")["files"]
        target = {"uri": proposed[0]["uri"], "hunk": proposed[0]["hunks"][0]["id"]}
        await client.request("agent/edits/accept", {**session, "target": target})
        assert (workspace / "a.txt").read_text() == before.replace("one", "ONE")
        (workspace / "a.txt").write_text(before)
        undone = await client.request("agent/edits/undo", session)
        assert [outcome["outcome"] for outcome in undone["outcomes"]] == ["applied"]
        assert undone["edits"]["files"] == proposed
        assert (workspace / "a.txt").read_text() == before
        await client.request("agent/edits/accept", {**session, "target": target})
        assert (workspace / "a.txt").read_text() == before.replace("one", "ONE")
