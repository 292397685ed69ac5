"""Runs work in forked processes: many at the same time, or one that is killed at each of its lines. Not for Windows."""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any, NoReturn


def at_one_moment(processes: int, work: Callable[[], None]) -> list[int]:
    """Runs `work` in that many processes, which begin together. Returns their exit codes, 1 for an exception."""
    waiting, begin = os.pipe()
    children = [_forked(lambda: (os.close(begin), os.read(waiting, 1), work())) for _ in range(processes)]
    os.close(waiting)
    os.close(begin)  # now all of them read the end of the pipe
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def killed_at_each_line(work: Callable[[], None], *modules: ModuleType) -> Iterator[int]:
    """Runs `work` in one process after another. The nth is killed at its nth line of these modules. Yields each n.

    Ends when `work` ends before it is killed.
    """
    files = {module.__file__ for module in modules}
    line = 0
    while True:
        line += 1
        child = _forked(lambda: _killed_at(line, files, work))  # noqa: B023  the process ends before `line` changes
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 0:
            return
        assert code == -signal.SIGKILL, code
        yield line


def _forked(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        _end(work)
    return child


def _end(work: Callable[[], object]) -> NoReturn:
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _killed_at(wanted: int, files: set[str | None], work: Callable[[], None]) -> None:
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            lines += 1
            if lines == wanted:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    work()
    sys.settrace(None)
