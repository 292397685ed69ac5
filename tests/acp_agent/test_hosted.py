"""An agent of another maker works in a session of an editor with ACP (docs/agents.md)."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_agent.conftest import Open
from acp_agent.raw_client import Failed, Json, RawClient, by_kind
from cli.command import run_plain
from hosted_agents.world import AGENT, NAME, World

TURN: list[Json] = [
    {"commands": ["compact"]},
    {"plan": [["Write it", "in_progress"]]},
    {"say": "I write it."},
    {"write": ["a.txt", "two\n"]},
    {"plan": [["Write it", "completed"]]},
    {"say": " Done."},
]


@pytest.fixture
def file(workspace: Path) -> Path:
    path = workspace / "a.txt"
    path.write_text("one\n")
    return path


@pytest.fixture
def options(tmp_path: Path) -> tuple[str, ...]:
    """The options with which an agent is there that does what `TURN` says, then nothing."""
    return with_turns(tmp_path, TURN)


def with_turns(folder: Path, *turns: list[Json]) -> tuple[str, ...]:
    """The options with which an agent is there that does what these turns say."""
    script, config = folder / "script.json", folder / "config.json"
    script.write_text(json.dumps(turns))
    command = {"command": sys.executable, "args": ["-I", "-S", str(AGENT), str(script)]}
    config.write_text(json.dumps({"agents": {NAME: {"title": "Scripted", **command, "state": {"AGENT_STATE": ""}}}}))
    return "--config", str(config)


async def choose(client: RawClient, session: str, option: str, value: str) -> dict[str, Json]:
    """The options after one was chosen, by id."""
    params = {"sessionId": session, "configId": option, "value": value}
    return by_id((await client.request("session/set_config_option", **params))["configOptions"])


def by_id(options: list[Json]) -> dict[str, Any]:
    return {each["id"]: each for each in options}


@pytest.mark.usefixtures("box")
async def test_a_hosted_agent_works_and_its_files_are_reviewed(
    agent: Open, workspace: Path, file: Path, options: tuple[str, ...]
) -> None:
    """The user allows it once. Its plan and its texts are shown, and its file is written when it is accepted. Then its
    own options and commands are there. It is still chosen when the session is loaded."""
    async with agent({"text": "Fairlead works."}, options=options) as client:
        created = await client.request("session/new", cwd=str(workspace), mcpServers=[])
        session, before = created["sessionId"], by_id(created["configOptions"])["agent"]
        assert (before["currentValue"], before["options"][0]["name"]) == ("fairlead", "Fairlead")
        assert {"value": NAME, "name": "Scripted"} in before["options"]
        assert (await choose(client, session, "agent", NAME))["agent"]["currentValue"] == NAME
        client.permission = by_kind("allow_once")
        assert await client.prompt(session, "Write it") == "end_turn"
        started, review = client.asked()
        assert started["toolCall"]["title"] == "Start `Scripted`, now and later?"
        assert review["toolCall"]["title"] == "Review `a.txt` (+1 -1)"
        assert file.read_text() == "two\n"
        assert client.text().startswith("I write it. Done.")
        assert client.plan()[0][1] == "completed"
        known = by_id(client.updates("config_option_update")[-1]["configOptions"])
        assert (known["agent:model"]["category"], known["agent:model"]["currentValue"]) == ("model", "small")
        changed = await choose(client, session, "agent:model", "large")
        assert changed["agent:model"]["currentValue"] == "large"
        commands = client.updates("available_commands_update")[-1]["availableCommands"]
        assert {"compact", "review"} <= {each["name"] for each in commands}
        for option, value in (("agent:model", "huge"), ("agent:colour", "red")):
            with pytest.raises(Failed, match="no longer has this option"):
                await choose(client, session, option, value)
        loaded = await client.request("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        assert by_id(loaded["configOptions"])["agent"]["currentValue"] == NAME
        await choose(client, session, "agent", "fairlead")
        assert await client.prompt(session, "And you?") == "end_turn"
        assert "Fairlead works." in client.text()


async def test_an_agent_is_chosen_at_the_start(agent: Open, workspace: Path, options: tuple[str, ...]) -> None:
    """An editor can list it as an agent of its own. Another one can be chosen as usual."""
    async with agent({"text": "Fairlead answers."}, options=(*options, "--agent", NAME)) as client:
        created = await client.request("session/new", cwd=str(workspace), mcpServers=[])
        session = created["sessionId"]
        assert by_id(created["configOptions"])["agent"]["currentValue"] == NAME
        await choose(client, session, "agent", "fairlead")
        assert await client.prompt(session, "Hello") == "end_turn"
        assert client.text().startswith("Fairlead answers.")


def test_an_unknown_agent_is_wrong_usage() -> None:
    ended = run_plain("acp", "--agent", "nobody")
    assert (ended.code, "there is no agent 'nobody' (choose from claude, codex" in ended.err) == (2, True)


async def test_only_fairlead_has_modes(agent: Open, workspace: Path, options: tuple[str, ...]) -> None:
    """Another mode chooses Fairlead's own agent again, and a hosted agent chooses the mode agent."""
    async with agent({"text": "Fairlead answers."}, options=options) as client:
        session = await client.new(workspace)
        await choose(client, session, "mode", "ask")
        chosen = await choose(client, session, "agent", NAME)
        assert (chosen["agent"]["currentValue"], chosen["mode"]["currentValue"]) == (NAME, "agent")
        chosen = await choose(client, session, "mode", "ask")
        assert (chosen["agent"]["currentValue"], chosen["mode"]["currentValue"]) == ("fairlead", "ask")
        assert [each["currentModeId"] for each in client.updates("current_mode_update")] == ["ask", "agent", "ask"]
        assert await client.prompt(session, "Why?") == "end_turn"
        assert client.text().startswith("Fairlead answers.")
        with pytest.raises(Failed, match="no value nobody"):
            await choose(client, session, "agent", "nobody")


