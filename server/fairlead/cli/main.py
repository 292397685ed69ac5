"""The command line: its options, its errors and its help."""

import argparse
import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, NoReturn

from fairlead import __version__
from fairlead.app.endpoint import endpoint_specs
from fairlead.app.settings import ignored_values, read_settings
from fairlead.app.state_folder import state_folder
from fairlead.cli.arguments import (
    WRONG_USAGE,
    Parser,
    add_allow_secret,
    add_config,
    add_pass_variable,
    add_service,
    add_workspace,
    has_content,
    output_file,
    path_of,
    positive_number,
    read_config_option,
    read_workspace,
)
from fairlead.cli.client import StartServer, spawn_server
from fairlead.cli.demo import run_demo
from fairlead.cli.headless.arguments import add_headless_options, exit_code_lines, read_task, split_rules
from fairlead.cli.headless.outcome import NOT_DONE
from fairlead.cli.models import run_models
from fairlead.cli.options import DemoOptions, ModelsOptions, RunOptions
from fairlead.cli.records.stored import load_record
from fairlead.cli.run import run_task
from fairlead.cli.signals import CANCELLED
from fairlead.cli.view.output import CheckedOutput, checked_output
from fairlead.cli.view.terminal import Terminal, open_terminal
from fairlead.models.common.presets import presets
from fairlead.models.recording import read_recording
from fairlead.workspace.paths import real_path

OVERVIEW = """\
A coding agent that shows its plan and changes no file until you accept the change.

commands:
  fairlead run "task"   run a task in the terminal; --continue continues it
  fairlead race "task"  let several models do a task, and review the best one
  fairlead models       list the models that you can choose
  fairlead review       decide on the proposals of a saved session; needs no key
  fairlead agents       agents of others, such as Claude Code, that can do a task
  fairlead box -- CMD   any program in the sandbox, with a review of what it changed
  fairlead mcp          tool servers for the agent, and Fairlead as one for others
  fairlead demo         play a recorded task on an example; needs no key
  fairlead verify FILE  check a record of a session against the files; needs no key
  fairlead record       sign the record of a session, and tie it to a commit
  fairlead serve        start the language server on stdin and stdout, for editors
  fairlead acp          work as an agent in an editor that speaks ACP

For the options of a command, add --help, as in `fairlead run --help`.
"""
RUN_ABOUT = """\
Runs a task in a folder. The agent proposes its changes: you see them as diffs
at the end, and your files change only where you accept.

The model is that of the provider whose key is set (ANTHROPIC_API_KEY, else
OPENAI_API_KEY). --endpoint names another one, such as openrouter, gemini or
ollama, and --base-url the address of any other server. `fairlead models` lists
the models. With bedrock and vertex, Fairlead uses your sign-in to that cloud, and
the region (AWS_REGION; CLOUD_ML_REGION) and project (ANTHROPIC_VERTEX_PROJECT_ID)
that you set.

With several --workspace, the agent works in all of these folders, and paths
begin with the name of the folder.

@path in the TASK mentions a file or folder of the workspace (@"a b.md" if it
contains spaces); the agent gets the content of a short file at once.
@server:uri mentions a resource of a tool server. A TASK that begins with /NAME uses
the skill or command of that name.

A session is saved however it ends: its conversation, its plan, and the changes
that you did not decide on. --continue continues the newest session of the
folder; without a TASK, the agent continues where it stopped. Nothing continues
automatically. Fairlead saves the newest 20 unfinished sessions of a folder, and
finished ones for 30 days.
"""
RUN_EXAMPLES = """\
examples:
  fairlead run "Add type hints to hello.py"
  fairlead run "Add type hints to @src/hello.py"
  fairlead run "Fix the failing test" --workspace ~/project --record run.yaml
  fairlead run "Explain src/" --endpoint ollama --model qwen3-coder
  fairlead run "Explain src/" --endpoint vertex --model claude-sonnet-5-5
  fairlead run --continue
  fairlead run --continue "Use a dataclass there" --accept all
  fairlead run "Add type hints to hello.py" --config ~/fairlead.json
  fairlead run --json --accept checks --check "pytest -q" --max-cost 2 < task.md

"""
MODELS_ABOUT = """\
Lists the models that you can choose with --endpoint and --model: those of the
endpoints whose key is set, of the servers on this machine that run, and known
ones of the others. Each with the window that Fairlead uses, and its price in US
dollars per million tokens, if they are known.
"""
MODELS_EXAMPLES = """\
examples:
  fairlead models
  fairlead models --endpoint openrouter
  fairlead models --base-url http://localhost:4000 --json

exit codes: 0 listed; 1 the server could not be asked; 2 incorrect usage.
"""
DEMO_ABOUT = """\
Copies an example script into a temporary folder and plays a recorded conversation
that refactors it, with the real server, real tools and real edits, but without
an API key. Then it verifies the record of the session, and runs the changed script.
"""
SERVE_ABOUT = """\
Starts the language server. An editor starts it and talks to it on stdin and stdout;
its log goes to stderr. It has no options: the editor sends the settings.
"""
WITH_OWN_PARSERS = ("acp", "agents", "box", "mcp", "race", "record", "review", "verify")


