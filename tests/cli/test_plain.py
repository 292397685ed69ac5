"""`fairlead run` without a terminal: plain lines, exit codes and the changes."""

import json
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.command import Ended, run_plain
from fairlead.cli.program import program_name
from support.fake_api import Call, FakeApi, HttpError, Text, Turn
from support.fake_clouds import FakeBedrock
from support.sandbox import needs_sandbox

Record = Callable[..., Path]
WRITE = {"calls": [{"write_file": {"path": "src/new.py", "content": "print('新')\n"}}]}


def run(workspace: Path, replay: Path, *more: object, **given: Any) -> Ended:
    return run_plain("run", "a task", "--workspace", workspace, "--replay", replay, *more, **given)


def test_accept_all_applies_everything(hello: Path, record: Record) -> None:
    """`--accept all` changes the files, creates the new ones, names them, and exits with 0."""
    replay = record(
        {"calls": [{"edit_file": {"path": "hello.py", "old_text": "night", "new_text": "夜"}}]},
        WRITE,
        {"text": "Done."},
    )
    ended = run(hello.parent, replay, "--accept", "all", spawned=True)
    assert ended.code == 0, ended.out + ended.err
    assert '"夜"' in hello.read_text(encoding="utf-8")
    assert (hello.parent / "src" / "new.py").read_text(encoding="utf-8") == "print('新')\n"
    assert "Changed: hello.py, src/new.py (new)" in ended.out
    assert "src/new.py  new file  +1 -0" in ended.out


def test_without_a_terminal_nothing_is_accepted(hello: Path, record: Record) -> None:
    """Without a terminal, `--accept` is `none` by default: the diff is shown, the file does not change, and the exit
    code is 0.
    """
    before = (hello.read_bytes(), hello.stat().st_mtime_ns)
    replay = record(
        {"calls": [{"edit_file": {"path": "hello.py", "old_text": "night", "new_text": "x"}}]}, {"text": "."}
    )
    ended = run(hello.parent, replay)
    assert ended.code == 0
    assert (hello.read_bytes(), hello.stat().st_mtime_ns) == before
    assert '-        return "night"\n+        return "x"' in ended.out
    assert "Nothing was changed." in ended.out
    assert "--accept all applies the changes" in ended.out


def test_a_mentioned_file_goes_with_the_task_and_is_named(hello: Path) -> None:
    """`@hello.py` in the task sends the text of the file to the model, and the output says so."""
    with FakeApi([Turn((Text("Done."),))]) as api:
        task = "Explain @hello.py to me@example.com"
        arguments = ("run", task, "--workspace", hello.parent)
        ended = run_plain(*arguments, ANTHROPIC_API_KEY="test-key", ANTHROPIC_BASE_URL=api.url)
        [prompt] = api.requests[0].body["messages"]
    assert ended.code == 0, ended.out + ended.err
    assert "Context: hello.py\n" in ended.out
    texts = [block["text"] for block in prompt["content"]]
    assert texts[:2] == [task, "The user refers to:\n- hello.py"]
    assert hello.read_text(encoding="utf-8") in texts[2]


