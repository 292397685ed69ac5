"""The standard streams of a process that serves a protocol. Nothing else reads or writes them."""

import asyncio
import faulthandler
import os
import re
import sys
import threading
from collections.abc import Callable
from typing import BinaryIO

# an escaped backslash, a surrogate pair, or (as a group) a lone surrogate
_ESCAPES = re.compile(rb"\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(\\ud[89a-f][0-9a-f]{2})")


class FramingError(Exception):
    """A frame cannot be read, so the start of the next one is unknown."""


def take_stdin() -> BinaryIO:
    """Reserves stdin. Other readers, such as a helper for a cloud's credentials, see an empty stream.

    Returns a new file object, because at exit the interpreter would wait for a thread that reads `sys.stdin`.
    """
    copy = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return os.fdopen(copy, "rb")


def take_stdout() -> BinaryIO:
    """Reserves stdout. Everything else that is printed goes to stderr."""
    sys.stdout.flush()
    copy = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(copy, "wb")


class StdioFrames:
    """Reads frames in a daemon thread, which works on all systems and ends with the process.

    `read_frame` returns the next frame of a stream, and None at its end. After the last frame, the process is no longer
    needed. If it is still running `end_after` seconds later, because the event loop is blocked, the tracebacks of its
    threads are written to stderr, and it exits with code 1.
    """

    def __init__(
        self,
        stream: BinaryIO,
        read_frame: Callable[[BinaryIO], bytes | None],
        loop: asyncio.AbstractEventLoop,
        end_after: float = 10.0,
    ) -> None:
        self._stream = stream
        self._read_frame = read_frame
        self._loop = loop
        self._end_after = end_after
        self._frames: asyncio.Queue[bytes | FramingError | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    async def next(self) -> bytes | None:
        """The body of the next frame; None at the end of the stream, if the stream cannot be read, or after `end`.

        Raises:
            FramingError: as the reader of frames, or there is not enough memory for the frame.
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
                frame = self._read_frame(self._stream)
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
    """Writes frames. A write blocks while the client does not read.

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
