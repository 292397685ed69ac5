"""`python reaper.py SERVER_PID PROCESSES COMMAND...`: runs a command and ends all processes that it started.

A separate process, on Linux only. As a subreaper, the reaper becomes the parent of all orphans that the command leaves,
in any group or session, and so can end them (docs/faults.md 28). On SIGTERM, or when the server dies, the reaper ends
the command: with SIGTERM first, then with SIGKILL. The exit code is the command's, or 128 plus the number of the signal
that ended the command. If the command exited, the command lines of its processes that still run are written to the
descriptor that the variable REPORT names, one per line.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
# in seconds. GRACE: for a command to end after SIGTERM, or for everything to end after SIGKILL. DRAIN: for background
# processes to end after the command. TICK: between two checks.
GRACE, DRAIN, TICK = 1.0, 0.2, 0.1
REPORT = "FAIRLEAD_REPORT"
# how many processes are reported, and how many bytes of each command line
MAX_LEFT, MAX_COMMAND_LINE = 10, 200
TOO_MANY = "\nEnded: the command had more than {:,} processes at once (limited by the setting bash.processes).\n"


def main(server_pid: int, processes: int, command: list[str]) -> int:
    """Runs the command; returns the exit code. Ends it if it has more than `processes` processes at once."""
    report = int(os.environ.pop(REPORT, -1))
    if report >= 0:
        os.set_inheritable(report, False)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))
    if os.getppid() != server_pid:  # the server died before PR_SET_PDEATHSIG was set
        return 128 + signal.SIGTERM
    before = _count_system_tasks()
    child = _start(command, libc)
    status = None
    while status is None:
        arrived = signal.sigtimedwait({signal.SIGTERM, signal.SIGCHLD}, TICK)
        if arrived is not None and arrived.si_signo == signal.SIGTERM:
            _signal_group(child, signal.SIGTERM)
            status = _reap(child, GRACE)
            break
        if _count_system_tasks() - before > processes and sum(1 for _ in descendants(os.getpid())) > processes:
            _end_all(child)
            os.write(1, TOO_MANY.format(processes).encode())
            return 128 + signal.SIGKILL
        status = _reap(child)
    else:
        _reap(None, DRAIN)
        if report >= 0:
            _report_left_running(report)
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
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a shell would inherit that
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _reap(child: int | None, seconds: float = 0.0) -> int | None:
    """Reaps ended processes for up to `seconds`. Returns the status of `child`; None if it has not ended by then.

    Returns early when `child` has ended or, without a `child`, when no process is left.
    """
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == child:
                    return ended[1]
            remaining = deadline - time.monotonic()
            if remaining > 0:
                signal.sigtimedwait({signal.SIGCHLD}, remaining)
                continue
        return None


def _report_left_running(report: int) -> None:
    for pid in list(descendants(os.getpid()))[:MAX_LEFT]:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(MAX_COMMAND_LINE).rstrip(b"\0")  # empty if the process has ended
            if words:
                os.write(report, words.replace(b"\0", b" ").replace(b"\n", b" ") + b"\n")


def _end_all(child: int) -> None:
    """Kills the command's group with one call, which no fork escapes, then the processes that left the group.

    Returns when no process is left, but after GRACE seconds at the latest.
    """
    _signal_group(child, signal.SIGKILL)
    deadline = time.monotonic() + GRACE
    with contextlib.suppress(ChildProcessError):
        while True:  # at least once, also if this process was paused until after the deadline
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            for pid in descendants(os.getpid()):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() >= deadline:
                break
            signal.sigtimedwait({signal.SIGCHLD}, TICK / 10)


def descendants(root: int) -> Iterator[int]:
    """The pids of a process's children, of their children and so on, at this moment. Linux only."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
                # the name in parentheses may contain parentheses and spaces
                parent = int(stat.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    pending = [root]
    while pending:
        found = children.get(pending.pop(), [])
        yield from found
        pending += found


def _count_system_tasks() -> int:
    """The number of processes and threads on this machine: one read, where `descendants` takes one per process."""
    with open("/proc/loadavg", encoding="ascii") as load:
        return int(load.read().split()[3].partition("/")[2])


def _signal_group(leader: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
