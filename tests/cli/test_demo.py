"""`fairlead demo`."""

import ast
import re
from pathlib import Path

from cli.command import run_plain


def test_demo_ends_and_its_result_runs(tmp_path: Path) -> None:
    """The worked example of docs/plan.md: five items, a reminder after three silent rounds, a failed call that the
    model corrects, all five completed, the diff, the changed script run; exit 0. It says that no model was used.
    """
    folder = tmp_path / "kept"
    ended = run_plain("demo", "--keep", folder, spawned=True)
    assert ended.code == 0, ended.out + ended.err
    assert ended.err == ""
    out = ended.out

    assert "This demo plays a recorded conversation." in out
    assert 'fairlead run "Refactor hello.py: add type hints, docstrings, and a main guard"' in out
    assert "(0/5 completed)" in out
    assert re.search(r"✗ Edit hello.py  Error: old_text not found", out)
    failed, reminded = out.index("old_text not found"), out.index("↻ Update your todos.")
    assert failed < reminded < out.index("[x] #2: Add type hints  unverified")
    assert out.count("↻ Update your todos.") == 1
    assert "\n[x] #5: Check the result  verified\n\n(5/5 completed)\n" in out
    assert "\n-def part_of_day(hour):\n+def part_of_day(hour: int) -> str:\n" in out
    assert "Changed: hello.py" in out
    assert "✓ hello.py has type hints, docstrings and a main guard." in out
    assert re.search(r"Good \w+, Ada!\nGood \w+, 世界!\n✓ The changed script runs\.", out)
    assert "ANTHROPIC_API_KEY" in out
    assert "Ollama" in out
    assert f"The example is still in {folder}." in out

    module = ast.parse((folder / "hello.py").read_text())
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    assert [function.name for function in functions] == ["part_of_day", "greeting", "main"]
    assert all(function.returns and ast.get_docstring(function) for function in functions)
    assert sorted(path.name for path in folder.iterdir()) == ["hello.py", "test_hello.py"]
