"""Bugs that were found by attacking the server. Each broke a guarantee of docs/faults.md or docs/protocol.md."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import write
from support.client import Client, Json
from support.fake_api import Call, FakeApi, Text, Turn

Replay = Callable[..., dict[str, Any]]
Connect = Callable[..., Client]

DONE = Turn((Text("Done."),))


async def decide(client: Client, how: str, session: str, **target: Any) -> list[str]:
    review = await client.request(f"agent/edits/{how}", {"sessionId": session, "target": target})
    return [outcome["outcome"] for outcome in review["outcomes"]]


@pytest.mark.parametrize("opened", [False, True])
async def test_a_second_accept_before_the_editor_reports_the_first(
    workspace: Path, replay: Replay, opened: bool
) -> None:
    """docs/faults.md 7, 8, 13: accepted text is current at once, however late the disk or didChange is."""
    lines = [f"{n}\n" for n in range(20)]
    (workspace / "a").write_text("".join(lines))
    lines[2], lines[9], lines[16] = "two\nand more\n", "nine\n", "sixteen\n"
    settings = replay({"calls": [write("a", "".join(lines))]}, {"text": "."}, {"calls": [{"read_file": {"path": "a"}}]})

    def apply(params: Json) -> Json:
        asyncio.get_running_loop().call_soon(client.apply_edit, params)  # immediately after the answer
        return {"applied": True}

    async with Client(workspace, settings={**settings, "loop": {"maxRounds": 2}}) as client:
        client.answers["workspace/applyEdit"] = apply
        if opened:
            client.open(workspace / "a")
        session = (await client.run())["sessionId"]
        found = client.last("agent/edits")["files"][0]
        for hunk in found["hunks"]:
            assert await decide(client, "accept", session, uri=found["uri"], hunk=hunk["id"]) == ["applied"]
        await client.run(sessionId=session)
        assert client.events("tool_finished")[-1]["text"] == "".join(lines)


async def test_of_two_equal_changes_each_keeps_its_id(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md, Target: a hunk that was decided no longer exists; an identical one is a different hunk."""
    (workspace / "a").write_text("a\nfoo\nb\nc\nd\nfoo\ne\n")
    settings = replay({"calls": [write("a", "a\nbar\nb\nc\nd\nbar\ne\n")]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        session = (await client.run())["sessionId"]
        found = client.last("agent/edits")["files"][0]
        first, second = (hunk["id"] for hunk in found["hunks"])
        assert await decide(client, "accept", session, uri=found["uri"], hunk=first) == ["applied"]
        assert await decide(client, "accept", session, uri=found["uri"], hunk=first) == ["failed"]
        assert (workspace / "a").read_text() == "a\nbar\nb\nc\nd\nfoo\ne\n"
        assert await decide(client, "reject", session, uri=found["uri"], hunk=second) == ["rejected"]


async def test_different_spellings_of_a_uri_name_one_file(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md, File.uri: dots, `localhost` and a scheme in capitals name the same file."""
    (workspace / "a").write_text("1\n2\n3\n4\n5\n6\n7\n")
    settings = replay({"calls": [write("a", "one\n2\n3\nfour\n5\n6\nseven\n")]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        session = (await client.run())["sessionId"]
        ids = [hunk["id"] for hunk in client.last("agent/edits")["files"][0]["hunks"]]
        path = (workspace / "a").as_uri().removeprefix("file://")
        spelled = [f"FILE://{path}", f"file://localhost{path}", f"file://{path.removesuffix('a')}x/../a"]
        for uri, hunk in zip(spelled, ids, strict=True):
            assert await decide(client, "accept", session, uri=uri, hunk=hunk) == ["applied"]


@pytest.mark.parametrize(
    "calls",
    [
        [Call("search", {"pattern": "a"}, id="call:1/2")],
        [Call("search", {"pattern": "a"}, id="")],
        [Call("no such tool!", {})],
        [Call("", {})],
        [Call("x" * 300, {})],
    ],
    ids=["odd id", "no id", "odd name", "no name", "long name"],
)
async def test_fault_21_odd_ids_and_names_do_not_spoil_the_session(connect: Connect, calls: list[Call]) -> None:
    """docs/faults.md 21: each call has its result, and the API accepts the next request."""
    with FakeApi(turns=[Turn(tuple(calls)), DONE, DONE]) as api:
        async with connect(api) as client:
            first = await client.run()
            assert first["stopReason"] == "end_turn"
            assert (await client.run(sessionId=first["sessionId"]))["stopReason"] == "end_turn"
            assert len(client.events("tool_finished")) == len(calls)
        assert api.refusals == []


async def begun_and_cancelled(client: Client, way: str) -> tuple[str, asyncio.Future[Any]]:
    """Begins a task and cancels it immediately. Returns the session and the pending answer."""
    session = (await client.request("agent/sessions/create", {}))["sessionId"]
    number, answer = client.begin("agent/runTask", {"prompt": "x", "sessionId": session})
    if way == "agent/cancel":
        client.begin(way, {"sessionId": session})
    else:
        client.notify(way, {"id": number})
    return session, answer


@pytest.mark.parametrize("way", ["agent/cancel", "$/cancelRequest"])
async def test_fault_20_a_cancel_at_the_same_moment_as_the_task(workspace: Path, replay: Replay, way: str) -> None:
    """docs/faults.md 20: the run starts and ends properly, and the next one works."""
    never = asyncio.Event()
    settings = replay({"calls": [{"bash": {"command": "true"}}]}, {"text": "b"})
    async with Client(workspace, settings=settings, answers={"agent/approve": lambda _: never.wait()}) as client:
        session, answer = await begun_and_cancelled(client, way)
        async with asyncio.timeout(30):
            assert (await answer)["stopReason"] == "cancelled"
        assert [event["kind"] for event in client.events()][-1] == "run_finished"
        assert (await client.run(sessionId=session))["stopReason"] == "end_turn"


@pytest.mark.parametrize("turns", [[{"text": "Done at once."}], []], ids=["one quick answer", "no answer"])
@pytest.mark.parametrize("way", ["agent/cancel", "$/cancelRequest"])
async def test_fault_20_a_cancel_of_a_run_that_never_waits(
    workspace: Path, replay: Replay, way: str, turns: list[dict[str, Any]]
) -> None:
    """docs/faults.md 20: whenever the cancel comes, the request has a result, which agrees with the events."""
    async with Client(workspace, settings=replay(*turns)) as client:
        for _ in range(3):
            session, answer = await begun_and_cancelled(client, way)
            result = await answer
            finished = await client.event("run_finished", sessionId=session)
            assert result["stopReason"] == finished["stopReason"]


async def test_fault_44_a_refused_initialize_has_no_effect(workspace: Path) -> None:
    """docs/faults.md 44: other requests are still refused after it, and a correct `initialize` works."""
    client = Client(workspace)
    await client.start()
    no_path = {**client.initialize_params(), "workspaceFolders": None, "rootUri": "file:///%00"}
    for wrong in ({}, {"capabilities": {"workspace": 5}}, no_path):
        assert (await client.error("initialize", wrong)).code == -32602
        assert (await client.error("agent/runTask", {"prompt": "x"})).code == -32002
    assert (await client.request("initialize", client.initialize_params()))["capabilities"]
    client.process.kill()


async def test_fault_44_notifications_with_an_id_and_requests_without(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 44: the former are refused, the latter do nothing. Impossible progress tokens are refused too."""
    async with Client(workspace, settings=replay({"text": "a"})) as client:
        for method in ("initialized", "textDocument/didOpen", "agent/trust", "$/setTrace"):
            assert (method, (await client.error(method, {})).code) == (method, -32600)
        client.notify("agent/runTask", {"prompt": "x"})
        for token in ([1], {"a": 1}, True, 1.5):
            assert (await client.error("agent/runTask", {"prompt": "x", "workDoneToken": token})).code == -32602
        assert (await client.error("textDocument/hover", {})).code == -32601
        assert client.events() == []


async def test_fault_32_the_diff_shows_nothing_from_outside(workspace: Path, tmp_path: Path, replay: Replay) -> None:
    """docs/faults.md 32: the model can write a link with the diff's scheme, but such a link shows no file outside."""
    (tmp_path / "secret").write_text("secret")
    async with Client(workspace, settings=replay({"text": "a"})) as client:
        session = (await client.run())["sessionId"]
        uri = f"fairlead-base://{session}{tmp_path}/secret"
        shown = (await client.request("workspace/textDocumentContent", {"uri": uri}))["text"]
        assert "is not in a folder of the workspace" in shown
