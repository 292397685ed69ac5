"""`fairlead mcp list|add|remove|try`: real commands with their servers, on a file of settings of the test's own."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.command import Ended, run_plain
from fairlead.cli.config import user_config
from support.sandbox import needs_sandbox

SCRIPTED = Path(__file__).parents[1] / "tool_servers" / "scripted.py"
SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A file of settings, which does not exist yet."""
    return tmp_path / "config.json"


@pytest.fixture
def box() -> None:
    """Skips the test if there is no sandbox."""
    needs_sandbox()


def mcp(config: Path, name: str, *arguments: object) -> Ended:
    return run_plain("mcp", name, "--config", config, *arguments)


def servers(config: Path) -> dict[str, Any]:
    return json.loads(config.read_text())["mcpServers"]


def define(config: Path, *arguments: str, **fields: Any) -> None:
    """Defines the scripted server `files`."""
    server = {"command": sys.executable, "args": [str(SCRIPTED), *arguments], **fields}
    config.write_text(json.dumps({"mcpServers": {"files": server}}))


def test_a_command_is_added_with_what_it_may_use(config: Path) -> None:
    """The form is that of other agents. What follows `--` belongs to the command. The file is only for the user."""
    options = ["--env", "A=b=c", "-e", "TOKEN=${env:TOKEN}", "--host", "api.example.com", "--folder", "~/notes:write"]
    ended = mcp(config, "add", "notes", *options, "--", "notes-server", "--host", "x", "${workspaceFolder}")
    assert ended.code == 0, ended.err
    assert servers(config) == {
        "notes": {
            "command": "notes-server",
            "args": ["--host", "x", "${workspaceFolder}"],
            "env": {"A": "b=c", "TOKEN": "${env:TOKEN}"},
            "hosts": ["api.example.com"],
            "folders": {"~/notes": "write"},
        }
    }
    assert config.stat().st_mode & 0o077 == 0
    assert "looks like a secret" not in ended.out


@pytest.mark.parametrize(
    "arguments", [["docs", "--url", "https://a.example/mcp"], ["-t", "http", "docs", "https://a.example/mcp"]]
)
def test_an_address_is_added(config: Path, arguments: list[str]) -> None:
    """With the option, or as another agent's command has it."""
    ended = mcp(config, "add", *arguments, "--header", "X-Team: red")
    assert ended.code == 0, ended.err
    assert servers(config) == {"docs": {"url": "https://a.example/mcp", "headers": {"X-Team": "red"}}}


def test_the_users_own_file_is_the_default(workspace: Path) -> None:
    """What is added there is listed without an option, and removed again."""
    assert run_plain("mcp", "add", "notes", "--", "notes-server", "${workspaceFolder}", cwd=workspace).code == 0
    assert list(servers(user_config())) == ["notes"]
    assert "notes: notes-server" in run_plain("mcp", "list", cwd=workspace).out
    assert run_plain("mcp", "remove", "notes", cwd=workspace).code == 0
    assert servers(user_config()) == {}
    assert "No tool server is defined" in run_plain("mcp", "list", cwd=workspace).out


def test_the_rest_of_the_file_stays(config: Path) -> None:
    """The other settings, their order and the indentation stay, and so does the prefix of VS Code's settings."""
    config.write_text('{\n    "fairlead.model": "größer",\n    "editor.fontSize": 14\n}\n')
    assert mcp(config, "add", "notes", "--", "notes-server").code == 0
    text = config.read_text()
    assert text.startswith(
        '{\n    "fairlead.model": "größer",\n    "editor.fontSize": 14,\n    "fairlead.mcpServers": {'
    )
    assert mcp(config, "add", "more", "--", "more-server").code == 0
    assert list(json.loads(config.read_text())["fairlead.mcpServers"]) == ["notes", "more"]


def test_a_file_with_comments_is_not_changed(config: Path) -> None:
    """The comments would be lost, so the user gets the text to add."""
    before = '{\n  // mine\n  "model": "m"\n}\n'
    config.write_text(before)
    ended = mcp(config, "add", "notes", "--", "notes-server")
    assert ended.code == 1
    assert '{"notes": {"command": "notes-server"}}' in ended.out
    assert config.read_text() == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["a__b", "--", "x"], "without __"),
        (["a"], "the command is missing"),
        (["a", "npx", "-y", "x"], "write the server's command after --"),
        (["a", "--url", "ftp://x"], "https://"),
        (["a", "--url", "https://u:p@x/"], "contains no password"),
        (["a", "--url", "https://x/", "--", "x"], "either a command or --url"),
        (["a", "--url", "https://x/", "--env", "A=b"], "--env is not for an address"),
        (["a", "--header", "A: b", "--", "x"], "--header is not for a command"),
        (["a", "--env", "A", "--", "x"], "NAME=VALUE"),
        (["a", "--host", "not a host", "--", "x"], "host:port"),
        (["a", "-t", "sse", "--url", "https://x/"], "invalid choice"),
    ],
)
def test_a_wrong_definition_is_refused(config: Path, arguments: list[str], says: str) -> None:
    """The error names what is wrong, and no file is written."""
    ended = mcp(config, "add", *arguments)
    assert (ended.code, says in ended.err) == (2, True), ended.err
    assert not config.exists()


