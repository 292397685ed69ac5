"""An agent of another maker works in a session of an editor with ACP (docs/agents.md)."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_agent.conftest import Open
from acp_agent.raw_client import Failed, Json, RawClient, by_kind
from cli.command import run_plain
from hosted_agents.world import AGENT, NAME

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
    script, config = tmp_path / "script.json", tmp_path / "config.json"
    script.write_text(json.dumps([TURN]))
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
