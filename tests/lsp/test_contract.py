"""The protocol as a client sees it: initialize, order, settings, cancellation, plain clients (docs/protocol.md)."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import edit
from support.client import EDITOR, NOTHING, Client
from support.fake_api import Call, FakeApi, Text, Turn

Replay = Callable[..., dict[str, Any]]

PLAN = {"todo": {"items": [{"content": "One", "status": "in_progress", "activeForm": "Doing one"}]}}


async def test_the_handshake_announces_the_agent(workspace: Path) -> None:
    """docs/protocol.md, Initialize: `experimental.agent: {version: 1}` and the commands for plain clients."""
    async with Client(workspace) as client:
        capabilities = client.server["capabilities"]
        assert capabilities["experimental"]["agent"] == {"version": 1}
        assert "fairlead.server.runTask" in capabilities["executeCommandProvider"]["commands"]
        registered = await client.until(lambda: client.last("client/registerCapability"))
        options = registered["registrations"][0]["registerOptions"]
        assert options == {"schemes": ["fairlead-base", "fairlead-proposed"]}


async def test_states_come_before_the_events_and_answers_of_their_changes(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md, Order: states before the answer, `run_finished` as the run's last event, `seq` without gaps."""
    (workspace / "a.py").write_text("x = 1\n")
    settings = replay(
        {"text": "Planning.", "calls": [PLAN]}, {"calls": [edit("a.py", "x = 1", "x = 2")]}, {"text": "Done."}
    )
    async with Client(workspace, settings=settings) as client:
        result = await client.run()
        kinds = [params["kind"] if name == "agent/event" else name for name, params in client.log]
        assert kinds.index("agent/plan") < kinds.index("tool_finished")
        assert kinds.index("agent/edits") < kinds.index("answer:agent/runTask")
        assert kinds.index("run_finished") < kinds.index("answer:agent/runTask")
        sequence = [event["seq"] for event in client.events()]
        assert sequence == list(range(1, len(sequence) + 1))
        assert client.events()[-1]["kind"] == "run_finished"
        assert client.events()[0]["model"] == "replay (script.replay.yaml)"
        versions = [state["version"] for state in client.all("agent/plan")]
        assert versions == sorted(set(versions))
        assert result == {
            "sessionId": result["sessionId"],
            "stopReason": "end_turn",
            "message": "Done.",
            "usage": result["usage"],
            "error": None,
            "record": "0 of 1 step, 1 file to review. Not done: One.",
            "recordTexts": result["recordTexts"],
        }
        texts = (text["prefix"] + text["template"] for text in result["recordTexts"])
        assert "".join(texts) == "{0} of 1 step, 1 file to review. Not done: {0}."


async def test_deltas_are_coalesced_and_nothing_overtakes_them(connect: Callable[..., Client]) -> None:
    """docs/protocol.md: 2,000 deltas become few notifications, with the complete text, before the next event."""
    words = "word " * 2000
    turn = Turn((Text(words), Call("search", {"pattern": "x"})), chunk=5)
    with FakeApi(turns=[turn, Turn((Text("End."),))]) as api:
        async with connect(api) as client:
            await client.run()
            assert client.text() == words + "End."
            assert len(client.events("text")) < 500
            kinds = [event["kind"] for event in client.events()]
            last_text = max(index for index, kind in enumerate(kinds[: kinds.index("tool_started")]) if kind == "text")
            assert last_text < kinds.index("tool_started")


