"""The review over LSP (docs/protocol.md): accept, reject, open documents, conflicts, and refusals by the editor."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from support.calls import edit, write
from support.client import EDITOR, NOTHING, Client, Json, Refuse, uri_path
from support.other_program import replace_text

Replay = Callable[..., dict[str, Any]]

PLAN = {"todo": {"items": [{"content": "One", "status": "in_progress", "activeForm": "Doing one"}]}}


async def test_accept_by_hunk_file_item_and_all(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md, Target: each kind of target is accepted, and only its changes are on disk."""
    lines = [f"line {n}\n" for n in range(1, 21)]
    (workspace / "a.txt").write_text("".join(lines))
    (workspace / "b.txt").write_text("b\n")
    second = {
        "items": [{"id": "1", "content": "One", "status": "completed"}, {"content": "Two", "status": "in_progress"}]
    }
    settings = replay(
        {
            "calls": [
                PLAN,
                edit("a.txt", "line 2\n", "LINE 2\n"),
                edit("a.txt", "line 10\n", "LINE 10\n"),
                write("empty.txt", ""),
            ]
        },
        {
            "calls": [
                {"todo": second},
                edit("a.txt", "line 18\n", "LINE 18\n"),
                edit("b.txt", "b", "B"),
                write("c/d.txt", "d\n"),
            ]
        },
        {"text": "end"},
    )
    async with Client(workspace, settings=settings) as client:
        session = (await client.run())["sessionId"]
        edits = client.last("agent/edits")
        by_name = {file["uri"].rsplit("/", 1)[-1]: file for file in edits["files"]}
        hunks = by_name["a.txt"]["hunks"]
        assert [(hunk["oldStart"], hunk["oldLines"], hunk["itemId"]) for hunk in hunks] == [
            (2, 1, "1"),
            (10, 1, "1"),
            (18, 1, "2"),
        ]
        assert (by_name["d.txt"]["kind"], by_name["d.txt"]["itemIds"]) == ("create", ["2"])

        async def accept(target: dict[str, Any]) -> list[str]:
            params = {"sessionId": session, "target": target, "version": client.last("agent/edits")["version"]}
            review = await client.request("agent/edits/accept", params)
            return [outcome["outcome"] for outcome in review["outcomes"]]

        uri = by_name["a.txt"]["uri"]
        assert await accept({"uri": uri, "hunk": hunks[1]["id"]}) == ["applied"]
        assert (workspace / "a.txt").read_text() == "".join(lines).replace("line 10\n", "LINE 10\n")
        assert await accept({"uri": uri, "hunk": hunks[1]["id"]}) == ["failed"]
        assert by_name["empty.txt"]["itemIds"] == ["1"]
        assert await accept({"item": "1"}) == ["applied", "applied"]
        assert (workspace / "empty.txt").read_bytes() == b""
        assert (workspace / "b.txt").read_text() == "b\n"
        assert await accept({"uri": by_name["d.txt"]["uri"]}) == ["applied"]
        assert (workspace / "c" / "d.txt").read_text() == "d\n"
        assert await accept({"all": True}) == ["applied", "applied"]
        assert (workspace / "a.txt").read_text().count("LINE") == 3
        assert client.last("agent/edits")["files"] == []


