"""What `fairlead run` says after a failure of the model: the command to type."""

from pathlib import Path
from typing import Any

import pytest

from cli.command import run_plain
from fairlead.cli.error_help import help_lines
from fairlead.cli.options import RunOptions
from fairlead.cli.program import program_name
from fairlead.cli.summary import continue_command
from fairlead.wire import protocol as wire
from fairlead.workspace.paths import Roots
from support.fake_api import HttpError, Text, Turn
from support.fake_openai import FakeOpenAi

PLAIN: wire.RunErrorWire = {
    "kind": "invalid_request",
    "message": "",
    "texts": [],
    "retryable": False,
    "models": [],
    "keyEndpoint": "",
    "accountUrl": "",
}
HELP: dict[str, tuple[Any, list[str]]] = {
    "a model of the server": (
        {"kind": "unknown_model", "models": ["qwen3:4b", "a b"]},
        [
            "To use qwen3:4b: fairlead run --continue --endpoint ollama --model qwen3:4b",
            "To use a b: fairlead run --continue --endpoint ollama --model 'a b'",
        ],
    ),
    "another model": (
        {"kind": "no_tools"},
        [
            "To see the models: fairlead models",
            "To use another model: fairlead run --continue --endpoint ollama --model NAME",
        ],
    ),
    "the key's provider": (
        {"kind": "auth", "keyEndpoint": "openrouter"},
        [
            "To use OpenRouter, set its key as OPENROUTER_API_KEY: "
            "fairlead run --continue --endpoint openrouter --model NAME"
        ],
    ),
    "credit": ({"kind": "billing", "accountUrl": "https://x.example/pay"}, ["To add credit: https://x.example/pay"]),
    "another address": (
        {"kind": "proxy"},
        ["To use another address: fairlead run --continue --endpoint ollama --base-url URL --model m"],
    ),
    "nothing": ({}, []),
}


@pytest.mark.parametrize("name", HELP)
def test_a_failure_says_what_to_type(name: str) -> None:
    """Each line has a purpose and a command with the options that the run had."""
    given, lines = HELP[name]
    options = RunOptions("a task", Roots.of(Path.cwd()), endpoint="ollama", model="m")
    shown = help_lines(PLAIN | given, options)
    assert [line.plain.replace(program_name(), "fairlead") for line in shown] == lines


def test_the_session_continues_with_the_same_model() -> None:
    """The command names everything that says which server gets the conversation."""
    options = RunOptions(
        "a task",
        Roots.of(Path.cwd()),
        config_file="my settings.json",
        endpoint="work",
        base_url="http://ann:secret@localhost:4000",
        model="large",
        small_model="small",
    )
    assert continue_command(options).removeprefix(program_name()) == (
        " run --continue --config 'my settings.json' --endpoint work --base-url http://localhost:4000 --model large"
        " --small-model small"
    )


def test_the_named_command_works(workspace: Path) -> None:
    """The failed run names a model of the server. With it, the same session continues."""
    unknown = HttpError(404, "not_found_error", "The model `gpt-6.1-sole` does not exist.")
    with FakeOpenAi([unknown, Turn((Text("Done."),))], models=[{"id": "gpt-6.1-sol"}]) as api:
        options = ["--workspace", workspace, "--endpoint", "openai", "--base-url", api.url]
        failed = run_plain("run", "a task", *options, "--model", "gpt-6.1-sole", OPENAI_API_KEY="test-key")
        assert failed.code == 1 and "To use gpt-6.1-sol: " in failed.out, failed.out
        ended = run_plain("run", "--continue", *options, "--model", "gpt-6.1-sol", OPENAI_API_KEY="test-key")
    assert (ended.code, "Done." in ended.out) == (0, True), ended.out
