"""Which of the kernel's calls no command needs and a wall might break at, as a filter for seccomp.

Closed are the kernel's own keyrings and programs, its rings for input and output, its log, and every kind of socket but
the usual ones: a network namespace does not hold all of the others (a virtual machine's host is reached by AF_VSOCK).
What takes a capability is not here, since a command has none.
"""

import platform
import struct
import sys
from dataclasses import dataclass
from functools import cache

# of struct sock_filter: BPF_LD|W|ABS, BPF_JEQ, BPF_JGE, BPF_RET
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
# of struct seccomp_data; of the call's arguments the lower halves, which is what the kernel reads of these
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _THIRD = 0, 4, 16, 24, 32
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_ENOSYS, _EPERM, _EAFNOSUPPORT = 38, 1, 97
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK, _NETLINK_ROUTE = 1, 2, 10, 16, 0
# of x86-64, where a second set of numbers begins; nothing uses it
_X32 = 0x40000000


@dataclass(frozen=True, slots=True)
class _Numbers:
    """An architecture, as the kernel names it, and its calls: those that are closed, and those that depend."""

    architecture: int
    closed: tuple[int, ...]
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
    """The filter as an array of `struct sock_filter`; nothing on a machine whose numbers are not known here.

    A closed call fails as if the kernel did not have it, so that programs do without. Programs of another architecture
    (32 bits, say) are ended: their calls have other numbers.
    """
    numbers = _MACHINES.get(platform.machine())
    programs_of_32_bits = sys.maxsize < 1 << 32  # on a kernel of 64
    return b"" if numbers is None or programs_of_32_bits else b"".join(_program(numbers))


def _program(numbers: _Numbers) -> list[bytes]:
    ours = _inside(numbers.architecture, [*_decided(numbers), _answer(_ALLOW)])
    return [_load(_ARCHITECTURE), *ours, _answer(_KILL)]


def _decided(numbers: _Numbers) -> list[bytes]:
    """What ends in an answer for the calls that are not simply allowed."""
    steps = [_load(_NUMBER), _step(_AT_LEAST, _X32, otherwise=1), _answer(_FAIL | _ENOSYS)]
    for call in numbers.closed:
        steps += _inside(call, [_answer(_FAIL | _ENOSYS)])
    # nobody traces a box's first process: it would no longer take in what ends
    steps += _inside(numbers.ptrace, [_load(_SECOND), *_inside(1, [_answer(_FAIL | _EPERM)]), _answer(_ALLOW)])
    for call in numbers.sockets:
        steps += _inside(call, [_load(_FIRST), *_usual_sockets(), _answer(_FAIL | _EAFNOSUPPORT)])
    return steps


def _usual_sockets() -> list[bytes]:
    route = [_load(_THIRD), *_inside(_NETLINK_ROUTE, [_answer(_ALLOW)]), _answer(_FAIL | _EAFNOSUPPORT)]
    steps = _inside(_AF_NETLINK, route)
    for family in (_AF_UNIX, _AF_INET, _AF_INET6):
        steps += _inside(family, [_answer(_ALLOW)])
    return steps


def _inside(value: int, steps: list[bytes]) -> list[bytes]:
    """The steps where the loaded word is the value; they must end in an answer."""
    return [_step(_EQUAL, value, otherwise=len(steps)), *steps]


def _load(place: int) -> bytes:
    return _step(_LOAD, place)


def _answer(value: int) -> bytes:
    return _step(_RETURN, value)


def _step(code: int, value: int, *, otherwise: int = 0) -> bytes:
    """An instruction; a test that does not hold leaves out `otherwise` of those that follow."""
    return struct.pack("=HBBI", code, 0, otherwise, value)
