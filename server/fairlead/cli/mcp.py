"""`fairlead mcp`: the tool servers of the user's settings, and Fairlead as a tool server for other agents."""

import argparse
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fairlead.cli.arguments import WRONG_USAGE, Parser
from fairlead.cli.client import StartServer
from fairlead.cli.mcp_commands import add, listing, login, remove, serve, trying
from fairlead.cli.view.terminal import Terminal

ABOUT = """\
Manages the tool servers (MCP) that the agent uses in the terminal, and lets other
agents use Fairlead.

commands:
  fairlead mcp list                     the tool servers of your settings
  fairlead mcp add NAME -- COMMAND ...  add a server that runs on this machine
  fairlead mcp add NAME --url URL       add a server at an address
  fairlead mcp remove NAME              remove a server
  fairlead mcp login NAME               sign in to a server at an address
  fairlead mcp try NAME [TOOL [JSON]]   start a server and show its tools, or call one
  fairlead mcp serve                    offer Fairlead's tools to another agent

For the options of a command, add --help, as in `fairlead mcp add --help`.
"""

Execute = Callable[[argparse.Namespace, Terminal, StartServer], Coroutine[Any, Any, int]]
COMMANDS: dict[str, tuple[Callable[[Parser], None], Execute]] = {
    "list": (listing.describe, listing.run),
    "add": (add.describe, add.run),
    "remove": (remove.describe, remove.run),
    "login": (login.describe, login.run),
    "try": (trying.describe, trying.run),
    "serve": (serve.describe, serve.run),
}
"""What describes the options of each command, and what executes it."""


async def run_mcp(arguments: Sequence[str], terminal: Terminal, start_server: StartServer) -> int:
    """Runs a command of the group. Returns the exit code. Raises SystemExit for `--help` and incorrect usage."""
    if not arguments or arguments[0] not in COMMANDS:
        group = Parser("fairlead mcp", description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
        group.usage = "fairlead mcp COMMAND [OPTIONS]"
        if arguments and arguments[0] not in ("-h", "--help"):
            group.error(f"there is no command {arguments[0]!r} (choose from {', '.join(COMMANDS)})")
        group.print_help()
        return 0 if arguments else WRONG_USAGE
    name, *rest = arguments
    describe, execute = COMMANDS[name]
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(f"fairlead mcp {name}", formatter_class=raw, allow_abbrev=False)
    describe(parser)
    # what follows `--` belongs to the server's command, whatever it looks like
    own, _, command = _split(rest)
    given, unknown = parser.parse_known_intermixed_args(own)
    if unknown:
        hint = "; write the server's command after --" if name == "add" and not command else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    if command and name != "add":
        parser.error("nothing may follow --")
    given.parser, given.rest = parser, command
    return await execute(given, terminal, start_server)


def _split(arguments: Sequence[str]) -> tuple[Sequence[str], str, Sequence[str]]:
    if "--" not in arguments:
        return arguments, "", ()
    at = list(arguments).index("--")
    return arguments[:at], "--", arguments[at + 1 :]
