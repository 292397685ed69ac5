"""The output of a process that writes one JSON message per line. The process is not trusted."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator

from fairlead.display import strip_sequences
from fairlead.shell.services.errors import ServiceError

MAX_MESSAGE = 16 << 20
"""The longest message, in bytes: a picture in base64 and more."""
MAX_FLOOD = 64 << 20
"""How many bytes a process may send while nothing is asked of it, or in the course of one request."""
MAX_OTHER_LINES = 100
"""How many lines that are no messages a process may write to its output before it counts as broken."""
_CHUNK = 1 << 16
_MAX_OUTPUT_LINES, _MAX_OUTPUT_LINE = 200, 2_000


class Output:
    """The last lines that a process wrote beside its messages."""

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


class MessageLines:
    """Reads the messages of a process.

    Args:
        output: gets what it writes beside its messages.
    """

    def __init__(self, process: asyncio.subprocess.Process, output: Output) -> None:
        self._process, self._output = process, output
        self._received = self._other_lines = 0

    def expect(self) -> None:
        """Something is asked of the process, so that it may send more."""
        self._received = 0

    async def read(self) -> AsyncGenerator[bytes]:
        """The lines of its output that are not empty, without the last one if the process ended within it.

        Raises:
            ServiceError: it sent too much.
        """
        stdout, rest = self._process.stdout, bytearray()
        assert stdout is not None
        while chunk := await stdout.read(_CHUNK):
            self._received += len(chunk)
            if self._received > MAX_FLOOD:
                raise ServiceError(f"it sent more than {MAX_FLOOD >> 20} MB that nobody asked for")
            *lines, last = chunk.split(b"\n")
            for line in lines:
                rest += line
                _check_length(rest)
                if rest:
                    yield bytes(rest)
                rest.clear()
            rest += last
            _check_length(rest)

    def add_other(self, line: bytes) -> None:
        """Call it with a line that is no message: many programs print something to their output by mistake.

        Raises:
            ServiceError: there were too many of them.
        """
        self._output.add(line)
        self._other_lines += 1
        if self._other_lines > MAX_OTHER_LINES:
            raise ServiceError("it writes to its output what is not a message")

    async def read_errors(self) -> None:
        """Reads what it writes to its standard error, until that ends."""
        stderr = self._process.stderr
        assert stderr is not None
        while chunk := await stderr.read(_CHUNK):
            for line in chunk.splitlines():
                self._output.add(line)


def _check_length(message: bytearray) -> None:
    if len(message) > MAX_MESSAGE:
        raise ServiceError(f"it sent a message of more than {MAX_MESSAGE >> 20} MB")
