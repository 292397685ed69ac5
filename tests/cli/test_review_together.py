"""`fairlead review --together`: the proposals of all saved sessions of a folder (docs/plan.md P24)."""

import json
from pathlib import Path

import pytest

from cli.command import run_plain
from support.calls import edit
from support.sandbox import needs_sandbox

CHECK = 'python3 -B -c "from a import x; from b import y; assert x + y < 4"'


@pytest.fixture
def two_sessions(workspace: Path, tmp_path: Path) -> Path:
    """A folder with two saved sessions, which propose one change each."""
    needs_sandbox()
    for name, value in (("a", "x"), ("b", "y")):
        (workspace / f"{name}.py").write_text(f"{value} = 1\n")
        recording = tmp_path / f"{name}.yaml"
        turns = [{"calls": [edit(f"{name}.py", f"{value} = 1", f"{value} = 2")]}, {"text": "Done."}]
        recording.write_text(json.dumps({"replay": 1, "turns": turns}))
        given = ("--workspace", workspace, "--replay", recording, "--accept", "none")
        assert run_plain("run", f"Raise {value}", *given).code == 0
    return workspace


def test_p24_the_pair_that_fails_together_is_named(two_sessions: Path) -> None:
    """With the commands that review each session. The exit code says whether all checks pass."""
    command = ("review", "--together", "--workspace", two_sessions, "--check", "true")
    ended = run_plain(*command, "--check", CHECK)
    assert ended.code == 1
    assert "✓ `true` passes with the changes of all sessions." in ended.out
    assert f"✗ `{CHECK}` fails with these 2 changes together" in ended.out
    assert "b.py, line 1 (“Raise y”); a.py, line 1 (“Raise x”)." in ended.out
    [*_, line] = ended.out.splitlines()
    assert line.startswith("To review “Raise x”: ") and f"--workspace {two_sessions} --session " in line
    passed = run_plain(*command)
    assert (passed.code, passed.out.splitlines()[-1]) == (0, "The check passes with the changes of 2 sessions.")


def test_p24_it_decides_on_nothing(two_sessions: Path) -> None:
    ended = run_plain("review", "--together", "--workspace", two_sessions, "--accept", "all")
    assert ended.code == 2 and "decides on none" in ended.err
    assert (two_sessions / "a.py").read_text() == "x = 1\n"
