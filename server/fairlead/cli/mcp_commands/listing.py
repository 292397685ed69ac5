"""`fairlead mcp list`: shows the tool servers of the user's settings."""

import argparse
import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.text import Text

from fairlead.app.settings import ignored_values, read_settings
from fairlead.app.state_folder import state_folder
from fairlead.cli.arguments import Parser, add_config, read_config_option
from fairlead.cli.client import AgentClient, ServerExited, StartServer
from fairlead.cli.config import with_options
from fairlead.cli.program import program_name
from fairlead.cli.view.terminal import Terminal
from fairlead.display import count_of, escape_to_one_line
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.workspace.paths import Roots

NOTHING = "No tool server is defined. To add one: {program} mcp add NAME -- COMMAND ARGS"


def describe(parser: Parser) -> None:
    parser.usage = "fairlead mcp list [OPTIONS]"
    parser.description = "Lists the tool servers of your settings and of the current folder. Starts none of them."
    parser.epilog = "exit codes: 0 listed; 1 the server could not be started; 2 incorrect usage."
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="write the list as JSON")


async def run(given: argparse.Namespace, terminal: Terminal, start_server: StartServer) -> int:
    settings = with_options(read_config_option(given, given.parser.error), {})
    client = AgentClient(Roots.of(Path(os.getcwd())), ignore, {}, start_server)
    try:
        await client.start(settings, state_folder() / "terminal")
        listed: states.ToolServersWire = await client.request(wire.TOOL_SERVERS_LIST, {})
    except (wire.RequestError, ServerExited, OSError) as error:
        terminal.print(str(error), "red")
        return 1
    finally:
        await asyncio.shield(client.stop())
    servers = listed["servers"]
    if given.json:
        # one line would be wrapped; JSON escapes everything that could control the terminal
        terminal.console.print(Text(json.dumps(servers, indent=2)), soft_wrap=True)
        return 0
    if problems := read_settings(settings)[1]:
        terminal.print(escape_to_one_line(ignored_values(problems)), "yellow")
    if not servers:
        terminal.print(NOTHING.format(program=program_name()))
    for server in servers:
        show_heading(server, terminal)
    return 0


def ignore(method: str, params: dict[str, Any]) -> None:
    """Nothing that is sent meanwhile matters."""


def show_heading(server: states.ToolServerWire, terminal: Terminal) -> None:
    """A server's name, and what starts it, on one line; what it may use and has, on a second one."""
    terminal.print(f"{escape_to_one_line(server['name'])}: {escape_to_one_line(server['command'])}", "bold")
    facts = f" {terminal.marks.note} ".join(_facts(server))
    if facts:
        terminal.print(f"  {facts}")


def _facts(server: states.ToolServerWire) -> Iterator[str]:
    if server["state"] == "disabled":
        yield "switched off"
    if server["isRemote"]:
        yield "at an address"
    if server["definedIn"]:
        yield f"defined in {escape_to_one_line(server['definedIn'].rpartition('/')[2])} of this folder"
    if server["hosts"]:
        yield f"reaches {', '.join(map(escape_to_one_line, server['hosts']))}"
    if server["tools"]:
        tokens = sum(tool["tokens"] for tool in server["tools"] if tool["isEnabled"])
        yield f"{count_of(len(server['tools']), 'tool')}, about {count_of(tokens, 'token')}"
