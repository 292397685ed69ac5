"""Questions of the model in the terminal."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.command import in_terminal
from support.fake_api import Call, FakeApi, Text, Turn

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudoterminals are POSIX")

QUESTION = "  Answer (a number or other words; Enter for none):"
NO_ANSWER = "No answer. Choose what the user most likely wants, and say so at the end."


@pytest.mark.parametrize(
    ("typed", "result"),
    [
        ("2\r", "The user answered: spaces"),
        ("3\r", "The user answered: 3"),
        ("两个 spaces\r", "The user answered: 两个 spaces"),
        ("\r", NO_ANSWER),
    ],
    ids=["a number", "no such number", "other words", "nothing"],
)
def test_the_user_answers(workspace: Path, typed: str, result: str) -> None:
    """By the number of an option, or in other words. The model reads it, and the exit code is 0."""
    ask = Call("ask_user", {"question": "Tabs or \x1b[31mspaces?", "options": ["tabs", "spaces"]})
    with FakeApi([Turn((ask,)), Turn((Text("Done."),))]) as api:
        env: dict[str, Any] = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url}
        with in_terminal("run", "a task", "--workspace", workspace, **env) as terminal:
            terminal.until("    1  tabs")
            terminal.answer(QUESTION, typed)
            assert terminal.end() == 0
            assert "    Tabs or spaces?\n" in terminal.screen.text
        read = json.dumps(api.requests[1].body["messages"][-1], ensure_ascii=False)
    assert result in read


def test_ctrl_c_at_a_question_stops_the_run(workspace: Path, record: Callable[..., Path]) -> None:
    replay = record({"calls": [{"ask_user": {"question": "Which name?"}}]}, {"text": "a b c d e f"}, pace=5)
    with in_terminal("run", "a task", "--workspace", workspace, "--replay", replay) as terminal:
        terminal.answer("  Answer (Enter for none):", "\x03")
        assert terminal.end() == 130
