"""The requests of a review (docs/protocol.md): their errors, the labels of undo and redo, and several at a time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import edit
from support.client import Client, Json, WireError

Replay = Callable[..., dict[str, Any]]


WRONG: dict[str, tuple[str, Json, str]] = {
    "amend without a session": ("amend", {"uri": "file:///x", "text": ""}, "params.sessionId is missing"),
    "amend of an unknown session": ("amend", {"sessionId": "x", "uri": "file:///x", "text": ""}, "Unknown session: x"),
    "amend without a file": ("amend", {"text": ""}, "params.uri is missing"),
    "amend without a text": ("amend", {"uri": "file:///x"}, "params.text is missing"),
    "amend with a text of a wrong type": ("amend", {"uri": "file:///x", "text": 1}, "params.text must be a string"),
    "amend of a URI that is not a file's": (
        "amend",
        {"uri": "untitled:x", "text": ""},
        "params.uri must be the URI of a file",
    ),
    "amend at an invalid version": (
        "amend",
        {"uri": "file:///x", "text": "", "version": "1"},
        "params.version must be",
    ),
    "undo without a session": ("undo", {}, "params.sessionId is missing"),
    "undo of an unknown session": ("undo", {"sessionId": "x"}, "Unknown session: x"),
    "redo of an unknown session": ("redo", {"sessionId": "x"}, "Unknown session: x"),
    "accept with another resolution": ("accept", {"target": {"all": True}, "resolution": "mine"}, "params.resolution"),
    "accept without a target": ("accept", {}, "params.target must be an object"),
    "accept of all and of a file": ("accept", {"target": {"all": True, "uri": "file:///x"}}, "must be one of"),
    "accept of an item in a file": ("accept", {"target": {"item": "1", "uri": "file:///x"}}, "must be one of"),
    "reject of a hunk of all": ("reject", {"target": {"all": True, "hunk": "1"}}, "must be one of"),
    "reject of a hunk without a file": ("reject", {"target": {"hunk": "1"}}, "must be one of"),
    "reject with `all` set to false": ("reject", {"target": {"all": False}}, "must be one of"),
    "accept of changes and of a file": ("accept", {"target": {"changes": [], "uri": "file:///x"}}, "must be one of"),
    "accept of invalid changes": (
        "accept",
        {"target": {"changes": "all"}},
        "changes must be a list",
    ),
    "reject of a change without a file": (
        "reject",
        {"target": {"changes": [{"hunk": "1"}]}},
        "changes[0].uri is missing",
    ),
    "accept with `all` of a wrong type": (
        "accept",
        {"target": {"all": "yes"}},
        "params.target.all must be true or false",
    ),
    "reject with a reason of a wrong type": ("reject", {"target": {"all": True}, "reason": 5}, "params.reason must be"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_wrong_params_are_refused_with_the_reason(workspace: Path, name: str) -> None:
    """docs/protocol.md, Errors: -32602, for a request and for a command. The next request is answered."""
    verb, params, said = WRONG[name]
    async with Client(workspace) as client:
        session = (await client.request("agent/sessions/create", {}))["sessionId"]
        if "without a session" not in name:
            params = {"sessionId": session, **params}
        error = await client.error(f"agent/edits/{verb}", params)
        assert (error.code, said in error.message) == (-32602, True), error.message
        command = {"command": f"fairlead.server.{verb}", "arguments": [params]}
        error = await client.error("workspace/executeCommand", command)
        assert (error.code, said in error.message) == (-32602, True), error.message
        assert await client.request("agent/cancel", {"sessionId": session}) is None


async def test_decisions_that_are_impossible_now_are_refused_with_the_reason(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md, Errors: undo, redo and amend get -32803. The accept of a path without a proposal fails."""
    (workspace / "a").write_text("1\n")
    (workspace / "b").write_text("1\n")
    async with Client(workspace, settings=replay({"calls": [edit("a", "1", "2")]}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        for verb in ("undo", "redo"):
            error = await client.error(f"agent/edits/{verb}", {"sessionId": session})
            assert (error.code, error.message) == (-32803, f"There is nothing to {verb}.")
        for path in (workspace / "b", workspace / "none", workspace.parent / "outside", Path("/dev/null")):
            params = {"sessionId": session, "uri": path.as_uri(), "text": "x"}
            error = await client.error("agent/edits/amend", params)
            assert (error.code, "copy it if you need it" in error.message) == (-32803, True)
            target = {"sessionId": session, "target": {"uri": path.as_uri()}}
            review = await client.request("agent/edits/accept", target)
            assert [one["outcome"] for one in review["outcomes"]] == ["failed"]
        assert (workspace / "a").read_text() == "1\n"


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


async def test_the_labels_say_what_would_be_undone_and_redone(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md, `Edits`: a label is null if there is nothing to undo or redo."""
    for name in "ab":
        (workspace / name).write_text("1\n2\n3\n")
    calls = [edit("a", "1\n", "one\n"), edit("a", "3\n", "three\n"), edit("b", "1\n", "one\n")]
    async with Client(workspace, settings=replay({"calls": calls}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        uri = (workspace / "a").as_uri()

        async def labels(verb: str, **params: Any) -> tuple[str | None, str | None]:
            edits = (await client.request(f"agent/edits/{verb}", {"sessionId": session, **params}))["edits"]
            assert client.last("agent/edits") == edits
            return edits["undoLabel"], edits["redoLabel"]

        first = client.last("agent/edits")
        assert (first["undoLabel"], first["redoLabel"]) == (None, None)
        assert await labels("amend", uri=uri, text="ONE\n2\nthree\n") == ("Change a", None)
        hunk = client.last("agent/edits")["files"][0]["hunks"][0]["id"]
        assert await labels("reject", target={"uri": uri, "hunk": hunk}) == ("Reject a", None)
        assert await labels("accept", target={"all": True}) == ("Accept 2 files", None)
        assert await labels("undo") == ("Reject a", "Accept 2 files")
        assert await labels("undo") == ("Change a", "Reject a")
        assert await labels("redo") == ("Reject a", "Accept 2 files")
        assert await labels("accept", target={"uri": (workspace / "b").as_uri()}) == ("Accept b", None)


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
