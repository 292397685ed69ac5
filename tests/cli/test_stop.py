"""Ctrl-C and similar signals: the run ends cleanly and leaves no process."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from cli.command import DEADLINE, InTerminal, all_gone, environment, in_terminal, wait_until
from support.fake_api import FakeApi, Text, Turn, Wait
from support.sandbox import needs_sandbox

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudoterminals are POSIX")

Record = Callable[..., Path]


def task(workspace: Path, replay: Path, *more: object) -> list[object]:
    return ["run", "a task", "--workspace", workspace, "--replay", replay, *more]


# sends Ctrl-C when the import of a module starts
AT_IMPORT = """
import signal, sys
wanted = sys.argv.pop(1)
def on_event(event, args):
    if event == "import" and args[0] == wanted:
        signal.raise_signal(signal.SIGINT)
sys.addaudithook(on_event)
from fairlead.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("module", ["asyncio", "fairlead.cli.main", "rich.text", "yaml"])
def test_ctrl_c_while_it_starts(module: str) -> None:
    """Ctrl-C during the start exits with 130 and without output."""
    command = [sys.executable, "-c", AT_IMPORT, module, "run", "x", "--workspace", "nowhere"]
    ended = subprocess.run(command, env=environment(), capture_output=True, timeout=DEADLINE, check=False)
    assert (ended.returncode, ended.stderr) == (130, b"")


def test_ctrl_c_while_the_model_talks(workspace: Path, record: Record, tmp_path: Path) -> None:
    """The first Ctrl-C cancels the run, shows its end, records the complete answers and exits with 130."""
    recording, replay = tmp_path / "run.yaml", record({"calls": [{"list_files": {}}]}, {"text": "one two"}, pace=5)
    with in_terminal(*task(workspace, replay, "--record", recording)) as terminal:
        terminal.until("writing")
        children = terminal.children()
        terminal.press("\x03")
        assert terminal.end() == 130
        assert "✗ Stopped" in terminal.screen.text
        assert terminal.screen.cursor_shown
        assert "Traceback" not in terminal.screen.text
        assert children
        assert all_gone(children)
        assert recording.read_text().startswith("replay: 1\n")


def test_ctrl_c_in_the_first_answer(workspace: Path) -> None:
    """No request has a complete answer, so the end names only the tokens."""
    talk = Turn((Text("one two"),), chunk=4, usage={"input_tokens": 1000})
    with (
        FakeApi([Wait(talk, threading.Event(), before=4)]) as api,
        in_terminal(
            *("run", "a task", "--workspace", workspace), ANTHROPIC_BASE_URL=api.url, ANTHROPIC_API_KEY="test-key"
        ) as terminal,
    ):
        terminal.until("one")
        terminal.press("\x03")
        assert terminal.end() == 130
    assert "✗ Stopped  1,000 tokens in" in terminal.screen.text


def test_ctrl_c_while_a_command_runs(workspace: Path, record: Record) -> None:
    """The command ends with the run."""
    replay = record({"calls": [{"bash": {"command": "echo started; sleep 999"}}]}, {"text": "never"})
    with in_terminal(*task(workspace, replay, "--allow-commands"), spawned=True) as terminal:
        terminal.until("      started")
        wait_until(lambda: _runs_sleep(terminal), "it sleeps")
        children = terminal.children()
        terminal.press("\x03")
        assert terminal.end() == 130
        assert all_gone(children)
        assert "      started\n  ✗ Cancelled: killed after " in terminal.screen.text


def test_ctrl_c_at_a_question(workspace: Path, record: Record) -> None:
    """Ctrl-C at a question stops the run, and the command does not run."""
    replay = record({"calls": [{"bash": {"command": "touch made", "unsandboxed": True}}]}, {"text": "never"})
    with in_terminal(*task(workspace, replay)) as terminal:
        terminal.until("Run it?")
        children = terminal.children()
        terminal.press("\x03")
        assert terminal.end() == 130
        assert all_gone(children)
        assert not (workspace / "made").exists()


