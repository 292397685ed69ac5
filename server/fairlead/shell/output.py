"""A command's output in bounded memory: its head and tail for the model, and a live stream for the user.

See docs/faults.md 27 and 31.
"""

import asyncio
import codecs
import copy
from collections.abc import Callable

from fairlead.display import UNFINISHED_SEQUENCE, keep_colors, strip_sequences, without_sequences

# bytes
HEAD = 12_000
TAIL = 12_000
# the first STREAM_LIMIT bytes are shown immediately, then the newest BATCH bytes every INTERVAL seconds
STREAM_LIMIT = 200_000
BATCH = 20_000
INTERVAL = 0.5


class _HeadAndTail:
    """The head and tail of a text, in bytes of UTF-8, and the number of bytes in between."""

    def __init__(self, head: int, tail: int) -> None:
        self._head_limit, self._tail_limit = head, tail
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes | bytearray) -> None:
        """Appends a text."""
        free = self._head_limit - len(self._head)
        self._head += data[:free]
        self._tail += data[free:] if free > 0 else data
        if len(self._tail) > 2 * self._tail_limit:
            self._dropped += len(self._tail) - self._tail_limit
            del self._tail[: -self._tail_limit]

    def extend(self, other: "_HeadAndTail") -> None:
        """Appends the text of another object with the same limits."""
        self.add(other._head)
        if other._dropped:
            self._dropped += len(self._tail) + other._dropped
            self._tail.clear()
        self.add(other._tail)

    def text(self) -> str:
        """All of the text, or its head, the number of bytes left out, and its tail."""
        dropped = self._dropped + max(0, len(self._tail) - self._tail_limit)
        if not dropped:
            return (self._head + self._tail).decode()
        tail = self._tail[-self._tail_limit :].decode("utf-8", "replace")
        return self._head.decode("utf-8", "replace") + _omission(dropped) + tail


class _Line:
    """The last line of an output, which has no end yet."""

    def __init__(self, head: int, tail: int) -> None:
        self._limits = head, tail
        self.content = _HeadAndTail(head, tail)
        self._returned = False
        """Whether it ends with a carriage return, so that more text replaces it, as in a progress bar."""

    def add(self, text: str) -> None:
        """Appends text without terminal sequences and newlines."""
        shown = text.rstrip("\r")
        if shown:
            *replaced, last = shown.split("\r")
            if self._returned or replaced:
                self.content = _HeadAndTail(*self._limits)
            self.content.add(last.encode())
        self._returned = shown != text or (self._returned and not shown)


class BoundedOutput:
    """Collects the head and tail of an output as a terminal shows it: without sequences and replaced progress bars.

    They are measured in bytes, like what is left out in between.
    """

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._limits = head, tail
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unfinished = ""  # a terminal sequence whose end has not arrived
        self._lines, self._line = _HeadAndTail(head, tail), _Line(head, tail)

    def add(self, data: bytes) -> None:
        """Adds bytes of the output."""
        text = self._unfinished + self._decoder.decode(data)
        unfinished = UNFINISHED_SEQUENCE.search(text)
        self._unfinished = unfinished[0] if unfinished else ""
        lines, newline, last = text.removesuffix(self._unfinished).rpartition("\n")
        if newline:
            first, newline, others = lines.partition("\n")
            self._line.add(without_sequences(first))
            self._lines.extend(self._line.content)
            self._lines.add(f"{newline}{strip_sequences(others)}\n".encode())
            self._line = _Line(*self._limits)
        self._line.add(without_sequences(last))

    def text(self) -> str:
        """The output so far, with what has arrived of a character or a terminal sequence."""
        lines, line = copy.deepcopy((self._lines, self._line))
        incomplete = self._decoder.getstate()[0].decode("utf-8", "replace")
        line.add(without_sequences(self._unfinished + incomplete))
        lines.extend(line.content)
        return lines.text()

    def take(self) -> str:
        """Returns the output so far, and removes it. The beginning of a character or a sequence stays."""
        self._lines.extend(self._line.content)
        taken, self._lines, self._line = self._lines, _HeadAndTail(*self._limits), _Line(*self._limits)
        return taken.text()


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


def _omission(size: int) -> str:
    return f"\n[... {size:,} bytes left out ...]\n"
