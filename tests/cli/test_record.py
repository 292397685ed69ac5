"""`--record` writes a run to a file that replays it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.command import Ended, run_plain
from fairlead.models.recording import read_recording
from support.fake_api import Call, Cut, FakeApi, MidStreamError, Text, Thinking, Turn
from support.sandbox import needs_sandbox

Record = Callable[..., Path]


@pytest.fixture
def sandbox() -> None:
    """Skips the test without a sandbox, because the example then plays one more turn."""
    needs_sandbox()


def run_with(api: FakeApi, workspace: Path, path: Path) -> Ended:
    """Runs a task with the model of `api`, and records it."""
    model = ("--base-url", api.url, "--model", "claude-opus-5-5")
    return run_plain("run", "a task", "--workspace", workspace, "--record", path, *model, ANTHROPIC_API_KEY="k")


@pytest.mark.usefixtures("sandbox")
def test_a_recorded_replay_equals_the_recording(hello: Path, example: Path, tmp_path: Path) -> None:
    """Recording a replay of the example gives the turns that were played, and replaying that gives the same file."""
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    task = ("run", "Refactor hello.py", "--workspace", hello.parent)
    recorded = run_plain(*task, "--replay", example, "--record", first, "--accept", "none")
    assert recorded.code == 0
    assert f"Recorded 11 answers to {first}" in recorded.out
    assert "Nothing was changed." in recorded.out
    assert "--accept all" not in recorded.out  # shown only if the user did not choose
    assert read_recording(first).turns == tuple(turn for turn in read_recording(example).turns if not turn.when)
    assert read_recording(first).about == "Refactor hello.py"

    played = run_plain(*task, "--replay", first, "--record", second, "--accept", "all")
    assert played.code == 0
    assert second.read_bytes() == first.read_bytes()
    assert 'if __name__ == "__main__":' in hello.read_text()


def test_a_run_with_a_model_is_recorded(workspace: Path, tmp_path: Path) -> None:
    """The recording has the thinking, the text in any script, the calls in order, and the usage of each turn."""
    path = tmp_path / "run.yaml"
    with FakeApi(
        [
            Turn(
                (
                    Thinking("想一想"),
                    Text("One\n\n  two: 世界 👍"),
                    Call("list_files", {}),
                    Call("nope", {"a": [1, None]}),
                ),
                usage={"input_tokens": 10, "output_tokens": 3},
            ),
            Turn((Text("Done."),), usage={"input_tokens": 4, "output_tokens": 2}),
        ],
        require_key=False,
    ) as api:
        ended = run_with(api, workspace, path)
    assert ended.code == 0, ended.out
    one, two = read_recording(path).turns
    assert (one.thinking, one.text) == ("想一想", "One\n\n  two: 世界 👍")
    assert one.calls == (("list_files", {}), ("nope", {"a": [1, None]}))
    assert (two.text, two.calls, two.stop) == ("Done.", (), None)
    assert (one.usage.requests, one.usage.output_tokens) == (1, 3)
    assert (two.usage.requests, two.usage.output_tokens) == (1, 2)


def test_discarded_calls_and_text_are_not_recorded(workspace: Path, tmp_path: Path) -> None:
    """A call is discarded if its answer was cut off, and text is discarded if its attempt failed."""
    path = tmp_path / "run.yaml"
    cut_off = Turn((Text("Writing."), Call("write_file", {"path": "a", "content": "x"})), stop_reason="max_tokens")
    answers = [cut_off, Cut(Turn((Text("An attempt that breaks."),), chunk=100), 4, "drop"), Turn((Text("Done."),))]
    with FakeApi(answers, require_key=False) as api:
        ended = run_with(api, workspace, path)
    assert ended.code == 0, ended.out
    assert "An attempt" in ended.out
    [turn] = read_recording(path).turns
    assert (turn.text, turn.calls) == ("Writing.\n\nDone.", ())


def test_an_answer_that_breaks_is_not_recorded(workspace: Path, tmp_path: Path) -> None:
    """A broken answer is left out even if the model's server charged for its tokens and no answer follows."""
    path = tmp_path / "run.yaml"
    turn = Turn((Text("An attempt that breaks."),), chunk=100)
    refusal = MidStreamError(turn, 4, "invalid_request_error")
    with FakeApi([Turn((Text("I look."), Call("list_files", {}))), refusal], require_key=False) as api:
        ended = run_with(api, workspace, path)
    assert ended.code == 1, ended.out
    assert "An attempt" in ended.out
    assert [turn.text for turn in read_recording(path).turns] == ["I look."]


def test_a_task_that_is_not_utf_8(workspace: Path, record: Record, tmp_path: Path) -> None:
    """Bytes that are not UTF-8 are replaced in the recording, which can be replayed."""
    path = tmp_path / "run.yaml"
    recorded = run_plain(
        *("run", os.fsdecode(b"\xff caf\xe9")), "--workspace", workspace, "--record", path,
        "--replay", record({"text": "Done."}), spawned=True,
    )  # fmt: skip
    assert recorded.code == 0
    assert read_recording(path).about == "\N{REPLACEMENT CHARACTER} caf\N{REPLACEMENT CHARACTER}"
    assert run_plain("run", "again", "--workspace", workspace, "--replay", path).code == 0


@pytest.mark.parametrize(
    ("turns", "code", "said"),
    [
        ([{"calls": [{"read_file": {"path": "a.txt"}}]}, {"text": "Done."}], 0, "✓ Read a.txt"),
        ([{"text": "No.", "stop": "refused"}], 1, "✗ The model refused"),
        ([{"text": "Looking.", "calls": [{"list_files": {}}]}], 1, "Looking."),
    ],
    ids=["a result that begins as if the call did not run", "a refusal at the end", "no answer at the end"],
)
def test_a_replay_is_recorded_as_it_was(
    workspace: Path, record: Record, tmp_path: Path, turns: list[dict[str, Any]], code: int, said: str
) -> None:
    """The recording has each call that ran, the last stop reason, and the answers of a run that failed."""
    path, replay = tmp_path / "run.yaml", record(*turns)
    (workspace / "a.txt").write_text("Not run: the answer is 42.\n")
    ended = run_plain("run", "a task", "--workspace", workspace, "--replay", replay, "--record", path)
    assert (ended.code, said in ended.out) == (code, True), ended.out
    assert read_recording(path).turns == read_recording(replay).turns


def test_a_recording_overwrites_an_older_one_or_an_empty_file(workspace: Path, record: Record, tmp_path: Path) -> None:
    """With `--continue`, no recording is overwritten."""
    replay, older, empty = record({"text": "New."}), record({"text": "Old."}, name="old.yaml"), tmp_path / "empty.yaml"
    empty.touch()
    task = ("--workspace", workspace, "--replay", replay, "--record")
    before = older.read_bytes()
    refused = run_plain("run", "--continue", *task, older)
    assert (refused.code, refused.out, older.read_bytes()) == (2, "", before)
    assert f"choose another one: {older}" in refused.err
    for path in (older, empty):
        ended = run_plain("run", "a task", *task, path)
        assert (ended.code, f"Recorded 1 answer to {path}; play it with --replay." in ended.out) == (0, True), ended.out
        assert read_recording(path).turns == read_recording(replay).turns


def test_a_run_without_an_answer_overwrites_no_recording(workspace: Path, record: Record) -> None:
    """The output says that nothing was recorded."""
    older = record({"text": "Old."})
    before = older.read_bytes()
    ended = run_plain("run", "a task", "--workspace", workspace, "--record", older)
    assert ended.code != 0
    assert "Nothing was recorded" in ended.out
    assert older.read_bytes() == before