def test_the_proposals_of_a_stopped_run(hello: Path, record: Record) -> None:
    """The proposals of a stopped run are applied only if the user reviews and accepts them."""
    edit = {"edit_file": {"path": "hello.py", "old_text": "night", "new_text": "x"}}
    with in_terminal(*task(hello.parent, record({"calls": [edit]}, {"text": "one two"}, pace=5))) as terminal:
        terminal.until("writing")
        terminal.press("\x03")
        terminal.answer("The run was stopped. Review the changes to 1 file?", "y")
        terminal.answer("Accept hello.py?", "y")
        assert terminal.end() == 130
        assert '"x"' in hello.read_text()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_run_that_another_program_ends_asks_nothing(hello: Path, record: Record, name: str) -> None:
    """There may be nobody to answer. The proposals are not applied, and the output says how to continue."""
    before = hello.read_bytes()
    edit = {"edit_file": {"path": "hello.py", "old_text": "night", "new_text": "x"}}
    with in_terminal(*task(hello.parent, record({"calls": [edit]}, {"text": "one two"}, pace=5))) as terminal:
        terminal.until("writing")
        children = terminal.children()
        terminal.signal(getattr(signal, name))
        assert terminal.end() == 130
        assert all_gone(children)
        assert "Review the changes" not in terminal.screen.text
        assert "Not applied: hello.py" in terminal.screen.text
        assert "run --continue" in terminal.screen.text
        assert hello.read_bytes() == before


def test_accept_all_does_not_apply_to_a_stopped_run(hello: Path, record: Record) -> None:
    """`--accept all` applies only the changes of a complete run."""
    before = hello.read_bytes()
    edit = {"edit_file": {"path": "hello.py", "old_text": "night", "new_text": "x"}}
    replay = record({"calls": [edit]}, {"text": "one two"}, pace=5)
    with in_terminal(*task(hello.parent, replay, "--accept", "all")) as terminal:
        terminal.until("writing")
        terminal.press("\x03")
        assert terminal.end() == 130
        assert hello.read_bytes() == before
        assert "Not applied: hello.py" in terminal.screen.text


def test_a_second_ctrl_c_exits_immediately(workspace: Path, record: Record) -> None:
    """The second Ctrl-C does not wait for a server that does not answer. The server and its command still end."""
    replay = record({"calls": [{"bash": {"command": "echo started; sleep 999"}}]}, {"text": "never"})
    with in_terminal(*task(workspace, replay, "--allow-commands")) as terminal:
        terminal.until("      started")
        children = terminal.children()
        server = children[0]
        server.suspend()
        terminal.press("\x03")
        terminal.until("stopping")
        terminal.press("\x03")
        assert terminal.end() == 130
        assert terminal.screen.cursor_shown
        server.resume()
        assert all_gone(children)


@contextlib.contextmanager
def checking(hello: Path, record: Record, *options: object) -> Iterator[InTerminal]:
    """A run after its review, in which one of two files was accepted, while its check runs."""
    needs_sandbox()
    edit = {"edit_file": {"path": "hello.py", "old_text": "night", "new_text": "x"}}
    new = {"write_file": {"path": "new.py", "content": "x = 1\n"}}
    replay = record({"calls": [edit, new]}, {"text": "Done."})
    with in_terminal(*task(hello.parent, replay, "--check", "sleep 999", *options)) as terminal:
        terminal.answer("Accept hello.py?", "y")
        terminal.answer("Accept new.py?", "q")
        terminal.until("run --continue")
        wait_until(lambda: _runs_sleep(terminal), "the check runs")
        yield terminal


def _runs_sleep(terminal: InTerminal) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
        return any("sleep" in child.cmdline() for child in terminal.children())
    return False


def test_ctrl_c_while_the_checks_run(hello: Path, record: Record, tmp_path: Path) -> None:
    """The checks end, the accepted changes stay, and the record is saved."""
    saved = tmp_path / "record.json"
    with checking(hello, record, "--save-record", saved) as terminal:
        children = terminal.children()
        terminal.press("\x03")
        assert terminal.end() == 130
        assert all_gone(children)
        assert "The checks were stopped." in terminal.screen.lines
        assert '"x"' in hello.read_text()
        assert saved.exists()


def test_a_server_that_dies_while_the_checks_run(hello: Path, record: Record, tmp_path: Path) -> None:
    """If the server is killed during the checks, each line at the end of the output is still shown, and only once."""
    recording, saved = tmp_path / "run.yaml", tmp_path / "record.json"
    with checking(hello, record, "--record", recording, "--save-record", saved) as terminal:
        children = terminal.children()
        children[0].send_signal(signal.SIGKILL)
        assert terminal.end() == 1
        assert all_gone(children)
        text = terminal.screen.text
        for line in ("Recorded 2 answers", "run --continue", "The record was not saved.", "The server ended (exit"):
            assert text.count(line) == 1, text
