"""`fairlead run --json`: each line fits the schema, and the first and the last one say what they must."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import psutil
import pytest
from jsonschema import Draft202012Validator

from cli.command import COMMAND, DEADLINE, all_gone, environment, run_plain
from cli.json_run import SCHEMA, read_lines, run_json, schema
from fairlead import __version__
from fairlead.cli.headless.arguments import EXIT_TEXTS
from fairlead.cli.headless.outcome import EXIT_CODES
from fairlead.wire.run_lines import RunOutcome
from protocol.page import ROOT, Page, names, tables
from support.fake_api import Call, FakeApi, Text, Turn, Wait
from support.sandbox import needs_sandbox

Record = Callable[..., Path]
EDIT = {"edit_file": {"path": "hello.py", "old_text": "night", "new_text": "夜"}}


def test_the_example(hello: Path, example: Path, tmp_path: Path) -> None:
    """A run with a plan, commands, checks, changes and both files: the outcome has all of it, and standard error has
    the usual lines.
    """
    needs_sandbox()
    record, recording = tmp_path / "record.json", tmp_path / "run.yaml"
    files = ("--save-record", record, "--record", recording)
    run = run_json("Refactor", "--workspace", hello.parent, "--replay", example, "--accept", "all", *files)
    start, outcome = run.lines[0], run.outcome
    assert (run.code, outcome["outcome"], outcome["stopReason"]) == (0, "done", "end_turn")
    assert (start["version"], start["isContinued"]) == (__version__, False)
    assert start["folders"] == [hello.parent.as_uri()]
    assert [line["plan"] for line in run.of("plan")][-1]["completed"] == outcome["steps"]["completed"] == 5
    assert outcome["changes"] == [
        {
            "uri": hello.as_uri(),
            "kind": "modify",
            "applied": 4,
            "rejected": 0,
            "refused": 0,
            "undecided": 0,
            "weakens": [],
        }
    ]
    assert [(line["decision"], len(line["outcomes"])) for line in run.of("review")] == [("accept", 4)]
    assert run.of("edits")[-1]["edits"]["files"] == []
    assert [event["stopReason"] for event in run.events("run_finished")] == ["end_turn"]
    assert (outcome["recordFile"], outcome["recordingFile"]) == (str(record), str(recording))
    assert "5 of 5 steps" in outcome["summary"]
    assert "Changed: hello.py" in run.err and "+if __name__" in run.err


def test_what_a_model_says_and_what_it_costs(workspace: Path) -> None:
    """The text arrives in pieces of any script, in ASCII, and the outcome has the tokens and the cost."""
    text = "世界 👍 \x1b[31mred\x1b[0m \u2028 \x85 end"
    turn = Turn((Text(text),), usage={"input_tokens": 1_000_000, "output_tokens": 0})
    with FakeApi([turn]) as api:
        model = ("--model", "claude-sonnet-5-5", "--max-cost", "100")
        env: dict[str, Any] = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url}
        run = run_json("a task", "--workspace", workspace, *model, **env)
    assert run.code == 0, run.err
    assert "".join(event["text"] for event in run.events("text")) == text
    assert run.outcome["message"] == text
    assert run.outcome["usage"]["inputTokens"] == 1_000_000
    assert run.outcome["usage"]["costUsd"] == pytest.approx(2)


def test_a_continued_session(hello: Path, record: Record) -> None:
    """It begins with the states of the session."""
    task = ("--workspace", hello.parent, "--replay")
    first = run_json("a task", *task, record({"calls": [EDIT]}, {"text": "Done."}))
    replay = record({"text": "Still here."}, name="second.yaml")
    ended = run_plain("run", "--continue", "--json", *task, replay, "--accept", "all")
    lines = read_lines(ended.out, ended.code)
    assert ended.code == 0
    assert [line["type"] for line in lines[:3]] == ["start", "plan", "edits"]
    assert (lines[0]["sessionId"], lines[0]["isContinued"]) == (first.outcome["sessionId"], True)
    assert lines[2]["edits"]["files"][0]["uri"] == hello.as_uri()
    assert "夜" in hello.read_text(encoding="utf-8")


def test_a_run_that_cannot_start_has_only_an_outcome(workspace: Path) -> None:
    ended = run_plain("run", "--continue", "--json", "--workspace", workspace)
    [outcome] = read_lines(ended.out, ended.code)
    assert (ended.code, outcome["outcome"], outcome["sessionId"]) == (2, "not_started", None)
    assert outcome["message"] in ended.err


def test_wrong_usage_writes_no_line() -> None:
    ended = run_plain("run", "x", "--json", "--accept", "ask")
    assert (ended.code, ended.out) == (2, "")
    assert "--accept ask needs a terminal without --json" in ended.err


def test_messages_wait_for_the_first_line(workspace: Path, record: Record, tmp_path: Path) -> None:
    """A wrong setting is reported before there is a session: as a line after the first one, and in the outcome."""
    config = tmp_path / "config.json"
    config.write_text('{"maxTokens": -1}')
    run = run_json("x", "--workspace", workspace, "--config", config, "--replay", record({"text": "Done."}))
    [message] = run.of("message")
    assert (message["level"], run.outcome["warnings"]) == ("warning", [message["text"]])
    assert "maxTokens must be at least 1" in message["text"]


def test_huge_output(workspace: Path, record: Record) -> None:
    """Megabytes of a command, in one line without end, arrive cut, and every line still fits the schema."""
    needs_sandbox()
    command = "head -c 30000000 /dev/zero | tr '\\0' 'x'; printf '\\377\\n%.0s' {1..2000}"
    run = run_json(
        "x", "--workspace", workspace, "--replay", record({"calls": [{"bash": {"command": command}}]}, {"text": "."})
    )
    assert run.code == 0
    assert sum(len(event["text"]) for event in run.events("tool_output")) > 100_000
    assert len(run.events("command_ended")) == 1


@pytest.mark.skipif(os.name != "posix", reason="other systems have other errors for a closed pipe")
def test_fault_252_the_reader_of_the_lines_ends(hello: Path, record: Record) -> None:
    """As in `fairlead run --json | head -1`: the run stops at the next line, applies nothing and says why on standard
    error, without a traceback.
    """
    needs_sandbox()
    calls = [{"write_file": {"path": "new.py", "content": "x"}}, {"bash": {"command": "sleep 200"}}]
    replay = record({"text": "I start.", "calls": calls}, {"text": "Done."})
    arguments = ["run", "a task", "--json", "--workspace", hello.parent, "--replay", replay, "--accept", "all"]
    pipe = subprocess.PIPE
    process = subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=pipe, stderr=pipe, env=environment())
    with process, process.stdout as out, process.stderr as err:  # type: ignore[union-attr]  they are pipes
        assert json.loads(out.readline())["type"] == "start"
        out.close()
        said = err.read().decode()
        code = process.wait(DEADLINE)
    assert code == 1
    assert said.endswith("fairlead: standard output cannot be written: Broken pipe\n")
    assert "Traceback" not in said
    assert not (hello.parent / "new.py").exists()


def test_the_schema_is_valid_and_has_every_line_of_the_page() -> None:
    """docs/run-json.schema.json is a JSON Schema of draft 2020-12, and docs/headless.md has a row for each type."""
    Draft202012Validator.check_schema(schema())
    assert SCHEMA.name in (ROOT / "docs" / "headless.md").read_text(encoding="utf-8")
    kinds = {
        definition["properties"]["type"]["enum"][0]
        for name, definition in schema()["$defs"].items()
        if name.endswith("Line") and name != "RunLine"
    }
    table = tables(Page(ROOT / "docs" / "headless.md").section("The lines"))[0]
    assert {names(row[0])[0] for row in table} == kinds


def test_every_outcome_is_on_the_page_and_in_the_help() -> None:
    """The table of docs/headless.md has each outcome with its exit code, and so has `--help`."""
    assert set(EXIT_CODES) == set(EXIT_TEXTS) == set(get_args(RunOutcome))
    table = tables(Page(ROOT / "docs" / "headless.md").section("Outcomes"))[0]
    assert {(names(row[1])[0], int(row[0])) for row in table} == set(EXIT_CODES.items())
    helped = run_plain("run", "--help").out
    for outcome, text in EXIT_TEXTS.items():
        assert f"{EXIT_CODES[outcome]:>4}  {text.splitlines()[0]}" in helped


@pytest.mark.skipif(os.name != "posix", reason="other systems cannot send Ctrl-C to one process")
def test_a_model_that_is_stopped_in_the_middle_of_an_answer(workspace: Path) -> None:
    """The first interrupt ends the run; the outcome is the last line."""
    talk = Turn((Text("one two"), Call("list_files", {})), chunk=4)
    arguments = ["run", "x", "--json", "--workspace", workspace]
    with FakeApi([Wait(talk, threading.Event(), before=4)]) as api:
        env = environment(ANTHROPIC_BASE_URL=api.url, ANTHROPIC_API_KEY="test-key")
        pipe = subprocess.PIPE
        with subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=pipe, stderr=pipe, env=env) as process:
            assert process.stdout is not None
            read: list[bytes] = []
            for line in process.stdout:
                read.append(line)
                if b'"kind":"text"' in line:
                    process.send_signal(signal.SIGINT)
                    break
            rest, _ = process.communicate(timeout=DEADLINE)
    lines = read_lines((b"".join(read) + rest).decode(), process.returncode)
    assert (process.returncode, lines[-1]["outcome"], lines[-1]["stopReason"]) == (130, "interrupted", "cancelled")


@pytest.mark.skipif(os.name != "posix", reason="other systems cannot send Ctrl-C to one process")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_checks_run(hello: Path, record: Record, number: signal.Signals) -> None:
    """The checks end, nothing is accepted, and the outcome is the last line."""
    needs_sandbox()
    replay = record({"calls": [EDIT]}, {"text": "Done."})
    given = ("--workspace", hello.parent, "--replay", replay, "--accept", "checks", "--check", "sleep 999")
    command, pipe = [*COMMAND, *map(str, ("run", "x", "--json", *given))], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment()) as process:
        assert process.stdout is not None
        read: list[bytes] = []
        children: list[psutil.Process] = []
        for line in process.stdout:
            read.append(line)
            if b'"kind":"command"' in line:
                children = psutil.Process(process.pid).children(recursive=True)
                process.send_signal(number)
                break
        rest, _ = process.communicate(timeout=DEADLINE)
        assert all_gone(children)
    lines = read_lines((b"".join(read) + rest).decode(), process.returncode)
    assert (process.returncode, lines[-1]["outcome"]) == (130, "interrupted")
    assert lines[-1]["changes"][0]["undecided"] == 1
    assert "night" in hello.read_text(encoding="utf-8")
