"""`fairlead mcp add`: adds a tool server to the user's settings."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairlead.cli.arguments import WRONG_USAGE, Parser, path_of
from fairlead.cli.client import StartServer
from fairlead.cli.config import BadConfig, user_config
from fairlead.cli.mcp_commands.config_file import ServersFile
from fairlead.cli.program import program_name
from fairlead.cli.view.terminal import Terminal
from fairlead.display import escape_to_one_line
from fairlead.shell.environment import is_secret
from fairlead.shell.services.packages import package_of
from fairlead.tool_servers.definition import CONTAINERS
from fairlead.tool_servers.read_definitions import read_servers

EPILOG = """\
examples:
  fairlead mcp add notes -- mcp-server-filesystem '${workspaceFolder}'
  fairlead mcp add github --env 'GITHUB_TOKEN=${env:GITHUB_TOKEN}' --host api.github.com -- github-mcp-server stdio
  fairlead mcp add fetch --host example.com -- uvx mcp-server-fetch
  fairlead mcp add docs --url https://docs.example.com/mcp

A server runs in the sandbox. It gets no variable of your environment, no folder
and no host that you do not name. The packages of npx and uvx are installed once,
after a question.

exit codes: 0 added; 1 the file could not be written; 2 incorrect usage.
"""
PACKAGE = "When it starts for the first time, you are asked whether its package may be installed, once."
CONTAINER = (
    "{program} runs outside of the sandbox, so you are asked before it starts, and what it writes is not reviewed."
)
SECRET = (
    "The value of {name} looks like a secret and is now in the file. Better: set it in your environment, and write "
    "{option}."
)


def describe(parser: Parser) -> None:
    parser.usage = (
        "fairlead mcp add NAME [OPTIONS] -- COMMAND [ARGS...]\n" + " " * 7 + "fairlead mcp add NAME [OPTIONS] --url URL"
    )
    parser.description = "Adds a tool server to your settings."
    parser.epilog = EPILOG
    parser.add_argument("name", metavar="NAME", help="your name for it")
    parser.add_argument("command", metavar="COMMAND", nargs="*", help="the program and its arguments, or an address")
    parser.add_argument("--url", metavar="URL", help="the address of a server that speaks HTTP")
    parser.add_argument("-t", "--transport", choices=["stdio", "http"], help=argparse.SUPPRESS)  # as others have it
    repeated: dict[str, Any] = {"action": "append", "default": []}
    about = "an environment variable; ${env:NAME} in VALUE stands for one of yours. Can be given several times"
    parser.add_argument("-e", "--env", metavar="NAME=VALUE", help=about, **repeated)
    about = "a header of each request to an address. Can be given several times"
    parser.add_argument("-H", "--header", metavar="'NAME: VALUE'", help=about, **repeated)
    about = "what it reaches over the network, as name or name:port. Can be given several times"
    parser.add_argument("--host", metavar="HOST", help=about, **repeated)
    about = "a folder outside of the workspace that it reads, or also writes. Can be given several times"
    parser.add_argument("--folder", metavar="PATH[:write]", help=about, **repeated)
    parser.add_argument("--config", metavar="FILE", help="the file to change (default: your own config.json)")


async def run(given: argparse.Namespace, terminal: Terminal, start_server: StartServer) -> int:
    path = path_of(given.config).absolute() if given.config else user_config()
    definition = definition_of(given)
    problems: list[str] = []
    read_servers({given.name: definition}, problems)
    if problems:
        given.parser.error("; ".join(problems).removeprefix("mcpServers."))
    try:
        file = ServersFile(path)
        if given.name in file.servers:
            name = escape_to_one_line(given.name)
            terminal.print(f"There is a server “{name}” already. Remove it first, or choose another name.", "red")
            return WRONG_USAGE
        file.add(given.name, definition)
    except BadConfig as error:
        terminal.print(f"Nothing was added: {path} {error}", "red")
        return 1
    except OSError as error:
        terminal.print(f"Nothing was added: {path} cannot be written: {error.strerror or error}.", "red")
        return 1
    terminal.print(f"Added “{escape_to_one_line(given.name)}” to {path}.")
    for advice in _advice(given, definition):
        terminal.print(advice, "yellow")
    terminal.print(f"To start it and see its tools: {program_name()} mcp try {escape_to_one_line(given.name)}", "dim")
    return 0


def definition_of(given: argparse.Namespace) -> dict[str, Any]:
    """The definition that the options describe, as other agents write it too. Its values are not checked."""
    fail = given.parser.error
    command, url = [*given.command, *given.rest], given.url
    if url is None and len(command) == 1 and command[0].startswith(("http://", "https://")):
        url, command = command[0], []
    if url is not None and command:
        fail("give either a command or --url")
    if url is None and not command:
        fail("the command is missing: write it after --, as in `fairlead mcp add NAME -- COMMAND ARGS`, or give --url")
    others = ("--env", "--host", "--folder", "--transport stdio") if url else ("--header", "--transport http")
    wrong = [each for each in others if _has(given, each)]
    if wrong:
        fail(f"{wrong[0]} is not for {'an address' if url else 'a command'}")
    fields: dict[str, Any] = {"url": url} if url else {"command": command[0], "args": command[1:]}
    fields["env"] = dict(_pair(each, "=", "--env", "NAME=VALUE", fail) for each in given.env)
    fields["headers"] = dict(_pair(each, ":", "--header", "'NAME: VALUE'", fail) for each in given.header)
    fields["hosts"] = given.host
    fields["folders"] = dict(_folder(each) for each in given.folder)
    return {name: value for name, value in fields.items() if value}


def _has(given: argparse.Namespace, option: str) -> bool:
    name, _, value = option.removeprefix("--").partition(" ")
    found = getattr(given, name)
    return found == value if value else bool(found)


def _pair(text: str, sign: str, option: str, form: str, fail: Any) -> tuple[str, str]:
    name, found, value = text.partition(sign)
    if not found or not name.strip():
        fail(f"{option} needs the form {form}")
    return name.strip(), value.strip() if sign == ":" else value


def _folder(text: str) -> tuple[str, str]:
    path, colon, access = text.rpartition(":")
    if colon and access in ("read", "write"):
        return path, access
    return text, "read"


def _advice(given: argparse.Namespace, definition: dict[str, Any]) -> Iterator[str]:
    """What may not work, or should be done in another way."""
    program = Path(definition.get("command", "")).stem
    words = [definition["command"], *definition.get("args", ())] if program else []
    if package_of(words) is not None:
        yield PACKAGE
    if program in CONTAINERS:
        yield CONTAINER.format(program=program)
    for folder in definition.get("folders", {}):
        if "${" not in folder and not path_of(folder).is_dir():
            yield f"The folder {escape_to_one_line(folder)} does not exist. The server does not start without it."
    for name, value in definition.get("env", {}).items():
        if "${" not in value and is_secret(name, value):
            yield SECRET.format(name=name, option=f"--env '{name}=${{env:{name}}}'")
    for name, value in definition.get("headers", {}).items():
        if "${" not in value and (name.lower() == "authorization" or is_secret(name.replace("-", "_"), value)):
            yield SECRET.format(name=name, option=f"--header '{name}: ${{env:NAME}}'")
