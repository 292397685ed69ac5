"""Standard output or error cannot be written: a full disk, or a pipe whose reader has ended."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from cli.command import COMMAND, DEADLINE, environment
from fairlead.json_reader import to_json
from protocol.examples import a_session_record
from support.sandbox import needs_sandbox

Record = Callable[..., Path]

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no device that is always full")


@pytest.fixture
def commands(hello: Path, tmp_path: Path, record: Record, example: Path) -> dict[str, list[str]]:
    """The arguments of commands that would change or create files if they were not stopped."""
    saved = tmp_path / "record.json"
    saved.write_text(json.dumps(to_json(a_session_record())))
    workspace = str(hello.parent)
    return {
        "help": ["--help"],
        "run": ["run", "a task", "--workspace", workspace, "--replay", str(example), "--accept", "all"],
        "demo": ["demo"],
        "verify": ["verify", str(saved), "--workspace", workspace],
    }


def end(arguments: list[str], out: IO[Any] | int, err: IO[Any] | int, folder: Path) -> tuple[int, str]:
    env = {name: value for name, value in environment(TMPDIR=str(folder)).items() if name != "PYTHONUNBUFFERED"}
    ended = subprocess.run(
        [*COMMAND, *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, timeout=DEADLINE, check=False
    )
    return ended.returncode, "" if ended.stderr is None else ended.stderr.decode()


@pytest.mark.parametrize("name", ["help", "run", "demo", "verify"])
def test_fault_151_a_full_disk(commands: dict[str, list[str]], name: str, hello: Path, tmp_path: Path) -> None:
    """docs/faults.md 151: the command stops, says why in one line, and fails. It applies nothing and leaves no
    files.
    """
    before, temporary = hello.read_bytes(), tmp_path / "temporary"
    temporary.mkdir()
    with open("/dev/full", "wb") as full:
        code, said = end(commands[name], full, subprocess.PIPE, temporary)
        silent, _ = end(commands[name], full, full, temporary)
    assert said == "fairlead: standard output cannot be written: No space left on device\n"
    assert (code, silent) == (1, 1)
    assert hello.read_bytes() == before
    assert not list(temporary.glob("fairlead-demo-*"))


def test_fault_151_the_reader_of_a_pipe_ends(hello: Path, record: Record) -> None:
    """docs/faults.md 151: a run that is shown in `head -1` stops at its next line, with its commands."""
    needs_sandbox()
    write = {"write_file": {"path": "new.py", "content": "x"}}
    calls = [write, {"bash": {"command": "sleep 200"}}]
    replay = record({"text": "I start.", "calls": calls}, {"text": "Done."})
    arguments = ["run", "a task", "--workspace", hello.parent, "--replay", replay, "--accept", "all"]
    pipe = subprocess.PIPE
    process = subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=pipe, stderr=pipe, env=environment())
    with process, process.stdout as out, process.stderr as err:  # type: ignore[union-attr]  they are pipes
        assert out.readline().startswith(b"Fairlead ")
        out.close()
        said = err.read()
        code = process.wait(DEADLINE)
    assert (code, said) == (1, b"fairlead: standard output cannot be written: Broken pipe\n")
    assert not (hello.parent / "new.py").exists()


@pytest.mark.parametrize(("arguments", "code"), [(["run"], 2), (["--help"], 0)])
def test_fault_151_a_full_standard_error(arguments: list[str], code: int, tmp_path: Path) -> None:
    """docs/faults.md 151: if only standard error cannot be written, the exit code is the usual one."""
    with open("/dev/full", "wb") as full:
        assert end(arguments, subprocess.DEVNULL, full, tmp_path) == (code, "")
