"""Questions about files in the terminal: secrets that the agent wants to read, protected files that are accepted."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.command import in_terminal, run_plain

Record = Callable[..., Path]
PROTECTED = {"write_file": {"path": "AGENTS.md", "content": "Be brief.\n"}}
PLAIN = {"write_file": {"path": "a.txt", "content": "a\n"}}

terminals = pytest.mark.skipif(os.name != "posix", reason="pseudoterminals are POSIX")


@terminals
@pytest.mark.parametrize("yes", [True, False])
def test_a_protected_file_needs_a_second_yes(workspace: Path, record: Record, yes: bool) -> None:
    """After a yes to its diff, a second question gives the reason. After a no to that, the file is not accepted."""
    replay = record({"calls": [PROTECTED]}, {"text": "Done."})
    with in_terminal("run", "a task", "--workspace", workspace, "--replay", replay) as terminal:
        terminal.answer("Accept AGENTS.md?", "y")
        terminal.until("It tells coding agents what to do")
        terminal.answer("  Accept it?", "y" if yes else "n")
        assert terminal.end() == (0 if yes else 1)
        assert "AGENTS.md  new file  configuration  protected  " in terminal.screen.text
    assert (workspace / "AGENTS.md").exists() == yes


@terminals
def test_reading_a_secret_needs_a_yes(workspace: Path, record: Record) -> None:
    """The question names the file and gives the reason."""
    (workspace / ".env").write_text("TOKEN=1\n")
    replay = record({"calls": [{"read_file": {"path": ".env"}}]}, {"text": "Done."})
    with in_terminal("run", "a task", "--workspace", workspace, "--replay", replay) as terminal:
        terminal.until("The agent wants to read this file, which looks like a secret.")
        assert str(workspace / ".env") in "".join(line.strip() for line in terminal.screen.lines)
        terminal.answer("  Allow it?", "y")
        assert terminal.end() == 0


def test_without_a_terminal_the_other_files_are_accepted(workspace: Path, record: Record) -> None:
    """`--accept all` accepts the ordinary file and says why it does not accept the protected one. `--allow-commands`
    does not allow reading a secret."""
    (workspace / ".env").write_text("TOKEN=1\n")
    replay = record({"calls": [PROTECTED, PLAIN, {"read_file": {"path": ".env"}}]}, {"text": "Done."})
    given = ("run", "a task", "--workspace", workspace, "--replay", replay, "--accept", "all", "--allow-commands")
    ended = run_plain(*given)
    assert ended.code == 5
    assert (workspace / "a.txt").exists() and not (workspace / "AGENTS.md").exists()
    assert "you did not confirm it. It is still proposed." in ended.out
    assert "Rejected: This run cannot ask the user." in ended.out.replace("\n", " ")


REPLACED = {"edit_file": {"path": "test_a.py", "old_text": "f() == 1", "new_text": "f()"}}
REASON = "test_a checks less: f() instead of f() == 1."


@pytest.fixture
def weaker(workspace: Path, record: Record) -> tuple[str | Path, ...]:
    """The arguments of a run that weakens a test and writes another file."""
    (workspace / "test_a.py").write_text("def test_a():\n    assert f() == 1\n")
    replay = record({"calls": [PLAIN, REPLACED]}, {"text": "Done."})
    return "run", "a task", "--workspace", workspace, "--replay", replay


@pytest.mark.parametrize("options", [(), ("--accept-weakened-tests",)])
def test_accept_all_leaves_a_weakened_test_unless_an_option_includes_it(
    workspace: Path, weaker: tuple[str | Path, ...], options: tuple[str, ...]
) -> None:
    """P22: the output says why, and the exit code that not all is accepted."""
    ended = run_plain(*weaker, "--accept", "all", *options)
    assert ended.code == (0 if options else 1)
    assert (workspace / "a.txt").exists()
    assert (workspace / "test_a.py").read_text().endswith("f()\n" if options else "f() == 1\n")
    assert REASON in ended.out and "test_a.py  modified  weakens tests  +1 -1" in ended.out
    assert ("Weakens tests, so look at it: test_a.py" in ended.out) != bool(options)


def test_the_option_for_weakened_tests_needs_accept_all(weaker: tuple[str | Path, ...]) -> None:
    """P22: with another `--accept`, it would have no effect."""
    ended = run_plain(*weaker, "--accept", "none", "--accept-weakened-tests")
    assert (ended.code, ended.out) == (2, "") and "--accept-weakened-tests needs --accept all" in ended.err


@terminals
def test_all_the_rest_does_not_include_a_weakened_test(workspace: Path, weaker: tuple[str | Path, ...]) -> None:
    """P22: after `a`, the user is still asked about it."""
    with in_terminal(*weaker) as terminal:
        terminal.answer("Accept a.txt?", "a")
        terminal.until(REASON)
        terminal.answer("Accept test_a.py?", "n")
        assert terminal.end() == 0
    assert (workspace / "a.txt").exists() and (workspace / "test_a.py").read_text().endswith("== 1\n")
