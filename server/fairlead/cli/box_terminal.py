"""The user's terminal, for a program that runs in a terminal of the server."""

import asyncio
import base64
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator
from typing import Any

from fairlead.cli.client import AgentClient, ServerExited
from fairlead.shell.terminal import DUMB
from fairlead.wire import protocol as wire
from fairlead.wire.params import TerminalWire

if sys.platform != "win32":
    import termios
    import tty

CHUNK = 1 << 12
"""How many bytes of input are sent at once."""
END_OF_INPUT = b"\x04"


class BoxTerminal:
    """Passes on what the user types, and shows what the program writes.

    Args:
        is_terminal: whether stdin and stdout are a terminal. If not, the program has no input.
    """

    def __init__(self, is_terminal: bool) -> None:
        self._is_terminal = is_terminal
        self._saved: list[Any] | None = None

    @property
    def described(self) -> TerminalWire:
        columns, rows = shutil.get_terminal_size()
        kind = os.environ.get("TERM", "") if self._is_terminal else DUMB
        return {"kind": kind or DUMB, "columns": columns, "rows": rows}

    async def show(self, params: dict[str, Any]) -> None:
        """Answers the server's request to show output."""
        with contextlib.suppress(OSError):  # the terminal was closed, so the program is about to end
            sys.stdout.flush()
            sys.stdout.buffer.write(base64.b64decode(params["data"]))
            sys.stdout.buffer.flush()

    @contextlib.asynccontextmanager
    async def typing_to(self, client: AgentClient, session_id: str) -> AsyncGenerator[None]:
        """Within the context, all keys go to the program, Ctrl-C included."""
        sending = asyncio.create_task(self._send(client, session_id))
        loop, resized = asyncio.get_running_loop(), getattr(signal, "SIGWINCH", None)

        def resize() -> None:
            columns, rows = shutil.get_terminal_size()
            with contextlib.suppress(ServerExited):
                client.notify(wire.TERMINAL_SIZE, {"sessionId": session_id, "columns": columns, "rows": rows})

        if self._is_terminal:
            self._pass_all_keys()
            if resized is not None:
                loop.add_signal_handler(resized, resize)
        try:
            yield
        finally:
            if self._is_terminal and resized is not None:
                loop.remove_signal_handler(resized)
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError, wire.RequestError, ServerExited):
                await sending
            self.restore()

    async def _send(self, client: AgentClient, session_id: str) -> None:
        is_open = True
        while is_open:
            data = await _read_keys() if self._is_terminal else END_OF_INPUT
            is_open = self._is_terminal and bool(data)
            typed = {"sessionId": session_id, "data": base64.b64encode(data).decode()}
            await client.request(wire.TERMINAL_INPUT, typed)

    def _pass_all_keys(self) -> None:
        if sys.platform != "win32":
            self._saved = termios.tcgetattr(0)
            tty.setraw(0, termios.TCSADRAIN)  # what was typed before is kept

    def restore(self) -> None:
        """Restores the terminal's mode. Does nothing if it is restored."""
        if sys.platform != "win32" and self._saved is not None:
            saved, self._saved = self._saved, None
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSADRAIN, saved)


async def _read_keys() -> bytes:
    """What the user has typed; empty if the terminal was closed."""
    loop = asyncio.get_running_loop()
    readable = loop.create_future()
    loop.add_reader(0, lambda: readable.done() or readable.set_result(None))
    try:
        await readable
    finally:
        loop.remove_reader(0)
    try:
        return os.read(0, CHUNK)
    except OSError:
        return b""
