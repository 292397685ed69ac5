"""`fairlead run --continue` continues a session that was stopped or has undecided changes."""

import os
import re
import shlex
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.command import Ended, in_terminal, run_plain
from fairlead.cli.program import program_name
from support.fake_api import Call, FakeApi, Text, Turn, Wait
from support.sandbox import needs_sandbox

Record = Callable[..., Path]
Env = dict[str, Any]

PLAN = Call("todo", {"items": [{"content": "Greet 世界", "status": "in_progress", "activeForm": "Greeting"}]})
EDIT = {"path": "hello.py", "old_text": "night", "new_text": "夜"}
DONE = Turn((Text("All done."),))
CONTINUE = f"To continue where it stopped: {program_name()} run --continue --workspace "
UNDECIDED = f"Undecided changes are saved. To review them: {program_name()} run --continue --workspace "

in_a_terminal = pytest.mark.skipif(os.name != "posix", reason="pseudoterminals are POSIX")


@pytest.fixture
def state(tmp_path: Path) -> Env:
    """An environment with its own folder for saved sessions."""
    folder = str(tmp_path / "state")
    return {"XDG_STATE_HOME": folder, "WIN_PD_OVERRIDE_LOCAL_APPDATA": folder}


@pytest.fixture
def undecided(hello: Path, record: Record, state: Env) -> Ended:
    """A finished run with an undecided change of hello.py."""
    replay = record({"calls": [{"edit_file": EDIT}]}, {"text": "Proposed."}, name="first.yaml")
    return run_plain("run", "The first", "--workspace", hello.parent, "--replay", replay, "--accept", "none", **state)


def journals(state: Env) -> list[Path]:
    return sorted(Path(state["XDG_STATE_HOME"]).rglob("*.jsonl"))


def model(api: FakeApi) -> Env:
    return {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "test-key"}


def last_prompt(api: FakeApi) -> str:
    """The first text of the last message in the newest request."""
    return api.requests[-1].body["messages"][-1]["content"][0]["text"]


def continue_run(workspace: Path, *more: object, **env: Any) -> Ended:
    return run_plain("run", "--continue", *more, "--workspace", workspace, **env)


@in_a_terminal
def test_fault_22_a_killed_run_can_be_continued(hello: Path, state: Env) -> None:
    """docs/faults.md 22: after SIGKILL nothing runs automatically. `--continue` shows the session and its plan, sends a
    conversation that the API accepts, and offers its proposals."""
    never_set = threading.Event()
    turns = [Turn((PLAN, Call("edit_file", EDIT))), Wait(DONE, never_set, before=2), DONE]
    with FakeApi(turns) as api:
        env = {**state, **model(api)}
        with in_terminal("run", "Greet in Chinese", "--workspace", hello.parent, **env) as terminal:
            api.wait_for_requests(2)
            terminal.kill()
        ended = continue_run(hello.parent, "--accept", "all", **env)
        assert ended.code == 0, ended.out + ended.err
        head, _, tail = ended.out.partition("All done.")
        assert "Task " not in head
        assert "Continues “Greet in Chinese” (0 of 1 step, 1 file to review)" in head
        assert "[>] #1: Greet 世界 (Greeting)" in head
        assert "Changed: hello.py" in tail
        assert "run --continue" not in tail
        assert '"夜"' in hello.read_text(encoding="utf-8")
        assert last_prompt(api) == "Continue where you stopped."
        assert api.requests[-1].body["messages"][0]["content"][0]["text"] == "Greet in Chinese"
        assert (len(api.requests), api.refusals) == (3, [])


@in_a_terminal
def test_stopped_with_ctrl_c(hello: Path, state: Env) -> None:
    """A stopped run ends with the command that continues it. The agent reads the prompt of `--continue`, and the
    earlier proposals are reviewed."""
    turns = [Turn((Call("edit_file", EDIT),)), Wait(DONE, threading.Event(), before=2), DONE]
    with FakeApi(turns) as api:
        env = {**state, **model(api)}
        with in_terminal("run", "a task", "--workspace", hello.parent, columns=200, **env) as terminal:
            api.wait_for_requests(2)
            terminal.press("\x03")
            terminal.answer("The run was stopped. Review the changes to 1 file?", "n")
            assert terminal.end() == 130
            assert terminal.screen.text.rstrip().splitlines()[-1] == f"{CONTINUE}{hello.parent}"
        with in_terminal("run", "--continue", "Use tabs.", "--workspace", hello.parent, **env) as terminal:
            terminal.answer("Accept hello.py?", "y")
            assert terminal.end() == 0
            assert "“a task” (1 file to review)" in terminal.screen.text
            assert "run --continue" not in terminal.screen.text
        assert '"夜"' in hello.read_text(encoding="utf-8")
        assert last_prompt(api) == "Use tabs."
        assert api.refusals == []


