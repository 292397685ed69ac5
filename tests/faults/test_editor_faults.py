"""docs/faults.md 68 and 69: an editor does something other than the requested edit, or never answers."""

import asyncio
import re
from pathlib import Path

import pytest

from fairlead.lsp.documents import Documents
from fairlead.lsp.editor import LspEditor
from fairlead.workspace.editor import FileEdit
from faults.test_review_faults import Replay, accept
from protocol.golden import RecordingClient
from support.calls import LINES, edit
from support.client import Client, Json, WireError


@pytest.mark.parametrize("opened", [True, False])
async def test_fault_68_an_editor_that_does_nothing(workspace: Path, replay: Replay, opened: bool) -> None:
    """docs/faults.md 68: the edit is sent once, stays proposed, and a later accept works."""
    file = workspace / "a"
    file.write_text(LINES)
    settings = replay({"calls": [edit("a", "line 5\n", "LINE 5\n")]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        uri = client.open(file) if opened else file.as_uri()
        client.answers["workspace/applyEdit"] = lambda _: {"applied": True}
        session = (await client.run())["sessionId"]
        outcome, message = (await accept(client, session))["a"]
        assert (outcome, "a is unchanged" in message) == ("failed", True)
        assert len(client.all("workspace/applyEdit")) == 1
        client.answers["workspace/applyEdit"] = client.apply_edit
        assert await accept(client, session) == {"a": ("applied", "")}
        text = client.buffers[uri][0] if opened else file.read_text()
        assert text == LINES.replace("line 5", "LINE 5")


async def test_fault_68_an_editor_that_changes_other_lines(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 68: if an editor that ignores versions replaces the wrong line, the message says that the editor
    changed the file differently, and the server does not overwrite the line.
    """
    file = workspace / "a"
    file.write_text(LINES)
    settings = replay({"calls": [edit("a", "line 5\n", "LINE 5\n")]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        uri = client.open(file)

        def apply(params: Json) -> Json:
            client.type(file, f"typed\n{LINES}")
            [change] = params["edit"]["documentChanges"]
            change["textDocument"]["version"] = client.buffers[uri][1]
            return client.apply_edit(params)

        client.answers["workspace/applyEdit"] = apply
        session = (await client.run())["sessionId"]
        outcome, message = (await accept(client, session))["a"]
        assert (outcome, "changed a differently" in message) == ("failed", True)
        assert len(client.all("workspace/applyEdit")) == 1
        assert client.buffers[uri][0] == f"typed\n{LINES}".replace("line 4", "LINE 5")
        assert [Path(left["uri"]).name for left in client.last("agent/edits")["files"]] == ["a"]


@pytest.mark.parametrize("hunks", [1, 2])
async def test_fault_68_a_formatter_that_runs_with_the_save(workspace: Path, replay: Replay, hunks: int) -> None:
    """docs/faults.md 68: changes to the accepted lines before the editor answers count as the user's own. An undo
    restores the text before the accept, even if another hunk of the file is still pending.
    """
    file = workspace / "a"
    file.write_text(LINES)
    calls = [edit("a", "line 5\n", "LINE   5\n"), edit("a", "line 9\n", "LINE   9\n")][:hunks]
    async with Client(workspace, settings=replay({"calls": calls}, {"text": "."})) as client:
        uri = client.open(file)

        def apply(params: Json) -> Json:
            answer = client.apply_edit(params)
            client.type(file, re.sub(" +", " ", client.buffers[uri][0]))
            client.save_buffer(file)
            return answer

        client.answers["workspace/applyEdit"] = apply
        session = (await client.run())["sessionId"]
        hunk = client.last("agent/edits")["files"][0]["hunks"][0]["id"]
        assert await accept(client, session, target={"uri": uri, "hunk": hunk}) == {"a": ("applied", "")}
        assert file.read_text() == LINES.replace("line 5", "LINE 5")
        await client.request("agent/edits/undo", {"sessionId": session})
        assert file.read_text() == client.buffers[uri][0] == LINES
        assert len(client.last("agent/edits")["files"][0]["hunks"]) == hunks


async def test_fault_68_typing_while_an_accept_is_under_way_is_not_undone(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 68: unlike a formatter's changes, text that is not saved may be the user's, so it stays."""
    file = workspace / "a"
    file.write_text(LINES)
    settings = replay({"calls": [edit("a", "line 5\n", "LINE 5\n")]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        uri = client.open(file)

        def apply(params: Json) -> Json:
            answer = client.apply_edit(params)
            client.save_buffer(file)
            client.type(file, f"typed\n{client.buffers[uri][0]}")
            return answer

        client.answers["workspace/applyEdit"] = apply
        session = (await client.run())["sessionId"]
        assert await accept(client, session) == {"a": ("applied", "")}
        error = await client.error("agent/edits/undo", {"sessionId": session})
        assert "a has changed since" in error.message
        assert client.buffers[uri][0] == f"typed\n{LINES}".replace("line 5", "LINE 5")


async def test_fault_69_an_editor_that_never_answers_blocks_nothing(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 69: a cancelled accept has accepted nothing, and the next decision does not wait for it."""
    file = workspace / "a"
    file.write_text(LINES)
    settings = replay({"calls": [edit("a", "line 5\n", "LINE 5\n")]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        client.answers["workspace/applyEdit"] = lambda _: asyncio.Event().wait()
        session = (await client.run())["sessionId"]
        number, accepting = client.begin("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        await client.until(lambda: client.all("workspace/applyEdit"))
        client.notify("$/cancelRequest", {"id": number})
        with pytest.raises(WireError) as refused:
            await accepting
        assert refused.value.code == -32800
        assert file.read_text() == LINES
        client.answers["workspace/applyEdit"] = client.apply_edit
        assert await accept(client, session) == {"a": ("applied", "")}


async def test_fault_69_an_editor_has_a_time_limit() -> None:
    """docs/faults.md 69: an edit that the editor does not answer in time counts as not applied."""

    class Silent(RecordingClient):
        async def request(self, method: str, params: Json) -> None:
            await asyncio.Event().wait()

    editor = LspEditor(Silent().protocol, Documents(), answer_seconds=0.01)
    editor.capabilities.apply_edit = editor.capabilities.document_changes = True
    applied = await editor.apply("Accept a", [FileEdit(Path("/a"), "1\n", "2\n")])
    assert (applied.ok, applied.timed_out, "did not answer" in applied.reason) == (False, True, True)
