"""Code lenses (docs/protocol.md): accept and reject at each hunk for any LSP client, and what their commands do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.calls import LINES, edit
from support.client import Client, Json

Replay = Callable[..., dict[str, Any]]

PLAIN: Json = {
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "codeLens": {"refreshSupport": True},
    },
}


def plain(workspace: Path, settings: Json) -> Client:
    """An editor that knows only LSP."""
    answers: dict[str, Any] = {"workspace/codeLens/refresh": lambda _: None}
    return Client(workspace, settings=settings, capabilities=PLAIN, answers=answers)


async def run(client: Client) -> str:
    """Runs a task with the server's command and waits until it ends. Returns the session's id."""
    params = {"command": "fairlead.server.runTask", "arguments": [{"prompt": "Do it."}]}
    session = (await client.request("workspace/executeCommand", params))["sessionId"]
    await client.until(lambda: any("end_turn" in each["message"] for each in client.all("window/showMessage")))
    return session


async def type_in(client: Client, path: Path, text: str, moved: list[int]) -> None:
    """Types as the user, then requests the lenses after each refresh until they are at the lines `moved`."""
    client.type(path, text)
    refreshes = 0
    while [line for line, _ in await titles(client, path.as_uri())] != moved:
        await client.until(lambda seen=refreshes: len(client.all("workspace/codeLens/refresh")) > seen)
        refreshes = len(client.all("workspace/codeLens/refresh"))


def plan(*statuses: str) -> Json:
    """Writes a plan with an item for each status."""
    return {"todo": {"items": [{"id": str(n), "content": f"Step {n}", "status": s} for n, s in enumerate(statuses, 1)]}}


async def lenses(client: Client, uri: str) -> list[Json]:
    return await client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})


async def titles(client: Client, uri: str) -> list[tuple[int, str]]:
    return [(lens["range"]["start"]["line"], lens["command"]["title"]) for lens in await lenses(client, uri)]


async def press(client: Client, uri: str, title: str, which: int = 0) -> Json:
    """Executes the command of a lens with its arguments."""
    found = [lens["command"] for lens in await lenses(client, uri) if lens["command"]["title"] == title]
    command = found[which]
    return await client.request(
        "workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]}
    )


def proposed(session: str, path: Path) -> str:
    return f"fairlead-proposed://{session}{path.as_uri().removeprefix('file://')}"


async def test_lenses_are_at_the_hunks_of_the_file_and_of_the_proposed_text(workspace: Path, replay: Replay) -> None:
    """Each lens is at the line where its hunk begins in that text. A deletion at the end of the proposed text has its
    lens on the last line.
    """
    file = workspace / "a ü.txt"
    file.write_text(LINES)
    calls = [
        edit(file.name, "line 2\n", "two\nmore\n"),
        edit(file.name, "line 5\n", "line 5\nline 5 1/2\n"),
        edit(file.name, "line 9\nline 10\n", ""),
    ]
    async with plain(workspace, replay({"calls": calls}, {"text": "."})) as client:
        assert client.server["capabilities"]["codeLensProvider"] is not None
        session = await run(client)
        await client.until(lambda: client.all("workspace/codeLens/refresh"))
        in_file = [(1, "Fairlead: Accept +2 −1"), (1, "Reject"), (5, "Fairlead: Accept +1 −0"), (5, "Reject")]
        assert await titles(client, file.as_uri()) == [*in_file, (8, "Fairlead: Accept +0 −2"), (8, "Reject")]
        beside = [(1, "Accept"), (1, "Reject"), (6, "Accept"), (6, "Reject"), (10, "Accept"), (10, "Reject")]
        assert await titles(client, proposed(session, file)) == beside
        client.open(file)
        await type_in(client, file, "mine\n" + LINES, moved=[2, 2, 6, 6, 9, 9])
        assert [line for line, _ in await titles(client, proposed(session, file))] == [2, 2, 7, 7, 11, 11]
        base = proposed(session, file).replace("fairlead-proposed", "fairlead-base")
        nothing = [base, (workspace / "other").as_uri(), "untitled:x", f"{proposed(session, file)}?item=1"]
        assert [await lenses(client, each) for each in nothing] == [[], [], [], []]
        assert await lenses(client, proposed("0123", file)) == []


async def test_lenses_are_at_the_hunks_of_a_plan_item(workspace: Path, replay: Replay) -> None:
    """The text of an item leaves out the lines of other items, so its hunks begin at other lines there."""
    file = workspace / "a.txt"
    file.write_text(LINES)
    first = [edit("a.txt", "line 2\n", "two\nmore\n")]
    second = [edit("a.txt", "line 5\n", ""), edit("a.txt", "line 9\n", "nine\n")]
    turns = [{"calls": [plan("in_progress"), *first]}, {"calls": [plan("completed", "in_progress"), *second]}]
    async with plain(workspace, replay(*turns, {"text": "."})) as client:
        session = await run(client)
        text = proposed(session, file)
        assert [line for line, _ in await titles(client, text)] == [1, 1, 5, 5, 8, 8]
        assert await titles(client, f"{text}?item=1") == [(1, "Accept"), (1, "Reject")]
        assert await titles(client, f"{text}?item=2") == [(4, "Accept"), (4, "Reject"), (7, "Accept"), (7, "Reject")]
        await press(client, f"{text}?item=2", "Accept", 1)
        assert file.read_text() == LINES.replace("line 9", "nine")
        assert await titles(client, f"{text}?item=2") == [(4, "Accept"), (4, "Reject")]


async def test_lenses_of_several_sessions_name_them(workspace: Path, replay: Replay) -> None:
    """The lenses contain the sessions' titles as soon as two sessions propose changes to the same file. A long title is
    cut off.
    """
    file = workspace / "a.txt"
    file.write_text(LINES)
    settings = replay({"calls": [edit(file.name, "line 2\n", "two\n")]}, {"text": "."})
    async with plain(workspace, settings) as client:
        prompts = ["Fix (all): it", "Rename the function everywhere it is used"]
        shown: list[list[str]] = []
        for prompt in prompts:
            params = {"command": "fairlead.server.runTask", "arguments": [{"prompt": prompt}]}
            await client.request("workspace/executeCommand", params)
            ended = len(shown) + 1
            await client.until(lambda count=ended: len(client.all("window/showMessage")) >= count)
            shown.append([title for _, title in await titles(client, file.as_uri()) if "Accept" in title])
    assert shown == [
        ["Fairlead: Accept +1 −1"],
        ["Fairlead (Fix (all): it): Accept +1 −1", "Fairlead (Rename the function everywher…): Accept +1 −1"],
    ]


async def test_a_lens_does_what_it_says(workspace: Path, replay: Replay) -> None:
    """An accept and a reject affect only their hunk. Undo and redo are commands without a lens."""
    file = workspace / "a.txt"
    file.write_text(LINES)
    calls = [edit("a.txt", f"line {n}\n", f"LINE {n}\n") for n in (2, 5, 9)]
    async with plain(workspace, replay({"calls": calls}, {"text": "."})) as client:
        session = await run(client)
        uri = file.as_uri()
        await press(client, uri, "Fairlead: Accept +1 −1", 1)
        assert file.read_text() == LINES.replace("line 5", "LINE 5")
        await press(client, proposed(session, file), "Reject", 0)
        assert len(await lenses(client, uri)) == 2
        await press(client, proposed(session, file), "Accept")
        assert file.read_text() == LINES.replace("line 5", "LINE 5").replace("line 9", "LINE 9")
        assert await lenses(client, uri) == []
        for command, count in (("undo", 1), ("undo", 2), ("undo", 3), ("redo", 2)):
            params = {"command": f"fairlead.server.{command}", "arguments": [{"sessionId": session}]}
            result = await client.request("workspace/executeCommand", params)
            assert [len(each["hunks"]) for each in result["edits"]["files"]] == [count]
        assert file.read_text() == LINES.replace("line 5", "LINE 5")


async def test_a_conflict_has_lenses_of_its_own(workspace: Path, replay: Replay) -> None:
    """One lens replaces the user's lines with the proposed ones, the other keeps the user's lines."""
    file = workspace / "a.txt"
    file.write_text(LINES)
    calls = [edit("a.txt", f"line {n}\n", f"LINE {n}\n") for n in (2, 5, 9)]
    async with plain(workspace, replay({"calls": calls}, {"text": "."})) as client:
        await run(client)
        uri = client.open(file)
        mine = LINES.replace("line 2\n", "mine 2\n").replace("line 5\n", "mine 5\nmine 6\n")
        await type_in(client, file, mine, moved=[1, 1, 4, 4, 9, 9])
        over, keep = "Fairlead: Accept Proposed (Replace Mine)", "Keep Mine"
        ordinary = [(9, "Fairlead: Accept +1 −1"), (9, "Reject")]
        assert await titles(client, uri) == [(1, over), (1, keep), (4, over), (4, keep), *ordinary]
        await press(client, uri, over, 0)
        assert client.buffers[uri][0] == mine.replace("mine 2", "LINE 2")
        await press(client, uri, keep, 0)
        assert client.buffers[uri][0] == mine.replace("mine 2", "LINE 2")
        assert await titles(client, uri) == ordinary


async def test_whole_files_have_one_pair_at_the_top(workspace: Path, replay: Replay) -> None:
    """A new file, a deletion and a rename each have one pair of lenses; a rename has it under both paths."""
    for name in "ab":
        (workspace / name).write_text(LINES)
    calls = [
        {"write_file": {"path": "new", "content": LINES}},
        {"delete_file": {"path": "a"}},
        {"rename_file": {"path": "b", "new_path": "c"}},
    ]
    async with plain(workspace, replay({"calls": calls}, {"text": "."})) as client:
        session = await run(client)
        paths = {name: workspace / name for name in ("new", "a", "b", "c")}
        for name, title in (("new", "New File"), ("a", "Deletion"), ("b", "Rename to c"), ("c", "Rename to c")):
            uri = paths[name].as_uri()
            assert await titles(client, uri) == [(0, f"Fairlead: Accept {title}"), (0, "Reject")]
            assert await titles(client, proposed(session, paths[name])) == [(0, f"Accept {title}"), (0, "Reject")]
        await press(client, proposed(session, paths["c"]), "Accept Rename to c")
        await press(client, proposed(session, paths["new"]), "Accept New File")
        await press(client, paths["a"].as_uri(), "Reject")
        assert sorted(path.name for path in workspace.iterdir()) == ["a", "c", "new"]


async def test_a_file_that_the_user_deleted_has_one_pair(workspace: Path, replay: Replay) -> None:
    """One lens restores the file with all changes, the other leaves it deleted."""
    calls = [edit(name, f"line {n}\n", f"LINE {n}\n") for name in ("back", "gone") for n in (2, 9)]
    for name in ("back", "gone"):
        (workspace / name).write_text(LINES)
    async with plain(workspace, replay({"calls": calls}, {"text": "."})) as client:
        session = await run(client)
        restore, keep = "Restore File with Changes", "Keep Deleted"
        for name in ("back", "gone"):
            (workspace / name).unlink()
        await client.until(lambda: [file["state"] for file in client.last("agent/edits")["files"]] == ["conflict"] * 2)
        for name, title in (("back", restore), ("gone", keep)):
            uri = proposed(session, workspace / name)
            assert await titles(client, uri) == [(0, restore), (0, keep)]
            await press(client, uri, title)
        assert (workspace / "back").read_text() == LINES.replace("line 2\n", "LINE 2\n").replace("line 9\n", "LINE 9\n")
        assert not (workspace / "gone").exists()


async def test_a_lens_that_is_out_of_date_does_nothing(workspace: Path, replay: Replay) -> None:
    """A lens whose hunk has already been decided is answered with an error. The server requests a refresh of the lenses
    after each decision.
    """
    file = workspace / "a.txt"
    file.write_text(LINES)
    calls = [edit("a.txt", "line 2\n", "two\n"), edit("a.txt", "line 9\n", "nine\n")]
    async with plain(workspace, replay({"calls": calls}, {"text": "."})) as client:
        await run(client)
        old = (await lenses(client, file.as_uri()))[0]["command"]
        refreshed = len(client.all("workspace/codeLens/refresh"))
        await press(client, file.as_uri(), "Fairlead: Accept +1 −1", 0)
        await client.until(lambda: len(client.all("workspace/codeLens/refresh")) > refreshed)
        params = {"command": old["command"], "arguments": old["arguments"]}
        assert (await client.error("workspace/executeCommand", params)).code == -32801
        assert file.read_text() == LINES.replace("line 2", "two")
        assert [line for line, _ in await titles(client, file.as_uri())] == [8, 8]


class ReportsAfterItsCommand(Client):
    """Reports a changed document after the command was answered, as eglot does."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.unreported: list[Json] | None = None

    def notify(self, method: str, params: Any) -> None:
        if method == "textDocument/didChange" and self.unreported is not None:
            self.unreported.append(params)
        else:
            super().notify(method, params)

    async def execute(self, name: str, params: Json) -> Any:
        self.unreported = []
        command = {"command": f"fairlead.server.{name}", "arguments": [params]}
        result = await self.request("workspace/executeCommand", command)
        unreported, self.unreported = self.unreported, None
        for each in unreported:
            self.notify("textDocument/didChange", each)
        return result


