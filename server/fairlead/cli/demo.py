"""`fairlead demo`: plays the recorded example with the code of `fairlead run`, and checks the result and its record."""

import ast
import asyncio
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from fairlead.cli.client import StartServer
from fairlead.cli.headless.outcome import DONE, EXIT_CODES, NOT_DONE
from fairlead.cli.options import DemoOptions, RunOptions, VerifyOptions
from fairlead.cli.program import program_name
from fairlead.cli.records.verify import run_verify
from fairlead.cli.run import run_task
from fairlead.cli.view.terminal import Terminal
from fairlead.cli.view.text import clean
from fairlead.workspace.paths import Roots, real_path

PROMPT = "Refactor hello.py: add type hints, docstrings, and a main guard"
SCRIPT = "hello.py"
RECORDING = "refactor.replay.yaml"
RECORD = "record.json"
ARGUMENTS = ("Ada", "世界")
TIME_LIMIT = 30  # seconds
REAL_MODELS = """\
To use a real model:
  ANTHROPIC_API_KEY=... {program} run "your task"
  {program} run "your task" --base-url http://localhost:11434 --model NAME
The second command uses a local model: Ollama, llama.cpp, LM Studio, vLLM."""


async def run_demo(options: DemoOptions, terminal: Terminal, start_server: StartServer) -> int:
    """Plays the example. Returns the exit code: 0 only if its record holds and the changed script is complete and runs.

    Unless `DemoOptions.keep` is set, the example's folder is removed at the end if the code is 0, and if the demo is
    cancelled, because then nobody would learn where it is.
    """
    with resources.as_file(resources.files("fairlead") / "example") as example:
        folder = _copy(example / "workspace", options.keep)
        try:
            code = await _play(folder, example / RECORDING, options, terminal, start_server)
        except asyncio.CancelledError:
            if options.keep is None:
                shutil.rmtree(folder, ignore_errors=True)
            raise
    _clean_up(folder, terminal, keep=options.keep is not None or code != DONE)
    return code


async def _play(folder: Path, replay: Path, options: DemoOptions, terminal: Terminal, start_server: StartServer) -> int:
    """Plays the recording in a folder, and checks the result. Returns the exit code of the demo."""
    terminal.print("This demo plays a recorded conversation. The server, the tools and the edits are real.")
    terminal.print(f"The example is in {folder}{'' if options.keep else ' until the end of the demo'}.", "dim")
    workspace, record = f"--workspace {shlex.quote(str(folder))}", folder / RECORD
    command = f'fairlead run "{PROMPT}" {workspace} --replay {RECORDING} --accept all --save-record {RECORD}'
    terminal.print(f"\n{terminal.marks.command} {command}\n", "bold")
    run = RunOptions(PROMPT, Roots.of(folder), replay=replay, accept="all", record=record)
    code = await run_task(run, terminal, start_server)
    if code in (DONE, EXIT_CODES["not_allowed"]):  # without a sandbox, its commands are refused
        terminal.print(f"\n{terminal.marks.command} fairlead verify {RECORD} {workspace}\n", "bold")
        code = await run_verify(VerifyOptions(record, Roots.of(folder)), terminal)
    if code == DONE:
        code = _check_result(folder / SCRIPT, terminal)
    if code == DONE:
        terminal.print("\nNo model was used: this was a recorded conversation.", "magenta")
        terminal.print(REAL_MODELS.format(program=program_name()))
    return code


def missing_parts(source: str) -> list[str]:
    """The type hints, docstrings and main guard that a Python file does not have."""
    module = ast.parse(source)
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    missing: list[str] = []
    for function in functions:
        spec = function.args
        parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *filter(None, (spec.vararg, spec.kwarg))]
        if function.returns is None or any(parameter.annotation is None for parameter in parameters):
            missing.append(f"type hints of {function.name}()")
        if ast.get_docstring(function) is None:
            missing.append(f"a docstring of {function.name}()")
    if ast.get_docstring(module) is None:
        missing.append("a docstring of the module")
    if not any(isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) for node in module.body):
        missing.append("a main guard")
    return missing


def _check_result(script: Path, terminal: Terminal) -> int:
    """Checks that the changed script has all parts, and runs it. Returns the exit code of the demo."""
    marks = terminal.marks
    missing = missing_parts(script.read_text(encoding="utf-8"))
    if missing:
        terminal.print(f"\n{marks.failed} {script.name} does not have {', '.join(missing)}.", "red")
        return NOT_DONE
    terminal.print(f"\n{marks.done} {script.name} has type hints, docstrings and a main guard.", "green")
    terminal.print(f"\n{marks.command} python {script.name} {' '.join(ARGUMENTS)}", "bold")
    output, succeeded = _run_script(script, ARGUMENTS)
    terminal.print(clean(output).rstrip("\n"))
    if not succeeded:
        terminal.print(f"{marks.failed} {script.name} failed.", "red")
        return NOT_DONE
    terminal.print(f"{marks.done} The changed script runs.", "green")
    return DONE


def _run_script(script: Path, arguments: Sequence[str]) -> tuple[str, bool]:
    try:
        ended = subprocess.run(
            [sys.executable, script.name, *arguments],
            cwd=script.parent,
            env={**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIME_LIMIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error), False
    return ended.stdout.decode("utf-8", "replace"), ended.returncode == 0


def _copy(source: Path, keep: Path | None) -> Path:
    folder = keep or real_path(tempfile.mkdtemp(prefix="fairlead-demo-"))
    shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def _clean_up(folder: Path, terminal: Terminal, *, keep: bool) -> None:
    """Removes the example's folder, or says where it is."""
    if keep:
        terminal.print(f"\nThe example is still in {folder}.", "dim")
        return
    shutil.rmtree(folder, ignore_errors=True)
    terminal.print(f"\n{folder} was removed. --keep DIR keeps the example.", "dim")
