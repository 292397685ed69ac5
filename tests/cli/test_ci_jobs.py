"""The jobs of docs/headless.md: they are valid YAML, and their commands work with the real command."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.command import DEADLINE, environment
from cli.json_run import Json, read_lines
from fairlead.cli.main import run_command_line
from fairlead.cli.records.stored import load_record
from protocol.page import ROOT, Page, blocks
from support.fake_api import Call, FakeApi, Text, Turn
from support.sandbox import needs_sandbox

PAGE = Page(ROOT / "docs" / "headless.md")
PROGRAMS = Path(sys.executable).parent
FILES = {
    "greet.py": 'def greet(name):\n    return "Helo, " + name\n',
    "test_greet.py": 'from greet import greet\n\n\ndef test_greet():\n    assert greet("世界") == "Hello, 世界"\n',
    ".gitignore": "__pycache__/\n",
}
TASK = 'Fix "greet"; say why $HOME `x`'

needs_programs = pytest.mark.skipif(
    os.name != "posix" or not (PROGRAMS / "fairlead").exists(),
    reason="the jobs run in bash, with an installed fairlead",
)


def job(heading: str) -> Json:
    """The YAML below a heading."""
    [text] = blocks(PAGE.section(heading), "yaml")
    return yaml.safe_load(text)


GITHUB = job("GitHub Actions")
GITLAB = job("GitLab CI")["fairlead"]
PROPOSE, OPEN = GITHUB["jobs"]["propose"], GITHUB["jobs"]["open"]


def script(part: Json, name: str) -> str:
    [step] = [step for step in part["steps"] if step.get("name") == name]
    return step["run"]


def bash(folder: Path, text: str, env: Mapping[str, str]) -> None:
    """Runs a script as the CI does. Shows its output if it fails."""
    path = os.pathsep.join([str(PROGRAMS), os.environ["PATH"]])
    command = ["bash", "-e", "-o", "pipefail", "-c", text]
    ended = subprocess.run(
        command,
        cwd=folder,
        env=environment(PATH=path, **env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a test that fails."""
    folder = tmp_path / "repository"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    identity = "-c user.name=a -c user.email=a@example.com"
    bash(folder, f"git init -q -b main && git add --all && git {identity} commit -q -m first", {})
    return folder


@pytest.fixture
def model() -> Iterator[dict[str, str]]:
    """The environment of a model that fixes the function."""
    fix = Call("edit_file", {"path": "greet.py", "old_text": "Helo", "new_text": "Hello"})
    with FakeApi([Turn((fix,)), Turn((Text("It says “Hello” now."),))]) as api:
        yield {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url, "TASK": TASK}
        assert TASK in api.requests[0].body["messages"][0]["content"][0]["text"]


@needs_programs
def test_the_jobs_of_github(repository: Path, model: dict[str, str], tmp_path: Path) -> None:
    """The first job checks and accepts the change and makes a diff; the second one makes a branch of it."""
    needs_sandbox()
    env = {**model, "RUNNER_TEMP": str(tmp_path), "GITHUB_RUN_ID": "7"}
    bash(tmp_path, "git clone -q repository second", {})
    bash(repository, script(PROPOSE, "Run the task"), env)
    bash(repository, script(PROPOSE, "Make a diff"), env)
    outcome = read_lines((tmp_path / "run.jsonl").read_text(), 0)[-1]
    assert [check["passed"] for check in outcome["checks"]] == [True]
    assert load_record(tmp_path / "record.json").title == TASK
    second = tmp_path / "second"
    bash(second, script(OPEN, "Make a branch"), env)
    committed = "git log -1 --format=%s%n%D && git diff --stat main fairlead/7"
    bash(second, f"({committed}) > ../committed", {})
    assert (tmp_path / "committed").read_text().startswith(f"{TASK}\nHEAD -> fairlead/7\n greet.py | 2 +-\n")
    assert run_command_line(["verify", str(tmp_path / "record.json"), "--workspace", str(second), "--no-run"]) == 0


@needs_programs
def test_the_job_of_gitlab(repository: Path, model: dict[str, str], tmp_path: Path) -> None:
    """Without a sandbox, the check runs on the changed files, and the diff has the change and nothing else."""
    env = {**model, "HOME": str(repository), "XDG_STATE_HOME": str(tmp_path / "state")}  # no sandbox in the home folder
    bash(repository, "\n".join(GITLAB["script"]), env)
    bash(repository, "\n".join(GITLAB["after_script"]), env)
    out = repository / "fairlead-out"
    outcome = read_lines((out / "run.jsonl").read_text(), 0)[-1]
    assert [check["passed"] for check in outcome["checks"]] == [True]
    assert outcome["recordFile"] == str(out / "record.json")
    assert re.findall(r"^diff --git a/(\S+)", (out / "changes.diff").read_text(), re.M) == ["greet.py"]


def test_the_jobs_protect_what_they_have() -> None:
    """The job with the agent has the key, and no permission to write. A task is never part of a script's text."""
    assert GITHUB["permissions"] == {}
    assert PROPOSE["permissions"] == {"contents": "read"}
    assert PROPOSE["steps"][0]["with"] == {"persist-credentials": False}
    keys = [step.get("env", {}) for step in OPEN["steps"]]
    assert not any("ANTHROPIC_API_KEY" in env for env in keys)
    scripts = [step["run"] for part in (PROPOSE, OPEN) for step in part["steps"] if "run" in step]
    assert [text for text in scripts if "${{" in text] == []


def test_the_jobs_keep_what_they_made() -> None:
    """The artifacts have the files that the commands write, also if the task failed."""
    uploaded: Any = next(
        step for step in PROPOSE["steps"] if step.get("uses", "").startswith("actions/upload-artifact")
    )
    kept = uploaded["with"]["path"].replace("${{ runner.temp }}", "$RUNNER_TEMP").split()
    written = re.findall(r"\$RUNNER_TEMP/[\w.]+", script(PROPOSE, "Run the task") + script(PROPOSE, "Make a diff"))
    assert kept == written
    assert uploaded["if"] == "${{ !cancelled() }}"
    assert (GITLAB["artifacts"]["when"], GITLAB["artifacts"]["paths"]) == ("always", ["fairlead-out"])


def test_the_jobs_install_the_package() -> None:
    installed = [line for line in script(PROPOSE, "Install").splitlines() if line.startswith("pip ")]
    assert installed == GITLAB["before_script"] == ["pip install fairlead pytest"]
