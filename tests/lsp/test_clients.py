"""The server with the capabilities of real clients (`fixtures/clients`)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import edit, write
from support.client import Client, Json

CLIENTS = sorted((Path(__file__).parent / "fixtures" / "clients").glob("*.json"))


@pytest.mark.parametrize("path", CLIENTS, ids=lambda path: path.stem)
async def test_fault_85_decisions_with_a_real_clients_capabilities(
    path: Path, workspace: Path, replay: Callable[..., Json]
) -> None:
    """docs/faults.md 85: the client gets only edits of the kinds that it announced, and each file has the right bytes
    after an accept, an undo and a redo.
    """
    able: Json = json.loads(path.read_text(encoding="utf-8"))["capabilities"]
    before = {**dict.fromkeys(("open.txt", "old.txt", "gone.txt"), b"one\ntwo\n"), "crlf.txt": b"one\r\ntwo"}
    after = {"open.txt": b"1\ntwo\n", "crlf.txt": b"1\r\ntwo", "new.txt": b"\xc3\xbc\n", "to/moved.txt": b"one\ntwo\n"}
    for name, data in before.items():
        (workspace / name).write_bytes(data)
    rename = {"rename_file": {"path": "old.txt", "new_path": "to/moved.txt"}}
    calls = [edit("open.txt", "one", "1"), edit("crlf.txt", "one", "1"), write("new.txt", "ü\n"), rename]
    settings = replay({"calls": [*calls, {"delete_file": {"path": "gone.txt"}}]}, {"text": "."})
    async with Client(workspace, settings=settings, capabilities=able) as client:

        def apply(params: Json) -> Any:
            announced = able["workspace"]["workspaceEdit"]
            assert "changes" not in params["edit"] or not announced.get("documentChanges")
            operations = {change.get("kind") for change in params["edit"].get("documentChanges", [])} - {None}
            assert operations <= set(announced.get("resourceOperations", []))
            return client.apply_edit(params)

        client.answers["workspace/applyEdit"] = apply
        client.notify("workspace/didChangeConfiguration", {"settings": {}})  # as eglot does
        for name in ("open.txt", "old.txt", "gone.txt"):
            client.open(workspace / name)
        session = (await client.run())["sessionId"]
        steps = (("accept", {"target": {"all": True}}, after), ("undo", {}, before), ("redo", {}, after))
        for verb, params, expected in steps:
            command = {"command": f"fairlead.server.{verb}", "arguments": [{"sessionId": session, **params}]}
            review = await client.request("workspace/executeCommand", command)
            assert {outcome["outcome"] for outcome in review["outcomes"]} == {"applied"}, review["outcomes"]
            client.save_buffer(workspace / "open.txt")
            files = (file for file in workspace.rglob("*") if file.is_file())
            assert {file.relative_to(workspace).as_posix(): file.read_bytes() for file in files} == expected
        # reported by a message, because a client that only runs commands does not read the outcomes
        said = " ".join(shown["message"] for shown in client.all("window/showMessage"))
        for operation in {"rename", "delete"} - set(able["workspace"]["workspaceEdit"].get("resourceOperations", [])):
            assert f"directly, because this editor cannot {operation} files" in said
