"""`fairlead box`: a program in the sandbox, in the user's terminal, and the review of what it changed."""

import os
import shlex
import signal
import sys
from pathlib import Path

import pytest

from cli.command import in_terminal, run_plain
from support.sandbox import needs_sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


@pytest.fixture
def a_txt(workspace: Path) -> Path:
    path = workspace / "a.txt"
    path.write_text("one\ntwo\n")
    return path


def test_a_shell_and_the_review(workspace: Path, a_txt: Path) -> None:
    """All keys go to the program. The files change when the user accepts, and the exit code is that of the program."""
    loop = """trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done"""
    (workspace / "loop.sh").write_text(loop)
    with in_terminal("box", "--workspace", workspace, "--", "bash", "--norc", "--noediting") as terminal:
        terminal.press("PS1='no''w> '\r")  # before the program has begun
        terminal.until_true(lambda: terminal.screen.last_line.endswith("now>"), "the new prompt")
        terminal.press("echo three >> a.txt; stty size; sh loop.sh\r")
        terminal.until("24 100")
        terminal.until("ready")
        terminal.press("\x03")
        terminal.until("caught")
        terminal.answer("now>", "echo code $?; cat a.txt\r")
        terminal.until("code 5")
        assert a_txt.read_text() == "one\ntwo\n"
        terminal.answer("now>", "exit 4\r")
        terminal.until("+three")
        assert a_txt.read_text() == "one\ntwo\n"
        terminal.answer("Accept a.txt?", "y")
        assert terminal.end() == 4
        assert "Changed: a.txt" in terminal.screen.lines
    assert a_txt.read_text() == "one\ntwo\nthree\n"
    assert "no saved session" in run_plain("run", "--continue", "--workspace", workspace).out, "no task continues in it"


def test_without_a_terminal(workspace: Path, a_txt: Path) -> None:
    """It has no input, its output is as it writes it, and its changes are only shown, or all accepted."""
    command = ["--", "sh", "-c", "cat; printf 'a\\nb\\n'; echo three >> a.txt; exit 7"]
    ended = run_plain("box", "--workspace", workspace, *command)
    assert ended.code == 7
    assert "a\nb\n" in ended.out
    assert "+three" in ended.out
    assert a_txt.read_text() == "one\ntwo\n"
    ended = run_plain("box", "--workspace", workspace, "--accept", "all", *command)
    assert (ended.code, a_txt.read_text()) == (7, "one\ntwo\nthree\n")


def test_what_it_sees(workspace: Path, tmp_path: Path) -> None:
    """Its own program below the home, variables and folders that the user names; neither secrets nor other files."""
    home = tmp_path / "home"
    tool, shown, written = home / "bin" / "tool", home / "shown", home / "written"
    for folder in (tool.parent, shown, written):
        folder.mkdir(parents=True)
    (home / "private.txt").write_text("private")
    (shown / "a.txt").write_text("shown\n")
    (workspace / ".env").write_text("PASSWORD=x\n")
    tool.write_text(
        "#!/bin/sh\n"
        'echo "$A_KEY $OTHER_KEY $PLAIN"\n'
        f"cat {shown}/a.txt; cat {home}/private.txt 2>/dev/null || echo no private; cat .env\n"
        f"echo kept > {written}/b.txt; echo lost 2>/dev/null > {shown}/b.txt\n"
    )
    tool.chmod(0o755)
    named: list[object] = ["--env", "A_KEY", "--env", "PLAIN=given", "--show", shown, "--write", written]
    path = f"{tool.parent}:{os.environ['PATH']}"
    command = ["box", "--workspace", workspace, *named, "--", "tool"]
    ended = run_plain(*command, A_KEY="sk-1", OTHER_KEY="sk-2", HOME=str(home), PATH=path)
    assert "sk-1  given\nshown\nno private\n" in ended.out
    assert "PASSWORD" not in ended.out
    assert (written / "b.txt").read_text() == "kept\n"
    assert not (shown / "b.txt").exists()
    assert "It changed no file." in ended.out


