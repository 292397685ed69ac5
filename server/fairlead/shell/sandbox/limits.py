"""Keeps a box from taking the machine: its priority, its limits, and the end of all its processes (docs/sandbox.md).

Part of the launcher's process, so it imports as little as it can.
"""

import os
import resource
import time

from fairlead.shell.sandbox import kernel

TYPE_CHECKING = False  # importing `typing` takes longer than all the rest
if TYPE_CHECKING:
    from fairlead.shell.sandbox.spec import BoxSpec

# a third of an ordinary process's share: the editor comes first, and a command still gets on while others build
NICE = 5
# how often a box is looked at, and each of its processes, in seconds
TICK, ALL = 0.1, 1.0
# the kernel's bound lies above the limit, so that whatever meets the limit is seen and ended, not just refused
SLACK = 32
# pids that the kernel never hands out again once all others were used
_RESERVED_PIDS = 300
# looking for shared memory takes at most this share of the time
SHARE = 0.2
_EAGAIN = 11
TOO_MANY = "the command had more than {:,} processes and threads at once (setting bash.processes)"
TOO_LARGE = "the command used more than {:,} MB of memory, files in /tmp included (setting bash.memoryMb)"


def lower_priority() -> None:
    """Of this process and all that it starts; of its I/O too, which the kernel derives from it."""
    os.nice(NICE)
    try:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        write_file("/proc/self/oom_score_adj", "1000")  # where the machine's memory ends, the box ends first
    except PermissionError:  # a container may forbid either; the limits hold without
        pass


def raise_session_priority() -> None:
    """By the launcher, for it and the init, which must get to work among hundreds of busy sessions; only root may."""
    try:  # noqa: SIM105  the import takes longer than all of this
        write_file("/proc/self/autogroup", str(-2 * NICE))
    except OSError:
        pass


def limit_pids(spec: "BoxSpec") -> None:
    """For root, which RLIMIT_NPROC does not hold; a namespace has a number of its own since Linux 6.14."""
    if spec["uid"] == 0 and kernel.version() >= (6, 14):
        write_file("/proc/sys/kernel/pid_max", str(_RESERVED_PIDS + spec["processes"] + SLACK))


def set_limits(spec: "BoxSpec") -> None:
    """The kernel's own limits, for this process and all that it starts."""
    # none for memory: what a program reserves and never uses (an address sanitizer 14 TB) would count too
    wanted = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: spec["file_size"]}
    if kernel.version() >= (5, 14):  # before, all of the user's processes count, inside and outside of the box
        wanted[resource.RLIMIT_NPROC] = spec["processes"] + SLACK
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))


