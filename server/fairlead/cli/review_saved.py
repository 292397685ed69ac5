"""`fairlead review`: decides on the proposals of a saved session, without a model."""

import argparse
import asyncio
import shlex
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from fairlead.app.state_folder import state_folder
from fairlead.cli.approvals import Approvals
from fairlead.cli.arguments import (
    WRONG_USAGE,
    Parser,
    add_config,
    add_workspace,
    path_of,
    read_config_option,
    read_workspace,
)
from fairlead.cli.client import AgentClient, ServerExited, StartServer
from fairlead.cli.config import with_options
from fairlead.cli.keys import Interrupted, Keyboard
from fairlead.cli.options import Accept
from fairlead.cli.program import program_name
from fairlead.cli.review import Review
from fairlead.cli.review_together import check_together, together_lines
from fairlead.cli.saved_sessions import rows
from fairlead.cli.signals import CANCELLED
from fairlead.cli.summary import lapsed_lines, summary_lines, workspace_arguments
from fairlead.cli.view.display import Display
from fairlead.cli.view.plain import PlainDisplay
from fairlead.cli.view.terminal import Terminal
from fairlead.cli.view.text import clean, escape_hidden
from fairlead.wire import protocol as wire
from fairlead.wire.events import OpenedSession
from fairlead.wire.states import EditsWire, NeededChangesWire
from fairlead.workspace.paths import Roots

ABOUT = """\
Shows the proposals of a saved session as diffs, and asks about them. Without
--session, this is the session with undecided proposals that ran last in the folder.

With --needed, first runs the checks without each of the changes in turn, in the
sandbox, and says next to each change whether a check needs it.

With --together, runs the checks of all sessions of the folder on all of their
undecided proposals together, in the sandbox, and names what fails together.
"""
EPILOG = """\
exit codes: 0 reviewed; 1 a change could not be applied, or the session is open in
another program; 2 incorrect usage, or there is nothing to review.
With --together: 0 all checks pass; 1 a check or a proposal prevents that.
"""
NOTHING = "No session of this folder has undecided proposals."


async def run_review(arguments: Sequence[str], terminal: Terminal, start_server: StartServer) -> int:
    """Reviews a session. Returns the exit code. Raises SystemExit for `--help` and incorrect usage."""
    given, parser = _read(arguments)
    if given.accept == "ask" and not terminal.can_ask:
        parser.error("--accept ask needs a terminal; use --accept all or --accept none")
    accept: Accept = given.accept or ("ask" if terminal.can_ask else "none")
    workspace, settings = read_workspace(given.workspace, parser.error), read_config_option(given, parser.error)
    storage = path_of(given.storage).absolute() if given.storage else state_folder() / "terminal"
    display = PlainDisplay(terminal)
    with Keyboard(terminal.can_ask) as keyboard:
        approvals = Approvals(display, keyboard, allow=False, attended=terminal.can_ask and accept != "all")
        client = AgentClient(workspace, _ignore, approvals.answers, start_server)
        try:
            checks = {"checks": given.check} if given.check and given.together else {}
            await client.start(with_options(settings, checks), storage)
            if given.together:
                result = await check_together(client)
                display.show(list(together_lines(result, terminal.marks, review_command(workspace, given.storage))))
                return 0 if result["outcome"] == "passes" else 1
            session_id = given.session or next(
                (row["sessionId"] for row in await rows(client) if row["pendingFiles"]), ""
            )
            if not session_id:
                terminal.print(NOTHING)
                return WRONG_USAGE
            if given.needed:
                await _show_needed(client, display, session_id, given.check)
            opened: OpenedSession = await client.request(wire.OPEN_SESSION, {"sessionId": session_id})
            chosen = given.accept is not None or terminal.can_ask
            edits = opened["edits"]
            display.show(lapsed_lines(opened["plan"], display))
            applied = await review_session(client, display, keyboard, workspace, edits, accept, chosen=chosen)
            return 0 if applied else 1
        except Interrupted:
            return CANCELLED
        except (wire.RequestError, ServerExited, OSError) as error:
            terminal.print(escape_hidden(clean(str(error))), "red")
            return 1
        finally:
            await asyncio.shield(client.stop())


async def _show_needed(client: AgentClient, display: Display, session_id: str, checks: Sequence[str]) -> None:
    """Finds out which changes the checks need, and shows a summary. The review shows the rest.

    Raises:
        RequestError, ServerExited: as for `AgentClient.request`.
    """
    params = {"sessionId": session_id, **({"check": checks[0]} if checks else {})}
    found: NeededChangesWire = await client.request(wire.NEEDED_CHANGES, params)
    display.show([Text(escape_hidden(clean(found["message"])))])


async def review_session(
    client: AgentClient,
    display: Display,
    keyboard: Keyboard,
    workspace: Roots,
    edits: EditsWire,
    accept: Accept,
    *,
    chosen: bool,
) -> bool:
    """Decides on the proposals of a session, and shows what was decided. Returns whether all could be applied.

    Args:
        chosen: whether the user chose `accept`.

    Raises:
        Interrupted, RequestError, ServerExited: as for `Review.decide`.
    """
    review = Review(client, display, keyboard, workspace, edits)
    try:
        await review.decide(accept)
    finally:
        display.show(summary_lines(review.reports, accept, chosen=chosen))
    return not any(report.counts["refused"] for report in review.reports)


def review_command(workspace: Roots, storage: str | None) -> str:
    """The command that reviews a session of the same folder, without the session."""
    saved = f" --storage {shlex.quote(storage)}" if storage else ""
    return f"{program_name()} review{workspace_arguments(workspace)}{saved}"


def _read(arguments: Sequence[str]) -> tuple[argparse.Namespace, Parser]:
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser("fairlead review", description=ABOUT, epilog=EPILOG, formatter_class=raw)
    parser.usage = "fairlead review [OPTIONS]"
    add_workspace(parser, "review")
    parser.add_argument("--session", metavar="ID", default="", help="the session to review")
    parser.add_argument("--together", action="store_true", help="check the proposals of all sessions together")
    about = "first find out which changes the checks need, by leaving out each in turn"
    parser.add_argument("--needed", action="store_true", help=about)
    about = "with --together: a command that must pass, too; can be given several times. With --needed: the only check"
    parser.add_argument("--check", metavar="COMMAND", action="append", default=[], help=about)
    about = "ask about the changes of each file, apply all, or only show them (default: ask; none without a terminal)"
    parser.add_argument("--accept", choices=["ask", "all", "none"], help=about)
    about = "the folder of the saved sessions (default: that of the terminal)"
    parser.add_argument("--storage", metavar="DIR", help=about)
    add_config(parser)
    given = parser.parse_args(arguments)
    if given.together and (given.session or given.accept):
        parser.error("--together is about all sessions, and decides on none; leave out --session and --accept")
    if given.together and given.needed:
        parser.error("--needed is about one session; leave it or --together out")
    if given.check and not given.together and not given.needed:
        parser.error("--check needs --together or --needed")
    if given.needed and len(given.check) > 1:
        parser.error("--needed takes one --check; without it, the checks of the session run")
    return given, parser


def _ignore(method: str, params: dict[str, Any]) -> None:
    """The answers to requests say everything."""
