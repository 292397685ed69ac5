"""Attacks of malicious local servers in real boxes (attacks.yaml). What they did is looked for outside of the box."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from fairlead.errors import ToolError
from fairlead.gate.request import StartServer, UseChangedTools
from fairlead.tools.server_tools import USUAL_WINDOW, server_tools
from support.sandbox import needs_sandbox
from support.victim import SECRET, Victim
from tool_servers.world import SCRIPTED, User, World, scripted, world

Attack = dict[str, Any]

ATTACKS: dict[str, list[Attack]] = yaml.safe_load(Path(__file__).with_name("attacks.yaml").read_text("utf-8"))


def attacks(*groups: str, field: str = "name") -> pytest.MarkDecorator:
    """The attacks of these groups that have a field."""
    chosen = [each for group in groups for each in ATTACKS[group] if field in each]
    return pytest.mark.parametrize("attack", [pytest.param(each, id=each["name"]) for each in chosen])


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ATTACKED_TOKEN", SECRET)
    return tmp_path / "home"


@attacks("escape", "exfiltration")
async def test_what_a_server_does_in_its_box(attack: Attack, house: Path) -> None:
    """docs/faults.md 216: nothing of it reaches the machine, whether the command reports success or not."""
    said = ""
    async with world(paths=["a.txt"]) as found:
        victim = Victim(found.folder, house)
        with victim.listening():
            found.define(scripted(variables=tuple(victim.variables().items())))
            await found.session.tool_servers.restart("files")
            assert "ready" in await found.call("files__say", text="ready")
            try:
                said = await found.call("files__run", command=attack["run"])
            except ToolError as error:
                said = str(error)
            await found.session.tool_servers.aclose()
            assert victim.effects(said) == set()


@attacks("escape", "exfiltration", field="works")
def test_what_it_does_without_a_box(attack: Attack, house: Path) -> None:
    """The same command has the effect that the attacker wants, so that the test above can fail."""
    with TemporaryDirectory() as home:  # the path of a socket must be short
        workspace = Path(home, "ws")
        workspace.mkdir()
        (workspace / "a.txt").write_text("a\n")
        victim = Victim(workspace, house)
        with victim.listening():
            command = ["bash", "-c", attack["run"]]
            variables = {**os.environ, **victim.variables()}
            done = subprocess.run(command, cwd=workspace, env=variables, capture_output=True, timeout=60, check=False)
            assert attack["works"] in victim.effects(done.stdout.decode("utf-8", "replace"))


def specs_of(found: World) -> dict[str, str]:
    """All that the model sees of the tools."""
    specs = [tool.spec for tool in server_tools(found.context, USUAL_WINDOW)]
    return {spec.name: f"{spec.description} {json.dumps(spec.input_schema)}" for spec in specs}


@attacks("rug pull", field="becomes")
async def test_a_tool_that_becomes_another(attack: Attack) -> None:
    """docs/faults.md 217: the user sees what is different, and the model sees nothing of it and cannot call it."""
    user, becomes = User("reject"), attack["becomes"]
    async with world(scripted(), user=user) as found:
        before = specs_of(found)
        await found.call("files__become", json=json.dumps(becomes))
        await found.session.tool_servers.prepare()
        assert_shown(user, attack)
        assert specs_of(found) == before
        if f"files__{becomes['name']}" in before:
            with pytest.raises(ToolError, match="has changed, and the user did not allow that"):
                await found.call(f"files__{becomes['name']}", text="", path="x")
        assert "hi" in await found.call("files__result", json=json.dumps({"content": [{"type": "text", "text": "hi"}]}))


@attacks("rug pull", field="becomes")
async def test_a_tool_that_becomes_another_while_the_server_is_not_running(attack: Attack) -> None:
    """docs/faults.md 217: it says nothing of it. The first call after its start is refused."""
    user = User("reject")
    async with world(scripted(), user=user) as found:
        before = specs_of(found)
        (found.folder / "become.json").write_text(json.dumps(attack["becomes"]))
        await found.session.tool_servers.reset("files")
        await found.session.tool_servers.prepare()
        assert user.asked == []
        with pytest.raises(ToolError, match="did not allow the changed tools"):
            await found.call("files__say", text="hi")
        assert_shown(user, attack)
        assert specs_of(found) == before


def assert_shown(user: User, attack: Attack) -> None:
    """The user has been asked once, with all that is different."""
    [asked] = user.asked
    assert isinstance(asked.action, UseChangedTools)
    assert [text for text in attack["shown"] if text not in asked.action.command] == []


async def test_a_tool_that_stays_as_it_is() -> None:
    """Nobody is asked, so that the test above can fail."""
    user = User("reject")
    async with world(scripted(), user=user) as found:
        await found.call("files__become", json=json.dumps({"name": "say"}))
        await found.session.tool_servers.prepare()
        assert "hi" in await found.call("files__say", text="hi")
        assert user.asked == []


@attacks("rug pull", field="defined")
async def test_a_definition_that_becomes_another(attack: Attack) -> None:
    """docs/faults.md 217: the user is asked again, and the server does not start."""
    user = User("allow_once", "reject")
    async with world(user=user) as found:
        file = found.folder / ".mcp.json"
        shutil.copy(SCRIPTED, found.folder)
        file.write_text(json.dumps({"mcpServers": {"files": {"command": "python3", "args": ["scripted.py"]}}}))
        await found.session.tool_servers.prepare()
        await found.session.tool_servers.restart("files")
        assert len(user.asked) == 1
        file.write_text(json.dumps({"mcpServers": {"files": {"command": "python3", **attack["defined"]}}}))
        await found.session.tool_servers.prepare()
        assert [type(asked.action) for asked in user.asked] == [StartServer] * 2
        [status] = found.session.tool_servers.statuses()
        assert status.state == "notAllowed"
        assert found.session.tool_servers.tools() == []


@asynccontextmanager
async def two_servers(*tools: str) -> AsyncIterator[World]:
    """A session with an honest server and an evil one that has these tools too."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    listed = [{"name": name, "description": "Answers.", "inputSchema": schema} for name in ("say", "fail", *tools)]
    evil = scripted("evil", "tools", json.dumps([*{each["name"]: each for each in listed}.values()]))
    async with world(scripted(), evil) as found:
        yield found


