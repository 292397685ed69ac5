"""Records which paths the processes of a box open, look at, list or miss (docs/sandbox.md, "What a check read").

The command installs a filter (`path_calls.py`) that makes the kernel ask the supervisor about each call with a path.
The supervisor notes the path, with what is there, and lets the call continue. It is a fork of the launcher from before
the box's namespaces were made, so that the box cannot end it, and so that it may read the memory of its processes.

Imports little, as the launcher does, and everything at the top: after the launcher has become another user, it may be
unable to read Python's own files.
"""

import _socket
import array
import ctypes
import fcntl
import marshal
import os
import select
import stat
import struct
import time

from fairlead.shell.sandbox.box import kernel

TYPE_CHECKING = False  # importing `typing` takes longer than all the rest
if TYPE_CHECKING:
    from fairlead.shell.sandbox.box.path_calls import PathCall
    from fairlead.shell.sandbox.box.spec import BoxSpec

    Key = tuple[str, bytes, bytes]
    """What a call does, with which path, and the program if it is not the first one that counts there."""
    Seen = tuple[int, int, int, int, bytes]
    """Mode, size, mtime and ctime in ns, and the first program that listed the folder or looked at the document."""

# how many different accesses are noted; a command with more is not recorded
MAX_ACCESSES = 50_000
# seconds for the supervisor to write what it noted, after the last process of the box has ended
_END_TIMEOUT = 10.0
# seconds between checks whether it has ended, because the kernel's signal may not come
_INTERVAL = 0.1
# of open(2), the same on all architectures
_ACCESS_MODE, _CREATE, _EXCLUSIVE, _TRUNCATE, _PATH_ONLY = 3, 0o100, 0o200, 0o1000, 0o10000000
_CWD = 0xFFFFFF9C  # AT_FDCWD as an unsigned number
# of ioctl(2) on the supervisor's descriptor (linux/seccomp.h), and the sizes of the structures
_RECEIVE, _ANSWER, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082104
_SYNC_WAKE_UP, _CONTINUE = 1, 1
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")  # id, pid, flags; number, architecture, instruction pointer, arguments
_RESPONSE = struct.Struct("=QqiI")
_PATH_SIZE = 4096
_HOW = struct.Struct("=QQQ")  # struct open_how: flags, mode, resolve
# what belongs to the process or the machine and not to the files
_NOT_FILES = (b"/proc/", b"/dev/", b"/sys/")


class Recording:
    """The recording of one box, as the launcher, the init and the command see it."""

    def __init__(self, spec: "BoxSpec") -> None:
        self._spec = spec
        self._socket, self._theirs = _socket.socketpair()
        self._pid = 0  # 0: it has ended

    def start(self) -> None:
        """Starts the supervisor. Call it before the namespaces are made."""
        launcher = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            code = 1
            try:
                self._socket.close()
                for descriptor in (self._spec["status"], 0, 1, 2):
                    os.close(descriptor)
                kernel.die_with_parent()
                if os.getppid() == launcher:
                    code = _supervise(self._spec, self._theirs)
            finally:
                os._exit(code)
        self._theirs.close()

    def close(self) -> None:
        """Closes what only the command needs. Call it in the launcher and the init, after the next fork."""
        self._socket.close()

    def install(self) -> None:
        """Installs the filter in this process and all that it starts, and sends its descriptor to the supervisor.

        From then on, a call with a path waits for the supervisor. If the kernel refuses the filter, as in some
        containers, nothing is recorded.
        """
        try:
            listener = kernel.install_asking_filter(self._spec["path_filter"])
        except OSError:
            self._socket.close()
            return
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [listener]))
        self._socket.sendmsg([b"f"], [rights])
        self._socket.close()
        os.close(listener)

    def has_failed(self) -> bool:
        """Whether the supervisor has died, so that the calls of the box fail. Reaps it when it has ended."""
        if self._pid == 0:
            return False
        ended, status = os.waitpid(self._pid, os.WNOHANG)
        if ended:
            self._pid = 0
        return bool(ended) and status != 0

    def wait(self) -> None:
        """Waits for the supervisor, after the box has ended. Kills it if it takes too long."""
        deadline = time.monotonic() + _END_TIMEOUT
        while not self.has_failed() and self._pid:
            kernel.next_signal(_INTERVAL)
            if time.monotonic() > deadline:
                os.kill(self._pid, kernel.SIGKILL)


def _supervise(spec: "BoxSpec", socket: "_socket.socket") -> int:
    """Notes accesses until the last process with the filter has ended. Returns the exit code."""
    _, messages, *_ = socket.recvmsg(1, 64)
    socket.close()
    if not messages:  # there is no filter
        os.write(spec["reads"], marshal.dumps(None))
        return 0
    listener = array.array("i", messages[0][2])[0]
    supervisor = _Supervisor(listener, spec)
    supervisor.run()
    os.write(spec["reads"], marshal.dumps(supervisor.result()))
    return 0


