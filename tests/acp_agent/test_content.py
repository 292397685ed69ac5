"""What a client passes: mentions, pictures and resources in a prompt, answers in forms, tool servers and folders."""

import base64
import json
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from acp_agent.conftest import Open
from acp_agent.raw_client import Failed, Json, RawClient, by_kind, connected
from conftest import KEY
from support.fake_api import FakeApi, HttpError, Text, Thinking, Turn
from support.pictures import png
from tool_servers.remote import RemoteServer

SCRIPTED = Path(__file__).parents[1] / "tool_servers" / "scripted.py"


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """A model that answers twice."""
    with FakeApi([Turn((Text("Seen."),)), Turn((Text("Seen again."),))]) as api:
        yield api


async def model_reads(api: FakeApi, workspace: Path, tmp_path: Path, *blocks: str | Json) -> tuple[str, list[Json]]:
    """The text of the user's message as the model gets it for these blocks, and its pictures."""
    async with with_model(api, tmp_path) as client:
        await client.prompt(await client.new(workspace), *blocks)
    assert api.refusals == []
    parts = api.requests[-1].body["messages"][0]["content"]
    return "\n".join(part["text"] for part in parts if part["type"] == "text"), [
        part for part in parts if part["type"] == "image"
    ]


@asynccontextmanager
async def initialized(folder: Path, **env: str) -> AsyncIterator[RawClient]:
    """A connection that has sent `initialize`, with these variables."""
    async with connected(folder, "--storage", str(folder / "sessions"), **env) as client:
        await client.initialize()
        yield client


def with_model(api: FakeApi, folder: Path) -> AbstractAsyncContextManager[RawClient]:
    """As `initialized`, with a model's server and its key."""
    return initialized(folder, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=api.url)


async def test_mentions_are_read_from_the_workspace(api: FakeApi, workspace: Path, tmp_path: Path) -> None:
    """A link to a file, with lines, and an attached file: the model gets what is on the disk."""
    (workspace / "a.txt").write_text("first\nsecond\nthird\n")
    (workspace / "b.txt").write_text("on the disk\n")
    outside = tmp_path / "outside.txt"
    outside.write_text("hidden\n")
    attached = {"uri": (workspace / "b.txt").as_uri(), "text": "unsaved in the editor\n"}
    text, _ = await model_reads(
        api,
        workspace,
        tmp_path,
        "Compare",
        {"type": "resource_link", "uri": f"{(workspace / 'a.txt').as_uri()}#L2-3", "name": "a.txt"},
        "with",
        {"type": "resource", "resource": attached},
        {"type": "resource_link", "uri": outside.as_uri(), "name": "outside.txt"},
        {"type": "resource", "resource": {"uri": "notes://today", "text": "buy milk"}},
    )
    assert "Compare @a.txt with @b.txt  outside.txt (file://" in text
    assert 'lines="2-3">\nsecond\nthird\n' in text
    assert "first" not in text
    assert "on the disk" in text
    assert "unsaved" not in text
    assert "hidden" not in text
    assert "buy milk" in text


async def test_pictures_reach_the_model(api: FakeApi, workspace: Path, tmp_path: Path) -> None:
    """As a block, and as an attached resource."""
    data = base64.b64encode(png()).decode()
    resource = {"uri": "file:///elsewhere/shot.png", "mimeType": "image/png", "blob": data}
    text, pictures = await model_reads(
        api,
        workspace,
        tmp_path,
        {"type": "image", "mimeType": "image/png", "data": data},
        {"type": "resource", "resource": {**resource, "blob": base64.b64encode(png(3)).decode()}},
    )
    first, second = (picture["source"]["data"] for picture in pictures)
    assert (first, second != data) == (data, True)
    assert "shot.png" in text