def test_a_name_is_used_once(config: Path) -> None:
    assert mcp(config, "add", "a", "--", "x").code == 0
    ended = mcp(config, "add", "a", "--", "y")
    assert (ended.code, "already" in ended.out) == (2, True)
    assert servers(config)["a"]["command"] == "x"
    ended = mcp(config, "remove", "b")
    assert (ended.code, "It has: a." in ended.out) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["--env", f"GITHUB_TOKEN={SECRET}", "--", "x"], "--env 'GITHUB_TOKEN=${env:GITHUB_TOKEN}'"),
        (["--header", "Authorization: Bearer x", "--url", "https://x/"], "--header 'Authorization: ${env:NAME}'"),
        (["--", "npx", "-y", "x"], "whether its package may be installed"),
        (["--", "uvx", "x"], "whether its package may be installed"),
        (["--", "docker", "run", "-i", "x"], "docker runs outside of the sandbox"),
        (["--folder", "/does/not/exist", "--", "x"], "does not exist"),
    ],
)
def test_advice_for_what_may_not_work(config: Path, arguments: list[str], advice: str) -> None:
    """The server is added all the same: the user may know better. No secret is repeated."""
    ended = mcp(config, "add", "a", *arguments)
    assert ended.code == 0, ended.err
    assert advice in ended.out
    assert SECRET not in ended.out


def test_servers_are_listed(config: Path, workspace: Path) -> None:
    """Nothing starts. Names and commands cannot control the terminal. A definition that is wrong is reported."""
    define(config, hosts=["api.example.com"])
    given = json.loads(config.read_text())
    given["mcpServers"]["off"] = {"command": "x\x1b[31m", "disabled": True}
    given["mcpServers"]["wrong"] = {}
    config.write_text(json.dumps(given))
    ended = mcp(config, "list")
    assert ended.code == 0, ended.err
    assert f"files: {shlex.quote(sys.executable)}" in ended.out
    assert "reaches api.example.com:443" in ended.out
    assert "switched off" in ended.out
    assert "\x1b" not in ended.out
    assert "mcpServers.wrong" in ended.out
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": {"command": "x"}}}))
    assert "theirs: x\n  defined in .mcp.json of this folder" in run_plain("mcp", "list", cwd=workspace).out
    listed = json.loads(mcp(config, "list", "--json").out)
    assert [(each["name"], each["state"]) for each in listed] == [("files", "stopped"), ("off", "disabled")]


@pytest.mark.usefixtures("box")
def test_a_server_is_tried(config: Path, workspace: Path) -> None:
    """It starts, and its tools are shown with what they claim and cost. They are listed afterwards."""
    define(config, disabledTools=["remove"])
    ended = mcp(config, "try", "files", "--workspace", workspace)
    assert ended.code == 0, ended.out
    assert "It runs." in ended.out
    assert "read\n  claims to read only · about " in ended.out
    assert "remove\n  may destroy · about " in ended.out
    assert "switched off" in ended.out
    assert "19 tools, about" in mcp(config, "list").out


@pytest.mark.usefixtures("box")
def test_a_tool_is_called(config: Path, workspace: Path) -> None:
    """Its answer and what it would propose are shown; nothing is written, and no session stays."""
    define(config)
    (workspace / "a.txt").write_text("one\n")
    given = json.dumps({"path": "a.txt", "text": "two\n"})
    ended = mcp(config, "try", "files", "write", given, "--workspace", workspace)
    assert ended.code == 0, ended.out
    assert "Its answer:" in ended.out
    assert "-one\n+two" in ended.out
    assert (workspace / "a.txt").read_text() == "one\n"
    assert run_plain("review", "--workspace", workspace).out == "No session of this folder has undecided proposals.\n"
    failed = mcp(config, "try", "files", "fail", '{"text": "no \\u001b[31m"}', "--workspace", workspace)
    assert (failed.code, "Error: no" in failed.out, "\x1b" in failed.out) == (1, True, False)


@pytest.mark.usefixtures("box")
def test_a_server_that_cannot_be_used_says_why(config: Path, workspace: Path) -> None:
    define(config, "dies")
    ended = mcp(config, "try", "files", "--workspace", workspace)
    assert ended.code == 1
    assert "cannot find its settings" in ended.out
    define(config)
    ended = mcp(config, "try", "files", "nothing", "--workspace", workspace)
    assert (ended.code, "It has no tool “nothing”" in ended.out) == (2, True)
    for arguments, says in (
        (["other"], "choose from files"),
        (["files", "read", "{"], "not valid JSON"),
        (["files", "read", "[1]"], "must be a JSON object"),
    ):
        ended = mcp(config, "try", *arguments, "--workspace", workspace)
        assert (ended.code, says in ended.err) == (2, True), ended.err


def test_an_unknown_command_names_the_others() -> None:
    ended = run_plain("mcp", "ad")
    assert (ended.code, "choose from list, add, remove, login, try, serve" in ended.err) == (2, True)
    assert "fairlead mcp add NAME" in run_plain("mcp", "--help").out
    assert "--folder PATH[:write]" in run_plain("mcp", "add", "--help").out
