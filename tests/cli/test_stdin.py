"""The task from standard input."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from cli.command import COMMAND, DEADLINE, Ended, environment, run_plain
from cli.json_run import read_lines
from support.fake_api import FakeApi, Text, Turn


def run_with_input(data: bytes | None, *arguments: object, **env: str) -> Ended:
    """Runs a command with this on its standard input; None: it is closed."""
    stdin: dict[str, Any] = {"input": data} if data is not None else {"stdin": subprocess.DEVNULL}
    command = [*COMMAND, *map(str, arguments)]
    ended = subprocess.run(command, **stdin, capture_output=True, env=environment(**env), timeout=DEADLINE, check=False)
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def asked(data: bytes, workspace: Path, *arguments: object) -> str:
    """The prompt that the model gets."""
    with FakeApi([Turn((Text("Done."),))]) as api:
        env = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url}
        ended = run_with_input(data, "run", *arguments, "--json", "--workspace", workspace, **env)
        read_lines(ended.out, ended.code)
        assert ended.code == 0, ended.err
        return api.requests[0].body["messages"][0]["content"][0]["text"]


@pytest.mark.parametrize("arguments", [["-"], []])
def test_a_task_from_standard_input(workspace: Path, arguments: list[str]) -> None:
    """With `-`, and if there is no terminal and no TASK. It may have several lines, in any script."""
    assert asked("Fix 世界 👋\r\n\n- first\n".encode(), workspace, *arguments) == "Fix 世界 👋\r\n\n- first"


def test_bytes_that_are_not_utf_8(workspace: Path) -> None:
    """They are replaced, as in an argument. A byte order mark is left out."""
    assert asked(b"\xef\xbb\xbfcaf\xe9", workspace) == "caf\N{REPLACEMENT CHARACTER}"


def test_an_argument_leaves_standard_input_alone(workspace: Path) -> None:
    assert asked(b"from stdin", workspace, "from the argument") == "from the argument"


@pytest.mark.parametrize(
    ("data", "arguments", "reason"),
    [
        pytest.param(
            None, [], "TASK is missing: say what the agent should do, here or on standard input", id="nothing"
        ),
        pytest.param(b" \n", ["-"], "the task is empty", id="empty"),
        pytest.param(b"", ["--continue", "-"], "the task is empty", id="nothing to continue with"),
        pytest.param(b"x" * 1_000_001, ["-"], "the task on standard input is too long: more than 1 MB", id="too long"),
    ],
)
def test_no_task(data: bytes | None, arguments: list[str], reason: str) -> None:
    """The command says so, and ends with 2 before anything is started."""
    ended = run_with_input(data, "run", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"fairlead run: {reason}")


def test_continuing_does_not_wait_for_standard_input(workspace: Path) -> None:
    """`--continue` without a TASK does not read it: it may be a pipe that never ends."""
    command = [*COMMAND, "run", "--continue", "--workspace", str(workspace)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment()) as process:
        assert process.wait(DEADLINE) == 2


def test_a_task_that_begins_with_a_dash(workspace: Path, tmp_path: Path) -> None:
    """After `--`, it is no option."""
    replay = tmp_path / "script.replay.yaml"
    replay.write_text("replay: 1\nturns: [{text: Done.}]\n")
    assert run_plain("run", "--workspace", workspace, "--replay", replay, "--", "- fix a list").code == 0
