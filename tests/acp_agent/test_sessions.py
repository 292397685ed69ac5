"""Sessions over the protocol: load, resume, list, close and delete, and what the user chooses for one."""

from pathlib import Path
from typing import Any

import pytest

from acp_agent.conftest import Open
from acp_agent.raw_client import Failed, RawClient, by_kind
from support.client import Client as Editor

PLAN = [{"content": "Write two", "status": "in_progress"}]
EDIT = {"edit_file": {"path": "a.txt", "old_text": "one", "new_text": "two"}}
WORK: list[dict[str, Any]] = [
    {"text": "I edit it.", "calls": [{"todo": {"items": PLAN}}, EDIT]},
    {"text": "It says two now."},
]


@pytest.fixture
def file(workspace: Path) -> Path:
    path = workspace / "a.txt"
    path.write_text("one\n")
    return path


def methods_until_answer(client: RawClient, begun: int) -> list[str]:
    """The kinds of the updates that came after this many messages and before the next answer."""
    kinds: list[str] = []
    for message in client.received[begun:]:
        if "method" not in message:
            break
        kinds.append(message["params"]["update"]["sessionUpdate"])
    return kinds


async def test_no_update_comes_before_the_answer_to_a_new_session(agent: Open, workspace: Path) -> None:
    """Some clients hang otherwise. The commands come right after it, also if there is something to warn about."""
    server = {"name": "old", "type": "sse", "url": "https://example.com/sse", "headers": []}
    async with agent() as client:
        begun = len(client.received)
        session = await client.new(workspace, mcpServers=[server])
        assert methods_until_answer(client, begun) == []
        await client.until(lambda: client.updates("available_commands_update", session))
        await client.until(lambda: "it uses sse" in client.text())


