"""`fairlead mcp try`: starts a tool server as a run does, shows its tools, and calls one."""

import argparse
import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

from fairlead.app.state_folder import state_folder
from fairlead.cli.approvals import Approvals
from fairlead.cli.arguments import WRONG_USAGE, Parser, add_config, add_workspace, read_config_option, read_workspace
from fairlead.cli.client import AgentClient, ServerExited, StartServer
from fairlead.cli.config import with_options
from fairlead.cli.keys import Interrupted, Keyboard
from fairlead.cli.mcp_commands.listing import ignore, show_heading
from fairlead.cli.review import Review
from fairlead.cli.signals import CANCELLED
from fairlead.cli.view.display import Display
from fairlead.cli.view.plain import PlainDisplay
from fairlead.cli.view.terminal import Terminal
from fairlead.cli.view.text import clean, first_line
from fairlead.display import escape_to_one_line
from fairlead.json_values import is_object
from fairlead.tool_servers.names import tool_names
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.workspace.paths import Roots

STATES = {
    "running": "It runs.",
    "failed": "It failed: {problem}",
    "notAllowed": "It was not allowed. {problem}",
    "signIn": "It does not run: {problem}",
}
PROMPT = "The user tries the tool server {name}."
EPILOG = """\
examples:
  fairlead mcp try notes
  fairlead mcp try notes read_file '{"path": "README.md"}'

The server starts as for a task: in the sandbox, with the workspace. What a call
would change is shown, and nothing is written.

exit codes: 0 the server runs, and the call succeeded; 1 it failed; 2 incorrect usage.
"""


def describe(parser: Parser) -> None:
    parser.usage = "fairlead mcp try NAME [TOOL [JSON]] [OPTIONS]"
    parser.description = "Starts a tool server and shows its tools, or calls one of them."
    parser.epilog = EPILOG
    parser.add_argument("name", metavar="NAME", help="the name of the server in your settings")
    parser.add_argument("tool", metavar="TOOL", nargs="?", help="a tool to call")
    parser.add_argument("input", metavar="JSON", nargs="?", help='its arguments, such as \'{"path": "a.txt"}\'')
    add_workspace(parser, "work in")
    add_config(parser)


async def run(given: argparse.Namespace, terminal: Terminal, start_server: StartServer) -> int:
    fail = given.parser.error
    workspace, config = read_workspace(given.workspace, fail), read_config_option(given, fail)
    arguments = _arguments(given.input, given.parser)
    with Keyboard(terminal.can_ask) as keyboard:
        display = PlainDisplay(terminal)
        approvals = Approvals(display, keyboard, allow=False, attended=terminal.can_ask)

        async def approve(params: dict[str, Any]) -> dict[str, Any]:
            # the user has just written this call on the command line
            return {"option": "allow_once"} if params["kind"] == "tool" else await approvals.answer(params)

        client = AgentClient(workspace, ignore, {**approvals.answers, wire.APPROVE: approve}, start_server)
        session = ""
        try:
            # its tools are remembered for the tasks of the terminal, but the session is not
            await client.start(with_options(config, {}), state_folder() / "terminal")
            created = await client.request(wire.CREATE_SESSION, {"title": PROMPT.format(name=given.name)})
            session = created["sessionId"]
            trial = _Trial(client, session, given.name, workspace, terminal, display, keyboard)
            if names := await trial.others():
                fail(names)
            tools = await trial.start()
            if tools is None:
                return 1
            if given.tool is None:
                trial.show_tools(tools)
                return 0
            if given.tool not in [tool["name"] for tool in tools]:
                names = ", ".join(escape_to_one_line(tool["name"]) for tool in tools)
                terminal.print(f"It has no tool “{escape_to_one_line(given.tool)}”. Its tools: {names}.", "red")
                return WRONG_USAGE
            return await trial.call(given.tool, arguments)
        except Interrupted:
            return CANCELLED
        except (wire.RequestError, ServerExited, OSError) as error:
            terminal.print(clean(str(error)), "red")
            return 1
        finally:
            if session:
                with contextlib.suppress(wire.RequestError, ServerExited):
                    await asyncio.shield(client.request(wire.DELETE_SESSION, {"sessionId": session}))
            await asyncio.shield(client.stop())


