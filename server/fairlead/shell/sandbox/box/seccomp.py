"""A seccomp filter against system calls that no command needs and that could be used to break out of the box.

It denies the kernel's keyrings, BPF, io_uring, perf events, userfaultfd, the kernel's log, tracing of the box's init,
and all but the usual kinds of sockets, because a network namespace does not contain all of them (AF_VSOCK reaches the
host of a virtual machine). Calls that need a capability are not listed, since a command has none.
"""

import platform
import sys
from dataclasses import dataclass
from functools import cache

from fairlead.shell.sandbox.box import bpf

_FIRST, _SECOND, _THIRD = map(bpf.argument, range(3))
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
    "x86_64": _Numbers(bpf.X86_64, (248, 249, 250, 321, 298, 323, 103, *_RINGS), (41, 53), 101),
    "aarch64": _Numbers(bpf.AARCH64, (217, 218, 219, 280, 241, 282, 116, *_RINGS), (198, 199), 117),
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
    own = bpf.if_equal(numbers.architecture, [*_restricted_calls(numbers), bpf.returns(bpf.ALLOW)])
    return [bpf.load(bpf.ARCHITECTURE), *own, bpf.returns(bpf.KILL)]


def _restricted_calls(numbers: _Numbers) -> list[bytes]:
    """Instructions that decide about the restricted calls. For other calls they have no effect."""
    steps = [bpf.load(bpf.NUMBER), *bpf.if_at_least(_X32, [bpf.returns(bpf.FAIL | _ENOSYS)])]
    for call in numbers.denied:
        steps += bpf.if_equal(call, [bpf.returns(bpf.FAIL | _ENOSYS)])
    # the box's init must not be traced, because it would stop reaping processes
    steps += bpf.if_equal(
        numbers.ptrace, [bpf.load(_SECOND), *bpf.if_equal(1, [bpf.returns(bpf.FAIL | _EPERM)]), bpf.returns(bpf.ALLOW)]
    )
    for call in numbers.sockets:
        steps += bpf.if_equal(call, [bpf.load(_FIRST), *_usual_sockets(), bpf.returns(bpf.FAIL | _EAFNOSUPPORT)])
    return steps


def _usual_sockets() -> list[bytes]:
    route = [
        bpf.load(_THIRD),
        *bpf.if_equal(_NETLINK_ROUTE, [bpf.returns(bpf.ALLOW)]),
        bpf.returns(bpf.FAIL | _EAFNOSUPPORT),
    ]
    steps = bpf.if_equal(_AF_NETLINK, route)
    for family in (_AF_UNIX, _AF_INET, _AF_INET6):
        steps += bpf.if_equal(family, [bpf.returns(bpf.ALLOW)])
    return steps
