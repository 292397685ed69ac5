"""The transport to a local server: one JSON message per line on its pipes (MCP, "stdio"). The server is not trusted."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fairlead.errors import ToolError
from fairlead.shell.services.errors import ServiceError
from fairlead.shell.services.message_lines import MessageLines, Output

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

log = logging.getLogger(__name__)


class ServerFailed(ToolError):
    """A tool server does not work. The message says what happened, but not what to do."""


class SessionEnded(ServerFailed):
    """A remote server no longer knows the session of the connection, so it did not read the request."""


class Pipes:
    """The pipes of a server's process.

    Args:
        on_end: called once when the server can no longer answer, with the reason.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, output: Output, on_end: Callable[[ServerFailed], None]
    ) -> None:
        self._process, self._on_end = process, on_end
        self._messages = MessageLines(process, output)
        self.expect = self._messages.expect
        self.failure: ServerFailed | None = None
        """Why the server can no longer answer; None while it can."""

    @asynccontextmanager
    async def streams(self) -> "AsyncGenerator[TransportStreams]":
        """The streams of messages for the SDK. Leaves the process as it is."""
        import anyio  # noqa: PLC0415  with the SDK
        from mcp.shared.message import SessionMessage  # noqa: PLC0415  slow to import, and rarely needed

        to_client, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        sent, to_server = anyio.create_memory_object_stream[SessionMessage](0)
        # the names of anyio: the first end of a pair sends
        tasks = [
            asyncio.create_task(self._read(to_client)),
            asyncio.create_task(self._write(to_server)),
            asyncio.create_task(self._messages.read_errors()),
        ]
        try:
            yield received, sent
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for stream in (to_client, received, sent, to_server):
                stream.close()

    async def _read(self, to_client: Any) -> None:
        async with to_client:
            try:
                async for line in self._messages.read():
                    await self._take(line, to_client)
            except ServiceError as error:
                self.failure = ServerFailed(str(error))
            except Exception as error:  # noqa: BLE001  the SDK has closed the stream, or the pipe is broken
                log.info("a tool server cannot be read: %s", error)
            # before the SDK reports that the stream is closed
            self.failure = self.failure or ServerFailed("it ended")
            self._on_end(self.failure)

    async def _take(self, line: bytes, to_client: Any) -> None:
        from mcp.shared.message import SessionMessage  # noqa: PLC0415  see above
        from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415

        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except (ValueError, RecursionError):
            self._messages.add_other(line)
            return
        await to_client.send(SessionMessage(message))

    async def _write(self, to_server: Any) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError):  # `_read` notices the end
            async with to_server:
                async for each in to_server:
                    text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    stdin.write(text.encode() + b"\n")
                    await stdin.drain()