def run_command_line(arguments: Sequence[str], start_server: StartServer = spawn_server) -> int:
    """Runs a command. Returns the exit code for the process.

    If standard output cannot be written, the command is stopped, standard error says why, and the code is not 0.

    Args:
        arguments: the command and its options, without the name of the program.
        start_server: starts the server that `run` and `demo` use.
    """
    with checked_output() as output:
        code = _run_command(arguments, start_server, lambda work: asyncio.run(_until_error(output, work)))
    return code if output.error is None else code or NOT_DONE


async def _until_error(output: CheckedOutput, work: Coroutine[Any, Any, int]) -> int:
    """Runs a command, and cancels it when the output fails."""
    task = asyncio.ensure_future(work)
    output.on_error = task.cancel
    try:
        return await task
    except asyncio.CancelledError:
        if output.error is None:
            raise
        return NOT_DONE


def _run_command(
    arguments: Sequence[str], start_server: StartServer, run: Callable[[Coroutine[Any, Any, int]], int]
) -> int:
    parser = _parser()
    try:
        if arguments and arguments[0] in WITH_OWN_PARSERS:
            _check_current_folder(fail=parser.error)
            return run(_command_with_own_parser(arguments[0])(arguments[1:], open_terminal(), start_server))
        given, rest = parser.parse_known_args(arguments)
        if rest:
            unquoted = given.command == "run" and not any(argument.startswith("-") for argument in rest)
            hint = "; put the task in quotes" if unquoted else ""
            parser.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        _check_current_folder(fail=parser.error)
        terminal = open_terminal(on_stderr=given.command == "run" and given.as_json)
        match given.command:
            case "run":
                options = _run_options(given, can_ask=terminal.can_ask, fail=given.parser.error)
                return run(run_task(options, terminal, start_server))
            case "models":
                wanted = _models_options(given, fail=given.parser.error)
                return run(run_models(wanted, terminal, start_server))
            case "demo":
                options = _demo_options(given, fail=given.parser.error)
                return run(run_demo(options, terminal, start_server))
            case _:
                parser.print_help()
                return WRONG_USAGE
    except SystemExit as end:  # raised by argparse, also after --help
        return end.code if isinstance(end.code, int) else WRONG_USAGE
    except KeyboardInterrupt:
        return CANCELLED


def _command_with_own_parser(name: str) -> Callable[[Sequence[str], Terminal, StartServer], Coroutine[Any, Any, int]]:
    """A command that reads its own arguments. It is imported only when it is used, as the others start faster so."""
    if name == "box":
        from fairlead.cli.box import run_box  # noqa: PLC0415

        return run_box
    if name == "agents":
        from fairlead.cli.agents import run_agents  # noqa: PLC0415

        return run_agents
    if name == "mcp":
        from fairlead.cli.mcp import run_mcp  # noqa: PLC0415

        return run_mcp
    if name == "acp":
        from fairlead.cli.acp import run_acp  # noqa: PLC0415

        return run_acp
    if name == "verify":
        from fairlead.cli.records.verify_command import run_verify_command  # noqa: PLC0415

        return run_verify_command
    if name == "record":
        from fairlead.cli.records.record_command import run_record  # noqa: PLC0415

        return run_record
    if name == "race":
        from fairlead.cli.race import run_race  # noqa: PLC0415

        return run_race
    from fairlead.cli.review_saved import run_review  # noqa: PLC0415

    return run_review


