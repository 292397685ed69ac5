"""`fairlead mcp serve`: offers Fairlead's plan, proposals and checks to another agent."""

import argparse
import asyncio
import importlib.util
import sys
from typing import Any

from fairlead.app.settings import ignored_values, read_settings
from fairlead.app.state_folder import state_folder
from fairlead.cli.arguments import Parser, add_config, add_workspace, path_of, read_config_option, read_workspace
from fairlead.cli.client import AgentClient, ServerExited, StartServer
from fairlead.cli.config import with_options
from fairlead.cli.mcp_commands.listing import ignore
from fairlead.cli.mcp_commands.mcp_server import McpServer
from fairlead.cli.mcp_commands.questions import Questions
from fairlead.cli.mcp_commands.served_session import ServedSession
from fairlead.cli.view.terminal import Terminal
from fairlead.display import escape_to_one_line
from fairlead.wire import protocol as wire

NO_SDK = "The package “mcp” is not installed, which `fairlead mcp serve` needs. Install it: pip install 'fairlead[mcp]'"
EPILOG = """\
The other agent starts this program and talks to it on stdin and stdout, for example:

  claude mcp add fairlead -- fairlead mcp serve
  codex mcp add fairlead -- fairlead mcp serve

Its changes are proposals in a session of Fairlead. You review them with `fairlead
review`. Nothing is written before that.

exit codes: 0 the other agent has ended; 1 the server could not be started; 2
incorrect usage.
"""


def describe(parser: Parser) -> None:
    parser.usage = "fairlead mcp serve [OPTIONS]"
    parser.description = "Offers Fairlead's plan, proposals and checks to another agent, over MCP."
    parser.epilog = EPILOG
    add_workspace(parser, "work in")
    parser.add_argument("--session", metavar="ID", default="", help="continue this saved session")
    about = "the folder of the saved sessions, such as that of VS Code (default: that of the terminal)"
    parser.add_argument("--storage", metavar="DIR", help=about)
    about = "a command that must pass before a step that changed files is completed; can be given several times"
    parser.add_argument("--check", metavar="COMMAND", action="append", default=[], help=about)
    add_config(parser)


async def run(given: argparse.Namespace, terminal: Terminal, start_server: StartServer) -> int:
    fail = given.parser.error
    workspace, config = read_workspace(given.workspace, fail), read_config_option(given, fail)
    if importlib.util.find_spec("mcp") is None:
        return _fail(NO_SDK)
    options: dict[str, Any] = {"checks": given.check} if given.check else {}
    storage = path_of(given.storage).absolute() if given.storage else state_folder() / "terminal"
    settings, questions = with_options(config, options), Questions()
    if problems := read_settings(settings)[1]:
        print(escape_to_one_line(ignored_values(problems)), file=sys.stderr)

    async def connect() -> AgentClient:
        client = AgentClient(workspace, ignore, {wire.APPROVE: questions.answer}, start_server)
        try:
            await client.start(settings, storage)
        except BaseException:
            await asyncio.shield(client.stop())
            raise
        return client

    session = ServedSession(connect, workspace, given.session, questions)
    try:
        await session.open()
        await McpServer(session).run()
    except (wire.RequestError, ServerExited, OSError) as error:
        return _fail(str(error))
    finally:
        await session.aclose()
    return 0


def _fail(text: str) -> int:
    """Standard output belongs to the protocol."""
    print(text, file=sys.stderr)
    return 1
