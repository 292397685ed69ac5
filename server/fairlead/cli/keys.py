"""Reads single keys without echo, on POSIX and Windows."""

import asyncio
import codecs
import contextlib
import os
import re
import sys
from types import TracebackType
from typing import Any

from rich.cells import cell_len
from rich.console import Console

if sys.platform == "win32":
    import msvcrt
else:
    import termios

POLL_SECONDS = 0.02
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
"""An escape sequence, which the terminal sends for an arrow, a function key, Escape or a key pressed with Alt."""


class Interrupted(Exception):
    """There is no key to read: Ctrl-C or another signal asked the process to end, or the terminal was closed."""


class Keyboard:
    """Reads stdin key by key. As a context manager, it enters key mode and restores the terminal's mode at the end.

    Ctrl-C is still a signal. Its handler calls `interrupt`.

    Args:
        can_ask: whether stdin is a terminal in the foreground. If not, the terminal's mode does not change.
    """

    def __init__(self, can_ask: bool) -> None:
        self.can_ask = can_ask
        self._saved: list[Any] | None = None
        self._typed = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._interrupted = False
        self._waiting: asyncio.Future[None] | None = None

    def __enter__(self) -> "Keyboard":
        self.enter_key_mode()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()

    def enter_key_mode(self) -> None:
        """Makes the terminal deliver keys at once and without echo. On Windows, they arrive that way anyway."""
        if sys.platform != "win32" and self.can_ask:
            descriptor = sys.stdin.fileno()
            self._saved = termios.tcgetattr(descriptor)
            mode = termios.tcgetattr(descriptor)
            mode[3] &= ~(termios.ECHO | termios.ICANON)
            termios.tcsetattr(descriptor, termios.TCSADRAIN, mode)

    def restore(self) -> None:
        """Restores the terminal's mode from before `enter_key_mode`. Does nothing if the mode is already restored."""
        if sys.platform != "win32" and self._saved is not None:
            saved, self._saved = self._saved, None
            with contextlib.suppress(termios.error):
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, saved)

    def discard_input(self) -> None:
        """Discards everything typed so far, including Ctrl-C, because none of it answers the next question."""
        self._typed = ""
        self._decoder.reset()
        self._interrupted = False
        if sys.platform == "win32":
            while msvcrt.kbhit():
                msvcrt.getwch()
        else:
            with contextlib.suppress(termios.error):
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

    def interrupt(self) -> None:
        """Raises `Interrupted` in the current wait for a key and in all later ones, until `discard_input`."""
        self._interrupted = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(Interrupted())

    @property
    def is_interrupted(self) -> bool:
        """Whether `interrupt` was called since the last `discard_input`."""
        return self._interrupted

    async def key(self) -> str:
        """Waits for the next character. Other keys, such as arrows, are ignored.

        Raises:
            Interrupted: Ctrl-C, or the terminal was closed.
        """
        while not self._typed:
            if self._interrupted:
                raise Interrupted
            await self._wait()
            self._typed = self._read()
        key, self._typed = self._typed[0], self._typed[1:]
        return key

    async def line(self, console: Console, *, is_hidden: bool = False) -> str:
        """Reads a line up to Enter, with echo.

        Args:
            is_hidden: shows a star for each character.

        Raises:
            Interrupted: as `key`.
        """
        text = ""
        while (key := await self.key()) not in "\r\n":
            if key in "\b\x7f" and text:
                console.file.write("\b \b" * (1 if is_hidden else cell_len(text[-1])))
                text = text[:-1]
            elif key.isprintable():
                console.file.write("*" if is_hidden else key)
                text += key
            console.file.flush()
        console.print()
        return text

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        try:
            if sys.platform == "win32":
                while not msvcrt.kbhit() and not self._waiting.done():
                    await asyncio.wait([self._waiting], timeout=POLL_SECONDS)
                if self._waiting.done():
                    await self._waiting
                return
            loop.add_reader(sys.stdin.fileno(), self._readable)
            await self._waiting
        finally:
            if sys.platform != "win32":
                loop.remove_reader(sys.stdin.fileno())
            self._waiting = None

    def _readable(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _read(self) -> str:
        if sys.platform == "win32":
            key = msvcrt.getwch()
            if key in "\x00\xe0":
                msvcrt.getwch()
                return ""
            return key
        try:
            data = os.read(sys.stdin.fileno(), 1024)
        except OSError:
            data = b""
        if not data:
            raise Interrupted
        return _SEQUENCE.sub("", self._decoder.decode(data))
