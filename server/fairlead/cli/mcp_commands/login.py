"""`fairlead mcp login`: signs the user in to a remote tool server."""

import argparse
import asyncio
import contextlib

from rich.text import Text

from fairlead.app.state_folder import state_folder
from fairlead.cli.approvals import Approvals
from fairlead.cli.arguments import Parser, add_config, add_workspace, read_config_option, read_workspace
from fairlead.cli.callback import Callback, callback_page
from fairlead.cli.client import AgentClient, Json, ServerExited, StartServer
from fairlead.cli.config import with_options
from fairlead.cli.keys import Interrupted, Keyboard
from fairlead.cli.mcp_commands.listing import ignore
from fairlead.cli.view.plain import PlainDisplay
from fairlead.cli.view.terminal import Terminal
from fairlead.cli.view.text import clean
from fairlead.display import escape_to_one_line
from fairlead.wire import protocol as wire


def describe(parser: Parser) -> None:
    parser.usage = "fairlead mcp login NAME [OPTIONS]"
    parser.description = """\
Signs you in to a tool server: asks for its values (${input:...}), and shows the address
of the page on which you sign in. If your browser runs on another machine, paste the
address at which it ends. All is saved in a file that only you can read."""
    parser.epilog = "exit codes: 0 signed in; 1 not signed in; 2 incorrect usage."
    parser.add_argument("name", metavar="NAME", help="the name of the server in your settings")
    add_workspace(parser, "work in")
    add_config(parser)


async def run(given: argparse.Namespace, terminal: Terminal, start_server: StartServer) -> int:
    fail, name = given.parser.error, given.name
    workspace, config = read_workspace(given.workspace, fail), read_config_option(given, fail)
    with Keyboard(terminal.can_ask) as keyboard:
        try:
            approvals = Approvals(PlainDisplay(terminal), keyboard, allow=False, attended=terminal.can_ask)
            async with callback_page() as page:

                async def authorize(params: Json) -> Json:
                    return {"callbackUrl": await _ask(name, str(params["url"]), page, terminal, keyboard)}

                answers = {wire.AUTHORIZE: authorize, wire.ENTER: approvals.enter}
                client = AgentClient(workspace, ignore, answers, start_server)
                try:
                    await client.start(with_options(config, {}), state_folder() / "terminal")
                    await client.request(wire.LOG_IN, {"server": name, "redirectUri": page.redirect})
                finally:
                    await asyncio.shield(client.stop())
        except (wire.RequestError, ServerExited, OSError) as error:
            terminal.print(clean(str(error)), "red")
            return 1
    terminal.print(f"You are signed in to {escape_to_one_line(name)}.")
    return 0


async def _ask(name: str, url: str, page: Callback, terminal: Terminal, keyboard: Keyboard) -> str | None:
    """Shows the address of the page. Returns where the browser was sent back to; None: the user gave up."""
    terminal.print(f"To sign in to {escape_to_one_line(name)}, open this address in a browser:")
    # one line, so that it can be clicked and copied
    terminal.console.print(Text(escape_to_one_line(url)), soft_wrap=True)
    if not terminal.can_ask:
        return await page.address
    terminal.print("If it runs on another machine, paste the address at which it ends, and press Enter.")
    pasted = asyncio.ensure_future(keyboard.line(terminal.console))
    try:
        await asyncio.wait([pasted, page.address], return_when=asyncio.FIRST_COMPLETED)
        if page.address.done():
            return page.address.result()
        with contextlib.suppress(Interrupted):
            return pasted.result().strip() or None
        return None
    finally:
        pasted.cancel()
