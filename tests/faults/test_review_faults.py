"""docs/faults.md 8, 10, 11, 67 and 108: an editor, a disk or another program interferes with an accept."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import LINES, edit
from support.client import EDITOR, Client, Json, Refuse
from support.workspace_edit import apply_workspace_edit

Replay = Callable[..., dict[str, Any]]


async def accept(client: Client, session: str, **given: Any) -> dict[str, tuple[str, str]]:
    """The outcome and the message of an accept, by file. Accepts everything unless another `target` is given."""
    params = {"sessionId": session, "target": {"all": True}, **given}
    review = await client.request("agent/edits/accept", params)
    return {Path(one["uri"]).name: (one["outcome"], one["message"]) for one in review["outcomes"]}


def limit(client: Client, size: int | None) -> None:
    """Limits the size of a file that the server may write. None removes the limit."""
    import resource

    most = resource.RLIM_INFINITY if size is None else size
    resource.prlimit(client.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def wait_for_text(file: Path, text: str) -> None:
    while file.read_text() != text:
        pass


def parts(params: Json) -> list[tuple[str, Json]]:
    """The single changes of a workspace edit, each with its file's name and as a separate edit."""
    changes = params["edit"]["documentChanges"]
    return [
        (change["textDocument"]["uri"].rsplit("/", 1)[-1], {"edit": {"documentChanges": [change]}})
        for change in changes
    ]


