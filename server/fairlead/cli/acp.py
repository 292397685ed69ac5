"""`fairlead acp`: Fairlead as an agent in an editor that speaks the Agent Client Protocol."""

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from typing import Any

from fairlead.app.settings import SECTION, ignored_values, read_settings
from fairlead.app.state_folder import state_folder
from fairlead.cli.arguments import Parser, add_config, path_of, read_config_option
from fairlead.cli.client import StartServer
from fairlead.cli.config import with_options
from fairlead.cli.view.terminal import Terminal
from fairlead.display import escape_to_one_line
from fairlead.hosted_agents.read_definitions import with_presets

NO_SDK = (
    "The package “agent-client-protocol” is not installed, which `fairlead acp` needs. Install it: "
    "pip install 'fairlead[acp]'"
)
FOR_EDITORS = (
    "An editor starts this program and talks to it here. `fairlead acp --help` says how. Ctrl-D ends it. To work in "
    "the terminal, use `fairlead run`."
)
ABOUT = """\
Works as an agent in an editor that speaks the Agent Client Protocol (ACP), such as
Zed, JetBrains IDEs, Neovim and Emacs. The editor starts this program and talks to it
on stdin and stdout. In the editor's settings, the command is `fairlead` and its
argument is `acp`. docs/acp.md has the settings of each editor.

The editor names the folder of each session. At the end of a turn it asks you about
each changed file, and nothing is written before that.
"""
EPILOG = """\
exit codes: 0 the editor has ended; 1 the agent could not be started; 2 incorrect
usage.
"""


async def run_acp(arguments: Sequence[str], _: Terminal, __: StartServer) -> int:
    """Runs the command. Returns the exit code. Raises SystemExit for `--help` and incorrect usage."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser("fairlead acp", description=ABOUT, epilog=EPILOG, formatter_class=raw, allow_abbrev=False)
    parser.usage = "fairlead acp [OPTIONS]"
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--model", metavar="NAME", default="", help="the model to use, unless you choose another one")
    source.add_argument("--replay", metavar="FILE", help="play a recorded conversation instead of a model")
    parser.add_argument("--endpoint", metavar="NAME", default="", help="the endpoint that serves the model")
    about = "a command that must pass before a step that changed files is completed; can be given several times"
    parser.add_argument("--check", metavar="COMMAND", action="append", default=[], help=about)
    about = "the agent of another maker that works, such as claude, unless you choose another one"
    parser.add_argument("--agent", metavar="NAME", default="", help=about)
    about = "the folder of the saved sessions, such as that of VS Code (default: that of the terminal)"
    parser.add_argument("--storage", metavar="DIR", help=about)
    add_config(parser)
    given = parser.parse_args(arguments)
    config = read_config_option(given, parser.error)
    if importlib.util.find_spec("acp") is None:
        print(NO_SDK, file=sys.stderr)  # standard output belongs to the protocol
        return 1
    options: dict[str, Any] = {
        "model": given.model,
        "endpoint": given.endpoint,
        "replay": str(path_of(given.replay).absolute()) if given.replay else "",
        "checks": given.check,
    }
    settings = with_options(config, {name: value for name, value in options.items() if value})
    read, problems = read_settings(settings)
    if problems:
        print(escape_to_one_line(ignored_values(problems)), file=sys.stderr)
    if given.agent and given.agent not in (names := with_presets(read.agents)):
        parser.error(f"there is no agent {given.agent!r} (choose from {', '.join(names)})")
    if sys.stdin.isatty():
        print(FOR_EDITORS, file=sys.stderr)
    storage = path_of(given.storage).absolute() if given.storage else state_folder() / "terminal"
    from fairlead.acp.serve import serve  # noqa: PLC0415  needs the SDK

    return await serve(settings[SECTION], storage, given.agent)
