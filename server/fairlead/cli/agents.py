"""`fairlead agents`: the agents of other makers that can work in Fairlead, their installation and their sign-in."""

import argparse
import asyncio
import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from fairlead.app.settings import ignored_values, read_settings
from fairlead.app.state_folder import state_folder
from fairlead.cli.arguments import Parser, add_config, read_config_option
from fairlead.cli.client import AgentClient, ServerExited, StartServer
from fairlead.cli.config import with_options
from fairlead.cli.headless.outcome import DONE, NOT_DONE
from fairlead.cli.program import program_name
from fairlead.cli.view.terminal import Terminal
from fairlead.display import escape_to_one_line
from fairlead.wire import protocol as wire
from fairlead.wire.states import HostedAgentsWire, HostedAgentWire
from fairlead.workspace.paths import Roots

ABOUT = """\
The agents of other makers that can do a task in the sandbox: fairlead run --agent NAME.

commands:
  fairlead agents               list them
  fairlead agents install NAME  install the packages of one
  fairlead agents login NAME    sign in to one, for its folder in Fairlead
"""
NO_SIGN_IN = "{title} has no command for a sign-in. Set the variables of its key, as docs/agents.md says."
NOT_INSTALLED = "{title} is not installed. Install it, or run: {program} agents install {name}"
SIGNING_IN = "The sign-in of {title} runs outside of the sandbox, and is kept in a folder of Fairlead:"


async def run_agents(arguments: Sequence[str], terminal: Terminal, start_server: StartServer) -> int:
    """Runs a command of the group. Returns the exit code. Raises SystemExit for `--help` and incorrect usage."""
    parser = Parser("fairlead agents", description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.usage = "fairlead agents [install NAME | login NAME] [OPTIONS]"
    parser.epilog = "exit codes: 0 done; 1 it did not work; 2 incorrect usage."
    parser.add_argument("command", nargs="?", choices=["install", "login"], metavar="COMMAND")
    parser.add_argument("name", nargs="?", metavar="NAME")
    parser.add_argument("--json", action="store_true", help="write the list as JSON")
    add_config(parser)
    given = parser.parse_intermixed_args(arguments)
    name: str = given.name or ""
    if bool(given.command) != bool(name):
        parser.error("a command needs the name of an agent")
    settings = with_options(read_config_option(given, parser.error), {})
    client = AgentClient(Roots.of(Path(os.getcwd())), _ignore, {}, start_server)
    try:
        await client.start(settings, state_folder() / "terminal")
        listed: HostedAgentsWire = await client.request(wire.HOSTED_AGENTS, {})
        known = {each["name"]: each for each in listed["agents"]}
        if name and name not in known:
            parser.error(f"there is no agent {name!r} (choose from {', '.join(known)})")
        if given.command == "install":
            terminal.print(f"Installing {escape_to_one_line(known[name]['title'])}...", "dim")
            listed = await client.request(wire.INSTALL_AGENT, {"agent": name})
            known = {each["name"]: each for each in listed["agents"]}
    except (wire.RequestError, ServerExited, OSError) as error:
        terminal.print(escape_to_one_line(str(error)), "red")
        return NOT_DONE
    finally:
        await asyncio.shield(client.stop())
    if given.command == "login":
        return await _log_in(known[name], terminal)
    if given.json:
        # one line would be wrapped; JSON escapes everything that could control the terminal
        terminal.console.print(Text(json.dumps(list(known.values()), indent=2)), soft_wrap=True)
        return DONE
    if problems := read_settings(settings)[1]:
        terminal.print(escape_to_one_line(ignored_values(problems)), "yellow")
    for agent in known.values() if given.command is None else [known[name]]:
        _show(agent, terminal)
    return DONE


def _ignore(method: str, params: dict[str, Any]) -> None:
    """No notification is about agents."""


def _show(agent: HostedAgentWire, terminal: Terminal) -> None:
    state = "installed" if agent["isInstalled"] else "not installed"
    terminal.print(f"{escape_to_one_line(agent['title'])} (--agent {escape_to_one_line(agent['name'])})", "bold")
    terminal.print(f"  {escape_to_one_line(agent['command'])}")
    terminal.print(f"  {state}", "dim")


async def _log_in(agent: HostedAgentWire, terminal: Terminal) -> int:
    """Runs the agent's own sign-in in this terminal."""
    title = escape_to_one_line(agent["title"])
    if not agent["isInstalled"]:
        terminal.print(NOT_INSTALLED.format(title=title, name=agent["name"], program=program_name()), "red")
        return NOT_DONE
    if not agent["signIn"]:
        terminal.print(NO_SIGN_IN.format(title=title), "red")
        return NOT_DONE
    terminal.print(SIGNING_IN.format(title=title))
    terminal.print(f"  {escape_to_one_line(shlex.join(agent['signIn']))}", "dim")
    # not in the workspace, whose files may tell the program what to run
    environment, home = {**os.environ, **agent["signInVariables"]}, Path.home()
    process = await asyncio.create_subprocess_exec(*agent["signIn"], env=environment, cwd=home)
    try:
        return DONE if await process.wait() == 0 else NOT_DONE
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
