"""Frames over stdio (LSP 3.18, base protocol). A stream that is out of step ends the process; it never hangs."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from typing import BinaryIO

MAX_HEADER = 4096
MAX_BODY = 1 << 28


class FramingError(Exception):
    """The bytes are no frame; where the next one begins cannot be known."""


def read_frame(stream: BinaryIO) -> bytes | None:
    """The body of the next frame, None at the end of the stream.

    Raises:
        FramingError: the header is wrong, or the stream ends in the middle.
    """
    length: int | None = None
    first = True
    while True:
        line = stream.readline(MAX_HEADER)
        if not line and first:
            return None
        first = False
        if not line.endswith(b"\r\n"):
            raise FramingError("a header line that does not end")
        if line == b"\r\n":
            break
        name, colon, value = line.partition(b":")
        if not colon:
            raise FramingError("a header line without a colon")
        if name.strip().lower() == b"content-length":
            if not value.strip().isdigit():
                raise FramingError("a Content-Length that is no number")
            length = int(value) if len(value) < 20 else MAX_BODY + 1
            if length > MAX_BODY:
                raise FramingError("a Content-Length beyond all reason")
    if length is None:
        raise FramingError("a header without Content-Length")
    body = stream.read(length)
    if len(body) < length:
        raise FramingError("half a frame")
    return body


class StdioFrames:
    """Reads frames in a thread of its own, so that it works alike on all systems and ends with the process."""

    def __init__(self, stream: BinaryIO, loop: asyncio.AbstractEventLoop) -> None:
        self._stream = stream
        self._loop = loop
        self._frames: asyncio.Queue[bytes | FramingError | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    async def next(self) -> bytes | None:
        """The next frame, None at the end.

        Raises:
            FramingError: see `read_frame`.
        """
        frame = await self._frames.get()
        if isinstance(frame, FramingError):
            raise frame
        return frame

    def _read(self) -> None:
        frame: bytes | FramingError | None = b""
        while isinstance(frame, bytes):
            try:
                frame = read_frame(self._stream)
            except FramingError as error:
                frame = error
            except MemoryError:
                frame = FramingError("a frame that the memory has no room for")
            except (OSError, ValueError):
                frame = None
            try:
                self._loop.call_soon_threadsafe(self._frames.put_nowait, frame)
            except RuntimeError:
                return  # the loop is closed


class StdoutWriter:
    """pygls' writer. A client that is gone is noticed once, through `on_gone`."""

    def __init__(self, stream: BinaryIO, on_gone: Callable[[], None]) -> None:
        self._stream = stream
        self._on_gone = on_gone

    def write(self, data: bytes) -> None:
        try:
            self._stream.write(data)
            self._stream.flush()
        except (BrokenPipeError, ValueError, OSError):
            self._on_gone()

    def close(self) -> None:
        """The stream ends with the process."""


def own_stdin() -> BinaryIO:
    """The process's stdin for frames alone: the interpreter waits at its end for whoever reads its own object.

    Whatever else reads, as a helper that a cloud's credentials come from, finds nothing.
    """
    kept = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(kept, "rb")


def own_stdout() -> BinaryIO:
    """The process's stdout for frames alone; whatever else prints goes to stderr from now on."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(kept, "wb")
