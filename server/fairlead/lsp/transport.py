"""Frames over stdio (LSP 3.18, base protocol). An invalid frame ends the process, because the next cannot be found."""

from typing import BinaryIO

from fairlead.app.streams import FramingError

# in bytes; MAX_HEADER limits each line of a header
MAX_HEADER = 4096
MAX_HEADER_LINES = 100
MAX_BODY = 1 << 28


def read_frame(stream: BinaryIO) -> bytes | None:
    """The body of the next frame, None at the end of the stream.

    Raises:
        FramingError: the header is wrong, one of its lines exceeds `MAX_HEADER`, it has more than `MAX_HEADER_LINES`
            lines, the body exceeds `MAX_BODY`, or the stream ends within the frame.
    """
    length: int | None = None
    for number in range(MAX_HEADER_LINES):
        line = stream.readline(MAX_HEADER)
        if not line and number == 0:
            return None
        if not line.endswith(b"\r\n"):
            raise FramingError("a header line is too long or not complete")
        if line == b"\r\n":
            break
        name, colon, value = line.partition(b":")
        if not colon:
            raise FramingError("a header line has no colon")
        if name.strip().lower() == b"content-length":
            if length is not None:
                raise FramingError("the header has two Content-Length lines")
            if not value.strip().isdigit():
                raise FramingError("Content-Length is not a number")
            length = int(value) if len(value) < 20 else MAX_BODY + 1
            if length > MAX_BODY:
                raise FramingError("Content-Length is too large")
    else:
        raise FramingError("the header has too many lines")
    if length is None:
        raise FramingError("the header has no Content-Length")
    body = stream.read(length)
    if len(body) < length:
        raise FramingError("the stream ended within a frame")
    return body
