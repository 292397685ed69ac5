"""An agent of another maker in `fairlead run`, where nobody can be asked."""

import json
import sys
from pathlib import Path

import pytest

from cli.command import run_plain
from hosted_agents.world import AGENT
from support.sandbox import needs_sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Settings with an agent that changes a file."""
    needs_sandbox()
    script, config = tmp_path / "script.json", tmp_path / "config.json"
    script.write_text(json.dumps([[{"write": ["a.txt", "two\n"]}, {"say": "Done."}]]))
    command = {"command": sys.executable, "args": ["-I", "-S", str(AGENT), str(script)]}
    agents = {"scripted": {"title": "Scripted", **command, "state": {"AGENT_STATE": ""}}}
    missing = {"missing": {"title": "Missing", "command": "none", "package": ["no-such-package@1.0.0"]}}
    config.write_text(json.dumps({"agents": {**agents, **missing}, "checks": ["grep -q two a.txt"]}))
    return config


def test_the_agent_that_the_user_names_starts(workspace: Path, home: Path, config: Path) -> None:
    """Nobody can be asked, but it was named. Its model is its own, and so is the model's server."""
    (workspace / "a.txt").write_text("one\n")
    options = ["--workspace", workspace, "--config", config, "--accept", "all"]
    ended = run_plain("run", "Do it.", "--agent", "scripted", *options, HOME=str(home), ANTHROPIC_BASE_URL="http://a")
    assert ended.code == 0, ended
    assert (workspace / "a.txt").read_text() == "two\n"
    assert "Agent     Scripted\n" in ended.out
    assert "http://a" not in ended.out


def test_nothing_is_installed_without_a_question(workspace: Path, home: Path, config: Path) -> None:
    """The end says how to install it."""
    options = ["--workspace", workspace, "--config", config, "--agent", "missing"]
    ended = run_plain("run", "Do it.", *options, HOME=str(home))
    assert ended.code != 0
    assert "fairlead agents install NAME" in ended.out