class BoxMonitor:
    """The init's look at its box. `scratch` is a descriptor of the box's file system in memory.

    Among hundreds of busy processes the init gets a millisecond of time now and then. So it looks at each process once
    in a second, and ten times a second only at figures that are one read each; these say whether to look closer.
    """

    def __init__(self, spec: "BoxSpec", scratch: int) -> None:
        self._processes, self._memory, self._scratch = spec["processes"], spec["memory"], scratch
        self._next = self._all_at = self._shared_at = 0.0
        self._threads, self._available = _machine()
        self._lowered: set[int] = {0, 1}  # sessions: nobody's, and the init's own
        self._higher: dict[int, str] = {}

    def check(self) -> str:
        """Why the box must be ended, or nothing."""
        now = time.monotonic()
        if now < self._next:
            return ""
        self._next = now + TICK
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
        if len(pids) > self._processes:
            return TOO_MANY.format(self._processes)
        threads, available = _machine()
        more_threads = threads - self._threads > self._processes - len(pids)
        if now >= self._all_at or more_threads or self._available - available > self._memory // 2:
            self._all_at = now + ALL
            reason = self._check_all(pids)
            if reason:
                return reason
        self._lower_a_session()
        return ""

    def _check_all(self, pids: list[str]) -> str:
        threads = own = shared = 0
        sessions = {0, 1}
        for pid in pids:
            status = _read(f"/proc/{pid}/status")
            threads += _number(status, b"\nThreads:")
            own += _number(status, b"\nRssAnon:") + _number(status, b"\nVmSwap:")
            shared += _number(status, b"\nRssShmem:")
            session = _number(status, b"\nNSsid:")
            sessions.add(session)
            if session not in self._lowered:
                self._higher[session] = pid
        self._lowered &= sessions  # a number may come back
        if threads > self._processes:
            return TOO_MANY.format(self._processes)
        files = self._files()
        if (own + max(shared, files)) << 10 > self._memory and self._is_too_large(pids, files):
            return TOO_LARGE.format(self._memory >> 20)
        return ""

    def _files(self) -> int:
        """What the files in memory take, in kB."""
        found = os.fstatvfs(self._scratch)
        return (found.f_blocks - found.f_bfree) * found.f_frsize >> 10

    def _is_too_large(self, pids: list[str], files: int) -> bool:
        """Counts memory that several processes share once; this takes milliseconds for each GB."""
        began = time.monotonic()
        if began < self._shared_at:
            return False
        own = shared = 0
        for pid in pids:
            rollup = _read(f"/proc/{pid}/smaps_rollup")
            own += _number(rollup, b"\nPss_Anon:") + _number(rollup, b"\nSwapPss:")
            shared += _number(rollup, b"\nPss_Shmem:")
        now = time.monotonic()
        self._shared_at = now + (now - began) / SHARE
        return (own + max(shared, files)) << 10 > self._memory

    def _lower_a_session(self) -> None:
        """Where the kernel groups processes by session, a nice value counts within a session only; so the session gets
        one too. The kernel takes ten of these in a second."""
        if self._higher:
            session, pid = self._higher.popitem()
            try:
                write_file(f"/proc/{pid}/autogroup", str(NICE))
            except OSError as error:
                if error.errno == _EAGAIN:
                    return
            self._lowered.add(session)


def kill_all() -> None:
    """By the init: ends all other processes of its namespace, and returns when none is left.

    One `kill` reaches them all at one moment, and a fork that is under way fails then. The kernel would do the same
    once the init itself is gone; but to go, an init must first give back its memory, and among hundreds of processes
    that fork it waits for its turn to do so.
    """
    while True:
        try:  # noqa: SIM105  the import takes longer than all of this
            os.kill(-1, kernel.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        kernel.next_signal(TICK / 4)


def kill_tree(top: int, proc: int) -> None:
    """From outside: ends the init of a box and all processes below it, one by one.

    `proc` is a descriptor of a /proc that has them. A process that is no init, since the number has another owner
    meanwhile, is left alone.
    """
    if _line(_read(f"{top}/status", proc), b"\nNSpid:")[1:][-1:] != [b"1"]:
        return
    below: dict[int, list[int]] = {}
    for name in os.listdir(proc):
        if name.isdigit():
            # the name in brackets may hold anything, brackets and blanks too
            fields = _read(f"{name}/stat", proc).rpartition(b")")[2].split()
            if fields:
                below.setdefault(int(fields[1]), []).append(int(name))
    left = [top]
    while left:
        pid = left.pop()
        left += below.get(pid, [])
        try:  # noqa: SIM105  as above
            os.kill(pid, kernel.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def _machine() -> tuple[int, int]:
    """How many threads there are, ours and others', and how many bytes of memory are free."""
    threads = _read("/proc/loadavg").split()[3].partition(b"/")[2]
    return int(threads), _number(_read("/proc/meminfo"), b"\nMemAvailable:") << 10


def _read(path: str, at: int | None = None) -> bytes:
    """Nothing, where a process has gone."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=at)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 8192)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _line(text: bytes, label: bytes) -> list[bytes]:
    """The words behind a label, up to the end of the line; none where it is not there."""
    begin = text.find(label)
    return [] if begin < 0 else text[begin + len(label) : text.find(b"\n", begin + 1)].split()


def _number(text: bytes, label: bytes) -> int:
    """The number behind a label; 0 where it is not there, as of a process that is about to go."""
    words = _line(text, label)
    return int(words[0]) if words else 0


def write_file(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    except OSError as error:
        raise OSError(error.errno, f"{path}: {error.strerror}") from error
    finally:
        os.close(descriptor)