def _arguments(text: str | None, parser: Parser) -> dict[str, Any]:
    try:
        found: Any = json.loads(text) if text is not None else {}
    except (ValueError, RecursionError) as error:
        parser.error(f"the arguments are not valid JSON: {error}")
    if not is_object(found):
        parser.error('the arguments must be a JSON object, such as \'{"path": "a.txt"}\'')
    return found


class _Trial:
    """One server in one session."""

    def __init__(
        self,
        client: AgentClient,
        session: str,
        name: str,
        workspace: Roots,
        terminal: Terminal,
        display: Display,
        keyboard: Keyboard,
    ) -> None:
        self._client, self._session, self._name, self._workspace = client, session, name, workspace
        self._terminal, self._display, self._keyboard = terminal, display, keyboard

    async def others(self) -> str:
        """If there is no such server, an error that names the others; otherwise an empty string."""
        listed: states.ToolServersWire = await self._client.request(
            wire.TOOL_SERVERS_LIST, {"sessionId": self._session}
        )
        names = [server["name"] for server in listed["servers"]]
        choice = f" (choose from {', '.join(map(escape_to_one_line, names))})" if names else ""
        return (
            "" if self._name in names else f"there is no server {self._name!r}{choice}; `fairlead mcp list` says more"
        )

    async def start(self) -> list[states.ServerToolWire] | None:
        """Starts the server and shows how that went. Returns its tools; None if it does not run."""
        params = {"sessionId": self._session, "server": self._name}
        listed: states.ToolServersWire = await self._client.request(wire.TOOL_SERVERS_RESTART, params)
        server = next(server for server in listed["servers"] if server["name"] == self._name)
        show_heading(server, self._terminal)
        marks, runs = self._terminal.marks, server["state"] == "running"
        shown = STATES.get(server["state"], "It does not run.").format(problem=clean(server["problem"]))
        self._terminal.print(f"{marks.done if runs else marks.failed} {shown}", "green" if runs else "red")
        if server["output"].strip():
            self._terminal.print("Its last output:")
            for line in clean(server["output"]).splitlines():
                self._terminal.print(f"  {line}", "dim")
        return server["tools"] if runs else None

    def show_tools(self, tools: list[states.ServerToolWire]) -> None:
        for tool in tools:
            self._terminal.print(f"\n{escape_to_one_line(tool['name'])}", "bold")
            about = f" {self._terminal.marks.note} ".join(_claims(tool))
            self._terminal.print(f"  {about}", "dim")
            if description := first_line(tool["description"]):
                self._terminal.print(f"  {description}")

    async def call(self, tool: str, arguments: dict[str, Any]) -> int:
        """Calls a tool, and shows its answer and what it would propose. Returns the exit code."""
        name = tool_names([(self._name, tool)])[self._name, tool]
        params = {"sessionId": self._session, "name": name, "input": arguments, "caller": "fairlead mcp try"}
        params["prompt"] = PROMPT.format(name=self._name)
        answer: wire.CallToolResult = await self._client.request(wire.CALL_TOOL, params)
        failed = answer["isError"]
        self._terminal.print(f"\n{'The call failed:' if failed else 'Its answer:'}", "red" if failed else "bold")
        self._terminal.print(clean(answer["text"]))
        edits: states.EditsWire = await self._client.request(
            "workspace/executeCommand",
            {"command": wire.COMMAND_EDITS, "arguments": [{"sessionId": self._session}]},
        )
        if edits["files"]:
            self._terminal.print("\nIt would propose:", "bold")
            await Review(self._client, self._display, self._keyboard, self._workspace, edits).decide("none")
        return 1 if failed else 0


def _claims(tool: states.ServerToolWire) -> Iterator[str]:
    """What is known about a tool. What it does is what its server claims."""
    if tool["title"]:
        yield escape_to_one_line(tool["title"])
    yield "claims to read only" if tool["readsOnly"] else "may destroy" if tool["isDestructive"] else "may write"
    yield f"about {tool['tokens']} tokens"
    if not tool["isEnabled"]:
        yield "switched off"
