"""The system calls of the launcher that Python lacks, or has only in modules that take long to import. Linux only.

Most go through `ctypes`. They raise OSError if the kernel refuses, unless a docstring says otherwise. Runs in the
launcher, so it imports as little as possible.
"""

import ctypes
import errno
import os

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 2, 4, 8, 0x4000, 1 << 18

_AT_EMPTY_PATH, _AT_RECURSIVE, _AT_FDCWD = 0x1000, 0x8000, -100
_OPEN_TREE_CLONE, _OPEN_TREE_CLOEXEC, _MOVE_MOUNT_F_EMPTY_PATH = 1, 0o2000000, 4
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
# the same on every architecture except Alpha and MIPS
_SYS_OPEN_TREE, _SYS_MOVE_MOUNT, _SYS_MOUNT_SETATTR = 428, 429, 442
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 1, 4, 24, 38, 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522
SIGKILL, SIGTERM, SIGCHLD = 9, 15, 17
_SIGPIPE, _SIGXFSZ, _SIG_DFL, _SIG_BLOCK, _SIG_UNBLOCK, _EINTR = 13, 25, 0, 0, 1, 4
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, _SECCOMP_INSTRUCTION = 22, 2, 8
_NOBODY, _MNT_DETACH = 65534, 2
_AF_INET, _SOCK_DGRAM, _SIOCSIFFLAGS, _IFF_UP = 2, 2, 0x8914, 1

_SYS_SECCOMP, _SYS_OPENAT2 = {"x86_64": 317, "aarch64": 277}, 437
_SET_MODE_FILTER, _NEW_LISTENER, _WAIT_KILLABLE = 1, 8, 32
_O_PATH, _O_CLOEXEC, _RESOLVE_IN_ROOT, _PAGE = 0o10000000, 0o2000000, 0x10, 4096


class _Part(ctypes.Structure):
    """A part of a process's memory (struct iovec)."""

    _fields_ = (("address", ctypes.c_size_t), ("size", ctypes.c_size_t))


_libc = ctypes.CDLL(None, use_errno=True)
_process_vm_readv = _libc.process_vm_readv
_process_vm_readv.argtypes = [ctypes.c_int, ctypes.c_void_p, *[ctypes.c_ulong, ctypes.c_void_p, *[ctypes.c_ulong] * 2]]
# SIGTERM and SIGCHLD as a sigset_t, which has 128 bytes
_BLOCKED = (ctypes.c_uint64 * 16)(1 << SIGTERM - 1 | 1 << SIGCHLD - 1)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _syscall(what: str, *arguments: object) -> int:
    return _checked(_libc.syscall(*arguments), what)


def version() -> tuple[int, ...]:
    """The kernel's version as (major, minor)."""
    return tuple(int(part) for part in os.uname().release.replace("-", ".").split(".")[:2])


def drop_file_rights() -> None:
    """Gives up root's access to files. Until `restore_file_rights`, the kernel checks file access as for `nobody`."""
    _libc.setfsgid(_NOBODY)
    _libc.setfsuid(_NOBODY)  # this also drops the capabilities that override permissions
    if (_libc.setfsuid(-1), _libc.setfsgid(-1)) != (_NOBODY, _NOBODY):  # they do not report errors
        raise OSError(errno.EPERM, "could not give up root's rights to files")


def restore_file_rights() -> None:
    """Undoes `drop_file_rights`. Does not report errors."""
    _libc.setfsuid(0)
    _libc.setfsgid(0)


def unshare(flags: int) -> None:
    """Moves the process into new namespaces. Only the processes that it starts later enter a new pid namespace."""
    _checked(_libc.unshare(flags), "namespaces")


def join(namespace: int) -> None:
    """Enters the namespace of a descriptor, and closes the descriptor."""
    _checked(_libc.setns(namespace, 0), "join a namespace")
    os.close(namespace)


def die_with_parent() -> None:
    """Makes the kernel kill this process when its parent dies. Check afterwards that the parent is still alive."""
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "prctl")