async def test_a_picture_alone_is_a_prompt(api: FakeApi, workspace: Path, tmp_path: Path) -> None:
    """The model is told to look at it."""
    picture = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png()).decode()}
    text, pictures = await model_reads(api, workspace, tmp_path, picture)
    assert text.startswith("See what is attached.")
    assert len(pictures) == 1


@pytest.mark.parametrize(
    ("block", "says"),
    [
        ({"type": "image", "mimeType": "image/png", "data": "no base64!"}, "not valid base64"),
        ({"type": "audio", "mimeType": "audio/wav", "data": ""}, "cannot hear"),
        ({"type": "text", "text": "  \n"}, "prompt is empty"),
        ({"type": "text", "text": "x" * 400_001}, "too long"),
        ({"type": "hologram"}, "params.prompt"),
    ],
)
async def test_a_wrong_prompt_is_refused(agent: Open, workspace: Path, block: Json, says: str) -> None:
    """The error says what is wrong, and the next prompt works."""
    async with agent({"text": "Yes."}) as client:
        session = await client.new(workspace)
        with pytest.raises(Failed, match=says) as error:
            await client.prompt(session, block)
        assert error.value.code == -32602
        assert "http" not in error.value.message
        assert await client.prompt(session, "Hello") == "end_turn"


ASK = {"calls": [{"ask_user": {"question": "Which colour?", "options": ["red", "blue"]}}]}
ASK_FREELY = {"calls": [{"ask_user": {"question": "Which name?"}}]}


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"action": "accept", "content": {"answer": "blue"}}, "The user answered: blue"),
        ({"action": "accept", "content": {"answer": "blue", "other": "green"}}, "The user answered: green"),
        ({"action": "accept", "content": {}}, "No answer"),
        ({"action": "accept", "content": {"answer": 7}}, "No answer"),
        ({"action": "accept", "content": {"answer": "purple"}}, "No answer"),
        ({"action": "accept", "content": {"other": ["blue"], "colour": "blue"}}, "No answer"),
        ({"action": "accept", "content": ["blue"]}, "No answer"),
        ({"action": ["accept"], "content": {"answer": "blue"}}, "No answer"),
        ({"action": "decline"}, "No answer"),
        ({"action": "explode"}, "No answer"),
        ("garbage", "No answer"),
    ],
)
async def test_questions_are_forms(agent: Open, workspace: Path, form: Any, says: str) -> None:
    """A client that announces forms gets the question with its answers, and may answer in other words."""
    async with agent(ASK, {"text": "Done."}, elicitation={"form": {}}) as client:
        session = await client.new(workspace)
        client.form = lambda _: form
        await client.prompt(session, "Paint it")
        [asked] = client.asked("elicitation/create")
        assert (asked["message"], asked["mode"]) == ("Which colour?", "form")
        assert asked["requestedSchema"]["properties"]["answer"]["enum"] == ["red", "blue"]
        assert asked["toolCallId"] in client.calls()
        assert says in str(client.calls())


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {}}, {"elicitation": {"url": {}}}])
async def test_without_forms_the_answers_are_options(agent: Open, workspace: Path, capabilities: Json) -> None:
    """`elicitation: {}` announces no forms. A question without answers to choose from is not asked."""
    async with agent(ASK, ASK_FREELY, {"text": "Done."}, **capabilities) as client:
        session = await client.new(workspace)
        client.permission = lambda params: {
            "outcome": {"outcome": "selected", "optionId": params["options"][-1]["optionId"]}
        }
        await client.prompt(session, "Paint it")
        [asked] = client.asked()
        assert [option["name"] for option in asked["options"]] == ["No answer", "red", "blue"]
        assert asked["toolCall"]["title"] == "Which colour?"
        first, second = client.calls().values()
        assert "The user answered: blue" in str(first["content"])
        assert second["status"] == "failed"
        assert client.asked("elicitation/create") == []


