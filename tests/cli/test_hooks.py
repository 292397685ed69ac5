"""Hooks in a terminal: the question about one, what it changes before an accept, and runs that cannot ask."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.command import in_terminal, run_plain
from support.calls import write
from support.sandbox import needs_sandbox

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudoterminals are POSIX")


@pytest.fixture(autouse=True)
def box() -> None:
    """Skips the tests if there is no sandbox."""
    needs_sandbox()


def define(workspace: Path, event: str, command: str) -> None:
    (workspace / ".fairlead").mkdir()
    text = json.dumps({"hooks": {event: [{"hooks": [{"command": command}]}]}})
    (workspace / ".fairlead/hooks.json").write_text(text)


def test_a_hook_asks_and_what_it_changes_before_an_accept_is_shown(
    workspace: Path, record: Callable[..., Path]
) -> None:
    """The file is shown again with the change, and the next answer accepts it."""
    define(workspace, "BeforeAccept", "grep -q checked a.txt || echo checked >> a.txt")
    recording = record({"calls": [write("a.txt", "text\n")]}, {"text": "Done."})
    with in_terminal("run", "a task", "--workspace", workspace, "--replay", recording) as terminal:
        terminal.answer("Accept a.txt?", "y")
        terminal.answer("  Allow it, now and later?", "y")
        terminal.answer("Accept a.txt?", "y")
        assert terminal.end() == 0
        lines = terminal.screen.lines
    assert "  A hook wants to run:" in lines
    assert "A hook changed what is proposed (a.txt). Review it, then accept again." in lines
    assert "+checked" in lines
    assert (workspace / "a.txt").read_text() == "text\nchecked\n"


def test_a_run_that_cannot_ask_uses_only_what_was_allowed(workspace: Path, record: Callable[..., Path]) -> None:
    """It says which hook it left out. After the user has allowed the hook in a terminal, it runs."""
    define(workspace, "Stop", "echo more >> b.txt")
    recording = record({"calls": [write("a.txt", "text\n")]}, {"text": "Done."})
    run = ("run", "a task", "--workspace", workspace, "--replay", recording)
    first = run_plain(*run, "--accept", "all")
    assert "Hook Stop: echo more >> b.txt" in first.out
    assert "It was not run, because you have not allowed it." in first.out
    assert not (workspace / "b.txt").exists()
    with in_terminal(*run) as terminal:
        terminal.answer("  Allow it, now and later?", "y")
        terminal.answer("Accept b.txt?", "n")
        assert terminal.end() == 0
    run_plain(*run, "--accept", "all")
    assert (workspace / "b.txt").read_text() == "more\n"


def test_hooks_after_an_accept_run_although_the_terminal_ends(workspace: Path, record: Callable[..., Path]) -> None:
    """What they change is proposed, and saved."""
    define(workspace, "AfterAccept", "cat a.txt > log.txt")
    recording = record({"calls": [write("a.txt", "text\n")]}, {"text": "Done."})
    run = ("run", "a task", "--workspace", workspace, "--replay", recording)
    with in_terminal(*run) as terminal:
        terminal.answer("Accept a.txt?", "y")
        terminal.answer("  Allow it, now and later?", "y")
        assert terminal.end() == 0
    (workspace / "a.txt").unlink()
    run_plain(*run, "--accept", "all")
    assert not (workspace / "log.txt").exists()
    run_plain("review", "--workspace", workspace, "--accept", "all")
    assert (workspace / "log.txt").read_text() == "text\n"
