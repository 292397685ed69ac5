"""Code actions (docs/protocol.md): accept and reject at the cursor, in editors that show no code lenses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.calls import LINES, edit
from support.client import Client, Json

Replay = Callable[..., dict[str, Any]]

NEOVIM: Json = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"resourceOperations": ["create", "rename", "delete"]}}
}


async def actions(client: Client, uri: str, first: int, last: int | None = None, **context: Any) -> list[Json]:
    """The code actions for the lines `first` to `last`, counted from 0, or for a cursor in the line `first`."""
    end = {"line": first, "character": 2} if last is None else {"line": last + 1, "character": 0}
    span = {"start": {"line": first, "character": 2}, "end": end}
    asked = {"textDocument": {"uri": uri}, "range": span, "context": context or []}
    return await client.request("textDocument/codeAction", asked)


async def titles(client: Client, uri: str, first: int, last: int | None = None, **context: Any) -> list[str]:
    return [action["title"].removeprefix("Fairlead: ") for action in await actions(client, uri, first, last, **context)]


async def press(client: Client, uri: str, line: int, title: str) -> Json:
    """Executes an action as the editor does."""
    [command] = [one["command"] for one in await actions(client, uri, line) if one["title"] == f"Fairlead: {title}"]
    params = {"command": command["command"], "arguments": command["arguments"]}
    return await client.request("workspace/executeCommand", params)


async def test_a_change_is_accepted_and_rejected_at_the_cursor(workspace: Path, replay: Replay) -> None:
    """Actions are offered only where the cursor or the selection touches a change: for this change, and for all changes
    in its file.
    """
    file = workspace / "a ü.txt"
    file.write_text(LINES)
    calls = [
        edit(file.name, "line 2\n", "two\nmore\n"),
        edit(file.name, "line 5\n", "line 5\nline 5 1/2\n"),
        edit(file.name, "line 9\nline 10\n", ""),
        {"write_file": {"path": "new", "content": "new\n"}},
    ]
    async with Client(workspace, settings=replay({"calls": calls}, {"text": "."}), capabilities=NEOVIM) as client:
        assert client.server["capabilities"]["codeActionProvider"] == {"codeActionKinds": ["quickfix"]}
        uri = client.open(file)
        assert await actions(client, uri, 0, 9) == []
        await client.run()
        every = ["Accept All 3 Changes in This File", "Reject All 3 Changes in This File"]
        second = ["Accept This Change (+2 −1)", "Reject This Change", *every]
        inserted = ["Accept This Change (+1 −0)", "Reject This Change", *every]
        assert [await titles(client, uri, line) for line in range(7)] == [[], second, [], [], inserted, inserted, []]
        assert await titles(client, uri, 1, 4) == [
            "Accept the Change at Line 2 (+2 −1)",
            "Reject the Change at Line 2",
            "Accept the Change at Line 6 (+1 −0)",
            "Reject the Change at Line 6",
            *every,
        ]
        assert await titles(client, uri, 0, 0) == []
        for only, count in ((["quickfix"], 4), ([""], 4), ([], 4), (["refactor"], 0), (["quickfix.ours"], 0)):
            assert len(await titles(client, uri, 1, only=only)) == count
        assert {action["kind"] for action in await actions(client, uri, 1)} == {"quickfix"}
        assert await titles(client, client.open(workspace / "new", "\n"), 0) == ["Accept New File", "Reject"]
        assert await titles(client, "untitled:x", 0) == []
        client.answers["workspace/applyEdit"] = client.apply_edit
        await press(client, uri, 1, "Accept This Change (+2 −1)")
        assert client.buffers[uri][0] == LINES.replace("line 2\n", "two\nmore\n")
        await press(client, uri, 5, "Reject This Change")
        client.type(file, client.buffers[uri][0].replace("line 9\n", "mine 9\n"))
        await client.until(lambda: client.last("agent/edits")["files"][0]["state"] == "conflict")
        assert await titles(client, uri, 9) == ["Accept Proposed (Replace Mine)", "Keep Mine"]
        await press(client, uri, 9, "Accept Proposed (Replace Mine)")
        assert client.buffers[uri][0] == LINES.replace("line 2\n", "two\nmore\n").replace("line 9\nline 10\n", "")
        assert await actions(client, uri, 0, 9) == []
