"""`fairlead race`: several runs of a task at the same time, ranked (docs/plan.md P25)."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.command import Ended, in_terminal, run_plain
from support.calls import edit
from support.sandbox import needs_sandbox

CHECK = "grep -q 'x = 2' a.py"
SHORT = [{"calls": [edit("a.py", "x = 1", "x = 2")]}, {"text": "Done."}]
LONG = [{"calls": [edit("a.py", "x = 1", "x = 2"), edit("a.py", "v = 1", "v = 2")]}, {"text": "Done."}]
WRONG = [{"calls": [edit("a.py", "x = 1", "x = 3")]}, {"text": "Done."}]
ENDS: list[dict[str, Any]] = [{"calls": [edit("a.py", "x = 1", "x = 2")]}]
"""The recording has no further turn, so the run fails."""


@pytest.fixture
def files(workspace: Path) -> Path:
    needs_sandbox()
    (workspace / "a.py").write_text("x = 1\n\n\n\nv = 1\n")
    return workspace


def race_of(files: Path, *recordings: list[dict[str, Any]]) -> list[object]:
    """The command of a race of recordings."""
    command: list[object] = ["race", "Raise x", "--workspace", files, "--check", CHECK]
    for number, turns in enumerate(recordings):
        path = files.parent / f"r{number}.yaml"
        path.write_text(json.dumps({"replay": 1, "turns": turns}))
        command += ["--replay", path]
    return command


def table(ended: Ended) -> list[list[str]]:
    """The rows: the number, the run, the proof, and then the numbers."""
    lines = ended.out.splitlines()
    start = next(index for index, line in enumerate(lines) if "new errors" in line) + 1
    return [line.split() for line in lines[start:] if line[:1].isdigit() and " is " not in line]


def test_p25_runs_are_ranked_and_say_why(files: Path) -> None:
    """A run that fails does not end the race. The files are unchanged, and each session can be reviewed."""
    ended = run_plain(*race_of(files, WRONG, LONG, ENDS, SHORT))
    assert ended.code == 0
    assert table(ended) == [
        ["1", "r3.yaml:", "Raise", "x", "proved", "0", "1", "1", "2", "-"],
        ["2", "r1.yaml:", "Raise", "x", "proved", "0", "1", "2", "4", "-"],
        ["3", "r0.yaml:", "Raise", "x", "failed", "0", "-", "1", "2", "-"],
        ["4", "r2.yaml:", "Raise", "x", "failed", "0", "-", "1", "2", "-"],
    ]
    assert "The first run changes 2 lines; the second one changes 4 lines." in ended.out
    assert f"3 is failed: `{CHECK}` fails (exit code 1" in ended.out
    assert "4 is failed: The run was ended before it had finished." in ended.out
    assert (files / "a.py").read_text() == "x = 1\n\n\n\nv = 1\n"
    later = next(line for line in ended.out.splitlines() if line.startswith("To review 1 later: "))
    session = later.rpartition(" ")[2]
    assert run_plain("review", "--workspace", files, "--session", session, "--accept", "all").code == 0
    assert (files / "a.py").read_text() == "x = 2\n\n\n\nv = 1\n"


def test_p25_without_a_run_that_succeeds_the_exit_code_says_so(files: Path) -> None:
    ended = run_plain(*race_of(files, WRONG, ENDS))
    assert (ended.code, "No run succeeded." in ended.out) == (1, True)


def test_p25_the_user_reviews_one_and_deletes_the_others(files: Path) -> None:
    """Nothing is deleted before the user says so."""
    with in_terminal(*race_of(files, LONG, SHORT)) as terminal:
        terminal.answer("Review which run?", "1")
        terminal.answer("Accept a.py?", "y")
        terminal.answer("Delete the sessions of the other 1?", "y")
        assert terminal.end() == 0
    assert (files / "a.py").read_text() == "x = 2\n\n\n\nv = 1\n"
    assert "No session of this folder has undecided" in run_plain("review", "--workspace", files).out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Raise x"], "at least two runs"),
        (["Raise x", "--models", "one"], "at least two runs"),
        (["Raise x", "--models", "one,one"], "at least two runs"),
        (["a", "b", "c", "--models", "one,two,three"], "at most 8 runs, and these are 9"),
        (["Raise x", "--models", "one", "--replay", "a.yaml"], "cannot be combined"),
        (["Raise x", "--replay", "a.yaml", "--replay", "b.yaml"], "cannot be read"),
    ],
)
def test_p25_incorrect_usage(workspace: Path, arguments: list[str], said: str) -> None:
    ended = run_plain("race", *arguments, "--workspace", workspace)
    assert ended.code == 2 and said in ended.err
