"""The command line and its errors."""

import contextlib
import os
from pathlib import Path

import pytest

from cli.command import run_plain
from fairlead import __version__
from fairlead.cli.main import run_command_line


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["run", ""], "the task is empty"),
        (["run", "--continue", " "], "the task is empty"),
        (["run", "  \n "], "the task is empty"),
        (["run", "x", "--workspace", "nowhere"], "the workspace is not a folder: nowhere"),
        (["run", "x", "--workspace", ".", "--workspace", "nowhere"], "the workspace is not a folder: nowhere"),
        (["run", "x", "--workspace", "file.txt"], "the workspace is not a folder: file.txt"),
        (["run", "x", "--workspace", "~nobody-at-all"], "the workspace is not a folder: ~nobody-at-all"),
        (["run", "x", "--record", "~nobody-at-all/run.yaml"], "in an existing folder: ~nobody-at-all/run.yaml"),
        (["run", "x", "--replay", "a.yaml", "--model", "b"], "not allowed with argument"),
        (["run", "x", "--max-tokens", "0"], "'0' is not a whole number greater than 0"),
        (["run", "x", "--replay", "a.yaml", "--base-url", "http://localhost"], "--base-url cannot be used"),
        (["run", "x", "--replay", "a.yaml", "--endpoint", "bedrock"], "--endpoint cannot be used"),
        (["run", "x", "--endpoint", "azur"], "invalid choice"),
        (["run", "x", "--accept", "ask"], "needs a terminal"),
        (["run", "x", "--accept", "some"], "invalid choice"),
        (["run", "x", "--accept", "checks"], "--accept checks needs a check: add --check COMMAND, or set"),
        (["run", "x", "--max-cost", "$2"], "'$2' is not an amount in US dollars, such as 1.50"),
        (["run", "x", "--max-cost", "0"], "'0' is not an amount"),
        (["run", "x", "--max-cost", "nan"], "'nan' is not an amount"),
        (["run", "x", "--allow", "npm test; rm x"], "'npm test; rm x' was not understood. A rule is one plain command"),
        (["run", "x", "--allow", "github__get(x)"], "'github__get(x)' was not understood. Write server__tool"),
        (["run", "x", "--record", "nowhere/run.yaml"], "must be a file in an existing folder"),
        (["run", "x", "--record", "file.txt"], "is not a recording, so it is not overwritten"),
        (["run", "--continue", "--record", "file.txt"], "--continue records only the new turns"),
        (["run", "x", "--pass-variable", "A=b"], "'A=b' was not understood. It must be the name of a variable"),
        (["demo", "--keep", "."], "must be new or empty"),
        (["verify"], "the following arguments are required: FILE or --commit"),
        (["verify", "file.txt", "--workspace", "nowhere"], "the workspace is not a folder: nowhere"),
        (["verify", "file.txt", "--timeout", "0"], "'0' is not a whole number greater than 0"),
        (["sing"], "invalid choice"),
        (["run", "fix", "the", "bug"], "unrecognized arguments: the bug; put the task in quotes\n"),
        (["run", "fix", "the", "--bug"], "unrecognized arguments: the --bug\n"),
        (["demo", "now"], "unrecognized arguments: now\n"),
    ],
)
def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str) -> None:
    """Wrong usage exits with 2, names the error and the help on stderr, and does nothing."""
    (tmp_path / "file.txt").write_text("text")
    with contextlib.chdir(tmp_path):
        assert run_command_line(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert reason in output.err
    assert "--help`." in output.err
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]
    assert (tmp_path / "file.txt").read_text() == "text"


@pytest.mark.skipif(os.name != "posix", reason="other systems do not delete the current folder")
@pytest.mark.parametrize("arguments", [["run", "x", "--replay", "a.yaml"], ["demo"], ["verify", "a.json"]])
def test_a_current_folder_that_was_deleted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """Every command says so and exits with 2."""
    gone = tmp_path / "gone"
    gone.mkdir()
    home = os.getcwd()
    os.chdir(gone)
    try:
        gone.rmdir()
        assert run_command_line(arguments) == 2
    finally:
        os.chdir(home)
    assert capsys.readouterr().err.startswith("fairlead: the current folder cannot be used: No such file or directory;")


def test_the_exit_code_of_wrong_usage(tmp_path: Path) -> None:
    """The process exits with 2, and names the error and the help on stderr."""
    ended = run_plain("run", " ", cwd=tmp_path, spawned=True)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "fairlead run: the task is empty: say what the agent should do\nTry `fairlead run --help`.\n"


def test_help_names_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """`fairlead --help` names all commands. Without a command, the same help is shown with exit code 2."""
    assert run_command_line(["--help"]) == 0
    helped = capsys.readouterr().out
    assert run_command_line([]) == 2
    assert capsys.readouterr().out == helped
    for command in ("fairlead run", "fairlead models", "fairlead demo", "fairlead verify", "fairlead serve"):
        assert command in helped


def test_help_of_run() -> None:
    """`fairlead run --help` names every option and the exit codes, and marks the dangerous option."""
    helped = run_plain("run", "--help")
    assert helped.code == 0
    words = (
        "--continue",
        "--workspace",
        "--model",
        "--replay",
        "--endpoint",
        "--base-url",
        "--max-tokens",
        "--max-silence",
        "--accept",
        "--record",
        "--save-record",
        "--pass-variable",
        "--json",
        "--max-cost",
        "--allow RULE",
        "exit codes",
    )
    for word in (*words, "DANGEROUS"):
        assert word in helped.out


def test_help_of_serve() -> None:
    """`fairlead serve --help` says that an editor starts it, and ends without waiting for one."""
    for option in ("--help", "-h"):
        helped = run_plain("serve", option, spawned=True)
        assert helped.code == 0
        assert "An editor starts it" in helped.out


def test_version() -> None:
    """`fairlead --version` prints the version."""
    ended = run_plain("--version", spawned=True)
    assert (ended.code, ended.out) == (0, f"fairlead {__version__}\n")
