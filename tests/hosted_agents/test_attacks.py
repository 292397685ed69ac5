"""Attacks of a malicious agent in a real box (attacks.yaml), and what it does in its box to the machine."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
import yaml

from hosted_agents.world import World, run
from support.client import Client, Json
from support.sandbox import needs_sandbox
from support.victim import SECRET, Victim

Attack = dict[str, Any]
ATTACKS: dict[str, list[Attack]] = yaml.safe_load(Path(__file__).with_name("attacks.yaml").read_text("utf-8"))
COMMANDS: dict[str, list[Attack]] = yaml.safe_load(
    Path(__file__).parents[1].joinpath("tool_servers/attacks.yaml").read_text("utf-8")
)
ALL = [pytest.param(each, id=f"{group}: {each['name']}") for group, rows in ATTACKS.items() for each in rows]


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


@pytest.fixture
def world(workspace: Path, tmp_path: Path, home: Path) -> World:
    (workspace / "a.txt").write_text("one\n")
    return World(workspace, tmp_path, home)


@pytest.mark.parametrize("attack", ALL)
async def test_a_turn_of_a_malicious_agent(world: World, attack: Attack) -> None:
    """docs/faults.md 284: nothing is written, lost or shown that must not be, and the next prompt works."""
    subprocess.run(["git", "init", "-q"], cwd=world.workspace, check=True)
    before = files_below(world.workspace)
    async with world.client(attack["steps"], [{"say": "Next."}]) as client:
        result = await run(client)
        session_id = result["sessionId"]
        opened = await client.request("agent/sessions/open", {"sessionId": session_id})
        again = await run(client, "Go on.", sessionId=session_id)
        assert again["stopReason"] == "end_turn", again
        assert again["message"].endswith("Next.")  # what comes after an answer may belong to the next turn
        assert result["stopReason"] == attack.get("ends", "end_turn"), result
        assert attack.get("message", "") in result["message"]
        ended = [(each["toolCallId"], each["text"]) for each in client.events("tool_finished")]
        assert await proposed(client, session_id, opened) == attack.get("files", {}), ended
        check_shown(client, attack, opened)
    assert files_below(world.workspace) == before


def check_shown(client: Client, attack: Attack, opened: Json) -> None:
    """What the user sees of the turn."""
    items = opened["plan"]["items"]
    if "plan" in attack:
        assert [[item["content"], item["status"]] for item in items] == attack["plan"]
    if "count" in attack:
        assert len(items) == attack["count"]
    started = client.events("tool_started")
    if "calls" in attack:
        assert [each["title"] for each in started] == attack["calls"]
    ended = [each["toolCallId"] for each in client.events("tool_finished")]
    assert sorted(ended) == sorted({each["toolCallId"] for each in started})
    shown = "".join(each["text"] for kind in ("tool_output", "tool_finished") for each in client.events(kind))
    assert attack.get("output", "") in shown
    if "not" in attack:
        assert [each for each in client.log if attack["not"] in json.dumps(each)] == []


async def proposed(client: Client, session_id: str, opened: Json) -> dict[str, str]:
    """The proposed texts by name."""
    assert client.workspace is not None
    found: dict[str, str] = {}
    for file in opened["edits"]["files"]:
        path = urlparse(file["uri"]).path
        uri = f"fairlead-proposed://{session_id}{path}"
        content = await client.request("workspace/textDocumentContent", {"uri": uri})
        found[str(Path(unquote(path)).relative_to(client.workspace))] = content["text"]
    return found


def files_below(folder: Path) -> dict[str, bytes]:
    paths = [Path(top, name) for top, _, names in os.walk(folder) for name in names]
    return {str(path): path.read_bytes() for path in paths}


async def test_what_an_agent_does_in_its_box(world: World, home: Path) -> None:
    """docs/faults.md 285: none of the commands of a malicious tool server reaches the machine.

    `tests/tool_servers` shows what each of them does without a box.
    """
    victim = Victim(world.workspace, home)
    secrets = [
        world.state.parent / "claude/credentials.json",
        world.state.parents[1] / "sign-in/claude/credentials.json",
        world.storage / "sessions/other.jsonl",
        home / ".claude/credentials.json",
        home / ".config/fairlead/config.json",
    ]
    for path in secrets:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
    commands = [each["run"] for group in ("escape", "exfiltration") for each in COMMANDS[group]]
    commands = [f'cat "{path}"; echo owned >> "{path}"' for path in secrets] + commands
    with victim.listening():
        world.env = victim.variables()
        turn = [{"shell": command} for command in commands]
        async with world.client([{"shell": "echo started"}, *turn], env={"ATTACKED_TOKEN": SECRET}) as client:
            result = await run(client)
            assert result["stopReason"] == "end_turn", result
            said = "".join(each["text"] for kind in ("tool_output", "tool_finished") for each in client.events(kind))
            assert len(client.events("tool_finished")) >= len(turn)
        assert "started" in said
        assert victim.effects(said) == set()
        assert {path.read_text() for path in secrets} == {SECRET}