async def test_a_second_run_in_a_running_session_is_refused(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md, Errors: -32803 with the reason; the first run is not disturbed."""
    settings = replay({"calls": [{"bash": {"command": "true"}}]}, {"text": "end"}, approvals="ask")
    asked = asyncio.Event()
    go_on = asyncio.Event()

    async def approve(_: Any) -> Any:
        asked.set()
        await go_on.wait()
        return {"option": "allow_once"}

    async with Client(workspace, settings=settings, answers={"agent/approve": approve}) as client:
        session = (await client.request("agent/sessions/create", {}))["sessionId"]
        _, first = client.begin("agent/runTask", {"prompt": "go", "sessionId": session})
        await asked.wait()
        error = await client.error("agent/runTask", {"prompt": "more", "sessionId": session})
        assert (error.code, "already running" in error.message) == (-32803, True)
        go_on.set()
        assert (await first)["stopReason"] == "end_turn"


@pytest.mark.parametrize("way", ["$/cancelRequest", "agent/cancel", "window/workDoneProgress/cancel"])
async def test_a_run_cancelled_in_any_way_still_answers(workspace: Path, replay: Replay, way: str) -> None:
    """docs/protocol.md: the result is `cancelled`, the open question is withdrawn, and the session can continue."""
    settings = replay({"calls": [{"bash": {"command": "true"}}]}, {"text": "again"}, approvals="ask")
    never = asyncio.Event()
    async with Client(workspace, settings=settings, answers={"agent/approve": lambda _: never.wait()}) as client:
        number, answer = client.begin("agent/runTask", {"prompt": "go", "workDoneToken": "t1"})
        await client.until(lambda: client.last("agent/approve"))
        session = client.events()[0]["sessionId"]
        if way == "$/cancelRequest":
            client.notify(way, {"id": number})
        elif way == "agent/cancel":
            assert await client.request(way, {"sessionId": session}) is None
            assert await client.request(way, {"sessionId": session}) is None
        else:
            client.notify(way, {"token": "t1"})
        assert (await answer)["stopReason"] == "cancelled"
        assert client.last("$/cancelRequest")["id"].startswith("fairlead-")
        assert (await client.run(sessionId=session))["message"] == "again"


async def test_progress_shows_the_item_and_the_count(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md: work-done progress, with the client's token or one that the server creates, shows the active
    form of the current item and the count.
    """
    asking = {"calls": [{"bash": {"command": "true"}}]}
    async with Client(
        workspace, settings=replay({"calls": [PLAN]}, {"text": "end"}, asking, {"text": "end"}, approvals="ask")
    ) as client:

        async def approve(_: Any) -> Any:
            await client.until(lambda: client.last("$/progress")["token"] != "mine")
            return {"option": "allow_once"}

        client.answers["agent/approve"] = approve
        await client.run(workDoneToken="mine")
        assert client.events("run_started")[0]["workDoneToken"] == "mine"
        values = [shown["value"] for shown in client.all("$/progress") if shown["token"] == "mine"]
        assert [value["kind"] for value in values] == ["begin", *["report"] * (len(values) - 2), "end"]
        assert values[0]["cancellable"] is True and "replay" in values[0]["title"]
        assert values[1]["message"] == "Doing one (0/1)"
        await client.run(sessionId=client.events()[0]["sessionId"])
        created = await client.until(lambda: client.last("window/workDoneProgress/create"))
        assert any(shown["token"] == created["token"] for shown in client.all("$/progress"))


async def test_wrong_settings_are_reported_once_and_ignored(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md: one window/showMessage names the unknown and invalid settings; the server can still run."""
    settings = replay({"text": "ok"}, nonsense=1, maxTokens="many", plan={"maxItems": 0, "x": 1}, approvals="never")
    async with Client(workspace, settings=settings) as client:
        message = (await client.until(lambda: client.last("window/showMessage")))["message"]
        for part in ("nonsense", "maxTokens", "plan.maxItems", "plan.x", "approvals"):
            assert part in message
        client.notify("workspace/didChangeConfiguration", {"settings": settings})
        assert (await client.run())["message"] == "ok"
        assert len(client.all("window/showMessage")) == 1


async def test_settings_change_while_the_server_runs(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md: didChangeConfiguration; the next rewrite of the plan follows the new limit (P7).

    docs/faults.md 84: the settings that are not named, here the recording, stay.
    """
    items = [{"content": f"Step {n}", "status": "pending"} for n in range(3)]
    settings = replay({"calls": [{"todo": {"items": items}}]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        client.notify("workspace/didChangeConfiguration", {"settings": {"fairlead": {"plan": {"maxItems": 2}}}})
        client.notify("workspace/didChangeConfiguration", {"settings": {}})
        await client.run()
        assert client.events("tool_finished")[0]["text"] == "Error: Max 2 todos allowed"


async def test_a_plain_client_works_with_commands_alone(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md, executeCommand: start, poll, accept; the end comes as a message."""
    (workspace / "a").write_text("1\n")
    settings = replay({"calls": [PLAN, edit("a", "1", "2")]}, {"text": "All done."})

    async with Client(workspace, settings=settings) as client:

        async def command(name: str, **params: Any) -> Any:
            return await client.request(
                "workspace/executeCommand", {"command": f"fairlead.server.{name}", "arguments": [params]}
            )

        session = (await command("runTask", prompt="go"))["sessionId"]
        message = await client.until(lambda: client.last("window/showMessage"))
        assert message == {"type": 3, "message": "Fairlead (end_turn): All done."}
        assert (await command("plan", sessionId=session))["total"] == 1
        assert len((await command("edits", sessionId=session))["files"]) == 1
        review = await command("accept", sessionId=session, target={"all": True})
        assert review["outcomes"][0]["outcome"] == "applied"
        assert (workspace / "a").read_text() == "2\n"
        assert await command("cancel", sessionId=session) is None
        error = await client.error("workspace/executeCommand", {"command": "fairlead.server.accept", "arguments": []})
        assert error.code == -32602


async def test_fault_47_a_client_that_announces_nothing(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 47: the run works, a command that needs approval is not run, and an accept changes only closed
    files.
    """
    (workspace / "a").write_text("1\n")
    command = {"bash": {"command": "touch made", "unsandboxed": True}}
    settings = replay({"calls": [edit("a", "1", "2"), command]}, {"text": "End."})
    async with Client(workspace, settings=settings, capabilities=NOTHING) as client:
        result = await client.run()
        assert result["message"] == "End."
        assert "did not allow" in client.events("tool_finished")[1]["text"]
        assert client.all("$/progress") == []
        target = {"sessionId": result["sessionId"], "target": {"all": True}}
        uri = client.open(workspace / "a")
        review = await client.request("agent/edits/accept", target)
        assert review["outcomes"][0]["outcome"] == "failed"
        assert "cannot edit open files" in review["outcomes"][0]["message"]
        assert len(review["edits"]["files"]) == 1
        client.close(uri)
        review = await client.request("agent/edits/accept", target)
        assert [one["outcome"] for one in review["outcomes"]] == ["applied"]
        assert (workspace / "a").read_text() == "2\n"
    assert [entry.name for entry in workspace.iterdir()] == ["a"]


@pytest.mark.parametrize(
    ("title", "made"), [("Allow Once", True), ("Allow for This Session", True), ("Reject", False), (None, False)]
)
async def test_without_approvals_the_user_is_asked_by_a_message(
    workspace: Path, replay: Replay, title: str | None, made: bool
) -> None:
    """docs/protocol.md: showMessageRequest contains the command and three actions, with Reject first."""
    settings = replay({"calls": [{"bash": {"command": "touch made", "unsandboxed": True}}]}, {"text": "End."})
    capabilities = {**EDITOR, "experimental": {}}
    answers = {"window/showMessageRequest": lambda _: {"title": title} if title else None}
    async with Client(workspace, settings=settings, capabilities=capabilities, answers=answers) as client:
        await client.run()
        question = client.last("window/showMessageRequest")
        assert [action["title"] for action in question["actions"]] == ["Reject", "Allow Once", "Allow for This Session"]
        assert "touch made" in question["message"]
    assert (workspace / "made").exists() is made


async def test_invisible_characters_in_the_folders_name_are_escaped(tmp_path: Path, replay: Replay) -> None:
    """A message that asks about a command shows invisible characters in the name of the command's folder as escapes."""
    folder = tmp_path / "a\u202eb"
    folder.mkdir()
    settings = replay({"calls": [{"bash": {"command": "true", "unsandboxed": True}}]}, {"text": "End."})
    answers = {"window/showMessageRequest": lambda _: None}
    async with Client(folder, settings=settings, capabilities={"experimental": {}}, answers=answers) as client:
        await client.run()
        message = client.last("window/showMessageRequest")["message"]
        assert "a\\u202eb" in message and "\u202e" not in message


async def test_an_untrusted_workspace_gets_no_run(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 39: without trust, runs are refused and the model is not contacted; trust can be given later."""
    with FakeApi(turns=[Turn((Text("ok"),))]) as api:
        env = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url}
        async with Client(workspace, env=env, trusted=False) as client:
            error = await client.error("agent/runTask", {"prompt": "go"})
            assert error.code == -32803 and "not trusted" in error.message
            assert "not trusted" in (await client.error("agent/warm", {})).message
            assert (api.requests, api.connections) == ([], 0)
            client.notify("agent/trust", {"trusted": True})
            assert await client.request("agent/warm", {}) is None
            warm = api.connections
            result = await client.run()
            assert (result["message"], api.connections) == ("ok", warm)
            assert await client.request("agent/warm", {"sessionId": result["sessionId"]}) is None


async def test_the_model_is_tested_by_one_small_request(workspace: Path) -> None:
    """docs/protocol.md, `agent/models/try`: works without trust, because nothing from the workspace is sent."""
    (workspace / "AGENTS.md").write_text("secret rules")
    with FakeApi(turns=[Turn((Text("OK"),))], key="sk-right") as api:
        env = {"ANTHROPIC_API_KEY": "sk-wrong", "ANTHROPIC_BASE_URL": api.url}
        async with Client(workspace, env=env, trusted=False, settings={"model": "claude-x"}) as client:
            tried = await client.request("agent/models/try", {})
            assert (tried["works"], tried["model"]) == (False, "claude-x") and "key" in tried["message"]
            await client.request("agent/credentials", {"apiKey": "sk-right"})
            tried = await client.request("agent/models/try", {})
            assert (tried["works"], tried["model"]) == (True, "claude-x")
            assert tried["message"].startswith("claude-x answered in ")
            sent = [json.dumps(request.body) for request in api.requests]
            assert sent and all(len(request) < 1000 and "secret" not in request for request in sent)
        async with Client(workspace, env={**env, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}) as client:
            assert "127.0.0.1:9" in (await client.request("agent/models/try", {}))["message"]


async def test_credentials_take_precedence_over_settings_and_environment(workspace: Path) -> None:
    """docs/protocol.md, precedence; docs/faults.md 40: the key is in no message and no event."""
    with FakeApi(turns=[Turn((Text("ok"),))], key="sk-right") as api:
        env = {"ANTHROPIC_API_KEY": "sk-wrong", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
        async with Client(workspace, env=env, settings={"baseUrl": "http://127.0.0.1:9"}) as client:
            assert await client.request("agent/credentials", {"apiKey": "sk-right", "baseUrl": api.url}) is None
            assert (await client.run())["message"] == "ok"
            assert "sk-" not in str(client.log)


async def test_fault_86_an_empty_list_counts_as_an_empty_object(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 86: Lua cannot tell an empty list from an empty object, so Neovim sends `[]` for both. The server
    accepts `[]` wherever it expects an object.
    """
    (workspace / "a").write_text("1\n")
    settings = replay({"calls": [PLAN, edit("a", "1", "2")]}, {"text": "."})
    lua: list[Any] = []
    window = {"showMessage": lua}
    files = {"workspaceEdit": lua, "didChangeConfiguration": lua, "codeLens": lua, "textDocumentContent": lua}
    capabilities = {"workspace": files, "window": window, "textDocument": {"codeAction": lua}, "experimental": lua}
    others: list[Any] = [{**capabilities, "general": lua, "workspace": lua, "experimental": {"agent": lua}}, lua]
    for able in (capabilities, *others):
        async with Client(workspace, settings=settings, capabilities=able) as client:
            client.notify("initialized", lua)
            client.notify("workspace/didChangeConfiguration", {"settings": lua})
            session = (await client.request("agent/sessions/create", lua))["sessionId"]
            assert (await client.run(sessionId=session, context=lua))["stopReason"] == "end_turn"
            for command in ("sessions", "plan"):
                given: Any = lua if command == "sessions" else {"sessionId": session}
                asked = {"command": f"fairlead.server.{command}", "arguments": [given]}
                assert await client.request("workspace/executeCommand", asked)
            assert len((await client.request("agent/sessions/list", lua))["sessions"]) == 1
            await client.request("agent/credentials", lua)
            error = await client.error("agent/edits/accept", {"sessionId": session, "target": lua})
            assert "must be one of {all: true}" in error.message
            assert client.all("window/showMessage") == []
