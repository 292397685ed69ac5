"""The command line: what it accepts, what is wrong with it, and which command runs."""

import argparse
import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, get_args

import platformdirs

from fairlead import __version__
from fairlead.agent.messages import clean_text
from fairlead.cli.client import StartServer, spawn_server
from fairlead.cli.demo import run_demo
from fairlead.cli.options import GO_ON, DemoOptions, RunOptions
from fairlead.cli.record import lost_by_recording
from fairlead.cli.run import run_task
from fairlead.cli.signals import CANCELLED
from fairlead.cli.terminal import open_terminal
from fairlead.models.endpoint import without_password
from fairlead.session.settings import Provider

WRONG_USAGE = 2

OVERVIEW = """\
A coding agent that keeps to its plan and changes nothing before you accept it.

commands:
  fairlead run "task"   run a task here in the terminal; --continue goes on with it
  fairlead demo         watch a recorded task on an example; needs no key
  fairlead serve        the language server on stdin and stdout, for editors

`fairlead run --help` tells more of a command.
"""
RUN_ABOUT = """\
Runs a task in a folder. The agent's changes are proposals: they are shown as
diffs at the end, and your files change only where you accept.

The model is Claude (ANTHROPIC_API_KEY), or whatever serves the Messages API at
--base-url (or ANTHROPIC_BASE_URL): Ollama, llama.cpp, LM Studio, vLLM. With
--provider it is Claude on Amazon Bedrock or Google Vertex AI, with the sign-in,
region (AWS_REGION; CLOUD_ML_REGION) and project (ANTHROPIC_VERTEX_PROJECT_ID)
that you have there.

A task is kept when it ends or is broken off, however that happens: its
conversation, its plan, and the changes that you did not decide on. --continue
takes up the newest one of the folder, "Go on where you stopped." if you say no
more; nothing goes on by itself. Of a folder the newest 20 unfinished tasks are
kept, and finished ones for 30 days.
"""
RUN_EXAMPLES = """\
examples:
  fairlead run "Add type hints to hello.py"
  fairlead run "Fix the failing test" --workspace ~/project --record run.yaml
  fairlead run "Explain src/" --model qwen3-coder --base-url http://localhost:11434
  fairlead run "Explain src/" --provider vertex --model claude-sonnet-5-5
  fairlead run --continue
  fairlead run --continue "Use a dataclass there" --accept all

exit codes: 0 done; 1 the run ended otherwise (an error, a limit, a change that
could not be applied); 2 wrong usage, or nothing to continue; 130 stopped with
Ctrl-C.
"""
DEMO_ABOUT = """\
Copies an example script into a temporary folder and lets a recorded conversation
refactor it: the real server, the real tools, real edits, no API key. Then it
runs the changed script.
"""