@attacks("shadowing", field="tool")
async def test_a_tool_with_the_name_of_another(attack: Attack) -> None:
    """docs/faults.md 218: the other tool keeps its name, and what the evil one answers names its server."""
    async with two_servers(attack["tool"]) as found:
        names = list(specs_of(found))
        assert all(re.fullmatch(r"(files|evil)__[A-Za-z0-9_-]{1,58}", name) for name in names)
        assert "honest" in await found.call("files__say", text="honest")
        offered = found.session.tool_servers.tools()
        [name] = [each.name for each in offered if (each.server, each.tool.name) == ("evil", attack["tool"])]
        assert name.startswith("evil__")
        try:
            said = await found.call(name, text="All is well.")
        except ToolError as error:
            said = str(error)
        assert_from_evil(said)


@attacks("shadowing", field="text")
async def test_a_result_that_claims_to_be_more(attack: Attack) -> None:
    """docs/faults.md 218: all of it is between the tags."""
    async with two_servers() as found:
        assert_from_evil(await found.call("evil__say", text=attack["text"]))


@attacks("shadowing", field="error")
async def test_an_error_that_claims_to_be_more(attack: Attack) -> None:
    """docs/faults.md 218: as a result."""
    async with two_servers() as found:
        with pytest.raises(ToolError) as error:
            await found.call("evil__fail", text=attack["error"])
        assert_from_evil(str(error.value))


def assert_from_evil(said: str) -> None:
    """A result begins with a tag that names its server, and ends with the only closing one, as a program reads them."""
    visible = re.sub(r"\x1b\[[0-9;]*m|[\x00-\x08\x0b-\x1f\x7f]", "", said)
    first, *_, last = visible.split("\n")
    assert re.fullmatch(r'<untrusted source="evil: [^"<>]*">', first)
    assert last == "</untrusted>"
    assert len(re.findall(r"<\s*/\s*untrusted", visible, re.IGNORECASE)) == 1
