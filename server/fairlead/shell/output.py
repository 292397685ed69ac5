"""A command's output in bounded memory: its head and tail for the model, and a live stream for the user.

See docs/faults.md 27 and 31.
"""

import asyncio
import codecs
from collections.abc import Callable

from fairlead.display import UNFINISHED_SEQUENCE, keep_colors, strip_sequences

# bytes
HEAD = 12_000
TAIL = 12_000
# the first STREAM_LIMIT bytes are shown immediately, then the newest BATCH bytes every INTERVAL seconds
STREAM_LIMIT = 200_000
BATCH = 20_000
INTERVAL = 0.5


class BoundedOutput:
    """Collects the head and tail of an output, in bytes, and counts what it leaves out in between."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._head_limit, self._tail_limit = head, tail
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Adds bytes of the output."""
        free = self._head_limit - len(self._head)
        self._head += data[:free]
        self._tail += data[free:] if free > 0 else data
        if len(self._tail) > 2 * self._tail_limit:
            self._dropped += len(self._tail) - self._tail_limit
            del self._tail[: -self._tail_limit]

    def text(self) -> str:
        """The output without terminal sequences: all of it, or its head, the number of bytes left out, and its tail."""
        dropped = self._dropped + max(0, len(self._tail) - self._tail_limit)
        if not dropped:
            return _decode(self._head + self._tail)
        return _decode(self._head) + _omission(dropped) + _decode(self._tail[-self._tail_limit :])

    def incomplete_character(self) -> bytes:
        """The bytes of an incomplete character at the end; empty if there is none."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        decoder.decode(bytes((self._head[-3:] + self._tail)[-3:]))
        return decoder.getstate()[0]


class Stream:
    """Shows the user a command's output while it runs: all of it at first, then the newest part every INTERVAL seconds.

    This limits a flood of output, but still shows everything that a command writes slowly.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._incomplete = ""  # a terminal sequence whose end has not arrived
        self._free = STREAM_LIMIT
        self._pending = bytearray()
        self._dropped = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, data: bytes) -> None:
        """Adds bytes of the output. They are shown now, or within INTERVAL seconds unless too many bytes follow."""
        if not self._pending:
            self._send(data[: self._free])
            data, self._free = data[self._free :], max(0, self._free - len(data))
        self._pending += data
        if len(self._pending) > 2 * BATCH:
            self._dropped += len(self._pending) - BATCH
            del self._pending[:-BATCH]
        if self._pending and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._send_pending)

    def end(self) -> None:
        """Shows the newest BATCH bytes of the remaining output. Call it once, after the last `add`."""
        if self._timer is not None:
            self._timer.cancel()
        self._send_pending()
        self._send(b"", final=True)

    def _send_pending(self) -> None:
        self._timer = None
        self._dropped += max(0, len(self._pending) - BATCH)
        if self._dropped:
            self._show(_omission(self._dropped))
        pending, self._pending, self._dropped = bytes(self._pending[-BATCH:]), bytearray(), 0
        self._send(pending)

    def _send(self, data: bytes, *, final: bool = False) -> None:
        text = self._incomplete + self._decoder.decode(data, final)
        unfinished = None if final else UNFINISHED_SEQUENCE.search(text)
        self._incomplete = unfinished[0] if unfinished else ""
        shown = keep_colors(text.removesuffix(self._incomplete))
        if shown:
            self._show(shown)


def _decode(data: bytearray) -> str:
    return strip_sequences(data.decode("utf-8", "replace"))


def _omission(size: int) -> str:
    return f"\n[... {size:,} bytes left out ...]\n"