@pytest.mark.usefixtures("box")
async def test_tool_servers_of_the_client_belong_to_one_session(agent: Open, workspace: Path) -> None:
    """They run in the box: what they write is proposed. Another session of the same folder has none of them."""
    server = {"name": "my__files", "command": sys.executable, "args": [str(SCRIPTED)], "env": []}
    write = {"my_files__write": {"path": "a.txt", "text": "from the server\n"}}
    turns = [{"calls": [write]}, {"text": "Done."}]
    async with agent(*turns) as client:
        first, second = await client.new(workspace, mcpServers=[server]), await client.new(workspace)
        client.permission = by_kind("reject_once")
        await client.prompt(first, "Write it")
        [asked] = client.asked()
        assert asked["toolCall"]["content"][0]["newText"] == "from the server\n"
        assert not (workspace / "a.txt").exists()
        await client.prompt(second, "Write it")
        failed = [call for call in client.calls().values() if call["status"] == "failed"]
        assert "my_files__write" in str(failed)


async def test_remote_tool_servers_of_the_client(agent: Open, workspace: Path) -> None:
    """A server at an address gets the headers of the client, and each call asks, as it has effects outside."""
    remote = RemoteServer("2025-11-25")
    await remote.http.start()
    headers = [{"name": "X-Team", "value": "docs"}]
    server = {"type": "http", "name": "remote", "url": remote.url, "headers": headers}
    try:
        async with agent({"calls": [{"remote__say": {"text": "Hi"}}]}, {"text": "Done."}) as client:
            session = await client.new(workspace, mcpServers=[server])
            client.permission = by_kind("allow_once")
            await client.prompt(session, "Say hi")
            [asked] = client.asked()
            assert asked["toolCall"]["title"] == "Call `say` of the tool server `remote`?"
            assert "text: Hi" in asked["toolCall"]["content"][0]["content"]["text"]
            [call] = remote.calls
            assert call.headers["x-team"] == "docs"
            assert await client.end() == 0
    finally:
        await remote.http.stop()
    assert remote.problems == []


@pytest.mark.usefixtures("box")
@pytest.mark.parametrize("is_secret", [False, True], ids=["plain", "secret"])
async def test_values_of_tool_servers_are_forms(agent: Open, workspace: Path, *, is_secret: bool) -> None:
    """A server of the workspace asks to start, then for its value. A form never asks for a secret: the user reads how
    to enter it in a terminal."""
    given = {"id": "city", "type": "promptString", "description": "Which city?", "password": is_secret}
    shutil.copy(SCRIPTED, workspace)  # a box shows no program and no script that only the workspace names
    server = {"command": "python3", "args": [SCRIPTED.name], "env": {"CITY": "${input:city}"}}
    (workspace / ".vscode").mkdir()
    (workspace / ".vscode" / "mcp.json").write_text(json.dumps({"inputs": [given], "servers": {"files": server}}))
    call = {"files__run": {"command": "echo city=$CITY"}}
    async with agent({"calls": [call]}, {"text": "Done."}, elicitation={"form": {}}) as client:
        session = await client.new(workspace)
        client.permission = by_kind("allow_once")
        client.form = lambda _: {"action": "accept", "content": {"answer": "Bergen"}}
        await client.prompt(session, "Where?")
        [started, *_] = client.asked()
        assert started["toolCall"]["title"] == "Start the tool server `files`?"
        forms = client.asked("elicitation/create")
        if is_secret:
            assert forms == []
            assert "fairlead mcp login files" in client.text()
        else:
            assert [form["message"] for form in forms] == ["Which city?"]
            assert "city=Bergen" in str(client.calls())