def _check_current_folder(fail: Callable[[str], NoReturn]) -> None:
    """Calls `fail` if the current folder was deleted, because no program can start in it."""
    try:
        os.getcwd()
    except OSError as error:
        fail(f"the current folder cannot be used: {error.strerror}; change to another one")


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser("fairlead", description=OVERVIEW, formatter_class=raw, usage="fairlead COMMAND [OPTIONS]")
    parser.add_argument("--version", action="version", version=f"fairlead {__version__}")
    commands = parser.add_subparsers(
        prog="fairlead", dest="command", metavar="COMMAND", help=argparse.SUPPRESS, parser_class=Parser
    )
    run = commands.add_parser(
        "run",
        description=RUN_ABOUT,
        epilog=RUN_EXAMPLES + exit_code_lines(),
        formatter_class=raw,
        usage="fairlead run [TASK] [OPTIONS]",
    )
    run.set_defaults(parser=run)
    run.add_argument(
        "prompt",
        metavar="TASK",
        nargs="?",
        help="what the agent should do, in your words; - or nothing: read it from standard input",
    )
    run.add_argument(
        "--continue",
        dest="resume",
        action="store_true",
        help="continue the newest session of the folder; TASK is then optional",
    )
    run.add_argument(
        "--adopt",
        metavar="DIR",
        help="with --continue: the folder was renamed from DIR, so the sessions of DIR are now sessions of the folder",
    )
    add_workspace(run, "work in")
    source = run.add_mutually_exclusive_group()
    source.add_argument("--model", metavar="NAME", default="", help="the model to use")
    source.add_argument("--replay", metavar="FILE", help="play a recorded conversation instead of a model")
    add_config(run)
    _add_endpoint(run)
    run.add_argument(
        "--agent",
        metavar="NAME",
        default="",
        help="who does the task: an agent in a file, such as .claude/agents/NAME.md, or one of `fairlead agents`",
    )
    run.add_argument(
        "--small-model", metavar="NAME", default="", help="another model of the endpoint, for summaries and the title"
    )
    run.add_argument(
        "--max-tokens",
        metavar="N",
        type=positive_number,
        default=0,
        help="the longest answer, in tokens (default: 32000, or the rest of the model's window)",
    )
    run.add_argument(
        "--max-silence",
        metavar="SECONDS",
        type=positive_number,
        default=0,
        help="how long the model's server may send nothing (default: 180; 600 for a cloud, 3600 in your own network)",
    )
    run.add_argument(
        "--accept",
        choices=["ask", "all", "none", "checks"],
        help="ask about the changes of each file, apply all, only show them, or apply what the checks prove and reject "
        "the rest (default: ask; none without a terminal)",
    )
    run.add_argument(
        "--accept-weakened-tests",
        action="store_true",
        help="with --accept all: also apply the changes that weaken tests, which are left otherwise",
    )
    run.add_argument(
        "--check",
        metavar="COMMAND",
        action="append",
        default=[],
        help="a command that must pass before a step that changed files is completed; can be given several times",
    )
    add_pass_variable(run)
    add_service(run)
    add_allow_secret(run)
    add_headless_options(run)
    run.add_argument("--record", metavar="FILE", help="write the conversation to a file for --replay")
    run.add_argument(
        "--save-record", metavar="FILE", help="write what the session did and proved to a file for `fairlead verify`"
    )
    run.add_argument(
        "--allow-commands",
        action="store_true",
        help="DANGEROUS: run the agent's commands without asking, with all your permissions",
    )
    models = commands.add_parser(
        "models",
        description=MODELS_ABOUT,
        epilog=MODELS_EXAMPLES,
        formatter_class=raw,
        usage="fairlead models [OPTIONS]",
    )
    models.set_defaults(parser=models)
    add_config(models)
    _add_endpoint(models)
    models.add_argument("--json", action="store_true", help="write the list as JSON")
    demo = commands.add_parser("demo", description=DEMO_ABOUT, formatter_class=raw)
    demo.set_defaults(parser=demo)
    demo.add_argument("--keep", metavar="DIR", help="work in this new or empty folder and keep it")
    for name in WITH_OWN_PARSERS:  # only for the errors
        commands.add_parser(name, add_help=False)
    # only for the help and the errors: __main__ starts the server
    commands.add_parser("serve", description=SERVE_ABOUT, formatter_class=raw, usage="fairlead serve")
    return parser


