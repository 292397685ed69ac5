"""A command's output, bounded: the head and the tail are kept, what lies between is counted (docs/faults.md 27, 31)."""

import asyncio
import codecs
import re
from collections.abc import Callable

HEAD = 12_000
TAIL = 12_000
# what goes to the person at once as it comes; then at most a piece at a time, the newest
STREAMED = 200_000
PIECE = 20_000
INTERVAL = 0.5

# CSI, OSC (ended by BEL or ST), other escapes, and control characters but for tab, newline and carriage return
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # an open one ends with its line, so that it hides no other
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
# the start of a sequence whose rest may come with the next piece
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]{0,60}[ -/]{0,4}|[\]PX^_][^\x07\x1b\n]{0,200}\x1b?|[ -/]{0,4})\Z")
# characters that change the direction of text or hide it, so that what is shown is not what runs
_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def plain(text: str) -> str:
    """Text without terminal sequences; a lone carriage return starts the line anew, as a progress bar does."""
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n"))


def coloured(text: str) -> str:
    """Text for a terminal view: colours and lines that start anew stay, whatever else a terminal obeys is taken out."""
    return _ESCAPES.sub(lambda found: found[0] if _COLOUR.fullmatch(found[0]) else "", text)


def visible(text: str) -> str:
    """Text in which nothing hides: control and direction characters are written as escapes."""
    shown = _HIDDEN.sub(lambda m: f"\\u{ord(m[0]):04x}", text)
    return "".join(
        c if c in "\n\t" or c.isprintable() else f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}"
        for c in shown
    )


def one_line(text: str) -> str:
    """Text as `visible` that begins no line of its own: what a command named a file."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


class BoundedOutput:
    """Collects bytes in bounded memory."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._head_limit, self._tail_limit = head, tail
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        room = self._head_limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        if len(self._tail) > 2 * self._tail_limit:
            self._dropped += len(self._tail) - self._tail_limit
            del self._tail[: -self._tail_limit]

    def text(self) -> str:
        """All of it, or the head, a mark that says how much was left out, and the tail."""
        dropped = self._dropped + max(0, len(self._tail) - self._tail_limit)
        if not dropped:
            return plain(bytes(self._head + self._tail).decode("utf-8", "replace"))
        tail = bytes(self._tail[-self._tail_limit :])
        return plain(self._head.decode("utf-8", "replace")) + _mark(dropped) + plain(tail.decode("utf-8", "replace"))


class Stream:
    """What the person sees of a command while it runs: all of it at first, then the newest twice a second.

    So a flood is bounded, and a server that says little is seen whole however long it runs.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._at_once = STREAMED
        self._late = bytearray()
        self._left_out = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, data: bytes) -> None:
        if not self._late:
            self._send(data[: self._at_once])
            data, self._at_once = data[self._at_once :], max(0, self._at_once - len(data))
        self._late += data
        if len(self._late) > 2 * PIECE:
            self._left_out += len(self._late) - PIECE
            del self._late[:-PIECE]
        if self._late and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._catch_up)

    def end(self) -> None:
        """Shows what is left."""
        if self._timer is not None:
            self._timer.cancel()
        self._catch_up()
        self._send(b"", final=True)

    def _catch_up(self) -> None:
        self._timer = None
        self._left_out += max(0, len(self._late) - PIECE)
        if self._left_out:
            self._show(_mark(self._left_out))
        late, self._late, self._left_out = bytes(self._late[-PIECE:]), bytearray(), 0
        self._send(late)

    def _send(self, data: bytes, *, final: bool = False) -> None:
        text = self._held + self._decoder.decode(data, final)
        unfinished = None if final else _UNFINISHED.search(text)
        self._held = unfinished[0] if unfinished else ""
        shown = coloured(text.removesuffix(self._held))
        if shown:
            self._show(shown)


def _mark(left_out: int) -> str:
    return f"\n[... {left_out:,} bytes left out ...]\n"
