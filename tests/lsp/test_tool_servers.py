"""The tool servers that a client lists and restarts: a real language server and scripted tool servers."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.client import Client, Json, WireError
from support.fake_api import FakeApi, Text, Turn
from support.sandbox import needs_sandbox

ALLOW = {"agent/approve": lambda _: {"option": "allow_once"}}
SCRIPTED = Path(__file__).parents[1] / "tool_servers" / "scripted.py"


@pytest.fixture
def box() -> None:
    """Skips the test if there is no sandbox."""
    needs_sandbox()


def servers(**arguments: Any) -> Json:
    """Settings with a scripted server for each name, started with an argument."""
    return {
        "mcpServers": {
            name: {"command": sys.executable, "args": [str(SCRIPTED), *([argument] if argument else [])], **fields}
            for name, (argument, fields) in arguments.items()
        }
    }


def todo(*items: tuple[str, str]) -> Json:
    return {"todo": {"items": [{"content": content, "status": status} for content, status in items]}}


def states(result: Json) -> dict[str, str]:
    return {each["name"]: each["state"] for each in result["servers"]}


async def test_servers_are_listed_without_a_session(workspace: Path) -> None:
    """Nothing is started: each server is stopped or switched off, and its tools are not known."""
    settings = servers(files=("", {"hosts": ["api.example.com"]}), other=("", {"disabled": True}))
    async with Client(workspace, settings=settings) as client:
        result = await client.request("agent/toolServers/list", {})
        assert result["sessionId"] is None
        assert states(result) == {"files": "stopped", "other": "disabled"}
        files = result["servers"][0]
        assert (files["tools"], files["output"], files["problem"]) == ([], "", "")
        assert (files["hosts"], files["isRemote"], files["definedIn"]) == (["api.example.com:443"], False, None)
        assert str(SCRIPTED) in files["command"]


@pytest.mark.usefixtures("box")
async def test_a_restarted_server_shows_its_tools(workspace: Path, storage: Path) -> None:
    """The answer has the new state; a notification has it too. Its tools are known afterwards without a session."""
    settings = servers(files=("", {"disabledTools": ["remove"]}))
    async with Client(workspace, settings=settings, storage=storage) as client:
        session = (await client.request("agent/sessions/create", {}))["sessionId"]
        listed = await client.request("agent/toolServers/list", {"sessionId": session})
        assert (listed["sessionId"], states(listed)) == (session, {"files": "stopped"})
        result = await client.request("agent/toolServers/restart", {"sessionId": session, "server": "files"})
        assert states(result) == {"files": "running"}
        tools = {tool["name"]: tool for tool in result["servers"][0]["tools"]}
        read, remove = tools["read"], tools["remove"]
        assert (read["readsOnly"], read["isDestructive"], read["isEnabled"]) == (True, False, True)
        assert (remove["readsOnly"], remove["isDestructive"], remove["isEnabled"]) == (False, True, False)
        assert read["description"] == "Reads a file."
        assert 10 < read["tokens"] < 100
        notified = client.all("agent/toolServers")
        assert notified[-1] == result
        without = await client.request("agent/toolServers/list", {})
        assert [tool["name"] for tool in without["servers"][0]["tools"]] == list(tools)


@pytest.mark.usefixtures("box")
async def test_a_server_that_fails_says_why(workspace: Path) -> None:
    """The answer to the restart is not an error: the state has the reason and the server's last output."""
    async with Client(workspace, settings=servers(files=("dies", {}))) as client:
        session = (await client.request("agent/sessions/create", {}))["sessionId"]
        result = await client.request("agent/toolServers/restart", {"sessionId": session, "server": "files"})
        [files] = result["servers"]
        assert files["state"] == "failed"
        assert files["problem"]
        assert "cannot find its settings" in files["output"]


async def test_changed_settings_are_sent(workspace: Path) -> None:
    """A client learns of the servers of a session when the definitions have changed."""
    async with Client(workspace) as client:
        session = (await client.request("agent/sessions/create", {}))["sessionId"]
        client.notify("workspace/didChangeConfiguration", {"settings": servers(files=("", {}))})
        params = await client.until(lambda: client.last("agent/toolServers"))
        assert (params["sessionId"], states(params)) == (session, {"files": "stopped"})


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [("files", -32803, "is switched off"), ("nobody", -32602, "There is no tool server “nobody”")],
)
async def test_a_server_that_cannot_start_is_an_error(workspace: Path, name: str, code: int, says: str) -> None:
    """A server that is switched off, or that does not exist, is not restarted."""
    async with Client(workspace, settings=servers(files=("", {"disabled": True}))) as client:
        session = (await client.request("agent/sessions/create", {}))["sessionId"]
        with pytest.raises(WireError, match=says) as error:
            await client.request("agent/toolServers/restart", {"sessionId": session, "server": name})
        assert error.value.code == code


