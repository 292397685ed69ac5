"""Keeps a box from using up the machine: its priority, its limits, and how to kill its processes (docs/sandbox.md).

Runs in the launcher, so it imports as little as possible.
"""

import os
import resource
import time

from fairlead.shell.sandbox.box import kernel

TYPE_CHECKING = False  # importing `typing` takes longer than all the rest
if TYPE_CHECKING:
    from fairlead.shell.sandbox.box.spec import BoxSpec

# a third of a normal process's CPU share: the editor comes first, and commands make progress while others build
NICE = 5
# seconds between two checks of a box, and of each of its processes
TICK, FULL_CHECK = 0.1, 1.0
# the kernel's limit on processes is this much higher than ours, so that we can end a box that exceeds ours and say why
SLACK = 32
# the kernel uses this many of the lowest pids only once
_RESERVED_PIDS = 300
# the largest share of time for measuring shared memory
MEASURING_SHARE = 0.2
# what a box leaves free on a disk, in bytes and in inodes: enough for the editor, for saved sessions and to free more
FREE_BYTES, FREE_INODES = 1 << 30, 20_000
_EAGAIN = 11
TOO_MANY = "the command had more than {:,} processes and threads at once (limited by the setting bash.processes)"
TOO_LARGE = (
    "the command used more than {:,} MB of memory, files in /tmp included (limited by the setting bash.memoryMb)"
)

DISK_FULL = "a disk to which the command can write has become almost full"


def lower_priority() -> None:
    """Lowers the CPU priority of this process and all that it starts. The kernel derives the I/O priority from it."""
    os.nice(NICE)
    try:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        write_file("/proc/self/oom_score_adj", "1000")  # if the machine runs out of memory, the box is killed first
    except PermissionError:  # a container may forbid either; the limits work without them
        pass


def raise_session_priority() -> None:
    """Raises the priority of the launcher and the init, which must run among hundreds of busy sessions.

    Has no effect unless this process is root, because the kernel refuses it for other users.
    """
    try:  # noqa: SIM105  importing `contextlib` takes too long here
        write_file("/proc/self/autogroup", str(-2 * NICE))
    except OSError:
        pass


def limit_pids(spec: "BoxSpec") -> None:
    """Limits the pids of the namespace for root, to whom RLIMIT_NPROC does not apply. No effect before Linux 6.14."""
    if spec["uid"] == 0 and kernel.version() >= (6, 14):
        write_file("/proc/sys/kernel/pid_max", str(_RESERVED_PIDS + spec["processes"] + SLACK))


def set_limits(spec: "BoxSpec") -> None:
    """Sets the kernel's limits for this process and all that it starts."""
    # not for memory, because reserved but unused memory would count (an address sanitizer reserves 14 TB)
    wanted = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: spec["file_size"]}
    if kernel.version() >= (5, 14):  # earlier kernels count all of the user's processes, not only the box's
        wanted[resource.RLIMIT_NPROC] = spec["processes"] + SLACK
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))


