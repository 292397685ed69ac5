"""The terminal that the command runs in: what it can do, and the console that draws on it."""

import os
import sys
from dataclasses import dataclass

from rich.console import Console


@dataclass(frozen=True)
class Marks:
    """The signs in front of lines."""

    done: str = "✓"
    failed: str = "✗"
    note: str = "·"
    command: str = "$"
    again: str = "↻"
    rule: str = "─"
    spinner: str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
    return_sign: str = "␍"


PLAIN_MARKS = Marks("ok", "failed", "-", "$", "~", "-", "|/-\\", "^M")


@dataclass(frozen=True)
class Terminal:
    """`can_ask`: a person sits at stdin and stdout. `can_draw`: what was written can be drawn anew."""

    console: Console
    marks: Marks
    can_ask: bool
    can_draw: bool


def open_terminal() -> Terminal:
    """The terminal at stdin and stdout; where one of them is none, plain lines without colour."""
    _never_fail(sys.stdout)
    _never_fail(sys.stderr)
    can_ask = _is_terminal() and _in_foreground()
    if can_ask:
        console = Console(file=sys.stdout, force_terminal=True, highlight=False, markup=False, emoji=False)
    else:
        console = Console(
            file=sys.stdout,
            force_terminal=False,
            color_system=None,
            no_color=True,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=True,
        )
    unicode = (console.encoding or "").lower().replace("-", "").startswith("utf")
    can_draw = can_ask and not console.is_dumb_terminal
    return Terminal(console, Marks() if unicode else PLAIN_MARKS, can_ask, can_draw)


def _is_terminal() -> bool:
    try:
        return sys.stdin.isatty() and sys.stdout.isatty()
    except (AttributeError, ValueError):  # a stream that is closed or was never there
        return False


def _in_foreground() -> bool:
    """A job in the background is stopped when it touches the terminal's settings."""
    if sys.platform == "win32":
        return True
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        return False


def _never_fail(stream: object) -> None:
    """What an encoding does not know is written as a question mark."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
