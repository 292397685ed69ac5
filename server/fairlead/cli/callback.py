"""Waits for the browser that comes back from the page of a sign-in."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

_PATH = "/callback"
_PAGE = b"<!doctype html><title>Fairlead</title><p>You can close this page and go back to the terminal.</p>"
_SECONDS = 10.0
"""How long a browser may take to send its request."""


class Callback:
    """A page on this machine that the browser is sent back to.

    Args:
        port: that of the page.
    """

    def __init__(self, port: int, address: "asyncio.Future[str]") -> None:
        self.redirect = f"http://127.0.0.1:{port}{_PATH}"
        self.address = address
        """The address of the page that the browser has asked for, with its query."""


@contextlib.asynccontextmanager
async def callback_page() -> AsyncGenerator[Callback]:
    """The page, as long as the block runs. Only this machine reaches it.

    Raises:
        OSError: no port can be opened.
    """
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
                target = rest.partition(" ")[0]
                is_page = method == "GET" and target.partition("?")[0] == _PATH
                body, status = (_PAGE, "200 OK") if is_page else (b"", "404 Not Found")
                fields = ["Content-Type: text/html; charset=utf-8", f"Content-Length: {len(body)}", "Connection: close"]
                lines = [f"HTTP/1.1 {status}", *fields, "Referrer-Policy: no-referrer", "", ""]
                writer.write("\r\n".join(lines).encode() + body)
                await writer.drain()
                if is_page and not address.done():
                    address.set_result(callback.redirect + target.removeprefix(_PATH))
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # it was not the browser, or it asks again
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    callback = Callback(server.sockets[0].getsockname()[1], address)
    try:
        yield callback
    finally:
        server.close()
        address.cancel()
