"""The transport to a local server: one JSON message per line on its pipes (MCP, "stdio"). The server is not trusted."""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fairlead.display import strip_sequences
from fairlead.errors import ToolError

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

log = logging.getLogger(__name__)

MAX_MESSAGE = 16 << 20
"""The longest message, in bytes: a picture in base64 and more."""
MAX_FLOOD = 64 << 20
"""How many bytes a server may send while nothing is asked of it, or in the course of one call."""
MAX_OTHER_LINES = 100
"""How many lines that are no messages a server may write to its output before it counts as broken."""
_CHUNK = 1 << 16
_MAX_OUTPUT_LINES, _MAX_OUTPUT_LINE = 200, 2_000


class ServerFailed(ToolError):
    """A tool server does not work. The message says what happened, but not what to do."""


class SessionEnded(ServerFailed):
    """A remote server no longer knows the session of the connection, so it did not read the request."""


class Output:
    """The last lines that a server wrote beside its messages."""

    def __init__(self) -> None:
        self._lines = deque[str](maxlen=_MAX_OUTPUT_LINES)

    def add(self, data: bytes) -> None:
        text = strip_sequences(data[:_MAX_OUTPUT_LINE].decode("utf-8", "replace"))
        self._lines += text.splitlines()

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    @property
    def last_line(self) -> str:
        """The last line that is not empty."""
        return next((line.strip() for line in reversed(self._lines) if line.strip()), "")


class Pipes:
    """The pipes of a server's process.

    Args:
        on_end: called once when the server can no longer answer, with the reason.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, output: Output, on_end: Callable[[ServerFailed], None]
    ) -> None:
        self._process, self._output, self._on_end = process, output, on_end
        self._received = self._other_lines = 0
        self.failure: ServerFailed | None = None
        """Why the server can no longer answer; None while it can."""

    def expect(self) -> None:
        """Something is asked of the server, so that it may send more."""
        self._received = 0

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
            asyncio.create_task(self._read_errors()),
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
                async for line in self._lines():
                    await self._take(line, to_client)
            except ServerFailed as error:
                self.failure = error
            except Exception as error:  # noqa: BLE001  the SDK has closed the stream, or the pipe is broken
                log.info("a tool server cannot be read: %s", error)
            # before the SDK reports that the stream is closed
            self.failure = self.failure or ServerFailed("it ended")
            self._on_end(self.failure)

    async def _lines(self) -> AsyncGenerator[bytes]:
        """The lines of its output, without the last one if the server ended within it."""
        stdout, rest = self._process.stdout, bytearray()
        assert stdout is not None
        while chunk := await stdout.read(_CHUNK):
            self._received += len(chunk)
            if self._received > MAX_FLOOD:
                raise ServerFailed(f"it sent more than {MAX_FLOOD >> 20} MB that nobody asked for")
            *lines, last = chunk.split(b"\n")
            for line in lines:
                rest += line
                if rest:
                    yield bytes(rest)
                rest.clear()
            rest += last
            if len(rest) > MAX_MESSAGE:
                raise ServerFailed(f"it sent a message of more than {MAX_MESSAGE >> 20} MB")

    async def _take(self, line: bytes, to_client: Any) -> None:
        from mcp.shared.message import SessionMessage  # noqa: PLC0415  see above
        from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415

        if len(line) > MAX_MESSAGE:
            raise ServerFailed(f"it sent a message of more than {MAX_MESSAGE >> 20} MB")
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except (ValueError, RecursionError):
            # many servers print something to their output by mistake
            self._output.add(line)
            self._other_lines += 1
            if self._other_lines > MAX_OTHER_LINES:
                raise ServerFailed("it writes to its output what is not a message of MCP") from None
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

    async def _read_errors(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while chunk := await stderr.read(_CHUNK):
            for line in chunk.splitlines():
                self._output.add(line)
