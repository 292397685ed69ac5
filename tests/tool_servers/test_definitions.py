"""How definitions are read, and what a definition of the workspace may do before the user has allowed it."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from fairlead.errors import ToolError
from fairlead.gate.request import StartServer
from fairlead.shell.network import Service
from fairlead.tool_servers.definition import Definition, Folder, Input
from fairlead.tool_servers.names import tool_names
from fairlead.tool_servers.read_definitions import read_servers
from fairlead.tool_servers.variables import MissingValue, Values, expanded, names_in
from fairlead.tool_servers.workspace_files import WorkspaceServers
from support.sandbox import needs_sandbox
from tool_servers.world import SCRIPTED, User, world


@pytest.fixture
def sandboxed() -> None:
    needs_sandbox()


def read(given: Any) -> tuple[dict[str, Definition], list[str]]:
    problems: list[str] = []
    return read_servers(given, problems), problems


def test_the_forms_of_other_agents_are_read() -> None:
    found, problems = read(
        {
            "local": {
                "type": "stdio",
                "command": "npx",
                "args": ["-y", "server", "${workspaceFolder}"],
                "env": {"TOKEN": "${env:TOKEN}", "PORT": 80, "DEBUG": True, "UNSET": None},
                "envFile": ".env",
                "alwaysAllow": ["a field of another agent"],
                "hosts": ["api.example.com", "localhost:5432"],
                "folders": {"~/notes": "read", "/data": "write"},
                "disabledTools": ["remove"],
            },
            "remote": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Team": "a"}},
            "off": {"command": "x", "disabled": True},
        }
    )
    assert problems == []
    local = found["local"]
    assert local.text == "npx -y server '${workspaceFolder}'"
    assert dict(local.variables) == {"TOKEN": "${env:TOKEN}", "PORT": "80", "DEBUG": "true"}
    assert local.hosts == (Service("api.example.com", 443), Service("localhost", 5432))
    assert local.folders == (Folder("~/notes"), Folder("/data", True))
    assert found["remote"].is_remote
    assert not found["off"].is_enabled


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, 'needs either a "command" or a "url"'),
        ({"command": "x", "url": "https://e.com"}, 'needs either a "command" or a "url"'),
        ({"url": "file:///etc/passwd"}, "begins with https://"),
        ({"url": "https://user:secret@e.com/"}, "contains no password"),
        ({"url": "https://e.com/", "type": "sse"}, "which MCP has replaced"),
        ({"command": "x", "hosts": ["http://e.com/"]}, "is not a service"),
        ({"command": "x", "args": "one"}, "must be a list"),
        ({"command": "x\0y"}, "NUL"),
        ("npx", "must be an object"),
    ],
)
def test_a_wrong_definition_is_left_out_and_reported(value: Any, problem: str) -> None:
    found, [reported] = read({"good": {"command": "y"}, "bad": value})
    assert list(found) == ["good"]
    assert problem in reported
    assert reported.startswith("mcpServers.bad")


@pytest.mark.parametrize("name", ["", "a__b", "a\nb", "\u202ename", "x" * 61])
def test_a_wrong_name_is_left_out(name: str) -> None:
    found, problems = read({name: {"command": "x"}})
    assert (found, len(problems)) == ({}, 1)


def values(**environment: str) -> Values:
    return Values(Path("/ws"), Path("/home/me"), Path("/data"), environment.get, {"key": "entered"})


def test_variables_are_replaced() -> None:
    given = Definition(
        "s",
        ("x", "${workspaceFolder}/a", "${env:NAME}", "${NAME:-d}", "${GONE:-d}", "$NAME"),
        folder="${userHome}",
        headers=(("A", "Bearer ${TOKEN}"),),
    )
    found = expanded(given, values(NAME="n", TOKEN="t"))
    assert found.command == ("x", "/ws/a", "n", "n", "d", "$NAME")
    assert found.folder == "/home/me"
    assert found.headers == (("A", "Bearer t"),)
    assert names_in(given) == (["NAME", "GONE", "TOKEN"], [])
    with pytest.raises(MissingValue, match="The environment variable TOKEN is not set"):
        expanded(given, values(NAME="n"))


def test_a_file_of_variables(tmp_path: Path) -> None:
    file = tmp_path / "v.env"
    file.write_text("# comment\nA=1\nexport B='two words'\nC=\"x\"\nnot a line\n")
    found = expanded(Definition("s", ("x",), variables=(("A", "own"),), variables_file=str(file)), values())
    assert dict(found.variables) == {"A": "own", "B": "two words", "C": "x"}


def test_each_tool_has_a_name_of_its_own_that_every_api_accepts() -> None:
    tools = [("s", "plain"), ("s", "a.b"), ("s", "a_b"), ("s", "x" * 128), ("s", "x" * 127), ("s", "名"), ("s", "字")]
    names = tool_names(tools)
    assert names["s", "plain"] == "s__plain"
    assert len(set(names.values())) == len(tools)
    assert all(len(name) <= 64 and name.replace("_", "").replace("-", "").isascii() for name in names.values())
    assert tool_names(tools) == names


def test_comments_in_the_file_of_vs_code(tmp_path: Path) -> None:
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".vscode" / "mcp.json").write_text(
        """{
          // servers
          "inputs": [{ "id": "key", "description": "API key", "password": true }],
          "servers": {
            "a": { "command": "x", "args": ["http://not-a-comment", "/* nor this */", ",]", "${input:key}"], }, /* b */
          },
        }"""
    )
    found, problems = WorkspaceServers().definitions([tmp_path])
    assert problems == []
    assert found["a"].command == ("x", "http://not-a-comment", "/* nor this */", ",]", "${input:key}")
    assert found["a"].inputs == (Input("key", "API key", True),)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    servers, file = WorkspaceServers(), tmp_path / ".mcp.json"
    assert servers.definitions([tmp_path]) == ({}, [])
    file.write_text('{"mcpServers": {"a": {"command": "x"}}}')
    assert list(servers.definitions([tmp_path])[0]) == ["a"]
    file.write_text("{ broken")
    found, [problem] = servers.definitions([tmp_path])
    assert found == {}
    assert ".mcp.json cannot be read" in problem


def write_file(folder: Path, *arguments: str, **fields: Any) -> None:
    shutil.copy(SCRIPTED, folder)  # a box shows no program and no script that only the workspace names
    server = {"command": "python3", "args": [SCRIPTED.name, *arguments], **fields}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"files": server}}))


@pytest.mark.usefixtures("sandboxed")
async def test_a_server_of_the_workspace_starts_only_after_the_user_has_seen_its_whole_command() -> None:
    """docs/faults.md 201: what they allowed is remembered; whatever changes in the definition asks again."""
    user = User("allow_once", "allow_once", "reject")
    async with world(user=user) as found:
        write_file(found.folder, "noisy", env={"KEY": "${env:HOME}"}, hosts=["example.com"])
        await found.session.tool_servers.prepare()
        [asked] = user.asked
        assert isinstance(asked.action, StartServer)
        assert asked.action.command == f"python3 {SCRIPTED.name} noisy"
        assert [str(reason) for reason in asked.reasons] == [
            "The workspace's .mcp.json defines this tool server, files.",
            "It gets these environment variables: HOME, KEY.",
            "It reaches example.com:443.",
            "If you allow it, it may start again until its definition changes.",
        ]
        await found.session.tool_servers.restart("files")
        assert len(user.asked) == 1
        assert next(tool.name for tool in found.session.tool_servers.tools()) == "files__read"
        write_file(found.folder, "noisy", hosts=["example.com"])
        await found.session.tool_servers.prepare()
        assert len(user.asked) == 2
        write_file(found.folder)
        await found.session.tool_servers.prepare()
        assert len(user.asked) == 3
        assert found.session.tool_servers.tools() == []
        [status] = found.session.tool_servers.statuses()
        assert status.state == "notAllowed"


@pytest.mark.usefixtures("sandboxed")
async def test_a_server_of_the_settings_hides_that_of_the_workspace() -> None:
    """docs/faults.md 201: a cloned repository cannot take the place of the user's own server."""
    async with world(Definition("files", (sys.executable, str(SCRIPTED), "dies"))) as found:
        write_file(found.folder)
        await found.session.tool_servers.prepare()
        [status] = found.session.tool_servers.statuses()
        assert status.definition.defined_in is None
        assert found.user.asked == []