@in_a_terminal
def test_the_server_dies(hello: Path, state: Env) -> None:
    """If the server is killed, the output says how to continue, and the session can be continued."""
    with FakeApi([Turn((PLAN,)), Wait(DONE, threading.Event(), before=2), DONE]) as api:
        env = {**state, **model(api)}
        with in_terminal("run", "a task", "--workspace", hello.parent, columns=200, **env) as terminal:
            api.wait_for_requests(2)
            terminal.children()[0].kill()
            assert terminal.end() == 1
            assert "The server ended (exit code -9)." in terminal.screen.text
            assert terminal.screen.text.rstrip().splitlines()[-1] == f"{CONTINUE}{hello.parent}"
        assert continue_run(hello.parent, **env).code == 0
        assert api.refusals == []


def test_a_run_that_failed(workspace: Path, state: Env) -> None:
    """A run that failed without a key is saved, and continues with a key."""
    failed = run_plain("run", "a task", "--workspace", workspace, **state)
    assert failed.code == 1
    assert failed.out.rstrip().splitlines()[-1] == f"{CONTINUE}{workspace}"
    with FakeApi([DONE]) as api:
        ended = continue_run(workspace, **state, **model(api))
        assert ended.code == 0, ended.out + ended.err
        assert "“a task”" in ended.out
        assert api.refusals == []


def test_the_current_folder_needs_no_option(workspace: Path, state: Env) -> None:
    """In the workspace itself, the printed command has no `--workspace`. It names a program that can be started, even
    if `fairlead` is not on PATH.
    """
    failed = run_plain("run", "a task", cwd=workspace, **state)
    command = failed.out.rstrip().splitlines()[-1].removeprefix("To continue where it stopped: ")
    program, *arguments = shlex.split(command)
    assert arguments[-2:] == ["run", "--continue"]
    assert shutil.which(program)


def test_undecided_changes_are_accepted_later(hello: Path, undecided: Ended, record: Record, state: Env) -> None:
    """`--continue --accept all` applies the undecided changes of an earlier run, together with the new ones."""
    assert undecided.code == 0, undecided.out + undecided.err
    assert undecided.out.rstrip().splitlines()[-1] == f"{UNDECIDED}{hello.parent}"
    more = {"calls": [{"write_file": {"path": "new.py", "content": "print()\n"}}]}
    ended = continue_run(hello.parent, "--replay", record(more, {"text": "."}), "--accept", "all", **state)
    assert ended.code == 0, ended.out + ended.err
    assert "Changed: hello.py, new.py (new)" in ended.out
    assert '"夜"' in hello.read_text(encoding="utf-8")
    again = continue_run(hello.parent, "--replay", record({"text": "Nothing to do."}), **state)
    assert (again.code, "No changes were proposed." in again.out) == (0, True)
    assert len(journals(state)) == 1


def test_nothing_to_continue(workspace: Path, state: Env) -> None:
    """Without a saved session, the command says how to start one, sends no request, and exits with 2."""
    with FakeApi() as api:
        ended = continue_run(workspace, **state, **model(api))
        assert (ended.code, api.requests) == (2, [])
    assert f'no saved session to continue. Start one: {program_name()} run "your task"' in ended.out
    assert journals(state) == []


def test_two_folders_do_not_mix(tmp_path: Path, hello: Path, undecided: Ended, record: Record, state: Env) -> None:
    """Each folder has its own sessions, although they are saved in one place."""
    other = tmp_path / "other"
    other.mkdir()
    assert continue_run(other, **state).code == 2
    task = ("run", "The other", "--workspace", other, "--replay", record({"text": "Fine."}))
    started = run_plain(*task, **state)
    assert (started.code, "hello.py" in started.out) == (0, False)
    ended = continue_run(hello.parent, "--replay", record({"text": "."}), **state)
    assert "“The first” (1 file to review)" in ended.out


@in_a_terminal
def test_a_session_that_is_open_elsewhere(hello: Path, record: Record, state: Env) -> None:
    """docs/faults.md 46: a session that is open in another terminal is not continued, and no other one is
    continued instead. A new one can start at the same time. Neither shows or accepts the other's proposals."""
    folder = ("--workspace", hello.parent)
    first = record({"calls": [{"edit_file": EDIT}]}, {"text": "."}, name="first.yaml")
    with in_terminal("run", "The first", *folder, "--replay", first, **state) as terminal:
        terminal.until("Accept hello.py?")
        refused = continue_run(hello.parent, "--replay", record({"text": "never"}), "--accept", "all", **state)
        assert refused.code == 1
        assert "open in another window or terminal" in refused.out
        assert "never" not in refused.out
        new = record({"calls": [{"write_file": {"path": "new.py", "content": "print()\n"}}]}, {"text": "."})
        started = run_plain("run", "The second", *folder, "--replay", new, "--accept", "all", **state)
        assert "Changed: new.py (new)" in started.out
        assert "hello.py" not in started.out
        terminal.press("y")
        assert terminal.end() == 0
        assert "new.py" not in terminal.screen.text
        assert '"夜"' in hello.read_text(encoding="utf-8")


