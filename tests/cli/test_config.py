"""`--config`: the settings of the editors, from a file (docs/terminal.md)."""

import json
import sys
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from cli.command import run_plain
from fairlead.app.settings import read_settings
from fairlead.cli.config import BadConfig, read_config, with_options
from support.fake_models import FakeModels

COMMENTS = """\
// the first line
{
  "model": "a//b", /* not the default,
  but another one */
  "bash.allow": ["echo \\"/*\\" *", "ls ,]",], // "deny"
  "plan": {"maxItems": 5,},
}
"""


@pytest.fixture
def config(tmp_path: Path) -> Callable[[Any], Path]:
    """A function that writes a file: a text as it is, another value as JSON."""

    def write(content: Any) -> Path:
        path = tmp_path / "config.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


@pytest.mark.parametrize(
    ("content", "settings"),
    [
        (COMMENTS, {"model": "a//b", "bash.allow": ['echo "/*" *', "ls ,]"], "plan": {"maxItems": 5}}),
        ("\ufeff{}", {}),
        (
            {"fairlead.bash.allow": ["ls"], "fairlead": {"model": "m"}, "model": "x"},
            {"bash.allow": ["ls"], "model": "m"},
        ),
        ({"fairlead.checks": ["t"], "fairlead.python": "/p", "editor.fontSize": 12}, {"checks": ["t"]}),
    ],
    ids=["comments and last commas", "byte order mark", "with the prefix", "of VS Code"],
)
def test_a_file_has_the_format_of_the_editors(
    config: Callable[[Any], Path], content: Any, settings: dict[str, Any]
) -> None:
    """Names may have the prefix. If some have it, the others are not Fairlead's; what is only VS Code's is left out."""
    assert read_config(config(content)) == settings


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{\n  "model": "m"\n  "plan": {}\n}', "is not valid JSON, in line 3: Expecting ',' delimiter."),
        ('{\n/* a\nb */ "model" 1}', "is not valid JSON, in line 3"),
        ("/* {}", "is not valid JSON, in line 1"),
        ("[]", "must contain a JSON object"),
        ("[" * 200_000, "is nested too deeply."),
        ('{"budget.tokens": ' + "9" * 5_000 + "}", "contains a number that is too long."),
        (" " * 1_000_001, "is too long"),
    ],
)
def test_a_file_that_is_no_json_object_is_refused(config: Callable[[Any], Path], content: str, problem: str) -> None:
    """The message says where it is wrong."""
    with pytest.raises(BadConfig) as error:
        read_config(config(content))
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("settings", "options", "expected"),
    [
        ({"bash": {"services": ["a:1"], "allow": ["ls"]}}, {"bash.services": ["b:2"]}, {"bash.allow": ("ls",)}),
        ({"bash.services": ["a:1"]}, {"bash.services": ["b:2"]}, {}),
        (
            {"endpoint": "openai", "model": "m", "effort": "low"},
            {"model": "n"},
            {"endpoint": "openai", "effort": "low"},
        ),
        (
            {"endpoint": "openai", "model": "m", "baseUrl": "http://a"},
            {"endpoint": "ollama"},
            {"model": "", "base_url": ""},
        ),
        ({"endpoint": "openai", "model": "m"}, {"baseUrl": "http://b"}, {"endpoint": "", "model": ""}),
        ({"replay": "r.yaml"}, {"model": "n"}, {"replay": ""}),
    ],
)
def test_an_option_replaces_a_setting(
    settings: dict[str, Any], options: dict[str, Any], expected: dict[str, Any]
) -> None:
    """What belongs to the file's endpoint goes to no other endpoint or address."""
    found, problems = read_settings(with_options(settings, options))
    assert problems == []
    wanted = expected | {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    for name, value in wanted.items():
        assert attrgetter(name.replace("baseUrl", "base_url"))(found) == value


def test_a_task_runs_with_the_settings_of_the_file(
    workspace: Path, record: Callable[..., Path], config: Callable[[Any], Path]
) -> None:
    """Wrong values are reported as in an editor, unknown groups too. Files of the workspace are not read."""
    (workspace / "a.x").write_text("one\n")
    (workspace / ".vscode").mkdir()
    (workspace / ".vscode/settings.json").write_text('{"fairlead.plan.maxItems": "of the workspace"}')
    (workspace / "fairlead.json").write_text('{"plan.maxItems": "of the workspace"}')
    replay = record({"calls": [{"bash": {"command": "echo ran", "unsandboxed": True}}]}, {"text": "Done."})
    settings = {
        "replay": str(replay),
        "bash": {"allow": ["echo *"]},
        "languageServers": {"mine": {"command": ["no-such-server"], "languages": {".x": "x"}}},
        "plan.maxItems": "many",
        "bsah": {"deny": ["ls"]},
    }
    ended = run_plain("run", "Do it", "--workspace", workspace, "--config", config(settings))
    assert ended.code == 0
    assert "ran" in ended.out and "not allowed" not in ended.out
    assert "Some values in Fairlead's settings are ignored: bsah is not a setting; plan.maxItems" in ended.out
    assert "The program “no-such-server” of the language server “mine”" in " ".join(ended.out.split())
    assert "of the workspace" not in ended.out


def test_commands_that_run_without_asking_start_no_tool_server(
    workspace: Path, record: Callable[..., Path], config: Callable[[Any], Path]
) -> None:
    """`--allow-commands` does not apply to a server outside of the sandbox. The output says that it was refused, and
    the exit code does not, because no call needed it.
    """
    started = workspace / "started"
    server = {"command": sys.executable, "args": ["-c", f"open({str(started)!r}, 'w')"], "sandbox": False}
    replay = record({"calls": [{"bash": {"command": "echo ran", "unsandboxed": True}}]}, {"text": "Done."})
    path = config({"replay": str(replay), "mcpServers": {"own": server}})
    ended = run_plain("run", "Do it", "--workspace", workspace, "--config", path, "--allow-commands")
    assert ended.code == 0
    assert "ran" in ended.out
    assert "Refused, because this run cannot ask you:\n" in ended.out
    assert not started.exists()


def test_an_endpoint_of_the_file_can_be_named(config: Callable[[Any], Path]) -> None:
    """`--endpoint` accepts it, and its models are listed with its key. A misspelled one is not accepted."""
    with FakeModels({"data": [{"id": "m-1"}]}, key="secret") as fake:
        path = config({"endpoints": {"work": {"baseUrl": f"{fake.url}/v1", "api": "chat", "keyVariable": "WORK_KEY"}}})
        ended = run_plain("models", "--endpoint", "work", "--config", path, WORK_KEY="secret")
    assert (ended.code, "(--endpoint work)" in ended.out, "m-1" in ended.out) == (0, True, True)
    ended = run_plain("models", "--endpoint", "wrok", "--config", path)
    assert (ended.code, "invalid choice: 'wrok' (choose from anthropic" in ended.err) == (2, True)


def test_an_endpoint_of_the_file_that_is_ignored_has_a_reason(config: Callable[[Any], Path]) -> None:
    """Whether or not it is the one that `--endpoint` names."""
    path = config({"endpoints": {"work": {"baseUrl": "ftp://models.example"}}})
    ended = run_plain("models", "--endpoint", "work", "--config", path)
    assert (ended.code, 'endpoints.work needs a "baseUrl" such as' in ended.err) == (2, True), ended.err
    ended = run_plain("models", "--endpoint", "openai", "--config", path)
    assert 'endpoints.work needs a "baseUrl" such as' in ended.out


@pytest.mark.parametrize("command", [["run", "x"], ["models"], ["verify", "record.json"]])
def test_a_missing_file_is_wrong_usage(command: list[str]) -> None:
    """Nothing is run, because the file may have forbidden something."""
    ended = run_plain(*command, "--config", "nowhere.json")
    assert (ended.code, ended.out) == (2, "")
    assert "nowhere.json cannot be read: No such file or directory." in ended.err
