"""`fairlead mcp login`: signs the user in to a remote tool server."""

import argparse
import asyncio
import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.text import Text

from fairlead.app.state_folder import state_folder
from fairlead.cli.arguments import Parser, add_config, read_config_option
from fairlead.cli.callback import Callback, callback_page
from fairlead.cli.client import AgentClient, Json, ServerExited, StartServer
from fairlead.cli.config import with_options
from fairlead.cli.keys import Interrupted, Keyboard
from fairlead.cli.mcp_commands.listing import ignore, reject
from fairlead.cli.run import DONE, NOT_DONE
from fairlead.cli.sign_in_file import SIGN_INS, SignInFile
from fairlead.cli.view.terminal import Terminal
from fairlead.cli.view.text import escape_hidden
from fairlead.wire import protocol as wire
from fairlead.workspace.paths import Roots

ABOUT = """\
Signs you in to a remote tool server of your settings. Shows the address of the page
on which you sign in. If your browser runs on another machine, paste the address at
which it ends. The sign-in is saved in a file that only you can read.
"""


def describe(parser: Parser) -> None:
    parser.usage = "fairlead mcp login NAME [OPTIONS]"
    parser.description = ABOUT
    parser.epilog = "exit codes: 0 signed in; 1 not signed in; 2 incorrect usage."
    parser.add_argument("name", metavar="NAME", help="the name of the server in your settings")
    add_config(parser)


async def run(given: argparse.Namespace, terminal: Terminal, start_server: StartServer) -> int:
    config = read_config_option(given, given.parser.error)
    return await _Login(given.name, config, terminal, start_server).run()


class _Login:
    def __init__(self, name: str, config: Mapping[str, Any], terminal: Terminal, start_server: StartServer) -> None:
        self._name, self._config, self._terminal = name, config, terminal
        self._sign_ins = SignInFile(state_folder() / "terminal" / SIGN_INS)
        self._client = AgentClient(
            Roots.of(Path(os.getcwd())), ignore, reject, start_server, self._sign_ins, self._authorize
        )
        self._callback: Callback | None = None

    async def run(self) -> int:
        name = self._name
        try:
            async with callback_page() as self._callback:
                await self._client.start(with_options(self._config, {}))
                await self._client.request(wire.LOG_IN, {"server": name, "redirectUri": self._callback.redirect})
        except (wire.RequestError, ServerExited, OSError) as error:
            self._terminal.print(escape_hidden(str(error)), "red")
            return NOT_DONE
        finally:
            await asyncio.shield(self._client.stop())
        self._terminal.print(f"You are signed in to {escape_hidden(name)}.")
        return DONE

    async def _authorize(self, params: Json) -> Json:
        assert self._callback is not None
        self._terminal.print(f"To sign in to {escape_hidden(self._name)}, open this address in a browser:")
        # one line, so that it can be clicked and copied
        self._terminal.console.print(Text(escape_hidden(str(params["url"]))), soft_wrap=True)
        if not self._terminal.can_ask:
            return {"callbackUrl": await self._callback.address}
        self._terminal.print(
            "If the browser runs on another machine, paste the address at which it ends, and press Enter."
        )
        with Keyboard(self._terminal.can_ask) as keyboard:
            pasted = asyncio.ensure_future(keyboard.line(self._terminal.console))
            try:
                await asyncio.wait([pasted, self._callback.address], return_when=asyncio.FIRST_COMPLETED)
                if self._callback.address.done():
                    return {"callbackUrl": self._callback.address.result()}
                with contextlib.suppress(Interrupted):
                    return {"callbackUrl": pasted.result().strip() or None}
                return {"callbackUrl": None}
            finally:
                pasted.cancel()
