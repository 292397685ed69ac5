"""`fairlead demo`: the recorded example, run by the same code as any other task, and its result tried."""

import ast
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from rich.text import Text

from fairlead.cli.client import StartServer
from fairlead.cli.options import DemoOptions, RunOptions
from fairlead.cli.run import DONE, ENDED_OTHERWISE, run_task
from fairlead.cli.terminal import Terminal
from fairlead.cli.text import clean, rows

PROMPT = "Refactor hello.py: add type hints, docstrings, and a main guard"
SCRIPT = "hello.py"
RECORDING = "refactor.replay.yaml"
GUESTS = ("Ada", "世界")
TIME_LIMIT = 30
REAL_MODELS = """\
Now with a real model:
  ANTHROPIC_API_KEY=... fairlead run "your task"
  fairlead run "your task" --base-url http://localhost:11434 --model NAME
The second one is for a local model: Ollama, llama.cpp, LM Studio, vLLM."""


async def run_demo(options: DemoOptions, terminal: Terminal, start_server: StartServer) -> int:
    """Plays the example; returns the exit code: 0 only if the changed script is as it should be and runs."""
    with resources.as_file(resources.files("fairlead") / "example") as example:
        folder = _copy(example / "workspace", options.keep)
        replay = example / RECORDING
        _say(terminal, "A recorded conversation plays the model here. The server, the tools and the edits are real.")
        _say(terminal, f"The example is in {folder}{'' if options.keep else ' until the end of the demo'}.", "dim")
        command = f'fairlead run "{PROMPT}" --workspace {shlex.quote(str(folder))} --replay {RECORDING} --accept all'
        _say(terminal, f"\n{terminal.marks.command} {command}\n", "bold")
        code = await run_task(RunOptions(PROMPT, folder, replay=replay, accept="all"), terminal, start_server)
    if code == DONE:
        code = _try_result(folder / SCRIPT, terminal)
    if code == DONE:
        _say(terminal, "\nNo model was at work here: a recorded conversation played it.", "magenta")
        _say(terminal, REAL_MODELS)
    _leave(folder, options, terminal, keep=options.keep is not None or code != DONE)
    return code


def missing(source: str) -> list[str]:
    """What a Python file lacks of: a hint for each parameter and result, docstrings everywhere, a main guard."""
    module = ast.parse(source)
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lacks: list[str] = []
    for function in functions:
        spec = function.args
        parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *filter(None, (spec.vararg, spec.kwarg))]
        if function.returns is None or any(parameter.annotation is None for parameter in parameters):
            lacks.append(f"type hints of {function.name}()")
        if ast.get_docstring(function) is None:
            lacks.append(f"a docstring of {function.name}()")
    if ast.get_docstring(module) is None:
        lacks.append("a docstring of the module")
    if not any(isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) for node in module.body):
        lacks.append("a main guard")
    return lacks


def _try_result(script: Path, terminal: Terminal) -> int:
    """Looks into the changed script and runs it."""
    marks = terminal.marks
    lacks = missing(script.read_text(encoding="utf-8"))
    if lacks:
        _say(terminal, f"\n{marks.failed} {script.name} lacks {', '.join(lacks)}.", "red")
        return ENDED_OTHERWISE
    _say(terminal, f"\n{marks.done} {script.name} has type hints, docstrings and a main guard.", "green")
    _say(terminal, f"\n{marks.command} python {script.name} {' '.join(GUESTS)}", "bold")
    output, good = _run_script(script, GUESTS)
    _say(terminal, clean(output).rstrip("\n"))
    if not good:
        _say(terminal, f"{marks.failed} {script.name} did not run.", "red")
        return ENDED_OTHERWISE
    _say(terminal, f"{marks.done} The changed script runs.", "green")
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
    folder = keep or Path(tempfile.mkdtemp(prefix="fairlead-demo-")).resolve()
    shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def _leave(folder: Path, options: DemoOptions, terminal: Terminal, *, keep: bool) -> None:
    """A temporary folder goes where all went well; one with a failure in it, or one asked for, stays."""
    if keep:
        _say(terminal, f"\nThe example is still in {folder}.", "dim")
        return
    shutil.rmtree(folder, ignore_errors=True)
    _say(terminal, f"\n{folder} is removed again; --keep DIR keeps the example.", "dim")


def _say(terminal: Terminal, text: str, style: str = "") -> None:
    width = terminal.console.width if terminal.can_ask else None
    for row in rows(Text(text, style=style), terminal.console, width):
        terminal.console.print(row, soft_wrap=True)