@pytest.mark.parametrize("says", ["refuses", "fails"])
async def test_fault_10_the_editor_stops_halfway(workspace: Path, replay: Replay, says: str) -> None:
    """docs/faults.md 10: the other files are accepted, the failed one can be accepted later, and undo reverts all."""
    for name in "abc":
        (workspace / name).write_text("1\n")
    settings = replay({"calls": [edit(name, "1", "2") for name in "abc"]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:

        def apply(params: Json) -> Json:
            for name, part in parts(params):
                if name == "b":
                    if says == "fails":
                        raise Refuse("b is read-only")
                    return {"applied": False, "failureReason": "b is locked", "failedChange": 1}
                assert client.apply_edit(part) == {"applied": True}
            return {"applied": True}

        client.answers["workspace/applyEdit"] = apply
        session = (await client.run())["sessionId"]
        outcomes = await accept(client, session)
        assert {name: outcome for name, (outcome, _) in outcomes.items()} == {
            "a": "applied", "b": "failed", "c": "applied"
        }  # fmt: skip
        assert ("b is locked" if says == "refuses" else "b is read-only") in outcomes["b"][1]
        assert [(workspace / name).read_text() for name in "abc"] == ["2\n", "1\n", "2\n"]
        assert [Path(file["uri"]).name for file in client.last("agent/edits")["files"]] == ["b"]
        asked = [[name for name, _ in parts(params)] for params in client.all("workspace/applyEdit")]
        assert asked == [["a", "b", "c"], ["b", "c"], ["b", "c"], ["b"], ["c"]]
        client.answers["workspace/applyEdit"] = client.apply_edit
        assert await accept(client, session) == {"b": ("applied", "")}
        for expected in (["2\n", "1\n", "2\n"], ["1\n", "1\n", "1\n"]):
            await client.request("agent/edits/undo", {"sessionId": session})
            assert [(workspace / name).read_text() for name in "abc"] == expected


async def test_fault_10_an_editor_that_applies_everything_and_reports_failure(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 10: the files' content decides; nothing is applied twice."""
    for name in "ab":
        (workspace / name).write_text("1\n")
    settings = replay({"calls": [edit(name, "1", "1\n1") for name in "ab"]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:

        def apply(params: Json) -> Json:
            client.apply_edit(params)
            raise Refuse("the answer was lost")

        client.answers["workspace/applyEdit"] = apply
        session = (await client.run())["sessionId"]
        assert await accept(client, session) == {"a": ("applied", ""), "b": ("applied", "")}
        assert [(workspace / name).read_text() for name in "ab"] == ["1\n1\n", "1\n1\n"]
        assert len(client.all("workspace/applyEdit")) == 1


@pytest.mark.parametrize("when", ["before", "after"])
async def test_fault_08_typing_elsewhere_while_an_accept_is_under_way(
    workspace: Path, replay: Replay, when: str
) -> None:
    """docs/faults.md 8: the typed text and the accept both take effect. The user types before the editor applies the
    edit, or after that but before the editor answers.
    """
    file = workspace / "a"
    file.write_text(LINES)
    settings = replay({"calls": [edit("a", "line 5\n", "LINE 5\n"), edit("a", "line 9\n", "")]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        uri = client.open(file)

        def typed() -> None:
            client.type(file, client.buffers[uri][0].replace("line 1\n", "mine 0\nline 1\n").replace("line 7\n", ""))
            client.answers["workspace/applyEdit"] = client.apply_edit

        def apply(params: Json) -> Json:
            if when == "before":
                typed()
            answer = client.apply_edit(params)
            if when == "after":
                typed()
            return answer

        client.answers["workspace/applyEdit"] = apply
        session = (await client.run())["sessionId"]
        hunk = client.last("agent/edits")["files"][0]["hunks"][0]["id"]
        assert await accept(client, session, target={"uri": uri, "hunk": hunk}) == {"a": ("applied", "")}
        mine = LINES.replace("line 1\n", "mine 0\nline 1\n").replace("line 7\n", "").replace("line 5", "LINE 5")
        assert client.buffers[uri][0] == mine
        [left] = client.last("agent/edits")["files"][0]["hunks"]
        assert (left["state"], left["oldLines"], left["newLines"]) == ("pending", 1, 0)
        assert await accept(client, session) == {"a": ("applied", "")}
        assert client.buffers[uri][0] == mine.replace("line 9\n", "")
        assert file.read_text() == LINES


async def test_fault_08_typing_in_the_hunk_while_its_accept_is_under_way(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 8: text that is typed into the same lines stays, and the hunk is a conflict."""
    file = workspace / "a"
    file.write_text(LINES)
    async with Client(
        workspace, settings=replay({"calls": [edit("a", "line 5\n", "LINE 5\n")]}, {"text": "."})
    ) as client:
        uri = client.open(file)
        mine = LINES.replace("line 5", "mine 5")

        def apply(params: Json) -> Json:
            client.type(file, mine)
            return client.apply_edit(params)

        client.answers["workspace/applyEdit"] = apply
        session = (await client.run())["sessionId"]
        outcomes = await accept(client, session)
        assert {name: outcome for name, (outcome, _) in outcomes.items()} == {"a": "conflict"}
        assert client.buffers[uri][0] == mine
        [hunk] = client.last("agent/edits")["files"][0]["hunks"]
        assert hunk["conflict"] == {"base": "line 5\n", "current": "mine 5\n", "proposed": "LINE 5\n"}


async def test_fault_08_an_accept_ends_although_the_user_keeps_typing(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 8: after some attempts, each with another version, the accept fails, and nothing is lost."""
    file = workspace / "a"
    file.write_text(LINES)
    async with Client(
        workspace, settings=replay({"calls": [edit("a", "line 5\n", "LINE 5\n")]}, {"text": "."})
    ) as client:
        uri = client.open(file)

        def apply(params: Json) -> Json:
            client.type(file, client.buffers[uri][0] + "more\n")
            return client.apply_edit(params)

        client.answers["workspace/applyEdit"] = apply
        session = (await client.run())["sessionId"]
        outcomes = await accept(client, session)
        assert outcomes["a"][0] == "failed"
        assert client.buffers[uri][0] == LINES + "more\n" * len(client.all("workspace/applyEdit"))
        client.answers["workspace/applyEdit"] = client.apply_edit
        assert await accept(client, session) == {"a": ("applied", "")}


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit needs Linux")
async def test_fault_11_the_disk_is_full_where_fairlead_writes(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 11: the original is intact, no temporary file stays, the proposal remains and can be accepted
    later."""
    large, small = b"a\r\nb\n" * 20_000, b"a\r\nx\n"
    (workspace / "large.txt").write_bytes(large + b"end\n")
    (workspace / "small.txt").write_bytes(small)
    (workspace / "run.sh").write_bytes(b"x\r\n" * 40_000 + b"end\n")
    (workspace / "run.sh").chmod(0o755)
    calls = [edit("large.txt", "end", "END"), edit("small.txt", "x", "X"), edit("run.sh", "end", "END")]
    calls += [{"rename_file": {"path": "run.sh", "new_path": "bin/run.sh"}}]
    before = {path.name: path.read_bytes() for path in workspace.iterdir()}
    async with Client(workspace, settings=replay({"calls": calls}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        limit(client, 65_536)
        outcomes = await accept(client, session)
        assert {name: outcome for name, (outcome, _) in outcomes.items()} == {
            "large.txt": "failed", "small.txt": "applied", "run.sh": "failed"
        }  # fmt: skip
        assert "large.txt could not be written" in outcomes["large.txt"][1]
        assert "It is unchanged" in outcomes["large.txt"][1]
        assert {path.name: path.read_bytes() for path in workspace.iterdir()} == {**before, "small.txt": b"a\r\nX\n"}
        assert {Path(file["uri"]).name for file in client.last("agent/edits")["files"]} == {"large.txt", "run.sh"}
        limit(client, None)
        outcomes = await accept(client, session)
        assert {outcome for outcome, _ in outcomes.values()} == {"applied"}
    assert (workspace / "large.txt").read_bytes() == large + b"END\n"
    assert (workspace / "bin" / "run.sh").read_bytes() == b"x\r\n" * 40_000 + b"END\n"
    assert os.access(workspace / "bin" / "run.sh", os.X_OK)
    assert sorted(path.name for path in workspace.rglob("*")) == ["bin", "large.txt", "run.sh", "small.txt"]


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit needs Linux")
async def test_fault_11_an_undo_that_finds_the_disk_full(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 11: the undo is refused; the file stays deleted, and the undo works later."""
    data = os.urandom(100_000)
    (workspace / "a.bin").write_bytes(data)
    async with Client(
        workspace, settings=replay({"calls": [{"delete_file": {"path": "a.bin"}}]}, {"text": "."})
    ) as client:
        session = (await client.run())["sessionId"]
        assert await accept(client, session) == {"a.bin": ("applied", "")}
        limit(client, 65_536)
        error = await client.error("agent/edits/undo", {"sessionId": session})
        assert (error.code, "a.bin could not be written" in error.message) == (-32803, True)
        assert list(workspace.iterdir()) == []
        limit(client, None)
        await client.request("agent/edits/undo", {"sessionId": session})
        assert (workspace / "a.bin").read_bytes() == data


async def test_fault_10_the_editor_stops_halfway_through_an_undo(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 10: reverted files are reported one by one; the others can be undone later, and all redone."""
    for name in "ab":
        (workspace / name).write_text("1\n")
    settings = replay({"calls": [edit(name, "1", "2") for name in "ab"]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:

        def apply(params: Json) -> Json:
            for name, part in parts(params):
                if name == "b":
                    return {"applied": False, "failureReason": "b is locked"}
                client.apply_edit(part)
            return {"applied": True}

        session = (await client.run())["sessionId"]
        await accept(client, session)
        client.answers["workspace/applyEdit"] = apply

        async def undo_or_redo(verb: str) -> dict[str, str]:
            review = await client.request(f"agent/edits/{verb}", {"sessionId": session})
            return {Path(one["uri"]).name: one["outcome"] for one in review["outcomes"]}

        assert await undo_or_redo("undo") == {"a": "applied", "b": "failed"}
        assert [(workspace / name).read_text() for name in "ab"] == ["1\n", "2\n"]
        assert [Path(file["uri"]).name for file in client.last("agent/edits")["files"]] == ["a"]
        error = await client.error("agent/edits/undo", {"sessionId": session})
        assert (error.code, "b is locked" in error.message) == (-32803, True)
        client.answers["workspace/applyEdit"] = client.apply_edit
        assert await undo_or_redo("undo") == {"b": "applied"}
        assert [(workspace / name).read_text() for name in "ab"] == ["1\n", "1\n"]
        assert [await undo_or_redo("redo"), await undo_or_redo("redo")] == [{"b": "applied"}, {"a": "applied"}]
        assert [(workspace / name).read_text() for name in "ab"] == ["2\n", "2\n"]
        assert client.last("agent/edits")["files"] == []


@pytest.mark.parametrize(("checks", "where"), [(True, "elsewhere"), (True, "in the hunk"), (False, "elsewhere")])
async def test_fault_67_another_program_writes_a_closed_file_before_the_editor_does(
    workspace: Path, replay: Replay, checks: bool, where: str
) -> None:
    """docs/faults.md 67: the other program's lines stay; accepted lines go where they belong, or are a conflict."""
    file = workspace / "a"
    file.write_text(LINES)
    pulled = f"pulled\n{LINES}" if where == "elsewhere" else LINES.replace("line 5", "pulled 5")
    capabilities = EDITOR if checks else {**EDITOR, "experimental": {"agent": {"approvals": True}}}
    settings = replay({"calls": [edit("a", "line 5\n", "LINE 5\n")]}, {"text": "."})
    async with Client(workspace, settings=settings, capabilities=capabilities) as client:

        def apply(params: Json) -> Json:
            file.write_text(pulled)
            client.answers["workspace/applyEdit"] = client.apply_edit
            return client.apply_edit(params)

        client.answers["workspace/applyEdit"] = apply
        session = (await client.run())["sessionId"]
        outcome, _ = (await accept(client, session))["a"]
        if not checks:  # the server writes the file itself, so no editor is involved
            assert (outcome, file.read_text()) == ("applied", LINES.replace("line 5", "LINE 5"))
            assert client.all("workspace/applyEdit") == []
        elif where == "elsewhere":
            assert (outcome, file.read_text()) == ("applied", pulled.replace("line 5", "LINE 5"))
        else:
            assert (outcome, file.read_text()) == ("conflict", pulled)
            assert client.last("agent/edits")["files"][0]["state"] == "conflict"


@pytest.mark.parametrize("kind", ["edit", "delete", "rename", "undo"])
async def test_fault_67_nothing_is_changed_if_one_of_several_files_was_written(
    workspace: Path, replay: Replay, kind: str
) -> None:
    """docs/faults.md 67: the terminal's client changes all files or none, whatever the edit of that file is."""
    for name in "ab":
        (workspace / name).write_text(LINES)
    calls = {
        "delete": {"delete_file": {"path": "b"}},
        "rename": {"rename_file": {"path": "b", "new_path": "c"}},
    }
    edits = [edit("a", "line 5\n", "LINE 5\n"), calls.get(kind) or edit("b", "line 5\n", "LINE 5\n")]
    async with Client(workspace, settings=replay({"calls": edits}, {"text": "."})) as client:
        client.answers["workspace/applyEdit"] = apply_workspace_edit
        session = (await client.run())["sessionId"]
        if kind == "undo":
            await accept(client, session)
        before, answers = (workspace / "a").read_text(), []

        def apply(params: Json) -> Json:
            (workspace / "b").write_text("pulled\n")
            answers.append((apply_workspace_edit(params), (workspace / "a").read_text()))
            client.answers["workspace/applyEdit"] = apply_workspace_edit
            return answers[0][0]

        client.answers["workspace/applyEdit"] = apply
        if kind == "undo":
            error = await client.error("agent/edits/undo", {"sessionId": session})
            assert "b changed at the same time" in error.message
        else:
            outcomes = await accept(client, session)
            expected = "applied" if kind == "rename" else "conflict"
            assert {name: outcome for name, (outcome, _) in outcomes.items()} == {"a": "applied", "b": expected}
        assert answers == [({"applied": False, "failureReason": "b changed at the same time."}, before)]
        assert (workspace / ("c" if kind == "rename" else "b")).read_text() == "pulled\n"


@pytest.mark.parametrize("decision", ["accept", "undo", "redo"])
async def test_fault_108_a_decision_that_is_cancelled_while_files_are_written(
    workspace: Path, replay: Replay, decision: str
) -> None:
    """docs/faults.md 108: it completes, so that no file changes without a decision that can be undone."""
    names = [f"f{number}" for number in range(150)]
    for name in names:
        (workspace / name).write_text("1\n")
    settings = replay({"calls": [edit(name, "1", "2") for name in names]}, {"text": "."})

    def texts() -> set[str]:
        return {(workspace / name).read_text() for name in names}

    async with Client(workspace, settings=settings) as client:
        session = (await client.run())["sessionId"]
        params: Json = {"sessionId": session}
        if decision != "accept":
            await accept(client, session)
        if decision == "redo":
            await client.request("agent/edits/undo", params)
        before, after = ("2\n", "1\n") if decision == "undo" else ("1\n", "2\n")
        assert texts() == {before}
        target = {"target": {"all": True}} if decision == "accept" else {}
        number, deciding = client.begin(f"agent/edits/{decision}", {**params, **target})
        await asyncio.to_thread(wait_for_text, workspace / names[0], after)
        client.notify("$/cancelRequest", {"id": number})
        await asyncio.wait([deciding])
        await client.request("agent/sessions/open", params)
        assert texts() == {after}
        await client.request(f"agent/edits/{'redo' if decision == 'undo' else 'undo'}", params)
        assert texts() == {before}
