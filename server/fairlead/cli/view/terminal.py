"""The terminal that the command runs in, and the console that draws on it."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from fairlead.cli.view.text import without_controls, wrap


@dataclass(frozen=True)
class Marks:
    """The symbols that the terminal shows, most of them at the start of lines."""

    done: str = "✓"
    failed: str = "✗"
    note: str = "·"
    command: str = "$"
    repeat: str = "↻"
    rule: str = "─"
    spinner: str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
    return_sign: str = "␍"


PLAIN_MARKS = Marks("ok", "failed", "-", "$", "~", "-", "|/-\\", "^M")


@dataclass(frozen=True)
class Terminal:
    """A console and its capabilities."""

    console: Console
    marks: Marks
    can_ask: bool
    """Whether stdin and stdout are a terminal in the foreground, so that the user can answer."""
    can_draw: bool
    """Whether written lines can be redrawn."""

    def print(self, text: str, style: str = "") -> None:
        """Prints lines, wrapped to the terminal's width if the user reads them there (`can_ask`)."""
        width = self.console.width if self.can_ask else None
        for row in wrap(Text(text, style=style), self.console, width):
            self.console.print(row, soft_wrap=True)


class SafeConsole(Console):
    """A console that only its own code can color or move: the control characters of texts are shown as escapes.

    Texts are made safe where they are written too, in the way that suits them. This is for one that was forgotten.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(without_controls(segment.text), segment.style)


def open_terminal(*, on_stderr: bool = False) -> Terminal:
    """The terminal at stdin and stdout.

    Lines are plain and without color if one of the two is not a terminal, or if the process is in the background. From
    now on, stdout and stderr replace characters that they cannot encode.

    Args:
        on_stderr: whether plain lines go to stderr, whatever it is, because stdout is for a program.
    """
    _replace_unencodable(sys.stdout)
    _replace_unencodable(sys.stderr)
    can_ask = not on_stderr and _is_terminal() and _in_foreground()
    console = SafeConsole(
        file=sys.stderr if on_stderr else sys.stdout,
        force_terminal=can_ask,
        color_system="auto" if can_ask else None,
        no_color=None if can_ask else True,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=not can_ask,
    )
    unicode = (console.encoding or "").lower().replace("-", "").startswith("utf")
    can_draw = can_ask and not console.is_dumb_terminal
    return Terminal(console, Marks() if unicode else PLAIN_MARKS, can_ask, can_draw)


def _is_terminal() -> bool:
    try:
        return sys.stdin.isatty() and sys.stdout.isatty()
    except (AttributeError, ValueError):  # a stream that is closed or does not exist
        return False


def _in_foreground() -> bool:
    """Whether the process is in the foreground. A background job is stopped if it changes the terminal's mode."""
    if sys.platform == "win32":
        return True
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        return False


def _replace_unencodable(stream: object) -> None:
    """Makes a stream write a question mark for each character that its encoding does not have."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
