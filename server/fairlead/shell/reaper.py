"""`python reaper.py SERVER_PID PROCESSES COMMAND...`: runs a command, and ends with it all that it started.

A process of its own, on Linux: it becomes the parent of whatever the command leaves behind, in which group and session
ever, and so can end it (docs/faults.md 28). SIGTERM, or the death of the server, ends the command: gently first. The
exit code is the command's, for a signal 128 and its number.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
GRACE = 1.0
# how long what is left in the background may take once the command itself is done
REST = 0.2
TICK = 0.1
TOO_MANY = "\nEnded: the command had more than {:,} processes at once (setting bash.processes).\n"


def main(server: int, processes: int, command: list[str]) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))
    if os.getppid() != server:  # it died before the line above held
        return 128 + signal.SIGTERM
    before = _all_processes()
    child = _start(command, libc)
    status = None
    while status is None:
        arrived = signal.sigtimedwait({signal.SIGTERM, signal.SIGCHLD}, TICK)
        if arrived is not None and arrived.si_signo == signal.SIGTERM:
            _signal_group(child, signal.SIGTERM)
            status = _reaped(child, GRACE)
            break
        if _all_processes() - before > processes and sum(1 for _ in _below(os.getpid())) > processes:
            _end_all(child)
            os.write(1, TOO_MANY.format(processes).encode())
            return 1
        status = _reaped(child)
    else:
        _reaped(None, REST)
    _end_all(child)
    code = 128 + signal.SIGKILL if status is None else os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _start(command: list[str], libc: ctypes.CDLL) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a shell would hand that on
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _reaped(child: int | None, seconds: float = 0.0) -> int | None:
    """Takes in what has ended; returns the command's status once it is there. None waits for all there is."""
    until = time.monotonic() + seconds
    while True:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == child:
                    return ended[1]
            left = until - time.monotonic()
            if left > 0:
                signal.sigtimedwait({signal.SIGCHLD}, left)
                continue
        return None


def _end_all(child: int) -> None:
    """The group at one stroke, which no fork escapes; then whoever left it, until nobody is there that we may end."""
    _signal_group(child, signal.SIGKILL)
    until = time.monotonic() + GRACE
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < until:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            for pid in _below(os.getpid()):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            signal.sigtimedwait({signal.SIGCHLD}, TICK / 10)


def _below(root: int) -> Iterator[int]:
    """All descendants of a process."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
                # the name in brackets may hold anything, brackets and blanks too
                parent = int(stat.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    todo = [root]
    while todo:
        below = children.get(todo.pop(), [])
        yield from below
        todo += below


def _all_processes() -> int:
    """How many processes and threads this machine has: one look, where counting our own takes one at each."""
    with open("/proc/loadavg", encoding="ascii") as load:
        return int(load.read().split()[3].partition("/")[2])


def _signal_group(leader: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