async def test_additional_directories_are_part_of_the_workspace(agent: Open, workspace: Path, tmp_path: Path) -> None:
    """Paths then begin with the name of their folder."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "b.txt").write_text("one\n")
    edit = {"edit_file": {"path": "library/b.txt", "old_text": "one", "new_text": "two"}}
    async with agent({"calls": [edit]}, {"text": "Done."}) as client:
        session = await client.new(workspace, additionalDirectories=[str(library)])
        client.permission = by_kind("allow_once")
        await client.prompt(session, "Edit the library")
        assert (library / "b.txt").read_text() == "two\n"
        [asked] = client.asked()
        assert asked["toolCall"]["title"] == "Review `library/b.txt` (+1 -1)"


async def test_usage_has_the_cost_of_the_session(api: FakeApi, workspace: Path, tmp_path: Path) -> None:
    """The tokens in the window, its size, and the cost in US dollars."""
    async with with_model(api, tmp_path) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Hello")
        usage = client.updates("usage_update")[-1]
        assert 0 < usage["used"] < usage["size"]
        assert usage["cost"]["currency"] == "USD"
        assert usage["cost"]["amount"] > 0


async def test_a_repeated_request_is_said(workspace: Path, tmp_path: Path) -> None:
    """While the model's server is overloaded, the user reads why nothing happens."""
    with FakeApi([HttpError(529, "overloaded_error", "Overloaded"), Turn((Text("Hello."),))]) as api:
        async with with_model(api, tmp_path) as client:
            session = await client.new(workspace)
            assert await client.prompt(session, "Hello") == "end_turn"
            assert "Fairlead tries again" in client.text()
            assert "Hello." in client.text()


async def test_thoughts_are_apart_from_the_answer(workspace: Path, tmp_path: Path) -> None:
    """What the model thinks is a thought, and the answer a message."""
    with FakeApi([Turn((Thinking("Hm, a greeting."), Text("Hello.")))]) as api:
        async with with_model(api, tmp_path) as client:
            session = await client.new(workspace)
            await client.prompt(session, "Hello")
            assert client.text("agent_thought_chunk") == "Hm, a greeting."
            assert client.text().startswith("Hello.")


async def test_the_model_and_its_effort_are_options(api: FakeApi, workspace: Path, tmp_path: Path) -> None:
    """The next request asks the chosen model with the chosen effort."""
    models = {"small": {}, "large": {"efforts": ["low", "high"]}}
    own = {"baseUrl": api.url, "api": "messages", "keyVariable": "OWN_KEY", "model": "small", "models": models}
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"endpoint": "own", "endpoints": {"own": own}}))
    async with connected(tmp_path, "--config", str(config), OWN_KEY=KEY) as client:
        await client.initialize()
        created = await client.request("session/new", cwd=str(workspace), mcpServers=[])
        session, options = created["sessionId"], {each["id"]: each for each in created["configOptions"]}
        assert (options["model"]["category"], options["model"]["currentValue"]) == ("model", "own/small")
        assert [each["value"] for each in options["model"]["options"]] == ["own/small", "own/large"]
        assert "effort" not in options  # it has no levels
        for option, value in (("model", "own/large"), ("effort", "high")):
            params = {"sessionId": session, "configId": option, "value": value}
            answer = await client.request("session/set_config_option", **params)
            changed = {each["id"]: each for each in answer["configOptions"]}
            assert changed[option]["currentValue"] == value
        assert changed["effort"]["category"] == "thought_level"
        await client.prompt(session, "Hello")
        body = api.requests[-1].body
        assert (body["model"], body["output_config"]["effort"]) == ("large", "high")
        params = {"sessionId": session, "configId": "model", "value": "own/none"}
        with pytest.raises(Failed, match="no value own/none"):
            await client.request("session/set_config_option", **params)


async def test_a_missing_key_is_said(workspace: Path, tmp_path: Path) -> None:
    """The code is the protocol's for a missing sign-in, and the message says how to set a key."""
    async with initialized(tmp_path) as client:
        session = await client.new(workspace)
        with pytest.raises(Failed, match="ANTHROPIC_API_KEY") as error:
            await client.prompt(session, "Hello")
        assert error.value.code == -32000
        assert await client.prompt(session, "/plan") == "end_turn"
