"""`fairlead mcp remove`: removes a tool server from the user's settings."""

import argparse

from fairlead.cli.arguments import WRONG_USAGE, Parser, path_of
from fairlead.cli.client import StartServer
from fairlead.cli.config import BadConfig, user_config
from fairlead.cli.mcp_commands.config_file import ServersFile
from fairlead.cli.view.terminal import Terminal
from fairlead.display import escape_to_one_line


def describe(parser: Parser) -> None:
    parser.usage = "fairlead mcp remove NAME [OPTIONS]"
    parser.description = "Removes a tool server from your settings."
    parser.epilog = "exit codes: 0 removed; 1 the file could not be written; 2 there is no such server."
    parser.add_argument("name", metavar="NAME", help="its name")
    parser.add_argument("--config", metavar="FILE", help="the file to change (default: your own config.json)")


async def run(given: argparse.Namespace, terminal: Terminal, start_server: StartServer) -> int:
    path, name = path_of(given.config).absolute() if given.config else user_config(), escape_to_one_line(given.name)
    try:
        file = ServersFile(path)
        if given.name not in file.servers:
            known = ", ".join(map(escape_to_one_line, file.servers))
            terminal.print(f"There is no server “{name}” in {path}.{f' It has: {known}.' if known else ''}", "red")
            return WRONG_USAGE
        file.remove(given.name)
    except BadConfig as error:
        terminal.print(f"Nothing was removed: {path} {error}", "red")
        return 1
    except OSError as error:
        terminal.print(f"Nothing was removed: {path} cannot be written: {error.strerror or error}.", "red")
        return 1
    terminal.print(f"Removed “{name}” from {path}.")
    return 0