def test_no_terminal_sequences_without_a_terminal(hello: Path, example: Path) -> None:
    """The output has no colors, cursor movements or repeated lines, even if the environment requests colors."""
    ended = run(hello.parent, example, FORCE_COLOR="1", TERM="xterm-256color", CLICOLOR_FORCE="1")
    assert ended.code == 0
    assert "\x1b" not in ended.out
    assert "\r" not in ended.out
    assert ended.out.count("I'll plan the work first") == 1


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The output of a run with an untrusted model."""
    folder = tmp_path_factory.mktemp("output")
    turn = {
        "thinking": "[red]hm[/red]",
        "text": "[bold]a[/bold] \x1b]0;title\x07\x1b[31mred\x1b[0m \u202eevil :smile:",
        "usage": {"input": 100, "cacheRead": 850, "cacheWrite": 50, "output": 42},
    }
    replay = folder / "script.replay.yaml"
    replay.write_text(yaml.safe_dump({"replay": 1, "turns": [turn]}))
    ended = run(folder, replay)
    assert (ended.code, ended.err) == (0, "")
    return ended.out


def test_untrusted_text_is_shown_as_text(output: str) -> None:
    """Markup is not interpreted, and terminal sequences of the model are removed."""
    assert "[red]hm[/red]" in output
    assert "[bold]a[/bold] red evil :smile:" in output
    assert not any(character in output for character in "\x1b\x07\u202e")


def test_a_replay_is_called_a_replay(output: str) -> None:
    """The heading and the end say that it is a replay."""
    head, _, tail = output.partition("evil")
    assert "replay of the recorded conversation script.replay.yaml" in head
    assert "This was a replay of script.replay.yaml. No model was used." in tail


def test_usage_at_the_end(output: str) -> None:
    """The end shows requests, tokens and the cached share."""
    assert "1 request · 1,000 tokens in (85% cached) · 42 out" in output


def test_a_replay_with_a_mistake(workspace: Path, tmp_path: Path) -> None:
    """An error in a replay file is shown with its line and reason, and the command exits with 1."""
    replay = tmp_path / "bad.yaml"
    replay.write_text("replay: 1\nturns:\n  - text: fine\n  - txt: wrong\n")
    ended = run(workspace, replay)
    assert ended.code == 1
    assert "line 4: turn 2: unknown field" in ended.out
    assert "This was a replay" not in ended.out  # nothing was played


def test_commands_need_a_terminal_to_ask_in(workspace: Path, record: Record) -> None:
    """Without a terminal, an unsandboxed command does not run, and the model and the exit code say why.
    `--allow-commands` runs it.
    """
    replay = record(
        {"calls": [{"bash": {"command": "echo 世界 > made.txt; echo out; exit 3", "unsandboxed": True}}]},
        {"text": "Done."},
    )
    ended = run(workspace, replay)
    assert ended.code == 5
    assert "This run cannot ask the user" in ended.out
    assert not (workspace / "made.txt").exists()
    if os.name == "posix":
        allowed = run(workspace, replay, "--allow-commands")
        assert allowed.code == 0
        assert (workspace / "made.txt").exists()
        assert "run without asking (--allow-commands)" in allowed.out
        assert "\n      out\n  ✗ exit code 3" in allowed.out


def test_a_variable_of_the_project_reaches_commands_if_the_user_names_it(workspace: Path) -> None:
    """Without `--pass-variable`, a sandboxed command does not have it, and the model reads how it gets there."""
    needs_sandbox()
    project: dict[str, Any] = {"SHOP_SETTINGS": "local", "SHOP_KEY": "hunter2", "ANTHROPIC_API_KEY": "k"}

    def result(*more: str) -> str:
        call = Call("bash", {"command": 'env; echo "settings: ${SHOP_SETTINGS:?}"'})
        with FakeApi([Turn((call,)), Turn((Text("Done."),))], require_key=False) as api:
            model = ("--endpoint", "anthropic", "--base-url", api.url, "--model", "m-1")
            run_plain("run", "a task", "--workspace", workspace, *model, *more, **project)
        return json.dumps(api.requests[1].body["messages"][-1])

    without, passed = result(), result("--pass-variable", "SHOP_*")
    assert "The user's environment has SHOP_SETTINGS, but sandboxed commands do not get it." in without
    assert "settings: local" in passed
    assert "hunter2" not in without + passed


def test_a_command_at_its_time_limit(workspace: Path, record: Record) -> None:
    """The output says so, also if the command changed a file."""
    slow = {"bash": {"command": "echo x > made.$((1)); sleep 999", "timeout_seconds": 1}}
    ended = run(workspace, record({"calls": [slow]}, {"text": "Done."}), "--allow-commands")
    assert "  ✗ $ echo x > made.$((1)); sleep 999  killed at its time limit, " in ended.out


def test_no_key() -> None:
    """Without a key, the run says how to set one and exits with 1."""
    ended = run_plain("run", "a task")
    assert ended.code == 1
    assert "Failed (auth)" in ended.out
    assert "ANTHROPIC_API_KEY" in ended.out


def test_a_run_that_is_cut_off(workspace: Path) -> None:
    """If the last answer is cut off, the run exits with 4 and says what to do. The answer's text is shown once."""
    cut = [Turn((Text(text),), stop_reason="max_tokens") for text in ("half an answ", "er, and m")]
    with FakeApi(cut, require_key=False) as api:
        model = ("--endpoint", "anthropic", "--base-url", api.url, "--model", "m-1", "--max-tokens", "900")
        ended = run_plain("run", "a task", "--workspace", workspace, *model, ANTHROPIC_API_KEY="k")
    assert ended.code == 4, ended.out
    assert {request.body["max_tokens"] for request in api.requests} == {900}
    assert f"m-1 at {api.url}" in ended.out
    assert "✗ The last answer was cut off" in ended.out
    assert "maxTokens" in ended.out
    assert ended.out.count("half an answ") == 1