class Disks:
    """The file systems of these folders, on which a box must leave some space free.

    If one of them is already almost full, the box may use half of what is free.
    """

    def __init__(self, folders: list[str]) -> None:
        self._least: dict[int, tuple[int, int, int]] = {}  # by device: a descriptor, bytes, inodes
        for folder in folders:
            device = os.stat(folder).st_dev
            if device not in self._least:
                descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
                space, inodes = _free(descriptor)
                self._least[device] = descriptor, min(FREE_BYTES, space // 2), min(FREE_INODES, inodes // 2)

    def are_full(self) -> bool:
        """Whether too little is free on one of them."""
        for descriptor, least_space, least_inodes in self._least.values():
            space, inodes = _free(descriptor)
            if space < least_space or inodes < least_inodes:
                return True
        return False


class BoxMonitor:
    """Checks the processes, the memory and the disks of a box, in the init.

    `scratch` is a descriptor of its file system in memory.

    Among hundreds of busy processes, the init gets only a millisecond from time to time. So it reads each process once
    a second, and ten times a second only a few system-wide figures, which show when to check earlier.
    """

    def __init__(self, spec: "BoxSpec", scratch: int, disks: Disks) -> None:
        self._processes, self._memory, self._scratch = spec["processes"], spec["memory"], scratch
        self._disks = disks
        self._next = self._next_full = self._next_measuring = 0.0
        self._threads, self._available = _machine_load()
        self._lowered: set[int] = {0, 1}  # sessions whose priority is lowered; 0 is none, 1 the init's own
        self._to_lower: dict[int, str] = {}  # other sessions, with the pid of a member

    def check(self) -> str:
        """Why the box must be ended; "" if it may continue. Checks at most once per TICK, even if called more often."""
        now = time.monotonic()
        if now < self._next:
            return ""
        self._next = now + TICK
        if self._disks.are_full():
            return DISK_FULL
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
        if len(pids) > self._processes:
            return TOO_MANY.format(self._processes)
        threads, available = _machine_load()
        more_threads = threads - self._threads > self._processes - len(pids)
        if now >= self._next_full or more_threads or self._available - available > self._memory // 2:
            self._next_full = now + FULL_CHECK
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
                self._to_lower[session] = pid
        self._lowered &= sessions  # the kernel may use a number again
        if threads > self._processes:
            return TOO_MANY.format(self._processes)
        files = self._files()
        if (own + max(shared, files)) << 10 > self._memory and self._is_too_large(pids, files):
            return TOO_LARGE.format(self._memory >> 20)
        return ""

    def _files(self) -> int:
        """The size of the files in memory, in kB."""
        found = os.fstatvfs(self._scratch)
        return (found.f_blocks - found.f_bfree) * found.f_frsize >> 10

    def _is_too_large(self, pids: list[str], files: int) -> bool:
        """Whether the box uses too much memory, measured exactly: shared memory counts once. Takes milliseconds per GB.

        Returns False without measuring if the last measurement is too recent (MEASURING_SHARE).
        """
        started = time.monotonic()
        if started < self._next_measuring:
            return False
        own = shared = 0
        for pid in pids:
            rollup = _read(f"/proc/{pid}/smaps_rollup")
            own += _number(rollup, b"\nPss_Anon:") + _number(rollup, b"\nSwapPss:")
            shared += _number(rollup, b"\nPss_Shmem:")
        now = time.monotonic()
        self._next_measuring = now + (now - started) / MEASURING_SHARE
        return (own + max(shared, files)) << 10 > self._memory

    def _lower_a_session(self) -> None:
        """Lowers the priority of one session.

        If the kernel schedules by session (autogroup), a nice value only counts within the session, so the session
        needs one too. The kernel accepts ten of these changes a second.
        """
        if self._to_lower:
            session, pid = self._to_lower.popitem()
            try:
                write_file(f"/proc/{pid}/autogroup", str(NICE))
            except OSError as error:
                if error.errno == _EAGAIN:
                    return
            self._lowered.add(session)


def kill_all() -> None:
    """In the init: kills all other processes of its namespace. Returns when none is left.

    One `kill` reaches all of them at once, and a fork in progress fails. The kernel does the same when the init exits,
    but only after the init has released its memory, for which it may wait long among hundreds of forking processes.
    """
    while True:
        try:  # noqa: SIM105  importing `contextlib` takes too long here
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
    """From outside: kills the init of a box and all its descendants, one by one.

    `proc` is a descriptor of a /proc that contains them. Does nothing if `top` is now the pid of another process.
    """
    if _line(_read(f"{top}/status", proc), b"\nNSpid:")[1:][-1:] != [b"1"]:
        return
    children: dict[int, list[int]] = {}
    for name in os.listdir(proc):
        if name.isdigit():
            # the name in parentheses may contain parentheses and spaces
            fields = _read(f"{name}/stat", proc).rpartition(b")")[2].split()
            if fields:
                children.setdefault(int(fields[1]), []).append(int(name))
    pending = [top]
    while pending:
        pid = pending.pop()
        pending += children.get(pid, [])
        try:  # noqa: SIM105  as above
            os.kill(pid, kernel.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def command_line(pid: str) -> list[bytes]:
    """The words of a process's command line; none if the process has ended."""
    line = _read(f"/proc/{pid}/cmdline").rstrip(b"\0")
    return line.split(b"\0") if line else []


def _free(descriptor: int) -> tuple[int, int]:
    """The bytes and the inodes that are free on a file system for the box's account."""
    found = os.fstatvfs(descriptor)
    return found.f_bavail * found.f_frsize, found.f_favail


def _machine_load() -> tuple[int, int]:
    """The number of all threads on the machine, and the available memory in bytes."""
    threads = _read("/proc/loadavg").split()[3].partition(b"/")[2]
    return int(threads), _number(_read("/proc/meminfo"), b"\nMemAvailable:") << 10


def _read(path: str, at: int | None = None) -> bytes:
    """The beginning of a file. Empty if it cannot be read, for example because the process has ended."""
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
    """The words between a label and the end of its line; none if the label is missing."""
    begin = text.find(label)
    return [] if begin < 0 else text[begin + len(label) : text.find(b"\n", begin + 1)].split()


def _number(text: bytes, label: bytes) -> int:
    """The number after a label; 0 if the label is missing, as for a process that is exiting."""
    words = _line(text, label)
    return int(words[0]) if words else 0


def write_file(path: str, text: str) -> None:
    """Writes to an existing file, such as one in /proc."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    except OSError as error:
        raise OSError(error.errno, f"{path}: {error.strerror}") from error
    finally:
        os.close(descriptor)
