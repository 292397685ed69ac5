"""A workspace with several folders, over the wire: what the model reads, and folders that are added and removed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lsp.restarts import Json, Replay, edit, listed
from support.client import Client
from support.fake_api import Call, FakeApi, Text, Turn
from support.sandbox import needs_sandbox

Connect = Callable[..., Client]
DONE = Turn((Text("Done."),))
BOTH = "<folders>\nThe folders of the workspace. Begin each path with one of these names.\n- ws: {ws}\n- web: {web}\n"


@pytest.fixture
def web(workspace: Path) -> Path:
    """A second folder, with a file of the same name as one in the first."""
    web = workspace.parent / "web"
    web.mkdir()
    for folder in (workspace, web):
        (folder / "a.txt").write_text(f"{folder.name}\n")
    return web


@pytest.fixture
def sandboxed() -> None:
    needs_sandbox()


def calls(*given: tuple[str, Json]) -> Turn:
    return Turn(tuple(Call(name, arguments) for name, arguments in given))


def read(*paths: str) -> Turn:
    return calls(*(("read_file", {"path": path}) for path in paths))


def change(client: Client, added: list[Path] | None = None, removed: list[Path] | None = None) -> None:
    """Sends what an editor sends when the user adds or removes folders."""
    event = {
        name: [{"uri": path.as_uri(), "name": path.name} for path in paths or []]
        for name, paths in (("added", added), ("removed", removed))
    }
    client.notify("workspace/didChangeWorkspaceFolders", {"event": event})


def files(client: Client) -> dict[str, Json]:
    return {Path(file["uri"]).name: file for file in client.last("agent/edits")["files"]}


async def test_the_model_reads_the_folders_and_names_files_by_them(
    connect: Connect, workspace: Path, web: Path
) -> None:
    """An edit applies to the file in the named folder, not to a file of the same name in another folder. A path that
    does not begin with a folder's name is refused.
    """
    edits = calls(
        ("edit_file", {"path": "web/a.txt", "old_text": "web", "new_text": "changed"}),
        ("edit_file", {"path": "a.txt", "old_text": "ws", "new_text": "changed"}),
    )
    with FakeApi([read("ws/a.txt", "web/a.txt"), edits, DONE]) as api:
        async with connect(api, more_folders=[web]) as client:
            assert client.server["capabilities"]["workspace"]["workspaceFolders"] == {
                "supported": True,
                "changeNotifications": True,
            }
            session = (await client.run())["sessionId"]
            [file] = client.last("agent/edits")["files"]
            assert file["uri"] == (web / "a.txt").as_uri()
            [*_, refused] = client.events("tool_finished")
            assert "a.txt does not begin with the name of a folder" in refused["text"]
            await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        first = api.requests[0]
    assert "The workspace has several folders" in first.system
    assert BOTH.format(ws=workspace, web=web) in json.dumps(first.body["messages"]).replace("\\n", "\n")
    assert ((web / "a.txt").read_text(), (workspace / "a.txt").read_text()) == ("changed\n", "ws\n")


async def test_l17_each_folder_has_its_rules(connect: Connect, workspace: Path, web: Path) -> None:
    """The system prompt contains the rules in the roots. The rules of a nested folder follow the first result that
    touches it.
    """
    for name, text in {"ws/AGENTS.md": "Ws.", "web/CLAUDE.md": "Web.", "web/src/AGENTS.md": "Src."}.items():
        path = workspace.parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (web / "src" / "b.txt").write_text("b\n")
    with FakeApi([read("web/src/b.txt"), DONE]) as api:
        async with connect(api, more_folders=[web]) as client:
            await client.run()
        first, second = api.requests
    assert [line for line in first.system.splitlines() if line.startswith("<rules")] == [
        '<rules file="ws/AGENTS.md">',
        '<rules file="web/CLAUDE.md">',
    ]
    assert "The rules for the files in web." in first.system
    assert "web/src/AGENTS.md" in json.dumps(second.body["messages"])
    assert "AGENTS.md" not in json.dumps(first.body["messages"])


async def test_a_folder_that_cannot_be_used_does_not_affect_the_others(connect: Connect, web: Path) -> None:
    """A warning names the folder, at the start or when it is added later. The agent works in the other folders."""
    third = web.with_name("third")
    third.mkdir()
    (third / "a.txt").write_text("third\n")
    with FakeApi([read("ws/a.txt", "web/a.txt", "third/a.txt"), DONE]) as api:
        async with connect(api, more_folders=[Path("/no\0folder"), web]) as client:
            change(client, added=[Path("/also no\0folder"), third])
            await client.run()
            read_texts = [event["text"].split()[-1] for event in client.events("tool_finished")]
            warnings = [message["message"] for message in client.all("window/showMessage")]
    assert read_texts == ["ws", "web", "third"]
    for warning, name in zip(warnings, ("/no%00folder", "/also%20no%00folder"), strict=True):
        assert f"The workspace folder 'file://{name}' cannot be used" in warning
        assert warning.endswith("The agent works in the other folders.")


@pytest.mark.usefixtures("web")
async def test_a_folder_that_is_added_is_reported_and_used(connect: Connect, workspace: Path, web: Path) -> None:
    """From then on, each path begins with the name of its folder. The model reads the names before its next round."""
    (web / "AGENTS.md").write_text("Web.")
    with FakeApi([read("a.txt"), DONE, read("a.txt"), read("web/a.txt"), DONE]) as api:
        async with connect(api) as client:
            session = (await client.run())["sessionId"]
            change(client, added=[web])
            await client.run(sessionId=session)
        before, after = api.requests[1].body, api.requests[2].body
        texts = [event["text"] for event in client.events("tool_finished")]
    assert "<folders>" not in json.dumps(before)
    assert f"- web: {web}" in json.dumps(after["messages"][-1])
    assert json.dumps(api.requests[4].body).count("<folders>\\n") == 1
    assert [text.split()[-1] for text in texts if "does not begin with" not in text] == ["ws", "web"]
    assert len(texts) == 3


async def test_a_removed_folder_is_not_touched_and_its_proposals_stay(
    connect: Connect, workspace: Path, web: Path
) -> None:
    """An accept, even of everything, says why it cannot write there. It succeeds once the folder is back in the
    workspace.
    """
    propose = calls(
        ("edit_file", {"path": "web/a.txt", "old_text": "web", "new_text": "new web"}),
        ("edit_file", {"path": "ws/a.txt", "old_text": "ws", "new_text": "new ws"}),
    )
    with FakeApi([read("web/a.txt", "ws/a.txt"), propose, DONE, read("web/a.txt", str(web / "a.txt")), DONE]) as api:
        async with connect(api, more_folders=[web]) as client:
            session = (await client.run())["sessionId"]
            change(client, removed=[web])
            (web / "a.txt").write_text("web\nuser\n")
            result = await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
            outcomes = {each["uri"]: each for each in result["outcomes"]}
            refused = outcomes[(web / "a.txt").as_uri()]
            assert (refused["outcome"], outcomes[(workspace / "a.txt").as_uri()]["outcome"]) == ("failed", "applied")
            assert "not part of the workspace anymore" in refused["message"]
            assert ((web / "a.txt").read_text(), (workspace / "a.txt").read_text()) == ("web\nuser\n", "new ws\n")
            record = (await client.request("agent/record", {"sessionId": session}))["record"]
            assert [file["path"] for file in record["files"]] == ["ws/a.txt"]
            assert str(web) not in json.dumps(record["changes"])
            await client.run(sessionId=session)
            refusals = [event for event in client.events("tool_finished") if event["isError"]]
            assert ["not part of the workspace anymore" in each["text"] for each in refusals] == [True, False]
            assert "Path escapes workspace" in refusals[1]["text"]
            change(client, added=[web])
            result = await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
            assert [each["outcome"] for each in result["outcomes"]] == ["applied"]
            assert (web / "a.txt").read_text() == "new web\nuser\n"
            change(client, removed=[web])
            undo = await client.error("agent/edits/undo", {"sessionId": session})
            assert "not part of the workspace anymore" in undo.message
            assert (web / "a.txt").read_text() == "new web\nuser\n"


async def test_a_proposal_of_a_removed_folder_can_be_rejected(connect: Connect, web: Path) -> None:
    """A reject changes no file. Before it, the proposal can be reviewed; other files of the folder are not shown."""
    propose = calls(("write_file", {"path": "web/new.txt", "content": "new\n"}))
    with FakeApi([propose, DONE]) as api:
        async with connect(api, more_folders=[web]) as client:
            session = (await client.run())["sessionId"]
            change(client, removed=[web])
            uri = f"fairlead-proposed://{session}{web / 'new.txt'}"
            assert (await client.request("workspace/textDocumentContent", {"uri": uri}))["text"] == "new\n"
            other = f"fairlead-proposed://{session}{web / 'a.txt'}"
            assert "web\n" not in (await client.request("workspace/textDocumentContent", {"uri": other}))["text"]
            result = await client.request("agent/edits/reject", {"sessionId": session, "target": {"all": True}})
            assert [each["outcome"] for each in result["outcomes"]] == ["rejected"]
            assert client.last("agent/edits")["files"] == []


async def test_a_folder_of_an_untrusted_window_is_not_used(connect: Connect, web: Path) -> None:
    """Trust applies to the whole window, including folders that are added later."""
    with FakeApi([DONE]) as api:
        async with connect(api, trusted=False) as client:
            change(client, added=[web])
            assert "not trusted" in (await client.error("agent/runTask", {"prompt": "Do it."})).message
            client.notify("agent/trust", {"trusted": True})
            assert (await client.run())["message"] == "Done."


async def test_a_session_belongs_to_the_folders_that_it_began_with(
    workspace: Path, web: Path, replay: Replay, storage: Path
) -> None:
    """A workspace with at least one of these folders lists the session and can open it. An accept then changes files
    only in the folders that the workspace has.
    """
    other = workspace.parent / "other"
    other.mkdir()
    settings = replay(
        {"calls": [{"edit_file": {**edit(name, f"new {name}"), "path": f"{name}/a.txt"}} for name in ("ws", "web")]},
        {"text": "Done."},
    )
    async with Client(workspace, settings=settings, storage=storage, more_folders=[web]) as client:
        session = (await client.run())["sessionId"]
        await client.until(lambda: len(client.last("agent/edits")["files"]) == 2)
    nothing = replay({"text": "."})
    async with Client(other, settings=nothing, storage=storage) as client:
        assert await listed(client) == {}
    async with Client(web, settings=nothing, storage=storage, restore=False, more_folders=[other]) as client:
        assert len(await listed(client)) == 1
        change(client, removed=[web])
        error = await client.error("agent/sessions/open", {"sessionId": session})
        assert f"Add {workspace} or {web} again." in error.message
        change(client, added=[web])
        await client.request("agent/sessions/open", {"sessionId": session})
        result = await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        assert sorted(each["outcome"] for each in result["outcomes"]) == ["applied", "failed"]
    assert ((web / "a.txt").read_text(), (workspace / "a.txt").read_text()) == ("new web\n", "ws\n")


async def test_the_list_includes_the_sessions_of_a_folder_that_is_added_while_others_wait(
    workspace: Path, web: Path, replay: Replay, storage: Path
) -> None:
    """The list waits for the sessions of the added folder, although a session of the first folder is still open in
    another window.
    """
    settings = replay({"calls": [{"edit_file": edit("web", "new web")}]}, {"text": "Done."})
    async with Client(web, settings=settings, storage=storage) as client:
        await client.run("In web")
    settings = replay({"calls": [{"edit_file": edit("ws", "new ws")}]}, {"text": "Done."})
    async with Client(workspace, settings=settings, storage=storage) as other:
        await other.run("In ws")
        async with Client(workspace, settings=settings, storage=storage) as client:
            assert list(await listed(client)) == ["In ws"]
            change(client, added=[web])
            assert list(await listed(client)) == ["In ws", "In web"]


@pytest.mark.usefixtures("sandboxed")
async def test_a_command_in_one_folder_changes_another(connect: Connect, workspace: Path, web: Path) -> None:
    """The command starts in the first folder, sees the proposals of both, and its changes in both are proposed."""
    command = "cat a.txt ../web/new.txt; cat ../web/.env; echo 1 > ../web/a.txt; echo 2 > a.txt"
    (web / ".env").write_text("TOKEN=1\n")
    turns = [
        calls(("write_file", {"path": "web/new.txt", "content": "proposed\n"})),
        calls(("bash", {"command": command})),
        DONE,
    ]
    with FakeApi(turns) as api:
        async with connect(api, more_folders=[web]) as client:
            await client.run()
            [_, ran] = client.events("tool_finished")
            [started] = client.events("command")
            assert len(client.last("agent/edits")["files"]) == 3
    assert started["cwd"] == str(workspace)
    assert ran["text"].startswith("ws\nproposed\n")
    assert "TOKEN" not in ran["text"]
    assert "web/a.txt (+1 -1)" in ran["text"]
    assert "ws/a.txt (+1 -1)" in ran["text"]
    assert ((web / "a.txt").read_text(), (workspace / "a.txt").read_text()) == ("web\n", "ws\n")


@pytest.mark.usefixtures("sandboxed")
@pytest.mark.parametrize("first_is_alone", [True, False])
async def test_folders_can_change_while_a_command_runs(
    connect: Connect, workspace: Path, web: Path, first_is_alone: bool
) -> None:
    """The command's changes in folders that are still open are proposed; its changes in other folders are reported as
    lost.
    """
    gate = workspace / "gate"
    gate.write_text("wait")
    other = "" if first_is_alone else "echo 1 > ../web/a.txt; "
    command = f"{other}echo 1 > a.txt; echo started; until grep -q open gate; do sleep 0.05; done"
    turns = [calls(("bash", {"command": command})), DONE]
    with FakeApi(turns) as api:
        async with connect(api, more_folders=[] if first_is_alone else [web]) as client:
            running = client.begin("agent/runTask", {"prompt": "Do it."})[1]
            await client.event("tool_output")
            if first_is_alone:
                change(client, added=[web])
            else:
                change(client, removed=[web])
            await client.request("agent/sessions/list", {})
            gate.write_text("open")
            await running
            [ran] = client.events("tool_finished")
            uris = [file["uri"] for file in client.last("agent/edits")["files"]]
    assert uris == [(workspace / "a.txt").as_uri()]
    assert ("web/a.txt" in ran["text"] and "are lost" in ran["text"]) is not first_is_alone


@pytest.mark.usefixtures("sandboxed")
async def test_a_run_whose_last_folder_is_removed_ends(connect: Connect, workspace: Path, web: Path) -> None:
    """The run's later tool calls are refused, and so is the next run."""
    gate = workspace / "gate"
    gate.write_text("wait")
    command = "echo 1 > a.txt; echo started; until grep -q open gate; do sleep 0.05; done"
    turns = [calls(("bash", {"command": command})), read("web/a.txt"), calls(("list_files", {})), DONE]
    with FakeApi(turns) as api:
        async with connect(api, more_folders=[web]) as client:
            running = client.begin("agent/runTask", {"prompt": "Do it."})[1]
            await client.event("tool_output")
            change(client, removed=[workspace, web])
            await client.request("agent/sessions/list", {})
            gate.write_text("open")
            result = await running
            assert result["stopReason"] == "end_turn"
            [lost, refused, unlisted] = client.events("tool_finished")
            assert "are lost: ws/a.txt" in lost["text"]
            assert "not part of the workspace anymore" in refused["text"]
            assert "No folder" in unlisted["text"]
            error = await client.error("agent/runTask", {"prompt": "Do it."})
            assert "No folder is open" in error.message


async def test_checks_are_suggested_for_each_folder(connect: Connect, workspace: Path, web: Path) -> None:
    """The suggested commands start in the first folder."""
    (workspace / "Makefile").write_text("test:\n\ttrue\n")
    (web / "package.json").write_text('{"scripts": {"test": "true"}}')
    with FakeApi([]) as api:
        async with connect(api, more_folders=[web]) as client:
            found = await client.request("agent/checks/suggest", {})
    assert found["suggestions"] == [
        {"command": "make test", "source": "ws/Makefile"},
        {"command": "cd ../web && npm test", "source": "web/package.json"},
    ]


async def test_a_folder_that_does_not_exist_prevents_a_run(connect: Connect, web: Path) -> None:
    """The error names it. The agent does not work in the other folders as if they were the whole workspace."""
    with FakeApi([]) as api:
        async with connect(api, more_folders=[web, web.parent / "gone"]) as client:
            error = await client.error("agent/runTask", {"prompt": "Do it."})
            assert f"A folder of the workspace does not exist: {web.parent / 'gone'}" in error.message
