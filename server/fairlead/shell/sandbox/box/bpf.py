"""Instructions of seccomp filters: a program in BPF that decides about each system call (linux/seccomp.h)."""

import struct

# architectures (linux/audit.h)
X86_64, AARCH64 = 0xC000003E, 0xC00000B7
# decisions; FAIL is combined with an error number, ASK asks the supervisor
ALLOW, ASK, FAIL, KILL = 0x7FFF0000, 0x7FC00000, 0x00050000, 0x80000000
# offsets in struct seccomp_data
NUMBER, ARCHITECTURE = 0, 4
_FIRST_ARGUMENT, _ARGUMENT_SIZE = 16, 8
# of struct sock_filter: BPF_LD|W|ABS, BPF_JEQ, BPF_JGE, BPF_JSET, BPF_RET
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06


def argument(position: int) -> int:
    """The offset of the lower half of an argument, which is the one that the kernel uses for descriptors and flags."""
    return _FIRST_ARGUMENT + _ARGUMENT_SIZE * position


def load(offset: int) -> bytes:
    """Loads a word for the comparisons that follow."""
    return _instruction(_LOAD, offset)


def returns(decision: int) -> bytes:
    """Ends the program."""
    return _instruction(_RETURN, decision)


def if_equal(value: int, steps: list[bytes]) -> list[bytes]:
    """Runs the steps if the loaded word equals the value. The steps must end with a return."""
    return [_instruction(_EQUAL, value, skip=len(steps)), *steps]


def if_at_least(value: int, steps: list[bytes]) -> list[bytes]:
    """Runs the steps if the loaded word is this large. The steps must end with a return."""
    return [_instruction(_AT_LEAST, value, skip=len(steps)), *steps]


def if_any_bit(bits: int, steps: list[bytes]) -> list[bytes]:
    """Runs the steps if the loaded word has one of these bits. The steps must end with a return."""
    return [_instruction(_ANY_BIT, bits, skip=len(steps)), *steps]


def _instruction(code: int, value: int, *, skip: int = 0) -> bytes:
    """One instruction. A comparison that is false skips the next `skip` instructions (at most 255)."""
    return struct.pack("=HBBI", code, 0, skip, value)
