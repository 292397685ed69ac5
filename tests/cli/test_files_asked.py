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
