"""`fairlead box`: any program in the sandbox, in this terminal, whose changes are reviewed when it has ended."""

import argparse
import asyncio
import contextlib
import os
import shlex
import sys
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

from fairlead.app.state_folder import state_folder
from fairlead.cli.approvals import Approvals
from fairlead.cli.arguments import (
    Parser,
    add_config,
    add_pass_variable,
    add_service,
    add_workspace,
    path_of,
    read_config_option,
    read_workspace,
)
from fairlead.cli.box_terminal import BoxTerminal
from fairlead.cli.client import AgentClient, ServerExited, StartServer
from fairlead.cli.config import with_options
from fairlead.cli.keys import Interrupted, Keyboard
from fairlead.cli.options import Accept
from fairlead.cli.program import program_name
from fairlead.cli.review_saved import review_session
from fairlead.cli.saved_sessions import delete_old_sessions
from fairlead.cli.signals import CANCELLED, ending_signals
from fairlead.cli.summary import workspace_arguments
from fairlead.cli.view.plain import PlainDisplay
from fairlead.cli.view.terminal import Terminal
from fairlead.cli.view.text import clean, escape_hidden
from fairlead.display import escape_to_one_line
from fairlead.wire import protocol as wire
from fairlead.wire.events import OpenedSession
from fairlead.wire.params import RunInTerminalParams, ShownFolderWire
from fairlead.wire.states import EditsWire

FAILED = 125
ABOUT = """\
Runs a program in the sandbox, in this terminal: an agent, a code generator, a
script, a shell. It works on a copy of your files. What it changed is shown when it
has ended, and your files change only where you accept.

The program sees neither your home nor your other files, and reaches no network,
unless you name them.
"""
EPILOG = f"""\
examples:
  fairlead box -- npm run codegen
  fairlead box -- bash
  fairlead box --network --env ANTHROPIC_API_KEY --show ~/.config/aider -- aider

exit codes: that of the program; {FAILED} it was not run, or a change could not be
applied; 2 incorrect usage.
"""
BEGINS = "In the sandbox: {workspace} stays as it is until you accept. Network: {network}."
NOT_ON_WINDOWS = "the sandbox works on Linux and in WSL 2, not on Windows itself"
LEFT = "Nothing was decided. To review it: {command}"


async def run_box(arguments: Sequence[str], terminal: Terminal, start_server: StartServer) -> int:
    """Runs a program and reviews its changes. Returns the exit code. Raises SystemExit for incorrect usage."""
    given, parser = _read(arguments, can_ask=terminal.can_ask)
    accept: Accept = given.accept or ("ask" if terminal.can_ask else "none")
    workspace, config = read_workspace(given.workspace, parser.error), read_config_option(given, parser.error)
    storage = path_of(given.storage).absolute() if given.storage else state_folder() / "terminal"
    options = {"bash.passVariables": given.pass_variable, "bash.services": given.service}
    settings = with_options(config, {name: value for name, value in options.items() if value})
    network = "the internet" if given.network else ", ".join(given.service) or "none (see --network)"
    shown = ", ".join(map(str, workspace.paths))
    terminal.print(escape_to_one_line(BEGINS.format(workspace=shown, network=network)), "dim")
    display, screen = PlainDisplay(terminal), BoxTerminal(terminal.can_ask)
    with Keyboard(can_ask=False) as keyboard:
        approvals = Approvals(display, keyboard, allow=False, attended=False)
        answers = {**approvals.answers, wire.TERMINAL_OUTPUT: screen.show}
        client = AgentClient(workspace, _ignore, answers, start_server)
        try:
            await client.start(settings, storage)
            async with _session(client, shlex.join(given.command)) as session_id:
                params: RunInTerminalParams = {
                    "sessionId": session_id,
                    "argv": given.command,
                    "terminal": screen.described,
                    "network": given.network,
                    "variables": given.env,
                    "folders": given.folders,
                }
                ended = await _run(client, screen, params)
                for note in ended["notes"]:
                    terminal.print(escape_hidden(clean(note)), "yellow")
                if not (files := await _edits(client, session_id))["files"]:
                    terminal.print("It changed no file.", "dim")
                elif ended["exitCode"] is None:
                    where = f" --session {shlex.quote(session_id)}{workspace_arguments(workspace)}"
                    where += f" --storage {shlex.quote(str(storage))}" if given.storage else ""
                    terminal.print(LEFT.format(command=f"{program_name()} review{where}"))
                else:
                    with Keyboard(terminal.can_ask) as keys:
                        chosen = bool(given.accept)
                        if not await review_session(client, display, keys, workspace, files, accept, chosen=chosen):
                            return FAILED
                return CANCELLED if ended["exitCode"] is None else ended["exitCode"]
        except Interrupted:
            return CANCELLED
        except (wire.RequestError, ServerExited, OSError) as error:
            terminal.print(escape_hidden(clean(str(error))), "red")
            return FAILED
        finally:
            await asyncio.shield(client.stop())