def switch_user(uid: int, gid: int) -> None:
    """Changes from root to another account permanently."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    _checked(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")  # otherwise it may not write its own id maps


def drop_privileges() -> None:
    """Drops all capabilities, also for programs that are started later. They cannot gain privileges (no_new_privs)."""
    _checked(_libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "prctl")
    capability = 0
    while _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _checked(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


def install_seccomp_filter(program: bytes) -> None:
    """Filters the system calls of this process and all that it starts (`seccomp.py`). Call `drop_privileges` first."""
    instructions = ctypes.create_string_buffer(program, len(program))
    header = (ctypes.c_void_p * 2)(len(program) // _SECCOMP_INSTRUCTION, ctypes.addressof(instructions))
    _checked(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0), "seccomp")


def install_asking_filter(program: bytes) -> int:
    """Installs a filter that asks a supervisor about calls. Returns the descriptor on which the supervisor answers.

    The process must not be able to gain privileges; this is made sure here.
    """
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    instructions = ctypes.create_string_buffer(program, len(program))
    header = (ctypes.c_void_p * 2)(len(program) // _SECCOMP_INSTRUCTION, ctypes.addressof(instructions))
    number = _SYS_SECCOMP[os.uname().machine]
    flags = _NEW_LISTENER | _WAIT_KILLABLE
    listener = _libc.syscall(number, _SET_MODE_FILTER, flags, header)
    if listener < 0 and ctypes.get_errno() == errno.EINVAL:  # before Linux 5.19
        listener = _libc.syscall(number, _SET_MODE_FILTER, _NEW_LISTENER, header)
    return _checked(listener, "seccomp")


def read_text(thread: int, address: int, buffer: "ctypes.Array[ctypes.c_char]") -> bytes | None:
    """The text up to a NUL in the memory of another process.

    None if the kernel finds no text there either: the address is invalid, or the text too long.

    Args:
        buffer: of 4096 bytes, which is the longest text.

    Raises:
        OSError: the memory of the process cannot be read.
    """
    first = _PAGE - address % _PAGE  # the text may end before a page that does not exist
    parts = (_Part * 2)(_Part(address, first), _Part(address + first, _PAGE - first))
    own = _Part(ctypes.addressof(buffer), _PAGE)
    size = _process_vm_readv(thread, ctypes.byref(own), 1, parts, 2, 0)
    if size < 0 and ctypes.get_errno() != errno.EFAULT:
        raise OSError(ctypes.get_errno(), "process_vm_readv")
    end = buffer.raw.find(b"\0", 0, max(size, 0))
    return buffer.raw[:end] if end >= 0 else None


def read_memory(thread: int, address: int, buffer: "ctypes.Array[ctypes.c_char]", size: int) -> bytes | None:
    """The bytes at an address of another process. None if they cannot be read."""
    own, part = _Part(ctypes.addressof(buffer), size), _Part(address, size)
    found = _process_vm_readv(thread, ctypes.byref(own), 1, ctypes.byref(part), 1, 0)
    return buffer.raw[:size] if found == size else None


def open_in_root(root: int, path: bytes) -> int:
    """A descriptor (O_PATH) of what a path names for a process with this root folder; links stay below it, too."""
    how = (ctypes.c_uint64 * 3)(_O_PATH | _O_CLOEXEC, 0, _RESOLVE_IN_ROOT)
    return _syscall("openat2", _SYS_OPENAT2, root, path, how, ctypes.c_size_t(ctypes.sizeof(how)))


def block_signals() -> None:
    """Blocks SIGTERM and SIGCHLD, for `next_signal`, in this process and its forks."""
    _checked(_libc.sigprocmask(_SIG_BLOCK, _BLOCKED, None), "sigprocmask")


def next_signal(seconds: float | None = None) -> int | None:
    """Waits for a signal that `block_signals` blocks; returns its number.

    Returns None if none arrives within `seconds` (None: no limit), or if waiting fails.
    """
    whole, part = divmod(seconds or 0.0, 1)
    time = None if seconds is None else (ctypes.c_long * 2)(int(whole), int(part * 1e9))
    while True:
        number: int = _libc.sigtimedwait(_BLOCKED, None, time)
        if number > 0:
            return number
        if ctypes.get_errno() != _EINTR:  # EINTR: the process was stopped and continued
            return None


def restore_default_signals() -> None:
    """Resets what a started program would inherit: Python ignores two signals, and `block_signals` blocks two."""
    for number in (_SIGPIPE, _SIGXFSZ):
        _libc.signal(number, ctypes.c_void_p(_SIG_DFL))
    _checked(_libc.sigprocmask(_SIG_UNBLOCK, _BLOCKED, None), "sigprocmask")


def enable_loopback() -> None:
    """Switches on the loopback interface of the network namespace."""
    socket = _checked(_libc.socket(_AF_INET, _SOCK_DGRAM, 0), "socket")
    request = ctypes.create_string_buffer(b"lo".ljust(16, b"\0") + _IFF_UP.to_bytes(2, "little"), 40)
    _checked(_libc.ioctl(socket, _SIOCSIFFLAGS, request), "loopback")
    os.close(socket)


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mounts a file system, as mount(2)."""

    def text(value: str | None) -> bytes | None:
        return None if value is None else os.fsencode(value)

    result = _libc.mount(text(source), text(target), text(kind), ctypes.c_ulong(flags), text(options))
    _checked(result, f"mount {kind or ''} {target}")


def unmount(target: str) -> None:
    """Unmounts lazily: open files stay usable."""
    _checked(_libc.umount2(os.fsencode(target), _MNT_DETACH), f"unmount {target}")


def clone_tree(path: str) -> int:
    """A descriptor of a detached copy of the mounts at and below a path. Mount it with `attach`."""
    flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC | _AT_RECURSIVE
    return _syscall(f"open_tree {path}", _SYS_OPEN_TREE, _AT_FDCWD, os.fsencode(path), flags)


def attach(tree: int, target: str) -> None:
    """Mounts a detached tree at a path, and closes its descriptor."""
    to = os.fsencode(target)
    _syscall(f"move_mount {target}", _SYS_MOVE_MOUNT, tree, b"", _AT_FDCWD, to, _MOVE_MOUNT_F_EMPTY_PATH)
    os.close(tree)


def restrict(tree: int, *, writable: bool, devices: bool = False) -> None:
    """Restricts all mounts of a detached tree: no setuid, and no writing and no devices unless they are allowed."""
    flags = _ATTR_NOSUID | (0 if writable else _ATTR_RDONLY) | (0 if devices else _ATTR_NODEV)
    _set_attributes(tree, b"", _AT_EMPTY_PATH | _AT_RECURSIVE, on=flags)


def make_all_read_only() -> None:
    """Makes every mount of this namespace read-only, without setuid and devices."""
    _set_attributes(_AT_FDCWD, b"/", _AT_RECURSIVE, on=_ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV)


def make_writable(path: str) -> None:
    """Makes a mount writable. The kernel refuses this if the mount was read-only before this namespace was made."""
    _set_attributes(_AT_FDCWD, os.fsencode(path), 0, off=_ATTR_RDONLY)


def _set_attributes(at: int, path: bytes, flags: int, *, on: int = 0, off: int = 0) -> None:
    attributes = (ctypes.c_uint64 * 4)(on, off, 0, 0)  # struct mount_attr
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _syscall("mount_setattr", _SYS_MOUNT_SETATTR, at, path, flags, attributes, size)
