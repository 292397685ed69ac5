"""Handles Ctrl-C and other signals that end a process: the first stops the run, the second ends the process."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

CANCELLED = 130  # as shells report a process that Ctrl-C ended: 128 + SIGINT
NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


@contextmanager
def ending_signals(stop: Callable[[int], None], abort: Callable[[], None]) -> Generator[None]:
    """Calls `stop` with the number of the first signal, in the event loop. At the second, calls `abort` and exits.

    The exit closes the server's stdin, so the server ends too, with its commands. `abort` runs in the signal handler
    and must not use buffered files.
    """
    loop = asyncio.get_running_loop()
    count = 0

    def on_signal(number: int, _: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count > 1:
            abort()
            os._exit(CANCELLED)
        loop.call_soon_threadsafe(stop, number)

    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    # signals that were ignored at the start, by nohup for example, stay ignored
    handled = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, on_signal) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def suspend_signal(suspended: Callable[[], AbstractContextManager[None]]) -> Generator[None]:
    """At Ctrl-Z, suspends the process in the context `suspended()` until `fg` continues it. Does nothing on Windows."""

    def on_suspend() -> None:
        with suspended():
            os.kill(os.getpid(), signal.SIGSTOP)

    if sys.platform == "win32":
        yield
        return
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTSTP, on_suspend)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTSTP)
