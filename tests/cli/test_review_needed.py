"""`fairlead review --needed`: which changes the checks need (docs/plan.md P23)."""

import json
from pathlib import Path

import pytest

from cli.command import run_plain
from support.calls import edit
from support.sandbox import needs_sandbox

CHECK = "grep -q two a.txt"


@pytest.fixture
def saved(workspace: Path, tmp_path: Path) -> Path:
    """A folder with a saved session, of whose three changes the check needs the first one."""
    needs_sandbox()
    (workspace / "a.txt").write_text("one\n\n\n\n\n\nold\n")
    (workspace / "b.txt").write_text("old\n")
    step = {"todo": {"items": [{"content": "Edit", "status": "in_progress", "check": CHECK}]}}
    edits = [edit("a.txt", "one", "two"), edit("a.txt", "old", "new"), edit("b.txt", "old", "new")]
    recording = tmp_path / "recording.yaml"
    recording.write_text(json.dumps({"replay": 1, "turns": [{"calls": [step, *edits]}, {"text": "Done."}]}))
    ended = run_plain("run", "Edit", "--workspace", workspace, "--replay", recording, "--accept", "none")
    assert ended.code == 0
    return workspace


def test_p23_the_review_says_what_the_check_needs(saved: Path) -> None:
    ended = run_plain("review", "--needed", "--workspace", saved, "--accept", "none")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0] == f"`{CHECK}` passes without a.txt, line 7. It does not read b.txt. (4 runs)"
    said = [line for line in lines if line.startswith("Line ")]
    assert said == [
        f"Line 1: `{CHECK}` fails without this.",
        f"Line 7: `{CHECK}` passes without this alone.",
        f"Line 1: `{CHECK}` does not read this file.",
    ]


def test_p23_a_command_takes_the_place_of_the_checks(saved: Path) -> None:
    ended = run_plain("review", "--needed", "--check", "grep -q new b.txt", "--workspace", saved, "--accept", "none")
    assert ended.out.startswith("`grep -q new b.txt` does not read a.txt. (3 runs)\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--needed", "--together"), "--needed is about one session"),
        (("--needed", "--check", "true", "--check", "false"), "--needed takes one --check"),
        (("--check", "true"), "--check needs --together or --needed"),
    ],
)
def test_p23_wrong_options(workspace: Path, options: tuple[str, ...], said: str) -> None:
    ended = run_plain("review", *options, "--workspace", workspace)
    assert (ended.code, said in ended.err) == (2, True)
