"""A command's output, bounded: the head and the tail are kept, what lies between is counted (docs/faults.md 27, 31)."""

import re

HEAD = 12_000
TAIL = 12_000

# CSI, OSC (ended by BEL or ST), other escapes, and control characters but for tab, newline and carriage return
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # an open one ends with its line, so that it hides no other
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
# characters that change the direction of text or hide it, so that what is shown is not what runs
_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def plain(text: str) -> str:
    """Text without terminal sequences; a lone carriage return starts the line anew, as a progress bar does."""
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n"))


def visible(text: str) -> str:
    """Text in which nothing hides: control and direction characters are written as escapes."""
    shown = _HIDDEN.sub(lambda m: f"\\u{ord(m[0]):04x}", text)
    return "".join(
        c if c in "\n\t" or c.isprintable() else f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}"
        for c in shown
    )


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
        mark = f"\n[... {dropped:,} bytes left out ...]\n"
        return plain(self._head.decode("utf-8", "replace")) + mark + plain(tail.decode("utf-8", "replace"))