@pytest.mark.usefixtures("box")
async def test_a_hosted_agent_that_is_refused_is_an_error_for_the_user(
    agent: Open, workspace: Path, file: Path, options: tuple[str, ...]
) -> None:
    """Nothing of it starts. The session works with another agent."""
    async with agent({"text": "Fairlead works."}, options=options) as client:
        session = await client.new(workspace)
        await choose(client, session, "agent", NAME)
        with pytest.raises(Failed, match="Not started: the user did not allow Scripted"):
            await client.prompt(session, "Write it")
        assert file.read_text() == "one\n"
        await choose(client, session, "agent", "fairlead")
        assert await client.prompt(session, "Hello") == "end_turn"


@pytest.mark.usefixtures("box")
async def test_a_message_reaches_a_hosted_agent(
    agent: Open, workspace: Path, file: Path, tmp_path: Path, home: Path
) -> None:
    """It reads the message after its turn, within the run, and both prompts are answered with the turn."""
    waits = [{"say": "I wait."}, {"wait_state": "go"}, {"say": " Done."}]
    given = with_turns(tmp_path, waits, [{"write": ["a.txt", "three\n"]}, {"say": " Changed."}])
    async with agent(options=(*given, "--agent", NAME)) as client:
        session = await client.new(workspace)
        client.permission = by_kind("allow_once")
        first = client.begin_prompt(session, "Wait")
        await client.until(lambda: "I wait." in client.text())
        second = client.begin_prompt(session, "Write three")
        await client.request("session/list")
        (World(workspace, tmp_path, home).state / "go").touch()
        assert [(await each)["result"] for each in (first, second)] == [{"stopReason": "end_turn"}] * 2
        assert client.text().startswith("I wait. Done.")
        assert "Changed." in client.text()
        assert file.read_text() == "three\n"


@pytest.mark.usefixtures("box")
async def test_a_turn_that_the_agent_ends_is_no_cancel(
    agent: Open, workspace: Path, file: Path, tmp_path: Path
) -> None:
    """Some agents end a turn with `cancelled` after a rejection. The client has not cancelled, so the user reads why,
    and what was written is reviewed."""
    given = with_turns(tmp_path, [{"write": ["a.txt", "two\n"]}, {"stop": "cancelled"}])
    async with agent(options=(*given, "--agent", NAME)) as client:
        session = await client.new(workspace)
        client.permission = by_kind("allow_once")
        assert await client.prompt(session, "Write two") == "end_turn"
        assert "The agent ended its turn" in client.text()
        assert file.read_text() == "two\n"


@pytest.mark.usefixtures("box")
@pytest.mark.parametrize("end", ["cancel", "close", "disconnect"])
async def test_a_hosted_agent_that_never_ends_its_turn(
    agent: Open, workspace: Path, file: Path, tmp_path: Path, end: str
) -> None:
    """docs/faults.md 300: a cancel, a close or the end of the client ends it. What it wrote is proposed."""
    given = with_turns(tmp_path, [{"write": ["a.txt", "two\n"]}, {"say": "I hang."}, {"hang": None}])
    async with agent(options=(*given, "--agent", NAME)) as client:
        session = await client.new(workspace)
        client.permission = by_kind("allow_once")
        turn = client.begin_prompt(session, "Write two")
        await client.until(lambda: "I hang." in client.text())
        if end == "disconnect":
            turn.add_done_callback(lambda ended: ended.exception())
            assert await client.end() == 0
            return
        if end == "close":
            await client.request("session/close", sessionId=session)
            await client.request("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        else:
            client.notify("session/cancel", sessionId=session)
        assert (await turn)["result"] == {"stopReason": "cancelled"}
        await client.until(lambda: "1 file left to review" in client.text())
        assert file.read_text() == "one\n"
        assert await client.prompt(session, "/accept") == "end_turn"
        assert file.read_text() == "two\n"


@pytest.mark.usefixtures("box")
async def test_the_agent_of_a_fork_has_a_session_of_its_own(
    agent: Open, workspace: Path, tmp_path: Path, home: Path
) -> None:
    """It reads what was said before, and what is said in the fork does not reach the agent of the original."""
    given = with_turns(tmp_path, [{"say": "One."}], [{"say": "Two."}], [{"say": "Three."}])
    async with agent(options=(*given, "--agent", NAME)) as client:
        session = await client.new(workspace)
        client.permission = by_kind("allow_once")
        await client.prompt(session, "First")
        fork = (await client.request("session/fork", sessionId=session, cwd=str(workspace)))["sessionId"]
        await client.prompt(fork, "Second")
        await client.prompt(session, "Third")
        first, second, third = World(workspace, tmp_path, home).prompts
        assert "<earlier_work>" in second
        assert "User: First" in second
        assert "Second" not in third
        assert "<earlier_work>" not in first + third
