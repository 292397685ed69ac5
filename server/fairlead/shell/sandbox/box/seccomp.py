"""A seccomp filter against system calls that no command needs and that could be used to break out of the box.

It denies the kernel's keyrings, BPF, io_uring, perf events, userfaultfd, the kernel's log, tracing of the box's init,
and all but the usual kinds of sockets, because a network namespace does not contain all of them (AF_VSOCK reaches the
host of a virtual machine). Calls that need a capability are not listed, since a command has none.
"""

import platform
import struct
import sys
from dataclasses import dataclass
from functools import cache

# of struct sock_filter: BPF_LD|W|ABS, BPF_JEQ, BPF_JGE, BPF_RET
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
# offsets in struct seccomp_data; for the arguments, of their lower halves, which is what the kernel uses here
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _THIRD = 0, 4, 16, 24, 32
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_ENOSYS, _EPERM, _EAFNOSUPPORT = 38, 1, 97
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK, _NETLINK_ROUTE = 1, 2, 10, 16, 0
# x86-64: the start of a second set of numbers, which nothing uses
_X32 = 0x40000000


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The call numbers of an architecture. Whether `sockets` and `ptrace` are allowed depends on their arguments."""

    architecture: int
    denied: tuple[int, ...]
    sockets: tuple[int, int]
    ptrace: int


_RINGS = (425, 426, 427)  # io_uring, the same everywhere
_MACHINES = {
    # add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, syslog; socket, socketpair
    "x86_64": _Numbers(0xC000003E, (248, 249, 250, 321, 298, 323, 103, *_RINGS), (41, 53), 101),
    "aarch64": _Numbers(0xC00000B7, (217, 218, 219, 280, 241, 282, 116, *_RINGS), (198, 199), 117),
}


@cache
def seccomp_filter() -> bytes:
    """The filter as an array of `struct sock_filter`. Empty on a machine whose call numbers are not known here.

    A denied call fails as if the kernel had no such call (ENOSYS) or no such kind of socket (EAFNOSUPPORT), so programs
    use something else. Only tracing of the init fails with EPERM. Programs for another architecture, such as 32-bit
    ones, are killed, because their calls have other numbers.
    """
    numbers = _MACHINES.get(platform.machine())
    is_32_bit = sys.maxsize < 1 << 32  # a 32-bit Python may run on a 64-bit kernel
    return b"" if numbers is None or is_32_bit else b"".join(_program(numbers))


def _program(numbers: _Numbers) -> list[bytes]:
    own = _if_equal(numbers.architecture, [*_restricted_calls(numbers), _return(_ALLOW)])
    return [_load(_ARCHITECTURE), *own, _return(_KILL)]


def _restricted_calls(numbers: _Numbers) -> list[bytes]:
    """Instructions that decide about the restricted calls. For other calls they have no effect."""
    steps = [_load(_NUMBER), _instruction(_AT_LEAST, _X32, skip=1), _return(_FAIL | _ENOSYS)]
    for call in numbers.denied:
        steps += _if_equal(call, [_return(_FAIL | _ENOSYS)])
    # the box's init must not be traced, because it would stop reaping processes
    steps += _if_equal(numbers.ptrace, [_load(_SECOND), *_if_equal(1, [_return(_FAIL | _EPERM)]), _return(_ALLOW)])
    for call in numbers.sockets:
        steps += _if_equal(call, [_load(_FIRST), *_usual_sockets(), _return(_FAIL | _EAFNOSUPPORT)])
    return steps


def _usual_sockets() -> list[bytes]:
    route = [_load(_THIRD), *_if_equal(_NETLINK_ROUTE, [_return(_ALLOW)]), _return(_FAIL | _EAFNOSUPPORT)]
    steps = _if_equal(_AF_NETLINK, route)
    for family in (_AF_UNIX, _AF_INET, _AF_INET6):
        steps += _if_equal(family, [_return(_ALLOW)])
    return steps


def _if_equal(value: int, steps: list[bytes]) -> list[bytes]:
    """Runs the steps if the loaded word equals the value. The steps must end with a return."""
    return [_instruction(_EQUAL, value, skip=len(steps)), *steps]


def _load(offset: int) -> bytes:
    return _instruction(_LOAD, offset)


def _return(value: int) -> bytes:
    return _instruction(_RETURN, value)


def _instruction(code: int, value: int, *, skip: int = 0) -> bytes:
    """One BPF instruction. A comparison that is false skips the next `skip` instructions."""
    return struct.pack("=HBBI", code, 0, skip, value)
