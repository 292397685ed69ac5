"""`--accept checks`: what the checks prove is accepted, and nothing else (docs/headless.md)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.command import run_plain
from cli.json_run import JsonRun, run_json
from support.fake_api import Call, FakeApi, Text, Turn
from support.sandbox import needs_sandbox

Record = Callable[..., Path]
NIGHT = {"edit_file": {"path": "hello.py", "old_text": '"night"', "new_text": '"夜"'}}
IMPORT = {"edit_file": {"path": "hello.py", "old_text": "import sys\n", "new_text": "import os\nimport sys\n"}}
NEW = {"write_file": {"path": "new.py", "content": "x = 1\n"}}
NO_NIGHT = "! grep -q night hello.py"


@pytest.fixture(autouse=True)
def sandbox() -> None:
    needs_sandbox()


def plan(*statuses: str, **checks: str) -> dict[str, Any]:
    """A call that writes a plan of “Step 1” and so on, with these statuses. `step1` is the check of that step."""
    items = [
        {"content": f"Step {number}", "status": status, "activeForm": f"Step {number}"}
        | ({"check": checks[f"step{number}"]} if f"step{number}" in checks else {})
        for number, status in enumerate(statuses, 1)
    ]
    return {"todo": {"items": items}}


def run(hello: Path, replay: Path, check: str, *more: object) -> JsonRun:
    checks = ("--accept", "checks", "--check", check)
    return run_json("a task", "--workspace", hello.parent, "--replay", replay, *checks, *more)


def counts(run: JsonRun) -> dict[str, tuple[int, int, int]]:
    """By file: how many changes were applied and rejected, and how many are undecided."""
    return {
        change["uri"].rpartition("/")[2]: (change["applied"], change["rejected"], change["undecided"])
        for change in run.outcome["changes"]
    }


def test_all_steps_are_proved(hello: Path, record: Record) -> None:
    """Everything is accepted, and the exit code is 0. The verified steps are counted."""
    calls = [plan("in_progress"), NIGHT, plan("completed")]
    ended = run(hello, record({"calls": calls}, {"text": "Done."}), NO_NIGHT)
    assert (ended.code, counts(ended)) == (0, {"hello.py": (1, 0, 0)}), ended.err
    assert ended.outcome["steps"] == {"total": 1, "completed": 1, "verified": 1}
    assert '"夜"' in hello.read_text(encoding="utf-8")


def test_changes_of_no_step_need_only_the_checks(hello: Path, record: Record) -> None:
    """Without a plan, passing checks prove all changes."""
    ended = run(hello, record({"calls": [NIGHT, NEW]}, {"text": "Done."}), NO_NIGHT)
    assert (ended.code, counts(ended)) == (0, {"hello.py": (1, 0, 0), "new.py": (1, 0, 0)}), ended.err
    assert (hello.parent / "new.py").exists()


def test_a_step_that_is_not_completed_is_rejected(hello: Path, record: Record) -> None:
    """Of one file, only the change of the completed step is accepted. The checks run again with only this. The exit
    code is 3, and the model reads later why the rest was rejected.
    """
    calls = [plan("in_progress", "pending"), NIGHT, plan("completed", "in_progress"), IMPORT, NEW]
    ended = run(hello, record({"calls": calls}, {"text": "Half done."}), NO_NIGHT)
    assert (ended.code, ended.outcome["outcome"]) == (3, "check_failed"), ended.err
    assert counts(ended) == {"hello.py": (1, 1, 0), "new.py": (0, 1, 0)}
    [check] = ended.outcome["checks"]
    assert (check["changes"], check["passed"]) == ("some", True)
    assert '"夜"' in hello.read_text(encoding="utf-8") and "import os" not in hello.read_text(encoding="utf-8")
    assert not (hello.parent / "new.py").exists()
    with FakeApi([Turn((Text("I see."),))]) as api:
        env: dict[str, Any] = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url}
        assert run_plain("run", "--continue", "Why?", "--workspace", hello.parent, **env).code == 0
        asked = json.dumps(api.requests[0].body["messages"][-1])
    assert "This run accepts only changes of steps that a check has verified." in asked


def test_a_part_that_does_not_pass_alone_is_not_accepted(hello: Path, record: Record) -> None:
    """The check passes with all changes, but not with those of the verified step alone: nothing is decided, and
    `fairlead review` still has all of it.
    """
    calls = [plan("in_progress", "pending"), NEW, plan("pending", "in_progress"), NIGHT, plan("pending", "completed")]
    check = f"test -e new.py && {NO_NIGHT}"
    ended = run(hello, record({"calls": calls}, {"text": "Half done."}), check)
    assert (ended.code, counts(ended)) == (3, {"hello.py": (0, 0, 1), "new.py": (0, 0, 1)}), ended.err
    assert ended.of("review") == []
    assert "night" in hello.read_text(encoding="utf-8")
    reviewed = run_plain("review", "--workspace", hello.parent, "--accept", "all")
    assert (reviewed.code, (hello.parent / "new.py").exists()) == (0, True), reviewed.out


def test_a_failed_check_decides_nothing(hello: Path, record: Record) -> None:
    """Also if it is the check of a step, and not the user's."""
    calls = [plan("in_progress", step1="grep -q nowhere hello.py"), NIGHT]
    ended = run(hello, record({"calls": calls}, {"text": "Done."}), NO_NIGHT)
    assert (ended.code, counts(ended)) == (3, {"hello.py": (0, 0, 1)}), ended.err
    assert {check["command"]: check["passed"] for check in ended.outcome["checks"]} == {
        NO_NIGHT: True,
        "grep -q nowhere hello.py": False,
    }


def test_a_run_at_a_limit_keeps_what_is_proved(hello: Path, record: Record, tmp_path: Path) -> None:
    """The outcome is the limit, and what the checks prove is accepted."""
    config = tmp_path / "config.json"
    config.write_text('{"loop.maxRounds": 1}')
    calls = [plan("in_progress", "pending"), NIGHT, plan("completed", "in_progress")]
    ended = run(hello, record({"calls": calls}, {"text": "never"}), NO_NIGHT, "--config", config)
    assert (ended.code, ended.outcome["outcome"], counts(ended)) == (4, "limit", {"hello.py": (1, 0, 0)}), ended.err


def test_fault_254_the_model_weakens_the_check(hello: Path) -> None:
    """docs/faults.md 254: a step's own check that always passes proves nothing without the user's checks."""
    calls = (plan("in_progress", step1="true"), NIGHT, plan("completed", step1="true"))
    turns = [Turn((Call(name, value),)) for call in calls for name, value in call.items()]
    with FakeApi([*turns, Turn((Text("Done."),))]) as api:
        env: dict[str, Any] = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url}
        given = ("--workspace", hello.parent, "--accept", "checks", "--check", "grep -q nowhere hello.py")
        ended = run_json("a task", *given, **env)
    assert (ended.code, counts(ended)) == (3, {"hello.py": (0, 0, 1)}), ended.err
