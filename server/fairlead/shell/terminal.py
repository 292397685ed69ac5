"""A terminal for one program, whose other end is with the user (POSIX only)."""

import asyncio
import os
import struct
import sys
from collections.abc import Awaitable, Callable

if sys.platform != "win32":
    import fcntl
    import termios

CHUNK = 1 << 16
"""How many bytes are shown at once."""
DUMB = "dumb"
"""The kind of a terminal at which nobody sits: lines end as the program writes them, and no input is shown."""
MAX_SIDE = 10_000
"""The largest number of columns or rows."""


class Terminal:
    """A pair of devices: a program has one end, and what it shows and reads passes through the other one.

    Args:
        kind: what the user's terminal is, as in the variable TERM.
        show: shows output of the program. The next output waits for it.
    """

    def __init__(self, kind: str, columns: int, rows: int, show: Callable[[bytes], Awaitable[None]]) -> None:
        self.kind, self._size, self._show = kind, (columns, rows), show
        self._ours = self.descriptor = -1
        """`descriptor` is the program's end. Both are -1 unless they are open."""
        self._opened = asyncio.Event()
        self._typing = asyncio.Lock()
        self._waiting = set[asyncio.Future[None]]()

    def open(self) -> None:
        """Opens both ends. Call it once, before `relay`.

        Raises:
            OSError: the system has no more terminals.
        """
        self._ours, self.descriptor = os.openpty()
        os.set_blocking(self._ours, False)
        self.resize(*self._size)
        if sys.platform != "win32" and self.kind == DUMB:
            mode = termios.tcgetattr(self._ours)
            mode[1] &= ~termios.OPOST
            mode[3] &= ~termios.ECHO
            termios.tcsetattr(self._ours, termios.TCSANOW, mode)
        self._opened.set()

    def resize(self, columns: int, rows: int) -> None:
        """Sets the size, and tells the program."""
        self._size = columns, rows
        if sys.platform != "win32" and self._ours >= 0:
            sides = (max(1, min(side, MAX_SIDE)) for side in (rows, columns))
            fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", *sides, 0, 0))

    async def type(self, data: bytes) -> None:
        """Gives input to the program. Returns when its end has taken all of it, or is closed."""
        loop = asyncio.get_running_loop()
        async with self._typing:
            await self._opened.wait()
            while data and self._ours >= 0:
                try:
                    data = data[os.write(self._ours, data) :]
                except BlockingIOError:
                    await self._ready(loop.add_writer, loop.remove_writer)
                except OSError:
                    return

    async def relay(self) -> None:
        """Shows the output until no program has the other end anymore, and our copy of it is closed too."""
        loop = asyncio.get_running_loop()
        while self._ours >= 0:
            try:
                data = os.read(self._ours, CHUNK)
            except BlockingIOError:
                await self._ready(loop.add_reader, loop.remove_reader)
                continue
            except OSError:  # so Linux reports that nobody has the other end
                return
            if not data:
                return
            await self._show(data)

    async def _ready(self, add: Callable[..., object], remove: Callable[[int], object]) -> None:
        """Waits until our end can be read or written, or is closed."""
        ready = asyncio.get_running_loop().create_future()
        self._waiting.add(ready)
        add(self._ours, _wake, ready)
        try:
            await ready
        finally:
            self._waiting.discard(ready)
            if self._ours >= 0:
                remove(self._ours)

    def close_inherited(self) -> None:
        """Closes our copy of the program's end. Call it once the program has inherited it, or failed to start."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def close(self) -> None:
        """Closes both ends, which hangs up the programs that still use the terminal."""
        self.close_inherited()
        if self._ours >= 0:
            loop = asyncio.get_running_loop()
            loop.remove_writer(self._ours)
            loop.remove_reader(self._ours)
            os.close(self._ours)
            self._ours = -1
        self._opened.set()
        for each in self._waiting:
            _wake(each)


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
