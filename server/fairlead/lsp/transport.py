"""Frames over stdio (LSP 3.18, base protocol). An invalid frame ends the process, because the next cannot be found."""

import asyncio
import faulthandler
import os
import re
import sys
import threading
from collections.abc import Callable
from typing import BinaryIO

# in bytes; MAX_HEADER limits each line of a header
MAX_HEADER = 4096
MAX_HEADER_LINES = 100
MAX_BODY = 1 << 28
# an escaped backslash, a surrogate pair, or (as a group) a lone surrogate
_ESCAPES = re.compile(rb"\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(\\ud[89a-f][0-9a-f]{2})")


class FramingError(Exception):
    """A frame cannot be read, so the start of the next one is unknown."""


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


class StdioFrames:
    """Reads frames in a daemon thread, which works on all systems and ends with the process.

    After the last frame, the process is no longer needed. If it is still running `end_after` seconds later, because the
    event loop is blocked, the tracebacks of its threads are written to stderr, and it exits with code 1.
    """

    def __init__(self, stream: BinaryIO, loop: asyncio.AbstractEventLoop, end_after: float = 10.0) -> None:
        self._stream = stream
        self._loop = loop
        self._end_after = end_after
        self._frames: asyncio.Queue[bytes | FramingError | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    async def next(self) -> bytes | None:
        """The body of the next frame; None at the end of the stream, if the stream cannot be read, or after `end`.

        Raises:
            FramingError: as `read_frame`, or there is not enough memory for the frame.
        """
        frame = await self._frames.get()
        if isinstance(frame, FramingError):
            raise frame
        return frame

    def end(self) -> None:
        """Makes `next` return None after the frames that have arrived, although the stream may stay open."""
        self._frames.put_nowait(None)

    def _read(self) -> None:
        frame: bytes | FramingError | None = b""
        while isinstance(frame, bytes):
            try:
                frame = read_frame(self._stream)
            except FramingError as error:
                frame = error
            except MemoryError:
                frame = FramingError("not enough memory for the frame")
            except (OSError, ValueError):
                frame = None
            try:
                self._loop.call_soon_threadsafe(self._frames.put_nowait, frame)
            except RuntimeError:
                return  # the loop is closed
        faulthandler.dump_traceback_later(self._end_after, exit=True, file=2)


class StdoutWriter:
    """The writer for pygls. A write blocks while the client does not read.

    A write that fails means that the client has closed the stream, so each failure calls `on_disconnect`.
    """

    def __init__(self, stream: BinaryIO, on_disconnect: Callable[[], None]) -> None:
        self._stream = stream
        self._on_disconnect = on_disconnect

    def write(self, data: bytes) -> None:
        try:
            self._stream.write(without_lone_surrogates(data))
            self._stream.flush()
        except (BrokenPipeError, ValueError, OSError):
            self._on_disconnect()

    def close(self) -> None:
        """Does nothing: the stream ends with the process."""


def without_lone_surrogates(data: bytes) -> bytes:
    """A frame whose JSON is ASCII, with U+FFFD in place of lone surrogates. Its length stays the same.

    They stand for bytes that are not UTF-8 in texts and paths. Some clients, such as Neovim, refuse such JSON.
    """
    if b"\\ud" not in data:
        return data
    return _ESCAPES.sub(lambda found: b"\\ufffd" if found[1] else found[0], data)


def take_stdin() -> BinaryIO:
    """Reserves stdin for frames. Other readers, such as a helper for a cloud's credentials, see an empty stream.

    Returns a new file object, because at exit the interpreter would wait for a thread that reads `sys.stdin`.
    """
    copy = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return os.fdopen(copy, "rb")


def take_stdout() -> BinaryIO:
    """Reserves stdout for frames. Everything else that is printed goes to stderr."""
    sys.stdout.flush()
    copy = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(copy, "wb")
