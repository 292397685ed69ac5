"""Language servers for tasks in the terminal (docs/plan.md L18, P20)."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from cli.command import run_plain

PROGRAMS = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def test_a_rename_in_the_terminal_is_one_proposal_in_all_files(workspace: Path, record: Callable[..., Path]) -> None:
    """A language server on PATH makes the rename; no editor is needed."""
    (workspace / "shapes.py").write_text("def area(side: int) -> int:\n    return side * side\n")
    users = [workspace / f"user{number}.py" for number in range(4)]
    for path in users:
        path.write_text("from shapes import area\n\nprint(area(2))\n")
    rename = {"path": "shapes.py", "line": 1, "symbol": "area", "new_name": "surface"}
    replay = record({"calls": [{"rename_symbol": rename}]}, {"text": "Renamed."})
    arguments = ("run", "Rename area", "--workspace", workspace, "--replay", replay, "--accept", "all")
    ended = run_plain(*arguments, PATH=PROGRAMS)
    assert "Rename area to surface" in ended.out
    assert "Proposed in 5 files" in ended.out
    assert (workspace / "shapes.py").read_text() == "def surface(side: int) -> int:\n    return side * side\n"
    assert {path.read_text() for path in users} == {"from shapes import surface\n\nprint(surface(2))\n"}