async def test_fault_87_a_document_reported_after_the_command(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 87: accept, undo and redo of an open file are answered at once, and work."""
    file = workspace / "a.txt"
    file.write_text(LINES)
    settings = replay({"calls": [edit("a.txt", "line 2\n", "two\n")]}, {"text": "."})
    async with ReportsAfterItsCommand(workspace, settings=settings, capabilities=PLAIN) as client:
        uri = client.open(file)
        session = await run(client)
        before, after = LINES, LINES.replace("line 2", "two")
        steps = [("accept", {"target": {"all": True}}, after, 0), ("undo", {}, before, 1), ("redo", {}, after, 0)]
        for name, more, text, left in steps:
            assert await client.execute(name, {"sessionId": session, **more}) is None
            assert client.buffers[uri][0] == text
            await client.until(lambda left=left: len(client.last("agent/edits")["files"]) == left)
        assert not any("Fairlead: " in shown["message"] for shown in client.all("window/showMessage"))


async def test_a_failed_outcome_is_shown(workspace: Path, replay: Replay) -> None:
    """A client that only knows commands does not read outcomes, so a message tells the user why nothing happened."""
    (workspace / "a.txt").write_text(LINES)
    async with plain(workspace, replay({"calls": [edit("a.txt", "line 2\n", "two\n")]}, {"text": "."})) as client:
        session = await run(client)
        client.answers["workspace/applyEdit"] = lambda _: {"applied": False, "failureReason": "the file is locked"}
        uri = client.open(workspace / "a.txt")
        await press(client, uri, "Fairlead: Accept +1 −1")
        assert client.last("window/showMessage") == {"type": 2, "message": "Fairlead: the file is locked"}
        params = {"sessionId": session, "target": {"uri": uri, "hunk": "gone"}}
        arguments = {"command": "fairlead.server.reject", "arguments": [params]}
        await client.request("workspace/executeCommand", arguments)
        assert "no longer proposed" in client.last("window/showMessage")["message"]


async def test_a_lens_shows_the_change_if_the_client_can(workspace: Path, replay: Replay) -> None:
    """A client that announces `diffs` gets one more lens at each hunk of the user's files. In the proposed text, only
    the first of several hunks has more: those for the whole file.
    """
    file, several = workspace / "a.txt", workspace / "b.txt"
    file.write_text(LINES)
    several.write_text(LINES)
    calls = [
        edit(file.name, "line 5\n", "line 5\nmore\n"),
        *(edit(several.name, f"line {n}\n", "") for n in (2, 5)),
    ]
    settings = replay({"calls": calls}, {"text": "."})
    answers: dict[str, Any] = {"workspace/codeLens/refresh": lambda _: None}
    able = {**PLAIN, "experimental": {"agent": {"diffs": True}}}
    async with Client(workspace, settings=settings, capabilities=able, answers=answers) as client:
        session = await run(client)
        accept, _, *others = await lenses(client, file.as_uri())
        target = accept["command"]["arguments"][0]["target"]
        change = {"sessionId": session, "target": target}
        assert [each["command"] for each in others] == [
            {"title": "Open Diff", "command": "fairlead.showChange", "arguments": [change]},
        ]
        assert len(await lenses(client, proposed(session, file))) == 2
        first = [(1, "Accept"), (1, "Reject")]
        whole = [(1, "Accept File"), (1, "Reject File")]
        found = await titles(client, proposed(session, several))
        assert found == [*first, *whole, (3, "Accept"), (3, "Reject")]
        await press(client, proposed(session, several), whole[0][1])
        assert [await lenses(client, proposed(session, several))] == [[]]
        # and no code actions, because such a client has a command for the change at the cursor
        assert "codeActionProvider" not in client.server["capabilities"]