def test_fault_83_a_model_that_is_being_loaded_is_reported_once(workspace: Path) -> None:
    """docs/faults.md 83: the reason is not repeated with each attempt."""
    loading = HttpError(503, "unavailable_error", "Loading model", {"retry-after-ms": "20"})
    with FakeApi([*[loading] * 8, Turn((Text("Done."),))], require_key=False) as api:
        ended = run_plain("run", "a task", "--workspace", workspace, "--base-url", api.url, "--model", "m-1")
    assert ended.code == 0, ended.out
    assert ended.out.count("still loading the model") == 1


def test_each_longer_wait_is_reported(workspace: Path) -> None:
    """A retry for the same reason is reported only if its wait is longer than before, and without the reason."""
    waits = (20, 60, 60, 120)
    overloaded = [HttpError(529, "overloaded_error", "Overloaded", {"retry-after-ms": str(wait)}) for wait in waits]
    with FakeApi([*overloaded, Turn((Text("Done."),))], require_key=False) as api:
        ended = run_plain("run", "a task", "--workspace", workspace, "--base-url", api.url, "--model", "m-1")
    assert ended.code == 0, ended.out
    reports = re.findall(r"attempt (\d) failed, trying again in [\d.]+ s(:?)", ended.out)
    assert reports == [("1", ":"), ("2", ""), ("4", "")], ended.out


def test_the_address_of_the_model_and_its_window(workspace: Path) -> None:
    """The address of ANTHROPIC_BASE_URL is shown without user name and password, and the window with its usage."""
    counted = {"input_tokens": 1000, "output_tokens": 234}
    with FakeApi([Turn((Text("Done."),), usage=counted)], require_key=False) as api:
        address = api.url.replace("//", "//me:hidden@")
        env: dict[str, Any] = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "k"}
        ended = run_plain("run", "a task", "--workspace", workspace, "--model", "claude-sonnet-5-5", **env)
    assert ended.code == 0, ended.out
    assert f"claude-sonnet-5-5 at {api.url}\n" in ended.out
    assert "hidden" not in ended.out
    assert re.search(r"· window 1,234 of [\d,]+ ·", ended.out), ended.out


def test_a_run_that_the_api_pauses(workspace: Path, record: Record) -> None:
    """If the API paused the turn twice, the end says so, and how to continue. The exit code is 4."""
    ended = run(workspace, record(*[{"text": "A moment.", "stop": "paused"}] * 2))
    assert ended.code == 4, ended.out
    assert "✗ Paused before the task was finished" in ended.out and "rounds" not in ended.out
    assert "the API paused the model's turn" in ended.out
    assert f"To continue where it stopped: {program_name()} run --continue" in ended.out


def test_a_cloud_serves_the_model(workspace: Path) -> None:
    """`--endpoint` uses the sign-in of the environment, and the heading names the provider."""
    keys: dict[str, Any] = {"AWS_ACCESS_KEY_ID": FakeBedrock.KEY, "AWS_SECRET_ACCESS_KEY": FakeBedrock.SECRET}
    with FakeBedrock(Turn((Text("Done."),))) as api:
        where = ("--endpoint", "bedrock", "--base-url", api.url, "--model", "m-1")
        ended = run_plain("run", "a task", "--workspace", workspace, *where, **keys, AWS_REGION=api.REGION)
    assert ended.code == 0, ended.out
    assert f"m-1 on Amazon Bedrock at {api.url}" in ended.out


def test_an_encoding_without_the_symbols(workspace: Path, record: Record) -> None:
    """Symbols that the encoding cannot represent are replaced."""
    replay = record({"calls": [{"list_files": {}}]}, {"text": "世界"})
    ended = run(workspace, replay, spawned=True, PYTHONIOENCODING="ascii")
    assert ended.code == 0
    assert "ok Done" in ended.out
    assert ended.err == ""


def test_fault_41_a_remote_image_is_not_fetched(workspace: Path, record: Record) -> None:
    """docs/faults.md 41: neither the terminal nor the server loads an image that the model's text names."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/pixel.png"
        ended = run(workspace, record({"text": f"Look: ![pixel]({address}) <img src='{address}'>"}))
        assert ended.code == 0
        assert address in ended.out
        with pytest.raises(BlockingIOError):
            listening.accept()
