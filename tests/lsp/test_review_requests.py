"""The requests of a review (docs/protocol.md): their errors, the labels of undo and redo, and several at a time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import edit
from support.client import Client, Json, WireError

Replay = Callable[..., dict[str, Any]]


X: Json = {"uri": "file:///x", "text": ""}
WRONG: list[tuple[str, Json, str]] = [
    ("amend", {"sessionId": None, **X}, "params.sessionId is missing"),
    ("amend", {"sessionId": "x", **X}, "Unknown session: x"),
    ("amend", {"text": ""}, "params.uri is missing"),
    ("amend", {"uri": "file:///x"}, "params.text is missing"),
    ("amend", {**X, "text": 1}, "params.text must be a string"),
    ("amend", {**X, "uri": "untitled:x"}, "params.uri must be the URI of a file"),
    ("amend", {**X, "version": "1"}, "params.version must be"),
    ("undo", {"sessionId": None}, "params.sessionId is missing"),
    ("undo", {"sessionId": "x"}, "Unknown session: x"),
    ("redo", {"sessionId": "x"}, "Unknown session: x"),
    ("accept", {"target": {"all": True}, "resolution": "mine"}, "params.resolution"),
    ("accept", {}, "params.target is missing; it must be an object"),
    ("accept", {"target": {"all": True, "uri": "file:///x"}}, "must be one of"),
    ("accept", {"target": {"item": "1", "uri": "file:///x"}}, "must be one of"),
    ("reject", {"target": {"all": True, "hunk": "1"}}, "must be one of"),
    ("reject", {"target": {"hunk": "1"}}, "must be one of"),
    ("reject", {"target": {"all": False}}, "params.target.all must be true"),
    ("accept", {"target": {"changes": [], "uri": "file:///x"}}, "must be one of"),
    ("accept", {"target": {"changes": "all"}}, "changes must be a list"),
    ("reject", {"target": {"changes": [{"hunk": "1"}]}}, "changes[0].uri is missing"),
    ("accept", {"target": {"all": "yes"}}, "params.target.all must be true"),
    ("reject", {"target": {"all": True}, "reason": 5}, "params.reason must be"),
]


async def test_wrong_params_are_refused_with_the_reason(workspace: Path) -> None:
    """docs/protocol.md, Errors: -32602, for a request and for a command. The next request is answered."""
    async with Client(workspace) as client:
        session = (await client.request("agent/sessions/create", {}))["sessionId"]
        for verb, given, said in WRONG:
            params = {name: value for name, value in {"sessionId": session, **given}.items() if value is not None}
            command = {"command": f"fairlead.server.{verb}", "arguments": [params]}
            for method, asked in ((f"agent/edits/{verb}", params), ("workspace/executeCommand", command)):
                error = await client.error(method, asked)
                assert (error.code, said in error.message) == (-32602, True), (verb, given, error.message)
        assert await client.request("agent/cancel", {"sessionId": session}) is None


async def test_some_changes_are_one_decision(workspace: Path, replay: Replay) -> None:
    """Hunks and whole files are accepted together and undone together. Only a hunk that is gone fails."""
    for name in "ab":
        (workspace / name).write_text("1\n2\n3\n")
    edits = [edit("a", "1\n", "one\n"), edit("a", "3\n", "three\n"), edit("b", "1\n", "one\n")]
    new = {"write_file": {"path": "new", "content": "x\n"}}
    async with Client(workspace, settings=replay({"calls": [*edits, new]}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        version = client.last("agent/edits")["version"]
        [first, second] = [hunk["id"] for hunk in client.last("agent/edits")["files"][0]["hunks"]]
        uri = {name: (workspace / name).as_uri() for name in ("a", "b", "new")}
        changes = [{"uri": uri["a"], "hunk": second}, {"uri": uri["new"], "hunk": None}]
        gone = {"uri": uri["b"], "hunk": "gone"}
        params = {"sessionId": session, "target": {"changes": [*changes, gone]}}
        review = await client.request("agent/edits/accept", params)
        assert [(Path(one["uri"]).name, one["hunk"], one["outcome"]) for one in review["outcomes"]] == [
            ("b", "gone", "failed"),
            ("a", second, "applied"),
            ("new", None, "applied"),
        ]
        assert (workspace / "a").read_text() == "1\n2\nthree\n"
        assert review["edits"]["undoLabel"] == "Accept 2 files"
        undone = await client.request("agent/edits/undo", {"sessionId": session})
        assert len(undone["edits"]["files"]) == 3 and not (workspace / "new").exists()
        gone = {"uri": uri["a"], "hunk": "gone"}
        params = {"sessionId": session, "target": {"changes": [{"uri": uri["a"], "hunk": first}, gone]}}
        error = await client.error("agent/edits/reject", {**params, "version": version - 1})
        assert (error.code, client.last("agent/edits")["files"]) == (-32801, undone["edits"]["files"])


async def test_decisions_of_a_session_take_turns(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md: requests that arrive together are executed in order, each on the result of the previous one."""
    (workspace / "a").write_text("".join(f"{n}\n" for n in range(20)))
    calls = [edit("a", f"\n{n}\n", f"\n{n}!\n") for n in range(1, 19, 3)]
    async with Client(workspace, settings=replay({"calls": calls}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        uri = (workspace / "a").as_uri()
        hunks = [hunk["id"] for hunk in client.last("agent/edits")["files"][0]["hunks"]]
        asked = [
            client.begin(f"agent/edits/{verb}", {"sessionId": session, "target": {"uri": uri, "hunk": hunk}})[1]
            for verb, hunk in zip(["accept", "reject"] * 3, hunks, strict=True)
        ]
        undone = client.begin("agent/edits/undo", {"sessionId": session})[1]
        outcomes = [(await one)["outcomes"][0]["outcome"] for one in asked]
        assert outcomes == ["applied", "rejected"] * 3
        await undone
        assert (workspace / "a").read_text().count("!") == 3
        assert [hunk["id"] for hunk in client.last("agent/edits")["files"][0]["hunks"]] == [hunks[-1]]


async def test_simultaneous_undos_undo_a_decision_only_once(workspace: Path, replay: Replay) -> None:
    """The other requests find nothing more to undo, and say so."""
    (workspace / "a").write_text("1\n")
    async with Client(workspace, settings=replay({"calls": [edit("a", "1", "2")]}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        asked = [client.begin("agent/edits/undo", {"sessionId": session})[1] for _ in range(3)]
        await asked[0]
        for one in asked[1:]:
            with pytest.raises(WireError, match="nothing to undo"):
                await one
        assert (workspace / "a").read_text() == "1\n"