def _add_endpoint(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--endpoint",
        metavar="NAME",
        default="",
        help=f"who serves the model: {', '.join(presets())}, or one that the file of --config adds (default: the one "
        "whose key or address is set)",
    )
    parser.add_argument("--base-url", metavar="URL", default="", help="the address of the model's server")


def _check_endpoint(name: str, settings: Mapping[str, Any], fail: Callable[[str], NoReturn]) -> None:
    """Calls `fail` if `--endpoint` names neither a known endpoint nor one of the settings."""
    read, problems = read_settings(settings)
    known = endpoint_specs(read)
    if name and name not in known:
        ignored = f"\n{ignored_values(problems)}" if problems else ""
        fail(f"argument --endpoint: invalid choice: {name!r} (choose from {', '.join(known)}){ignored}")


def _run_options(given: argparse.Namespace, *, can_ask: bool, fail: Callable[[str], NoReturn]) -> RunOptions:
    workspace = read_workspace(given.workspace, fail)
    prompt = read_task(given.prompt, needed=not given.resume, fail=fail)
    if given.adopt and not given.resume:
        fail("--adopt needs --continue")
    if given.replay and given.base_url:
        fail("--base-url cannot be used with --replay, which uses no model")
    if given.replay and given.endpoint:
        fail("--endpoint cannot be used with --replay, which uses no model")
    if given.accept_weakened_tests and given.accept != "all":
        fail("--accept-weakened-tests needs --accept all")
    if given.accept == "ask" and not can_ask:
        fail("--accept ask needs a terminal without --json; use --accept all, checks or none")
    if given.record and given.resume and has_content(path_of(given.record)):
        problem = "--continue records only the new turns, so it does not overwrite a file; choose another one"
        fail(f"{problem}: {given.record}")
    allowed, allowed_tools = split_rules(given.allow)
    options = RunOptions(
        prompt=prompt,
        workspace=workspace,
        storage=state_folder() / "terminal",
        resume=given.resume,
        adopt=real_path(path_of(given.adopt)) if given.adopt else None,
        replay=path_of(given.replay).absolute() if given.replay else None,
        model=given.model,
        small_model=given.small_model,
        endpoint=given.endpoint,
        base_url=given.base_url,
        max_tokens=given.max_tokens,
        max_silence=given.max_silence,
        accept=given.accept,
        accept_weakened_tests=given.accept_weakened_tests,
        recording=output_file(given.record, "recording", read_recording, fail),
        record=output_file(given.save_record, "record", load_record, fail),
        allow_commands=given.allow_commands,
        allowed=allowed,
        allowed_tools=allowed_tools,
        allowed_hosts=given.allow_host,
        agent=given.agent,
        max_cost=given.max_cost,
        as_json=given.as_json,
        checks=given.check,
        pass_variables=given.pass_variable,
        services=given.service,
        opened_secrets=given.allow_secret,
        config=read_config_option(given, fail),
        config_file=given.config or "",
    )
    _check_endpoint(given.endpoint, options.settings, fail)
    if options.accept == "checks" and not options.has_checks:
        fail('--accept checks needs a check: add --check COMMAND, or set "checks" in your settings')
    return options


def _models_options(given: argparse.Namespace, *, fail: Callable[[str], NoReturn]) -> ModelsOptions:
    options = ModelsOptions(given.endpoint, given.base_url, given.json, read_config_option(given, fail))
    _check_endpoint(given.endpoint, options.settings, fail)
    return options


def _demo_options(given: argparse.Namespace, *, fail: Callable[[str], NoReturn]) -> DemoOptions:
    if given.keep is None:
        return DemoOptions()
    keep = path_of(given.keep)
    if keep.exists() and not (keep.is_dir() and not any(keep.iterdir())):
        fail(f"the folder must be new or empty: {given.keep}")
    return DemoOptions(keep.absolute())
