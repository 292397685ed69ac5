"""`fairlead demo`."""

import ast
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from cli.command import run_plain
from support.sandbox import needs_sandbox


@pytest.fixture
def sandbox() -> None:
    """Skips the test without a sandbox, because only sandboxed checks see the proposed file."""
    needs_sandbox()


def check_demo(out: str, folder: Path) -> None:
    """Checks the output that is the same with and without a sandbox, and the files that the demo leaves."""
    assert "This demo plays a recorded conversation." in out
    assert 'fairlead run "Refactor hello.py: add type hints, docstrings, and a main guard"' in out
    assert "(0/5 completed)" in out
    assert re.search(r"✗ Edit hello.py  Error: old_text not found", out)
    failed, reminded = out.index("old_text not found"), out.index("↻ Update your todos.")
    assert failed < reminded < out.index("[x] #2: Add type hints  unverified")
    assert out.count("↻ Update your todos.") == 1
    assert "\n\n(5/5 completed)\n" in out
    assert "\n-def part_of_day(hour):\n+def part_of_day(hour: int) -> str:\n" in out
    assert "Changed: hello.py" in out
    assert "  ✓ hello.py  unchanged\n" in out
    assert "\n✓ The record holds.\n" in out
    assert "✓ hello.py has type hints, docstrings and a main guard." in out
    assert re.search(r"Good \w+, Ada!\nGood \w+, 世界!\n✓ The changed script runs\.", out)
    programs = re.findall(r'^  (?:ANTHROPIC_API_KEY=\.\.\. )?(.+) run "your task"', out, re.M)
    assert len(programs) == 2
    for program in set(programs):
        subprocess.run([*shlex.split(program), "--help"], check=True, stdout=subprocess.DEVNULL)
    assert "Ollama" in out
    assert f"The example is still in {folder}." in out

    module = ast.parse((folder / "hello.py").read_text())
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    assert [function.name for function in functions] == ["part_of_day", "greeting", "main"]
    assert all(function.returns and ast.get_docstring(function) for function in functions)
    assert sorted(path.name for path in folder.iterdir()) == ["hello.py", "record.json", "test_hello.py"]


@pytest.mark.usefixtures("sandbox")
def test_demo_ends_and_its_result_runs(tmp_path: Path) -> None:
    """The worked example of docs/plan.md: five items, a reminder after three silent rounds, a failed call that the
    model corrects, and a step that is not completed until the model has fixed the mistake that its check found. At the
    end, all five are completed and the last one is proved, the diff is shown, the record is verified, and the changed
    script runs. The exit code is 0. The output says that the conversation is recorded.
    """
    folder = tmp_path / "kept"
    ended = run_plain("demo", "--keep", folder, spawned=True)
    assert ended.code == 0, ended.out + ended.err
    assert ended.err == ""
    out = ended.out
    refused = out.index("\n  ✗ #5 is not completed: its check failed\n")
    proved = "#5: Check the result  proved: fails without the change, passes with it"
    assert refused < out.index("I'll revert it.") < out.index(f"    [x] {proved}\n")
    assert f"\n[x] {proved}\n\n(5/5 completed)\n" in out
    assert "  ✓ python3 -B -m unittest  passes (" in out
    check_demo(out, folder)


def test_the_demo_without_a_sandbox_claims_nothing_that_was_not_proved(tmp_path: Path) -> None:
    """The workspace is the home folder, in which there is no sandbox. The check cannot run, so its step is not
    completed: the model replaces it. The demo asks nothing and ends with 0."""
    folder = tmp_path / "kept"
    state = tmp_path / "state"
    ended = run_plain("demo", "--keep", folder, spawned=True, HOME=str(folder), XDG_STATE_HOME=str(state))
    assert ended.code == 0, ended.out + ended.err
    assert ended.err == ""
    out = ended.out
    assert out.count("✗ Update the plan  #5 is not completed: its check could not run: `python3 -B -m unittest`. ") == 2
    assert "#5: Check the result  " not in out
    last = out[out.rindex("[x] #1") : out.rindex("(5/5 completed)")]
    assert re.findall(r"\[x\] #\d: [^\n]*?  ([^\n]+)\n", last) == [
        "only read",
        "unverified",
        "unverified",
        "unverified",
        "no evidence",
    ]
    assert "python3 -B -m unittest  passes" not in out
    check_demo(out, folder)