def test_what_is_discarded_is_said(workspace: Path) -> None:
    """Files that Git ignores, and changes to the repository itself, in words for a user."""
    command = (
        "git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m x; mkdir build; echo x > build/x.o"
    )
    (workspace / ".gitignore").write_text("build/\n")
    run_git = f"cd {shlex.quote(str(workspace))} && git init -q && git add -A"
    assert os.system(run_git) == 0
    ended = run_plain("box", "--workspace", workspace, "--", "sh", "-c", command)
    assert "(.git) were discarded. Commit after the review." in ended.out
    assert "Ignored by git, so not proposed: build/." in ended.out
    assert "unsandboxed" not in ended.out


def test_the_program_has_a_terminal_of_its_own(workspace: Path, a_txt: Path) -> None:
    """docs/faults.md 309: what it pushes into its terminal as if it were typed answers no question of Fairlead."""
    push = "import fcntl, termios\nfor key in b'y\\ny\\n': fcntl.ioctl(0, termios.TIOCSTI, bytes([key]))"
    script = f"echo three >> a.txt; {shlex.quote(sys.executable)} -c {shlex.quote(push)}; echo code $?"
    command = ["--show", str(Path(sys.prefix)), "--show", str(Path(sys.base_prefix)), "--", "sh", "-c", script]
    with in_terminal("box", "--workspace", workspace, *command) as terminal:
        terminal.until("code ")
        terminal.answer("Accept a.txt?", "n")
        terminal.end()
        assert "· a.txt: rejected" in terminal.screen.lines
    assert a_txt.read_text() == "one\ntwo\n"


def test_a_stop_loses_nothing(workspace: Path, a_txt: Path) -> None:
    """docs/faults.md 310: a signal, as when a terminal is closed, ends the program. What it wrote is saved."""
    with in_terminal(
        "box", "--workspace", workspace, "--", "sh", "-c", "echo three >> a.txt; echo begun; cat"
    ) as terminal:
        terminal.until("begun")
        terminal.signal(signal.SIGTERM)
        assert terminal.end() == 130
        assert "To review it: " in terminal.screen.text
    ended = run_plain("review", "--workspace", workspace, "--accept", "all")
    assert (ended.code, a_txt.read_text()) == (0, "one\ntwo\nthree\n")


def test_a_killed_command_leaves_nothing_running(workspace: Path) -> None:
    """The server and the program end with it."""
    with in_terminal("box", "--workspace", workspace, "--", "sh", "-c", "echo begun; sleep 1000") as terminal:
        terminal.until("begun")
        terminal.kill()


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ([], 2, "write the program and its arguments after --"),
        (["true"], 2, "unrecognized arguments"),
        (["--env", "NOT_SET", "--", "true"], 2, "the variable NOT_SET is not set"),
        (["--show", "nowhere", "--", "true"], 2, "not a folder: nowhere"),
        (["--accept", "ask", "--", "true"], 2, "needs a terminal"),
        (["--", "no-such-program"], 125, "The program no-such-program was not found."),
        (["--", "./missing"], 127, "No such file"),
    ],
)
def test_errors(workspace: Path, arguments: list[str], code: int, text: str) -> None:
    """They say what happened, and nothing stays: no session, no file."""
    ended = run_plain("box", *arguments, cwd=workspace)
    assert ended.code == code
    assert text in ended.out + ended.err
    assert list(workspace.iterdir()) == []


def test_without_a_sandbox_nothing_runs(workspace: Path, tmp_path: Path) -> None:  # the home folder has no sandbox
    """The program would write to the user's files."""
    state = tmp_path / "state"
    ended = run_plain("box", "--", "touch", "x.txt", cwd=workspace, HOME=str(workspace), XDG_STATE_HOME=str(state))
    assert ended.code == 125
    assert "There is no sandbox" in ended.out
    assert list(workspace.iterdir()) == []
