"""The outcomes and exit codes of `fairlead run` without a terminal (docs/headless.md)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.command import run_plain
from cli.json_run import run_json
from fairlead.cli.headless.outcome import EXIT_CODES
from support.fake_api import Call, FakeApi, HttpError, Text, Turn
from support.sandbox import needs_sandbox

Record = Callable[..., Path]
CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("outcomes.yaml").read_text(encoding="utf-8"))


def name_of(request: dict[str, Any]) -> str:
    """The command or the name of the file that a refused request was about."""
    return request["command"] or request["uri"].rpartition("/")[2]


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_outcome(case: dict[str, Any], hello: Path, record: Record, tmp_path: Path) -> None:
    """The outcome, the exit code, what could not be asked, the checks, and the files on disk."""
    if case.get("sandbox"):
        needs_sandbox()
    folder, config = hello.parent, tmp_path / "config.json"
    for name, text in case.get("files", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    config.write_text(json.dumps(case.get("settings", {})))
    before = contents(folder)
    # there is no sandbox in the home folder
    env: dict[str, Any] = (
        {"HOME": str(folder), "XDG_STATE_HOME": str(tmp_path / "state")} if case.get("no sandbox") else {}
    )
    given = ("--workspace", folder, "--config", config, "--replay", record(*case["turns"]), *case.get("options", ()))
    run = run_json("a task", *given, **env)
    outcome, after = run.outcome, contents(folder)
    assert (outcome["outcome"], run.code) == (case["outcome"], EXIT_CODES[case["outcome"]]), run.err
    assert list(map(name_of, outcome["refused"])) == case.get("refused", [])
    assert [line["request"] for line in run.of("refused")] == outcome["refused"]
    assert outcome["unanswered"] == case.get("unanswered", [])
    assert [line["question"] for line in run.of("unanswered")] == outcome["unanswered"]
    assert [each["passed"] for each in outcome["checks"]] == case.get("checks", [])
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed == {*case.get("changed", [])}


def test_an_error_of_the_model(workspace: Path) -> None:
    """The outcome has the error with its kind, and what the user reads."""
    with FakeApi([HttpError(401, "authentication_error", "invalid x-api-key")]) as api:
        run = run_json("x", "--workspace", workspace, ANTHROPIC_API_KEY="test-key", ANTHROPIC_BASE_URL=api.url)
    assert (run.code, run.outcome["outcome"], run.outcome["stopReason"]) == (1, "failed", "error")
    assert run.outcome["error"]["kind"] == "auth"
    assert run.outcome["message"] == run.outcome["error"]["message"] != ""


def test_no_key(workspace: Path) -> None:
    run = run_json("x", "--workspace", workspace)
    assert (run.code, run.outcome["outcome"], run.outcome["error"]["kind"]) == (1, "failed", "auth")


def test_a_run_that_costs_too_much(workspace: Path) -> None:
    """`--max-cost` ends the run before the next request, and the outcome has what it cost."""
    call = Turn((Call("list_files", {}),), usage={"input_tokens": 1_000_000, "output_tokens": 0})
    with FakeApi([call, Turn((Text("never"),))]) as api:
        model = ("--model", "claude-sonnet-5-5", "--max-cost", "1.5")
        env: dict[str, Any] = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url}
        run = run_json("x", "--workspace", workspace, *model, **env)
        assert len(api.requests) == 1
    assert (run.code, run.outcome["outcome"], run.outcome["stopReason"]) == (4, "limit", "budget")
    assert run.outcome["usage"]["costUsd"] == pytest.approx(2)
    assert "the run cost $2.00, and the budget is $1.50" in run.outcome["message"]


def test_a_cost_limit_that_cannot_be_kept(workspace: Path, tmp_path: Path) -> None:
    """docs/faults.md 253: if the price of the model is unknown, `--max-cost` starts nothing.

    With a price in the settings, or only the setting, the run starts.
    """
    with FakeApi([Turn((Text("Done."),))] * 2, require_key=False) as api:
        model = ("--endpoint", "anthropic", "--base-url", api.url, "--model", "m-1")
        env: dict[str, Any] = {"ANTHROPIC_API_KEY": "k"}
        run = run_json("x", "--workspace", workspace, *model, "--max-cost", "2", **env)
        assert (run.code, run.outcome["outcome"], api.requests) == (1, "failed", [])
        assert "its cost is limited to $2.00, but the price of the model “m-1” is unknown" in run.outcome["message"]
        assert run.outcome["message"] in run.err.replace("\n", " ")

        priced, limited = tmp_path / "priced.json", tmp_path / "limited.json"
        prices = {"models": {"m-1": {"inputPrice": 1, "outputPrice": 1}}}
        priced.write_text(json.dumps({"endpoints": {"anthropic": prices}}))
        run = run_json("x", "--workspace", workspace, *model, "--max-cost", "2", "--config", priced, **env)
        assert run.code == 0, run.err
        limited.write_text('{"budget.costUsd": 2}')
        run = run_json("x", "--workspace", workspace, *model, "--config", limited, **env)
        assert (run.code, run.outcome["usage"]["costUsd"]) == (0, None)
        assert "budget.costUsd has no effect" in run.outcome["warnings"][0]


def test_what_was_refused_names_the_rules(workspace: Path, record: Record) -> None:
    """The model reads which option allows the command, and the last lines show it."""
    replay = record({"calls": [{"bash": {"command": "touch made", "unsandboxed": True}}]}, {"text": "Done."})
    run = run_json("x", "--workspace", workspace, "--replay", replay)
    [finished] = run.events("tool_finished")
    assert "The user can allow it with --allow 'touch made' of `fairlead run`." in finished["text"]
    assert run.outcome["refused"][0]["rules"] == ["touch made"]
    plain = run_plain("run", "x", "--workspace", workspace, "--replay", replay)
    assert plain.code == 5
    assert plain.out.rstrip().endswith("--allow 'touch made'"), plain.out
