"""Ctrl-C, and the signals that ask a process to end: the first one is a wish, the second one is obeyed at once."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

CANCELLED = 130
NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


@contextmanager
def ending_signals(first: Callable[[], None], at_once: Callable[[], None]) -> Iterator[None]:
    """Calls `first` in the event loop at the first signal; at the second one `at_once`, and the process is gone.

    Its end closes the server's stdin, by which the server ends itself and what it runs. `at_once` is called between
    any two instructions: it must not use buffered files.
    """
    loop = asyncio.get_running_loop()
    count = 0

    def on_signal(_: int, __: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count > 1:
            at_once()
            os._exit(CANCELLED)
        loop.call_soon_threadsafe(first)

    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    heard = [
        number for number in numbers if signal.getsignal(number) != signal.SIG_IGN
    ]  # nohup, a job in the background
    before = {number: signal.signal(number, on_signal) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stop_signal(aside: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Ctrl-Z stops the process within `aside`, and it goes on from there with `fg`; nothing where there is none."""

    def on_stop() -> None:
        with aside():
            os.kill(os.getpid(), signal.SIGSTOP)

    if sys.platform == "win32":
        yield
        return
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTSTP, on_stop)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTSTP)