@contextlib.asynccontextmanager
async def _session(client: AgentClient, title: str) -> AsyncGenerator[str]:
    """A session for the program. It stays only while something is undecided, so that no task is continued in it."""
    session_id = (await client.request(wire.CREATE_SESSION, {"title": title}))["sessionId"]
    await delete_old_sessions(client)
    try:
        yield session_id
    finally:
        with contextlib.suppress(wire.RequestError, ServerExited):
            if not (await _edits(client, session_id))["files"]:
                await client.request(wire.DELETE_SESSION, {"sessionId": session_id})


async def _edits(client: AgentClient, session_id: str) -> EditsWire:
    opened: OpenedSession = await client.request(wire.OPEN_SESSION, {"sessionId": session_id})
    return opened["edits"]


async def _run(client: AgentClient, screen: BoxTerminal, params: RunInTerminalParams) -> wire.TerminalResult:
    """Runs the program until it ends. A signal that would end this process ends the program."""
    session = {"sessionId": params["sessionId"]}
    stops = set[asyncio.Future[Any]]()

    def stop(_: int) -> None:
        stops.add(asyncio.ensure_future(client.request(wire.CANCEL, session)))

    with ending_signals(stop, screen.restore):
        async with screen.typing_to(client, params["sessionId"]):
            ended: wire.TerminalResult = await client.request(wire.RUN_IN_TERMINAL, params)
        for each in stops:
            with contextlib.suppress(wire.RequestError, ServerExited):
                await each
        return ended


def _read(arguments: Sequence[str], *, can_ask: bool) -> tuple[argparse.Namespace, Parser]:
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser("fairlead box", description=ABOUT, epilog=EPILOG, formatter_class=raw, allow_abbrev=False)
    parser.usage = "fairlead box [OPTIONS] -- COMMAND..."
    add_workspace(parser, "work in")
    parser.add_argument("--network", action="store_true", help="let it reach the internet, but not this machine")
    add_service(parser)
    about = "an environment variable of yours, or a value, that it gets, also if it is a secret; several times"
    parser.add_argument("--env", metavar="NAME[=VALUE]", action="append", default=[], help=about)
    add_pass_variable(parser)
    about = "a folder outside of the workspace that it may read; can be given several times"
    parser.add_argument("--show", metavar="DIR", action="append", default=[], help=about)
    about = "a folder outside of the workspace that it may write, without a review; can be given several times"
    parser.add_argument("--write", metavar="DIR", action="append", default=[], help=about)
    about = "ask about the changes of each file, apply all, or only show them (default: ask; none without a terminal)"
    parser.add_argument("--accept", choices=["ask", "all", "none"], help=about)
    about = "the folder of the saved sessions, such as that of VS Code (default: that of the terminal)"
    parser.add_argument("--storage", metavar="DIR", help=about)
    add_config(parser)
    at = list(arguments).index("--") if "--" in arguments else len(arguments)
    given = parser.parse_args(arguments[:at])
    given.command = list(arguments[at + 1 :])
    if not given.command or not given.command[0]:
        parser.error("write the program and its arguments after --")
    if given.accept == "ask" and not can_ask:
        parser.error("--accept ask needs a terminal; use --accept all or --accept none")
    if sys.platform == "win32":
        parser.error(NOT_ON_WINDOWS)
    given.env = dict(_variable(text, parser) for text in given.env)
    given.folders = [*_folders(given.show, parser), *_folders(given.write, parser, is_writable=True)]
    return given, parser


def _variable(text: str, parser: Parser) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name:
        parser.error(f"argument --env: {text!r} has no name")
    if not equals and name not in os.environ:
        parser.error(f"argument --env: the variable {name} is not set")
    return name, value if equals else os.environ[name]


def _folders(given: Sequence[str], parser: Parser, *, is_writable: bool = False) -> list[ShownFolderWire]:
    for each in given:
        if not path_of(each).is_dir():
            parser.error(f"argument --{'write' if is_writable else 'show'}: not a folder: {each}")
    return [{"path": str(Path(path_of(each)).absolute()), "isWritable": is_writable} for each in given]


def _ignore(method: str, params: dict[str, Any]) -> None:
    """The answers to requests say everything."""