def run_command_line(arguments: Sequence[str], start_server: StartServer = spawn_server) -> int:
    """Runs a command with a server that `start_server` starts; returns the process's exit code."""
    parser = _parser()
    try:
        given = parser.parse_args(arguments)
        terminal = open_terminal()
        match given.command:
            case "run":
                options = _run_options(given, can_ask=terminal.can_ask, fail=given.parser.error)
                return asyncio.run(run_task(options, terminal, start_server))
            case "demo":
                options = _demo_options(given, fail=given.parser.error)
                return asyncio.run(run_demo(options, terminal, start_server))
        parser.print_help()
        return WRONG_USAGE
    except SystemExit as left:  # argparse leaves by it, after --help too
        return left.code if isinstance(left.code, int) else WRONG_USAGE
    except KeyboardInterrupt:
        return CANCELLED


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USAGE, f"{self.prog}: {message}\n`{self.prog} --help` tells more.\n")


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = _Parser("fairlead", description=OVERVIEW, formatter_class=raw, usage="fairlead COMMAND [OPTIONS]")
    parser.add_argument("--version", action="version", version=f"fairlead {__version__}")
    commands = parser.add_subparsers(
        prog="fairlead", dest="command", metavar="COMMAND", help=argparse.SUPPRESS, parser_class=_Parser
    )
    run = commands.add_parser(
        "run", description=RUN_ABOUT, epilog=RUN_EXAMPLES, formatter_class=raw, usage="fairlead run [TASK] [OPTIONS]"
    )
    run.set_defaults(parser=run)
    run.add_argument("prompt", metavar="TASK", nargs="?", help="what should be done, in your words")
    run.add_argument(
        "--continue",
        dest="goes_on",
        action="store_true",
        help="go on with the newest task of the folder; TASK is then what you say to it, and may be left out",
    )
    run.add_argument("--workspace", metavar="DIR", default=".", help="the folder to work in (default: this one)")
    source = run.add_mutually_exclusive_group()
    source.add_argument("--model", metavar="NAME", default="", help="the model that answers")
    source.add_argument("--replay", metavar="FILE", help="let a recorded conversation answer instead of a model")
    run.add_argument("--provider", choices=get_args(Provider), help="who serves the model (default: anthropic)")
    run.add_argument("--base-url", metavar="URL", default="", help="where the Messages API is served")
    run.add_argument(
        "--max-tokens",
        metavar="N",
        type=_count,
        default=0,
        help="the longest answer, in tokens (default: 32000, or what the model's window leaves)",
    )
    run.add_argument(
        "--max-silence",
        metavar="SECONDS",
        type=_count,
        default=0,
        help="how long the model's server may send nothing (default: 180, or an hour in your own network)",
    )
    run.add_argument(
        "--accept",
        choices=["ask", "all", "none"],
        help="what becomes of the changes: ask for each file, apply all, or only show them "
        "(default: ask; none where there is no terminal)",
    )
    run.add_argument("--record", metavar="FILE", help="write the conversation to a file that --replay plays")
    run.add_argument(
        "--allow-commands",
        action="store_true",
        help="DANGEROUS: run the agent's shell commands without asking, with all your rights",
    )
    demo = commands.add_parser("demo", description=DEMO_ABOUT, formatter_class=raw)
    demo.set_defaults(parser=demo)
    demo.add_argument("--keep", metavar="DIR", help="work in this new or empty folder, and leave it there")
    commands.add_parser("serve")  # for the list of choices: __main__ starts it before it comes to this
    return parser


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _path(text: str) -> Path:
    """A path as the shell would take it: `~` of a user that does not exist is a name like any other."""
    return Path(os.path.expanduser(text))


def _run_options(given: argparse.Namespace, *, can_ask: bool, fail: Callable[[str], NoReturn]) -> RunOptions:
    workspace = _path(given.workspace)
    record = _path(given.record) if given.record else None
    prompt = GO_ON if given.goes_on and given.prompt is None else given.prompt
    if prompt is None:
        fail("TASK is missing: say what should be done, or go on with the last one by --continue")
    if not prompt.strip():
        fail("the task is empty: say what should be done")
    if not workspace.is_dir():
        fail(f"the workspace is not a folder: {given.workspace}")
    if given.replay and given.base_url:
        fail("--replay plays a recording, so --base-url makes no sense with it")
    if given.replay and given.provider:
        fail("--replay plays a recording, so --provider makes no sense with it")
    if given.accept == "ask" and not can_ask:
        fail("--accept ask needs a terminal; use --accept all or --accept none")
    if record is not None and (record.is_dir() or not record.absolute().parent.is_dir()):
        fail(f"the recording cannot be written there: {given.record}")
    if record is not None and (lost := lost_by_recording(record, goes_on=given.goes_on)):
        fail(f"{lost}: {given.record}")
    return RunOptions(
        prompt=clean_text(prompt),  # bytes that are no UTF-8 come from the shell as lone surrogates
        workspace=workspace.resolve(),
        storage=platformdirs.user_state_path("fairlead", appauthor=False) / "terminal",
        goes_on=given.goes_on,
        replay=_path(given.replay).absolute() if given.replay else None,
        model=given.model,
        provider=given.provider or "",
        base_url=given.base_url,
        address=_address(given),
        max_tokens=given.max_tokens,
        max_silence=given.max_silence,
        accept=given.accept,
        record=record.absolute() if record else None,
        allow_commands=given.allow_commands,
    )


def _address(given: argparse.Namespace) -> str:
    """Where the server will ask, if not at the provider's usual address (lsp/server.py)."""
    own = os.environ.get("ANTHROPIC_BASE_URL", "") if given.provider in (None, "anthropic") else ""
    return without_password((given.base_url or own).strip())


def _demo_options(given: argparse.Namespace, *, fail: Callable[[str], NoReturn]) -> DemoOptions:
    if given.keep is None:
        return DemoOptions()
    keep = _path(given.keep)
    if keep.exists() and not (keep.is_dir() and not any(keep.iterdir())):
        fail(f"the folder must be new or empty: {given.keep}")
    return DemoOptions(keep.absolute())