@pytest.mark.usefixtures("sandboxed")
async def test_outside_of_the_sandbox_the_user_is_asked() -> None:
    """Also for a server of the user's settings; each call may have effects that nobody reviews."""
    user = User("allow_once", "reject")
    async with world(Definition("files", (sys.executable, str(SCRIPTED)), is_sandboxed=False), user=user) as found:
        [asked] = user.asked
        assert "It runs outside the sandbox, with your permissions." in asked.reasons
        with pytest.raises(ToolError, match="the user did not allow this call of say"):
            await found.call("files__say", text="hi")


@pytest.mark.usefixtures("sandboxed")
async def test_a_folder_of_a_definition(tmp_path: Path) -> None:
    """What a server writes in one is on the disk at once, so each of its calls asks."""
    command, user = (sys.executable, str(SCRIPTED)), User("allow_session")
    missing = Definition("files", command, folders=(Folder(str(tmp_path / "gone")),))
    async with world(missing, user=user) as found:
        [status] = found.session.tool_servers.statuses()
        assert status.problem == f"the folder {tmp_path}/gone of its definition does not exist"
        found.define(Definition("files", command, folders=(Folder(str(tmp_path), True),)))
        await found.session.tool_servers.prepare()
        await found.call("files__write", path=str(tmp_path / "a.txt"), text="a")
        assert (tmp_path / "a.txt").read_text() == "a"
        assert len(user.asked) == 1
        await found.call("files__write", path=str(tmp_path / "a.txt"), text="b")
        assert len(user.asked) == 1


@pytest.mark.parametrize(("program", "is_boxed"), [("docker", False), ("/usr/bin/podman", False), ("npx", True)])
def test_containers_run_outside(program: str, is_boxed: bool) -> None:
    definition = Definition("s", (program, "run", "image"))
    assert definition.is_boxed == is_boxed
    assert definition.has_effects_outside != is_boxed