def test_unfinished_sessions_are_limited(hello: Path, undecided: Ended, record: Record, state: Env) -> None:
    """Only the newest 20 unfinished sessions of a folder are saved. The output names the deleted ones."""
    (newest,) = journals(state)
    text = newest.read_text()
    for age in range(1, 22):
        aged = re.sub(r"\b[12]\d{9}\.\d+", lambda when, age=age: str(float(when[0]) - age), text)
        aged = aged.replace(newest.stem, f"{age:012}").replace("The first", f"Task {age}")
        newest.with_name(f"{age:012}.jsonl").write_text(aged)
    ended = run_plain("run", "New", "--workspace", hello.parent, "--replay", record({"text": "."}), **state)
    assert ended.code == 0, ended.out + ended.err
    assert re.findall(r"only the newest 20 .*: “(.*)”", ended.out) == ["Task 20", "Task 21"]
    assert {path.stem for path in journals(state)} >= {newest.stem, *(f"{age:012}" for age in range(1, 20))}
    assert len(journals(state)) == 21


@pytest.mark.parametrize("accept", ["all", "none"])
def test_sessions_that_cannot_be_saved(hello: Path, record: Record, tmp_path: Path, accept: str) -> None:
    """If sessions cannot be saved, the output says so once, and the run completes. It does not offer to continue it."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    replay = record({"calls": [{"edit_file": EDIT}]}, {"text": "."})
    task = ("run", "a task", "--workspace", hello.parent, "--replay", replay, "--accept", accept)
    ended = run_plain(*task, XDG_STATE_HOME=str(blocked), WIN_PD_OVERRIDE_LOCAL_APPDATA=str(blocked))
    assert ended.code == 0, ended.out + ended.err
    assert ended.out.count("cannot be saved") == 1
    assert ("Changed: hello.py" if accept == "all" else "Not applied: hello.py") in ended.out
    assert "run --continue" not in ended.out


def test_the_demo_saves_nothing(state: Env) -> None:
    """The demo is not saved as a session."""
    assert run_plain("demo", **state).code == 0
    assert journals(state) == []


def test_fault_147_the_sessions_of_a_renamed_folder_are_adopted(
    hello: Path, undecided: Ended, record: Record, state: Env
) -> None:
    """docs/faults.md 147: without `--adopt`, nothing is continued, and a message names the former folder. With it, the
    change is accepted in the renamed folder."""
    assert undecided.code == 0
    former, folder = hello.parent, hello.parent.with_name("renamed")
    former.rename(folder)
    work = ("Go on", "--replay", record({"text": "Done."}, name="second.yaml"), "--accept", "all")
    offered = continue_run(folder, *work, **state)
    assert offered.code == 2
    assert f"These folders no longer exist and have saved sessions: {former}." in " ".join(offered.out.split())
    assert "夜" not in (folder / hello.name).read_text()
    adopted = continue_run(folder, "--adopt", former, *work, **state)
    assert adopted.code == 0, adopted.out
    assert "夜" in (folder / hello.name).read_text()
    assert not former.exists()


def test_p26_the_steps_whose_verification_no_longer_holds_are_named(hello: Path, record: Record, state: Env) -> None:
    """Also when the proposals are reviewed. Nothing is said while all of them hold."""
    needs_sandbox()
    items = [{"content": "Greet", "status": status} for status in ("in_progress", "completed")]
    calls = [{"todo": {"items": items[:1]}}, {"edit_file": EDIT}]
    turns = [{"calls": calls}, {"calls": [{"todo": {"items": items[1:]}}]}, {"text": "Done."}]
    options = ("--workspace", hello.parent, "--check", "grep -q hello.py hello.py || grep -q . hello.py")
    first = run_plain("run", "Greet", *options, "--replay", record(*turns, name="1.yaml"), "--accept", "none", **state)
    assert "verified" in first.out, first.out + first.err
    assert "no longer" not in run_plain("review", "--workspace", hello.parent, **state).out
    hello.write_text(hello.read_text() + "# the user's line\n")
    named = "1 of 1 verified step no longer holds: step 1 (hello.py changed)"
    assert named in run_plain("review", "--workspace", hello.parent, **state).out
    again = record({"text": "Fine."}, name="2.yaml")
    assert named in continue_run(hello.parent, "--replay", again, "--accept", "none", **state).out