class _Supervisor:
    """Answers the notifications of one filter."""

    def __init__(self, listener: int, spec: "BoxSpec") -> None:
        self._listener, self._calls = listener, spec["path_calls"]
        self._shell, self._documents = os.fsencode(spec["argv"][0]), tuple(spec["documents"])
        self._accesses: dict[Key, Seen | None] = {}
        self._has_begun = False  # bubblewrap's own calls come first
        self._received = self._withdrawn = self._unreadable = 0
        self._first, self._last = 1 << 64, 0
        self._supervises = False
        self._buffer = ctypes.create_string_buffer(_PATH_SIZE)

    def result(self) -> dict[str, object]:
        """What was noted, as `shell/reads.py` reads it."""
        return {
            "accesses": [(kind, path, seen) for (kind, path, _), seen in self._accesses.items()],
            "interrupted": self._withdrawn + max(self._last - self._first + 1, 0) - self._received,
            "supervises": self._supervises,
            "incomplete": bool(self._unreadable) or len(self._accesses) >= MAX_ACCESSES,
        }

    def run(self) -> None:
        """Returns when no process with the filter is left."""
        try:  # noqa: SIM105  importing `contextlib` takes too long here
            fcntl.ioctl(self._listener, _SET_FLAGS, _SYNC_WAKE_UP)  # faster; only since Linux 6.6
        except OSError:
            pass
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        request, empty = bytearray(_NOTIFICATION.size), bytes(_NOTIFICATION.size)
        while poll.poll()[0][1] & select.POLLIN:
            request[:] = empty  # the kernel refuses anything else
            try:
                fcntl.ioctl(self._listener, _RECEIVE, request)
            except OSError:  # the call was withdrawn, as below
                continue
            notification, thread, _, number, _, _, *arguments = _NOTIFICATION.unpack(request)
            # the kernel numbers all calls, also those that a signal interrupts before they are received: they may fail
            # with EINTR, which is why the numbers are counted
            self._first, self._last = min(self._first, notification), max(self._last, notification)
            self._received += 1
            is_full = len(self._accesses) >= MAX_ACCESSES
            noted = [] if is_full else [self._note(thread, call, arguments) for call in self._calls[number]]
            try:
                fcntl.ioctl(self._listener, _ANSWER, _RESPONSE.pack(notification, 0, 0, _CONTINUE))
            except OSError:  # interrupted too, or the process was killed; its memory may not have been what was read
                self._withdrawn += 1
                for key in noted:
                    if key is not None:
                        self._accesses.pop(key, None)

    def _note(self, thread: int, call: "PathCall", arguments: list[int]) -> "Key | None":
        """Notes what a call does with one path. Returns the key, if it is new."""
        kind, folder, at, flags_at = call
        if kind == "supervise":
            self._supervises = True
            return None
        try:
            text = kernel.read_text(thread, arguments[at], self._buffer)
        except OSError:
            self._unreadable += self._has_begun
            return None
        if text is None:  # the call fails; Rust's library makes such calls to try what the kernel knows
            return None
        if kind == "execute" and not self._has_begun:
            self._has_begun = text == self._shell
        if not self._has_begun or text.startswith(_NOT_FILES):
            return None
        if kind in ("open", "open2"):
            flags = arguments[flags_at] if kind == "open" else self._open_how(thread, arguments[flags_at])
            kind = _kind_of_open(flags)
        path = (
            text
            if text[:1] == b"/"
            else self._absolute(thread, arguments[folder] & 0xFFFFFFFF if folder >= 0 else _CWD, text)
        )
        if path is None:
            self._unreadable += 1
            return None
        return self._add(thread, kind, path)

    def _add(self, thread: int, kind: str, path: bytes) -> "Key | None":
        key = (kind, path, b"")
        if key not in self._accesses:
            self._accesses[key] = self._seen(thread, path, kind)
            return key
        seen = self._accesses[key]
        if seen is None or not seen[4]:
            return None
        program = _program(thread)  # each program that lists a folder counts
        key = (kind, path, program)
        if program == seen[4] or key in self._accesses:
            return None
        self._accesses[key] = (*seen[:4], program)
        return key

    def _seen(self, thread: int, path: bytes, kind: str) -> "Seen | None":
        """What a process is about to see at a path. None: nothing."""
        try:
            root = os.open(b"/proc/%d/root" % thread, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            descriptor = kernel.open_in_root(root, path)
        except OSError:
            return None
        finally:
            os.close(root)
        try:
            found = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        is_listed = kind == "open" and stat.S_ISDIR(found.st_mode)
        has_program = is_listed or (kind == "look" and stat.S_ISREG(found.st_mode) and path.endswith(self._documents))
        program = _program(thread) if has_program else b""
        return found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, program

    def _open_how(self, thread: int, address: int) -> int:
        data = kernel.read_memory(thread, address, self._buffer, _HOW.size)
        return _HOW.unpack(data)[0] if data is not None else 0

    def _absolute(self, thread: int, folder: int, text: bytes) -> bytes | None:
        """The path of a name in an open folder, or in the current one. None if the folder is unknown."""
        try:
            base = os.readlink(b"/proc/%d/cwd" % thread if folder == _CWD else b"/proc/%d/fd/%d" % (thread, folder))
            root = os.readlink(b"/proc/%d/root" % thread)
        except OSError:
            return None
        if root != b"/" and base.startswith(root):
            base = base[len(root) :] or b"/"
        return base.rstrip(b"/") + b"/" + text if text else base


def _kind_of_open(flags: int) -> str:
    if flags & _PATH_ONLY:
        return "look"
    if flags & _ACCESS_MODE and (flags & _TRUNCATE or flags & (_CREATE | _EXCLUSIVE) == _CREATE | _EXCLUSIVE):
        return "write"
    return "change" if flags & _CREATE else "open"


def _program(thread: int) -> bytes:
    """The name of the program of a process; `?` if it cannot be read."""
    try:
        return os.path.basename(os.readlink(b"/proc/%d/exe" % thread)) or b"?"
    except OSError:
        return b"?"