async def test_fault_09_reject_by_hunk_and_all_touches_nothing(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 9: after a reject, the bytes and the modification time are unchanged."""
    file = workspace / "a.txt"
    file.write_bytes(b"one\r\ntwo\r\nthree\r\nfour\r\nfive")
    before = file.stat().st_mtime_ns
    settings = replay({"calls": [edit("a.txt", "one", "1"), edit("a.txt", "five", "5")]}, {"text": "end"})
    async with Client(workspace, settings=settings) as client:
        session = (await client.run())["sessionId"]
        found = client.last("agent/edits")["files"][0]
        target = {"uri": found["uri"], "hunk": found["hunks"][0]["id"]}
        review = await client.request("agent/edits/reject", {"sessionId": session, "target": target, "reason": "no"})
        assert [outcome["outcome"] for outcome in review["outcomes"]] == ["rejected"]
        assert [hunk["newStart"] for hunk in review["edits"]["files"][0]["hunks"]] == [5]
        review = await client.request("agent/edits/reject", {"sessionId": session, "target": {"all": True}})
        assert review["edits"]["files"] == []
    assert file.read_bytes() == b"one\r\ntwo\r\nthree\r\nfour\r\nfive"
    assert file.stat().st_mtime_ns == before


async def test_a_decision_on_an_old_state_is_refused(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md, `version`: if the target has changed since, the answer is -32801 and nothing is done. Changes
    to other files do not matter.
    """
    for name in "ab":
        (workspace / name).write_text("1\n")
    settings = replay(
        {"calls": [edit("a", "1", "2"), edit("b", "1", "2")]}, {"text": "."}, {"calls": [edit("a", "2", "3")]}
    )
    async with Client(workspace, settings={**settings, "loop": {"maxRounds": 2}}) as client:
        session = (await client.run())["sessionId"]
        seen = client.last("agent/edits")["version"]
        await client.run(sessionId=session)
        uri = (workspace / "a").as_uri()
        params = {"sessionId": session, "target": {"uri": uri}, "version": seen}
        assert (await client.error("agent/edits/accept", params)).code == -32801
        assert (workspace / "a").read_text() == "1\n"
        other = {"sessionId": session, "target": {"uri": (workspace / "b").as_uri()}, "version": seen}
        assert (await client.request("agent/edits/accept", other))["outcomes"][0]["outcome"] == "applied"


async def test_fault_06_a_file_that_changed_on_disk_is_a_conflict(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 6: the text on disk is not lost; the other file is accepted anyway."""
    for name in "ab":
        (workspace / name).write_text("1\n2\n3\n")
    settings = replay({"calls": [edit("a", "2", "two"), edit("b", "2", "two")]}, {"text": "end"})
    async with Client(workspace, settings=settings) as client:
        session = (await client.run())["sessionId"]
        (workspace / "a").write_text("1\nmine\n3\n")
        review = await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        outcomes = {Path(each["uri"]).name: each["outcome"] for each in review["outcomes"]}
        assert outcomes == {"a": "conflict", "b": "applied"}
        assert [file["state"] for file in review["edits"]["files"]] == ["conflict"]
        [hunk] = review["edits"]["files"][0]["hunks"]
        assert hunk["conflict"] == {"base": "2\n", "current": "mine\n", "proposed": "two\n"}
        assert (workspace / "a").read_text() == "1\nmine\n3\n"
        (workspace / "a").write_text("1\n2\n3\n")
        review = await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        assert [each["outcome"] for each in review["outcomes"]] == ["applied"]


async def test_fault_07_an_unsaved_buffer_is_used_instead_of_the_file(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 7: reads, edits and accepts use the buffer; the typed text stays, and the disk is unchanged."""
    file = workspace / "a.py"
    file.write_text("disk = 1\n")
    settings = replay(
        {"calls": [{"read_file": {"path": "a.py"}}, edit("a.py", "typed = 1", "typed = 2")]}, {"text": "."}
    )
    async with Client(workspace, settings=settings) as client:
        uri = client.open(file, "typed = 1\n# more 🚀\n")
        session = (await client.run())["sessionId"]
        assert client.events("tool_finished")[0]["text"] == "typed = 1\n# more 🚀\n"
        review = await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        assert [each["outcome"] for each in review["outcomes"]] == ["applied"]
        assert client.last("workspace/applyEdit")["edit"]["documentChanges"][0]["textDocument"]["version"] == 1
        assert client.buffers[uri][0] == "typed = 2\n# more 🚀\n"
        assert file.read_text() == "disk = 1\n"


async def test_typing_causes_a_conflict_until_it_is_undone(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md, `Edits.state`: a new state is sent when the open document begins to differ from the base,
    and when it no longer does.
    """
    file = workspace / "a.py"
    file.write_text("x = 1\n")
    async with Client(workspace, settings=replay({"calls": [edit("a.py", "x = 1", "x = 2")]}, {"text": "."})) as client:
        client.open(file)
        await client.run()
        client.type(file, "x = 1  # mine\n")
        await client.until(lambda: client.last("agent/edits")["files"][0]["state"] == "conflict")
        client.type(file, "x = 1\n")
        await client.until(lambda: client.last("agent/edits")["files"][0]["state"] == "pending")


async def test_incremental_changes_count_lines_and_columns_as_lsp_does(workspace: Path, replay: Replay) -> None:
    """Columns are in UTF-16 code units. CRLF and a lone CR end a line; form feed and U+2028 do not."""
    file = workspace / "a.txt"
    file.write_text("x")
    text = "a\x0cb\u2028c\r\n🚀é\rlast"
    async with Client(
        workspace, settings=replay({"calls": [{"read_file": {"path": "a.txt"}}]}, {"text": "."})
    ) as client:
        uri = client.open(file, text)
        change = {"range": {"start": {"line": 1, "character": 2}, "end": {"line": 2, "character": 0}}, "text": "X"}
        document = {"uri": uri, "version": 2}
        client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
        await client.run()
        assert client.events("tool_finished")[0]["text"] == "a\x0cb\u2028c\n🚀Xlast"


async def test_fault_10_the_editor_refuses_an_accept(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 10: the outcomes are exact, the refused file stays proposed, and the others are accepted."""
    for name in "abc":
        (workspace / name).write_text("1\n")
    settings = replay({"calls": [edit(name, "1", "2") for name in "abc"]}, {"text": "."})

    async with Client(workspace, settings=settings) as client:

        def apply(params: Any) -> Any:
            names = [change["textDocument"]["uri"][-1] for change in params["edit"]["documentChanges"]]
            return {"applied": False, "failureReason": "b is locked"} if "b" in names else client.apply_edit(params)

        client.answers["workspace/applyEdit"] = apply
        session = (await client.run())["sessionId"]
        review = await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        outcomes = {each["uri"][-1]: (each["outcome"], each["message"]) for each in review["outcomes"]}
        assert outcomes == {"a": ("applied", ""), "b": ("failed", "b is locked"), "c": ("applied", "")}
        assert [file["uri"][-1] for file in review["edits"]["files"]] == ["b"]
        assert [(workspace / name).read_text() for name in "abc"] == ["2\n", "1\n", "2\n"]


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


async def test_an_error_answer_to_apply_edit_is_a_failed_outcome(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md: the reason is passed on; nothing is lost."""

    def apply(_: Any) -> Any:
        raise Refuse("read-only editor")

    (workspace / "a").write_text("1\n")
    settings = replay({"calls": [edit("a", "1", "2")]}, {"text": "."})
    async with Client(workspace, settings=settings, answers={"workspace/applyEdit": apply}) as client:
        session = (await client.run())["sessionId"]
        review = await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        assert review["outcomes"][0]["outcome"] == "failed"
        assert "read-only editor" in review["outcomes"][0]["message"]
        assert len(review["edits"]["files"]) == 1


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


async def test_fault_146_a_read_only_file_stays_proposed(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 146: also if the server could replace it, because its folder is writable. Other files are
    accepted, and so is this one when it is writable."""
    for name in ("fixed.txt", "free.txt"):
        (workspace / name).write_text("1\n")
    (workspace / "fixed.txt").chmod(0o444)
    settings = replay({"calls": [edit(name, "1", "2") for name in ("fixed.txt", "free.txt")]}, {"text": "."})
    async with Client(workspace, settings=settings, capabilities=NOTHING) as client:
        session = (await client.run())["sessionId"]
        accept = {"sessionId": session, "target": {"all": True}}
        review = await client.request("agent/edits/accept", accept)
        found = {Path(one["uri"]).name: one["message"] for one in review["outcomes"]}
        assert found == {"fixed.txt": "fixed.txt is read-only. Make it writable, then try again.", "free.txt": ""}
        assert [Path(file["uri"]).name for file in review["edits"]["files"]] == ["fixed.txt"]
        assert (workspace / "fixed.txt").read_text() == "1\n"
        (workspace / "fixed.txt").chmod(0o644)
        await client.request("agent/edits/accept", accept)
        assert (workspace / "fixed.txt").read_text() == "2\n"


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
