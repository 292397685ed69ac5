"""Calls of the agent's tools by a program with a model of its own (`agent/tools/call`): a real server process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import bash
from support.client import Client, Json, WireError
from support.sandbox import needs_sandbox

Replay = Callable[..., Json]
BEGIN = "Helper works in this session."


@pytest.fixture
def box() -> None:
    """Skips the test if there is no sandbox."""
    needs_sandbox()


async def session_of(client: Client) -> str:
    return (await client.request("agent/sessions/create", {"title": "Helper"}))["sessionId"]


async def call(client: Client, session: str, name: str, prompt: str | None = None, **given: Any) -> Json:
    params = {"sessionId": session, "name": name, "input": given, "caller": "Helper"}
    return await client.request("agent/tools/call", {**params, **({"prompt": prompt} if prompt else {})})


async def test_an_edit_is_proposed_and_shown(workspace: Path) -> None:
    """The disk does not change. The conversation has the prompt and the call, and the call is the author."""
    (workspace / "a.txt").write_text("one\n")
    async with Client(workspace) as client:
        session = await session_of(client)
        result = await call(client, session, "edit_file", BEGIN, path="a.txt", old_text="one", new_text="two")
        assert (result["isError"], result["feedback"]) == (False, "")
        assert "Proposed" in result["text"]
        assert (workspace / "a.txt").read_text() == "one\n"
        [file] = client.last("agent/edits")["files"]
        assert file["hunks"][0]["toolCallIds"] == [result["toolCallId"]]
        assert (await client.event("run_started"))["model"] == "Helper"
        assert (await client.event("tool_finished"))["toolCallId"] == result["toolCallId"]
        assert (await client.event("run_finished"))["stopReason"] == "end_turn"
        read = await call(client, session, "read_file", path="a.txt")
        assert "two" in read["text"]
        opened = await client.request("agent/sessions/open", {"sessionId": session})
        kinds = [each["kind"] for each in opened["transcript"]]
        assert kinds.count("prompt") == 1
        assert kinds.count("tool_started") == kinds.count("tool_finished") == 2


async def test_the_program_learns_what_the_user_decided(workspace: Path) -> None:
    """The feedback comes once, with the next call."""
    (workspace / "a.txt").write_text("one\n")
    async with Client(workspace) as client:
        session = await session_of(client)
        await call(client, session, "edit_file", BEGIN, path="a.txt", old_text="one", new_text="two")
        target = {"sessionId": session, "target": {"all": True}, "reason": "too short"}
        await client.request("agent/edits/reject", target)
        first = await call(client, session, "list_files")
        assert "rejected" in first["feedback"]
        assert "too short" in first["feedback"]
        assert (await call(client, session, "list_files"))["feedback"] == ""


@pytest.mark.usefixtures("box")
async def test_a_step_with_a_failing_check_stays_open(workspace: Path) -> None:
    """The step stays in progress between calls. Its check decides, on the proposals."""
    (workspace / "a.txt").write_text("one\n")
    async with Client(workspace) as client:
        session = await session_of(client)
        step = {"content": "Write two", "check": "grep -q two a.txt"}
        await call(client, session, "todo", BEGIN, items=[{**step, "status": "in_progress"}])
        refused = await call(client, session, "todo", items=[{**step, "status": "completed"}])
        assert "is not completed: make its check pass" in refused["text"]
        await call(client, session, "edit_file", path="a.txt", old_text="one", new_text="two")
        checked = await call(client, session, "run_check")
        assert "passed" in checked["text"]
        ticked = await call(client, session, "todo", items=[{**step, "status": "completed"}])
        assert "(1/1 completed)" in ticked["text"]
        [item] = client.last("agent/plan")["items"]
        assert (item["status"], item["verification"]) == ("completed", "proved")
        assert [Path(uri).name for uri in item["evidence"]["files"]] == ["a.txt"]


@pytest.mark.usefixtures("box")
async def test_what_a_check_changes_is_discarded(workspace: Path) -> None:
    """A failing check is no error of the call: it has the command, the exit code and the end of the output."""
    async with Client(workspace) as client:
        session = await session_of(client)
        result = await call(client, session, "run_check", BEGIN, command="touch new.txt; echo wrong; exit 3")
        assert not result["isError"]
        assert "failed" in result["text"]
        assert "exit code 3" in result["text"]
        assert "wrong" in result["text"]
        edits = client.last("agent/edits")
        assert edits is None or edits["files"] == []


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("nothing", {}, "Unknown tool"),
        ("read_file", {"path": "../../etc/passwd"}, "escapes workspace"),
        ("edit_file", {"path": "a.txt"}, "old_text"),
        ("read_file", {"path": ".env"}, "secret"),
    ],
)
async def test_a_wrong_call_has_an_error_as_its_result(workspace: Path, name: str, given: Json, says: str) -> None:
    """The model of the program reads the same as Fairlead's own would."""
    (workspace / ".env").write_text("KEY=1\n")
    answers = {"agent/approve": lambda params: {"option": "reject"}}
    async with Client(workspace, answers=answers) as client:
        session = await session_of(client)
        result = await call(client, session, name, BEGIN, **given)
        assert result["isError"], result
        assert says in result["text"], result


async def test_the_first_call_needs_a_prompt(workspace: Path) -> None:
    async with Client(workspace) as client:
        session = await session_of(client)
        with pytest.raises(WireError, match="no run to continue"):
            await call(client, session, "list_files")


@pytest.mark.usefixtures("box")
async def test_a_call_during_a_run_is_refused(workspace: Path, replay: Replay) -> None:
    """The run goes on. Afterwards, calls work and the model's conversation has them."""
    settings = replay({"calls": [bash("sleep 100")]}, {"text": "Done."})
    async with Client(workspace, settings=settings) as client:
        session = await session_of(client)
        _, running = client.begin("agent/runTask", {"prompt": "Wait.", "sessionId": session})
        await client.event("command")
        with pytest.raises(WireError, match="already running") as error:
            await call(client, session, "list_files")
        assert error.value.code == -32803
        await client.request("agent/cancel", {"sessionId": session})
        await running
        assert not (await call(client, session, "list_files"))["isError"]


@pytest.mark.usefixtures("box")
async def test_a_call_can_be_stopped(workspace: Path) -> None:
    """The call answers with what it knows, and the session can be used again."""
    async with Client(workspace) as client:
        session = await session_of(client)
        params = {"sessionId": session, "name": "bash", "input": {"command": "sleep 100"}, "caller": "Helper"}
        _, running = client.begin("agent/tools/call", {**params, "prompt": BEGIN})
        await client.event("command")
        await client.request("agent/cancel", {"sessionId": session})
        result = await running
        assert result["isError"]
        assert "Cancelled" in result["text"]
        assert not (await call(client, session, "list_files"))["isError"]
