"""Messages over stdio: one JSON object a line. What is no message is answered or ignored, and the next line is read."""

import json
import logging
from typing import Any, BinaryIO

from fairlead.app.streams import FramingError, StdioFrames, StdoutWriter
from fairlead.json_values import is_object

log = logging.getLogger(__name__)

Message = dict[str, Any]
MAX_LINE = 1 << 28
"""The longest line, in bytes. A longer one ends the connection."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
NOT_JSON = "The line is not valid JSON."
NOT_A_MESSAGE = "The line is not a JSON-RPC 2.0 message: an object with a method, or the answer to a request."


def read_line(stream: BinaryIO) -> bytes | None:
    """The next line without its end; None at the end of the stream. The last line may have no end.

    Raises:
        FramingError: the line exceeds `MAX_LINE`.
    """
    line = stream.readline(MAX_LINE + 1)
    if len(line) > MAX_LINE:
        raise FramingError("a line is too long")
    return line.rstrip(b"\r\n") if line else None


class LineTransport:
    """Implements the SDK's `Transport`.

    The SDK's own one ends the connection at a line that is JSON but no object, at an answer whose error is none, and at
    an id that no request can have. It also answers nothing to a line that is not JSON.
    """

    def __init__(self, lines: StdioFrames, writer: StdoutWriter) -> None:
        self._lines, self._writer = lines, writer

    async def send(self, message: Message) -> None:
        """Sends a message. It is written without yielding, so messages are sent in the order of the calls."""
        self.write(message)

    def write(self, message: Message) -> None:
        """As `send`, for code that is not asynchronous."""
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    async def receive(self) -> Message | None:
        """The next message; None at the end of the stream, and after a line that is too long."""
        while True:
            try:
                line = await self._lines.next()
            except FramingError as error:
                log.critical("the client sent an invalid line: %s", error)
                return None
            if line is None:
                return None
            if line.strip() and (message := self._read(line)) is not None:
                return message

    async def close(self) -> None:
        """Does nothing: the streams end with the process."""

    def _read(self, line: bytes) -> Message | None:
        """The message on a line; None if it is none. Then it is answered, unless it looks like an answer."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse(None, PARSE_ERROR, NOT_JSON)
            return None
        if not is_object(message):
            self._refuse(None, INVALID_REQUEST, NOT_A_MESSAGE)
            return None
        request_id = message.get("id")
        if "method" in message:
            has_id = isinstance(request_id, int | str) and not isinstance(request_id, bool)
            if isinstance(message["method"], str) and (has_id or "id" not in message):
                return message
            self._refuse(request_id if has_id else None, INVALID_REQUEST, NOT_A_MESSAGE)
            return None
        if not isinstance(request_id, int) or isinstance(request_id, bool):
            log.warning("the client sent an answer with an unknown id")
            return None
        return {**message, "error": _error(message["error"])} if "error" in message else message

    def _refuse(self, request_id: int | str | None, code: int, text: str) -> None:
        self.write({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}})


def _error(given: Any) -> Message:
    """The error of an answer, with a code and a message."""
    fields: Message = given if is_object(given) else {}
    code, text = fields.get("code"), fields.get("message")
    return {"code": code if isinstance(code, int) else 0, "message": text if isinstance(text, str) else "Error"}