async def test_load_replays_everything_before_its_answer(agent: Open, workspace: Path, file: Path) -> None:
    """The conversation, the calls with their results, and the plan. The proposals wait for their review."""
    async with agent(*WORK) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Write two")
        shown = [each["sessionUpdate"] for each in client.updates()]
        assert await client.end() == 0
    assert "tool_call" in shown
    async with agent(*WORK) as client:
        begun = len(client.received)
        loaded = await client.request("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        assert loaded["modes"]["currentModeId"] == "agent"
        before = methods_until_answer(client, begun)
        assert before == [
            "user_message_chunk",
            "agent_message_chunk",
            "tool_call",
            "tool_call_update",
            "agent_message_chunk",
            "agent_message_chunk",
            "plan",
        ]
        assert client.text("user_message_chunk") == "Write two"
        assert client.text().startswith("I edit it.It says two now.")
        [call] = client.calls().values()
        assert (call["title"], call["status"]) == ("Edit `a.txt`", "completed")
        await client.until(lambda: client.updates("available_commands_update"))
        assert methods_until_answer(client, begun + len(before) + 1)[0] == "available_commands_update"
        await client.until(lambda: "1 file left to review. Write /review to decide" in client.text())
        client.permission = by_kind("allow_once")
        await client.prompt(session, "/review")
        assert file.read_text() == "two\n"


async def test_resume_replays_nothing(agent: Open, workspace: Path, file: Path) -> None:
    """Nothing comes before the answer. The plan, which the client does not know, and the commands come after it."""
    async with agent(*WORK) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Write two")
        await client.request("session/close", sessionId=session)
        with pytest.raises(Failed, match="Unknown session"):
            await client.prompt(session, "Hello")
        begun = len(client.received)
        await client.request("session/resume", sessionId=session, cwd=str(workspace))
        assert methods_until_answer(client, begun) == []
        await client.until(lambda: client.received[begun + 2 :])
        kinds = [each["params"]["update"]["sessionUpdate"] for each in client.received[begun + 1 :]]
        assert kinds[:2] == ["plan", "available_commands_update"]
        assert await client.prompt(session, "Hello") == "end_turn"


async def test_sessions_are_listed_by_folder_and_deleted(agent: Open, workspace: Path, tmp_path: Path) -> None:
    """The list has the folder, the title and the time. A deleted session is in no list, and cannot be loaded."""
    other = tmp_path / "other"
    other.mkdir()
    async with agent({"text": "Yes."}) as client:
        first, second = await client.new(workspace), await client.new(other, additionalDirectories=[str(workspace)])
        await client.prompt(first, "First prompt")
        await client.prompt(second, "Second prompt")
        listed = (await client.request("session/list"))["sessions"]
        assert [(each["sessionId"], each["title"]) for each in listed] == [
            (second, "Second prompt"),
            (first, "First prompt"),
        ]
        assert [each["cwd"] for each in listed] == [str(other), str(workspace)]
        assert listed[0]["additionalDirectories"] == [str(workspace)]
        assert listed[0]["updatedAt"].endswith("+00:00")
        [only] = (await client.request("session/list", cwd=str(workspace)))["sessions"]
        assert only["sessionId"] == first
        for session in (first, first):  # a second time, it does nothing
            assert await client.request("session/delete", sessionId=session) == {}
        listed = (await client.request("session/list"))["sessions"]
        assert [each["sessionId"] for each in listed] == [second]
        with pytest.raises(Failed, match="Unknown session"):
            await client.request("session/load", sessionId=first, cwd=str(workspace), mcpServers=[])


async def test_a_long_list_has_pages(agent: Open, workspace: Path, tmp_path: Path) -> None:
    """Each session is on one page, also if the last one of a page is deleted meanwhile. A wrong cursor is said."""
    async with agent({"text": "Yes."}) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Hello")
        await client.request("session/close", sessionId=session)
        journal = tmp_path / "sessions" / "sessions" / f"{session}.jsonl"
        for number in range(129):
            copy = f"{number:012x}"
            journal.with_stem(copy).write_text(journal.read_text().replace(session, copy))
        first = await client.request("session/list")
        await client.request("session/delete", sessionId=first["sessions"][-1]["sessionId"])
        second = await client.request("session/list", cursor=first["nextCursor"])
        assert (len(first["sessions"]), len(second["sessions"]), "nextCursor" in second) == (100, 30, False)
        assert len({each["sessionId"] for each in (*first["sessions"], *second["sessions"])}) == 130
        for cursor in ("gone", "", " "):
            with pytest.raises(Failed, match="not from a list of sessions"):
                await client.request("session/list", cursor=cursor)


async def test_a_session_that_another_editor_has_open_stays(
    agent: Open, workspace: Path, tmp_path: Path, file: Path
) -> None:
    """It can be neither loaded nor deleted, and the error says where it is. Afterwards it can."""
    async with agent(*WORK) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Write two")
        async with Editor(workspace, storage=tmp_path / "sessions") as editor:
            [row] = (await editor.request("agent/sessions/list", {}))["sessions"]
            assert (row["openElsewhere"], row["pendingFiles"]) == (True, 1)
        await client.request("session/close", sessionId=session)
        async with Editor(workspace, storage=tmp_path / "sessions") as editor:
            opened = await editor.request("agent/sessions/open", {"sessionId": session})
            assert opened["edits"]["files"][0]["additions"] == 1
            for method, params in (("session/load", {"cwd": str(workspace), "mcpServers": []}), ("session/delete", {})):
                with pytest.raises(Failed, match="open in another window"):
                    await client.request(method, sessionId=session, **params)
        await client.request("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])


async def test_a_session_is_loaded_again_in_the_same_process(agent: Open, workspace: Path, file: Path) -> None:
    """A client that has restarted its view loads the session that it has open."""
    async with agent(*WORK) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Write two")
        await client.request("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        assert client.text("user_message_chunk") == "Write two"
        client.permission = by_kind("allow_once")
        await client.prompt(session, "/accept")
        assert file.read_text() == "two\n"


async def test_a_session_is_loaded_only_in_its_folder(agent: Open, workspace: Path, tmp_path: Path) -> None:
    """The error names its folder. A session in which nothing was said is still the same one."""
    async with agent({"text": "Yes."}) as client:
        session, empty = await client.new(workspace), await client.new(workspace)
        await client.prompt(session, "Hello")
        with pytest.raises(Failed, match=f"began in {workspace}"):
            await client.request("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        assert await client.prompt(session, "/plan") == "end_turn"  # it is still open
        await client.request("session/load", sessionId=empty, cwd=str(workspace), mcpServers=[])
        assert await client.prompt(empty, "Hello") == "end_turn"
        assert (await client.request("session/list", cwd=str(tmp_path / "gone")))["sessions"] == []


async def test_a_session_is_closed_during_a_turn(agent: Open, workspace: Path, file: Path) -> None:
    """The turn ends with cancelled, and the session can be loaded with its proposal."""
    async with agent(*WORK) as client:
        session = await client.new(workspace)
        client.permission = lambda _: None
        turn = client.begin_prompt(session, "Write two")
        await client.until(client.asked)
        assert await client.request("session/close", sessionId=session) == {}
        assert (await turn)["result"] == {"stopReason": "cancelled"}
        await client.request("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        client.permission = by_kind("allow_once")
        await client.prompt(session, "/review")
        assert file.read_text() == "two\n"


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
async def test_a_fork_continues_on_its_own(agent: Open, workspace: Path, file: Path, *, is_open: bool) -> None:
    """It has the conversation and the proposals. What is decided in one of the two does not change the other one."""
    async with agent(*WORK) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Write two")
        if not is_open:
            await client.request("session/close", sessionId=session)
        begun = len(client.received)
        fork = await client.request("session/fork", sessionId=session, cwd=str(workspace))
        assert methods_until_answer(client, begun) == []
        assert fork["sessionId"] != session
        assert await client.prompt(fork["sessionId"], "/reject") == "end_turn"
        assert await client.prompt(fork["sessionId"], "/rewind") == "end_turn"
        assert "1. Write two" in client.text(session=fork["sessionId"])
        if not is_open:
            await client.request("session/resume", sessionId=session, cwd=str(workspace))
        assert await client.prompt(session, "/accept") == "end_turn"
        assert file.read_text() == "two\n"
        listed = (await client.request("session/list"))["sessions"]
        assert {each["title"] for each in listed} == {"Write two", "Write two (fork)"}
        with pytest.raises(Failed, match="Unknown session"):
            await client.request("session/fork", sessionId="0123456789ab", cwd=str(workspace))


async def test_the_mode_is_an_option_and_a_mode(agent: Open, workspace: Path) -> None:
    """Both ways change both, as some clients know only one of them. Agents in files are modes too."""
    folder = workspace / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "tester.md").write_text("---\nname: tester\ndescription: Writes tests.\n---\nOnly write tests.\n")
    async with agent({"text": "Yes."}, {"text": "Yes."}, {"text": "Yes."}) as client:
        created = await client.request("session/new", cwd=str(workspace), mcpServers=[])
        session = created["sessionId"]
        modes = [mode["id"] for mode in created["modes"]["availableModes"]]
        assert modes == ["agent", "ask", "plan", "agent:tester"]
        mode = created["configOptions"][0]
        assert (mode["id"], mode["category"], mode["currentValue"]) == ("mode", "mode", "agent")
        assert [option["value"] for option in mode["options"]] == modes
        params = {"sessionId": session, "configId": "mode", "value": "ask"}
        answer = await client.request("session/set_config_option", **params)
        assert answer["configOptions"][0]["currentValue"] == "ask"
        await client.until(lambda: client.updates("current_mode_update"))
        await client.request("session/set_mode", sessionId=session, modeId="agent:tester")
        await client.until(lambda: client.updates("config_option_update"))
        changed = client.updates("config_option_update")[-1]["configOptions"][0]
        assert changed["currentValue"] == "agent:tester"
        await client.prompt(session, "Test it")
        with pytest.raises(Failed, match="There are: agent, ask, plan, agent:tester"):
            await client.request("session/set_mode", sessionId=session, modeId="yolo")
        with pytest.raises(Failed, match="no option colour"):
            await client.request("session/set_config_option", sessionId=session, configId="colour", value="red")
        await client.request("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        listed = await client.request("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        assert listed["modes"]["currentModeId"] == "agent:tester"


async def test_a_plan_is_approved_before_the_work_starts(agent: Open, workspace: Path, file: Path) -> None:
    """In the mode plan, the turn ends with a question about the plan. Yes starts the work in the same turn."""
    plan = {"calls": [{"todo": {"items": [{"content": "Write two", "status": "pending"}]}}]}
    async with agent(plan, {"text": "That is my plan."}, {"text": "Yes."}, *WORK) as client:
        session = await client.new(workspace)
        await client.request("session/set_mode", sessionId=session, modeId="plan")
        client.permission = by_kind("reject_once", "allow_once")
        assert await client.prompt(session, "Plan it") == "end_turn"
        [asked] = client.asked()
        assert (asked["toolCall"]["kind"], asked["toolCall"]["title"]) == (
            "switch_mode",
            "Start the work on this plan?",
        )
        assert "1. Write two" in asked["toolCall"]["content"][0]["content"]["text"]
        await client.request("session/set_mode", sessionId=session, modeId="ask")
        await client.prompt(session, "Is that all?")
        assert len(client.asked()) == 1  # a question about the plan does not ask again
        assert file.read_text() == "one\n"
        assert await client.prompt(session, "/plan start") == "end_turn"
        assert client.updates("current_mode_update")[-1]["currentModeId"] == "agent"
        assert file.read_text() == "two\n"


async def test_commands_change_the_plan(agent: Open, workspace: Path) -> None:
    """Steps are named by their place. What is wrong is said, and the turn ends as usual."""
    items = [{"content": content, "status": "pending"} for content in ("First", "Second", "Third")]
    async with agent({"calls": [{"todo": {"items": items}}]}, {"text": "Planned."}) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Plan it")
        assert await client.prompt(session, "/plan drop 3") == "end_turn"
        assert await client.prompt(session, "/plan hold 1") == "end_turn"
        assert client.plan() == [("First (on hold)", "pending"), ("Second", "pending")]
        for wrong, text in (("drop 9", "no step 9"), ("drop", "Write /plan"), ("jump 1", "Write /plan")):
            assert await client.prompt(session, f"/plan {wrong}") == "end_turn"
            assert text in client.text()
        assert await client.prompt(session, "/plan") == "end_turn"
        assert "1. First (on hold)\n2. Second (pending)" in client.text()


async def test_commands_decide_and_undo(agent: Open, workspace: Path, file: Path) -> None:
    """Accept and reject take a file, a step or all; undo and redo go back and forth."""
    async with agent(*WORK) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Write two")
        for prompt, text in (
            ("/accept b.txt", "one\n"),
            ("/accept ../../etc/passwd", "one\n"),
            ("/accept a.txt", "two\n"),
            ("/undo", "one\n"),
            ("/redo", "two\n"),
            ("/undo", "one\n"),
            ("/accept step 1", "two\n"),
            ("/undo", "one\n"),
            ("/reject", "one\n"),
            ("/accept", "one\n"),
        ):
            assert await client.prompt(session, prompt) == "end_turn"
            assert file.read_text() == text, prompt
        said = client.text()
        for part in ("Nothing is proposed for `b.txt`", "escapes workspace", "Undone: `a.txt`", "nothing to review"):
            assert part in said


async def test_a_session_is_rewound(agent: Open, workspace: Path, file: Path) -> None:
    """Without a number, the prompts are listed. With one, what was accepted after it is undone."""
    async with agent({"text": "Hello."}, *WORK) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Say hello")
        client.permission = by_kind("allow_once")
        await client.prompt(session, "Write two")
        assert file.read_text() == "two\n"
        await client.prompt(session, "/rewind")
        assert "1. Say hello\n2. Write two" in client.text()
        await client.prompt(session, "/rewind 2")
        assert file.read_text() == "one\n"
        assert "as it was before this prompt: Write two" in client.text()


@pytest.mark.usefixtures("box")
async def test_checks_run_on_the_proposals(agent: Open, workspace: Path, file: Path) -> None:
    """A check is a call of the kind execute, whose title says what its result means."""
    async with agent(*WORK, options=("--check", "grep -q two a.txt")) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Write two")
        assert await client.prompt(session, "/check") == "end_turn"
        checks = [call for call in client.calls().values() if call["kind"] == "execute"]
        assert checks[-1]["status"] == "completed"
        assert "`grep -q two a.txt`" in checks[-1]["title"]
        assert "passes" in client.text()
        assert await client.prompt(session, "/check grep -q three a.txt") == "end_turn"
        failed = [call for call in client.calls().values() if call["status"] == "failed"]
        assert "grep -q three a.txt" in failed[-1]["title"]


async def test_skills_are_commands(agent: Open, workspace: Path) -> None:
    """A skill of the workspace is offered with its arguments; one with the name of a command of Fairlead is not."""
    for name in ("release", "review"):
        folder = workspace / ".claude" / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: Use it for a {name}.\nargument-hint: version\n---\nDo it.\n"
        )
    async with agent({"text": "Released."}) as client:
        session = await client.new(workspace)
        await client.until(lambda: client.updates("available_commands_update"))
        commands = {each["name"]: each for each in client.updates("available_commands_update")[-1]["availableCommands"]}
        assert commands["release"] == {
            "name": "release",
            "description": "Use it for a release.",
            "input": {"hint": "version"},
        }
        assert commands["review"]["description"].startswith("Decide on")
        assert {"accept", "reject", "undo", "plan", "check", "rewind"} <= commands.keys()
        assert await client.prompt(session, "/release 1.0") == "end_turn"
        assert client.text().startswith("Released.")