BLOCKED = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "mcp":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Block())
from fairlead.__main__ import main
sys.exit(main(["serve"]))
"""


@pytest.mark.usefixtures("box")
async def test_without_the_packages_a_server_says_what_to_install(workspace: Path) -> None:
    """Nothing is started, and the problem names the extra."""
    client = Client(workspace, settings=servers(files=("", {})))
    client.command = [sys.executable, "-c", BLOCKED]
    async with client:
        session = (await client.request("agent/sessions/create", {}))["sessionId"]
        result = await client.request("agent/toolServers/restart", {"sessionId": session, "server": "files"})
        [files] = result["servers"]
        assert files["state"] == "failed"
        assert files["problem"] == "the packages for tool servers are not installed; install fairlead[mcp]"


@pytest.mark.usefixtures("box")
async def test_calls_are_evidence_and_in_the_record(workspace: Path, replay: Callable[..., Json]) -> None:
    """A call with effects outside is named as such, with its arguments. A step with nothing else is unverified."""
    outside = servers(files=("", {}), out=("", {"hosts": ["localhost:9"]}))
    settings = replay(
        {"calls": [todo(("Read", "in_progress"), ("Send", "pending"))]},
        {"calls": [{"files__say": {"text": "hello"}}]},
        {"calls": [todo(("Read", "completed"), ("Send", "in_progress"))]},
        {"calls": [{"out__run": {"command": "true"}}, {"out__run": {"command": "exit 3"}}]},
        {"calls": [todo(("Read", "completed"), ("Send", "completed"))]},
        {"text": "Done."},
    )
    async with Client(workspace, settings={**settings, **outside}, answers=ALLOW) as client:
        result = await client.run()
        items = {item["content"]: item for item in client.last("agent/plan")["items"]}
        assert {name: item["verification"] for name, item in items.items()} == {"Read": "looked", "Send": "unverified"}
        titles = [event["title"] for event in client.all("agent/event") if event["kind"] == "tool_started"]
        assert "files: say (text: hello)" in titles
        texts = [event["text"] for event in client.all("agent/event") if event["kind"] == "tool_finished"]
        assert "hello" in texts  # the user does not see the tags that the model reads
        [said] = items["Read"]["evidence"]["calls"]
        assert (said["server"], said["tool"], said["outcome"]) == ("files", "say", "answered")
        assert (said["effectsOutside"], said["arguments"]) == (False, "")
        sent = items["Send"]["evidence"]["calls"]
        assert [(call["outcome"], call["effectsOutside"], call["arguments"]) for call in sent] == [
            ("answered", True, '{"command": "true"}'),
            ("failed", True, '{"command": "exit 3"}'),
        ]
        assert "2 calls with effects outside" in result["record"]
        record = await client.request("agent/record", {"sessionId": result["sessionId"]})
        assert "  - Called `say` of `files`: answered, " in record["markdown"]
        line = '  - Called `run` of `out` with effects outside of the workspace `{"command": "exit 3"}`: failed, '
        assert line in record["markdown"]
        calls = [call for step in record["record"]["steps"] for call in step["work"]["calls"]]
        assert [(call["tool"], call["effectsOutside"]) for call in calls] == [
            ("say", False),
            ("run", True),
            ("run", True),
        ]


@pytest.mark.usefixtures("box")
async def test_prompts_and_resources_become_the_context_of_a_run(connect: Callable[..., Client], storage: Path) -> None:
    """The prompts of a server are known afterwards without a session. A refused prompt is an error."""
    prompt = {"server": "files", "name": "explain", "arguments": {"path": "a.py"}}
    with FakeApi([Turn((Text("Done."),))]) as api:
        async with connect(api, settings=servers(files=("", {})), storage=storage) as client:
            session = (await client.request("agent/sessions/create", {}))["sessionId"]
            chosen = await client.request("agent/toolServers/prompt", {"sessionId": session, **prompt})
            assert [item["kind"] for item in chosen["context"]] == ["serverPrompt", "image"]
            [offer] = (await client.request("agent/toolServers/offers", {"sessionId": session}))["servers"]
            assert offer["prompts"][0] == {
                "name": "explain",
                "description": "Explains a file.",
                "arguments": [{"name": "path", "isRequired": True}, {"name": "style", "isRequired": False}],
            }
            note = {"uri": "note://today", "name": "today", "description": "What is on for today."}
            assert offer["resources"][0] == note
            resource = {"kind": "resource", "server": "files", "resource": "note://today"}
            await client.run(sessionId=session, prompt="/files:explain a.py", context=[*chosen["context"], resource])
            wrong = {"sessionId": session, **prompt, "name": "nothing"}
            error = await client.error("agent/toolServers/prompt", wrong)
            assert (error.code, error.message) == (
                -32803,
                "The prompt nothing of files was refused by its server: Unknown prompt: nothing",
            )
            [known] = (await client.request("agent/toolServers/offers", {}))["servers"]
            assert known == {**offer, "resources": []}
            [event] = client.events("context")
        sent = str(api.requests[0].body["messages"])
    assert event["title"].endswith("; Picture: files: explain, picture 1; files: note://today")
    for text in ("Explain a.py.", "Buy milk.", "'type': 'image'"):
        assert text in sent
