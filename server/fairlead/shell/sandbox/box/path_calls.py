"""The system calls that take a path, and a seccomp filter that lets a supervisor see them (`reads.py`).

Left out are `readlink`, because links are read again later, and `getdents`, because opening a folder counts as listing
it. The numbers are those of the kernel's tables for each architecture.
"""

import platform
import sys
from functools import cache

from fairlead.shell.sandbox.box import bpf

PathCall = tuple[str, int, int, int]
"""(kind, folder, path, flags): what the call does with a path, and the positions of its arguments; -1: it has none.

The kinds are `open`, `open2` (`flags` is the position of a `struct open_how`), `look`, `execute`, `write` (the call
creates or replaces what it names), and `supervise` (the call installs a filter, which may need a supervisor).
"""

DOCUMENTS = (".md", ".markdown", ".rst", ".adoc")
"""The ends of the names of files that many programs only look at because they look at all files."""

_NEW_LISTENER, _FILTER_FLAGS = 8, 1  # of seccomp(2), and the position of the flags
_EMPTY_PATH = 0x1000  # AT_EMPTY_PATH: the call is about an open file

# by name: the numbers on x86-64 and aarch64 (0: the call does not exist there), and what it does with its paths
_CALLS: dict[str, tuple[int, int, list[PathCall]]] = {
    "open": (2, 0, [("open", -1, 0, 1)]),
    "creat": (85, 0, [("write", -1, 0, -1)]),
    "openat": (257, 56, [("open", 0, 1, 2)]),
    "openat2": (437, 437, [("open2", 0, 1, 2)]),
    "open_tree": (428, 428, [("look", 0, 1, -1)]),
    "execve": (59, 221, [("execute", -1, 0, -1)]),
    "execveat": (322, 281, [("execute", 0, 1, -1)]),
    "stat": (4, 0, [("look", -1, 0, -1)]),
    "lstat": (6, 0, [("look", -1, 0, -1)]),
    "newfstatat": (262, 79, [("look", 0, 1, -1)]),
    "statx": (332, 291, [("look", 0, 1, -1)]),
    "access": (21, 0, [("look", -1, 0, -1)]),
    "faccessat": (269, 48, [("look", 0, 1, -1)]),
    "faccessat2": (439, 439, [("look", 0, 1, -1)]),
    "chdir": (80, 49, [("look", -1, 0, -1)]),
    "statfs": (137, 43, [("look", -1, 0, -1)]),
    "getxattr": (191, 8, [("look", -1, 0, -1)]),
    "lgetxattr": (192, 9, [("look", -1, 0, -1)]),
    "listxattr": (194, 11, [("look", -1, 0, -1)]),
    "llistxattr": (195, 12, [("look", -1, 0, -1)]),
    "getxattrat": (464, 464, [("look", 0, 1, -1)]),
    "listxattrat": (465, 465, [("look", 0, 1, -1)]),
    "inotify_add_watch": (254, 27, [("look", -1, 1, -1)]),
    "truncate": (76, 45, [("look", -1, 0, -1)]),
    "chmod": (90, 0, [("look", -1, 0, -1)]),
    "fchmodat": (268, 53, [("look", 0, 1, -1)]),
    "utimensat": (280, 88, [("look", 0, 1, -1)]),
    "unlink": (87, 0, [("look", -1, 0, -1)]),
    "unlinkat": (263, 35, [("look", 0, 1, -1)]),
    "rmdir": (84, 0, [("look", -1, 0, -1)]),
    "mkdir": (83, 0, [("write", -1, 0, -1)]),
    "mkdirat": (258, 34, [("write", 0, 1, -1)]),
    "mknod": (133, 0, [("write", -1, 0, -1)]),
    "mknodat": (259, 33, [("write", 0, 1, -1)]),
    "symlink": (88, 0, [("write", -1, 1, -1)]),
    "symlinkat": (266, 36, [("write", 1, 2, -1)]),
    "rename": (82, 0, [("look", -1, 0, -1), ("write", -1, 1, -1)]),
    "renameat": (264, 38, [("look", 0, 1, -1), ("write", 2, 3, -1)]),
    "renameat2": (316, 276, [("look", 0, 1, -1), ("write", 2, 3, -1)]),
    "link": (86, 0, [("look", -1, 0, -1), ("write", -1, 1, -1)]),
    "linkat": (265, 37, [("look", 0, 1, -1), ("write", 2, 3, -1)]),
    "seccomp": (317, 277, [("supervise", -1, -1, -1)]),
}
# calls that are about an open file if their flags (at this position) say so
_FLAGS_OF_OPEN_FILE = {"newfstatat": 3, "statx": 2}
_ARCHITECTURES = {"x86_64": (0, bpf.X86_64), "aarch64": (1, bpf.AARCH64)}


def _architecture() -> tuple[int, int] | None:
    """The column of `_CALLS` and the architecture's number; None if its calls are not known here."""
    is_32_bit = sys.maxsize < 1 << 32  # a 32-bit Python may run on a 64-bit kernel
    return None if is_32_bit else _ARCHITECTURES.get(platform.machine())


@cache
def path_calls() -> dict[int, list[PathCall]]:
    """The calls by number. Empty on a machine whose call numbers are not known here."""
    found = _architecture()
    if found is None:
        return {}
    return {numbers[found[0]]: paths for *numbers, paths in _CALLS.values() if numbers[found[0]]}


@cache
def path_call_filter() -> bytes:
    """The filter as an array of `struct sock_filter`; empty on a machine whose call numbers are not known here.

    It asks the supervisor about each call with a path. Programs for another architecture are killed, because their
    calls could not be seen.
    """
    found = _architecture()
    if found is None:
        return b""
    column, architecture = found
    steps = [bpf.load(bpf.NUMBER)]
    for name, (*numbers, _) in _CALLS.items():
        if not numbers[column]:
            continue
        ask = [bpf.returns(bpf.ASK)]
        if name in _FLAGS_OF_OPEN_FILE:
            ask = [bpf.load(bpf.argument(_FLAGS_OF_OPEN_FILE[name])), *bpf.if_any_bit(_EMPTY_PATH, _ALLOWED), *ask]
        elif name == "seccomp":
            ask = [bpf.load(bpf.argument(_FILTER_FLAGS)), *bpf.if_any_bit(_NEW_LISTENER, ask), *_ALLOWED]
        steps += bpf.if_equal(numbers[column], ask)
    own = bpf.if_equal(architecture, [*steps, *_ALLOWED])
    return b"".join([bpf.load(bpf.ARCHITECTURE), *own, bpf.returns(bpf.KILL)])


_ALLOWED = [bpf.returns(bpf.ALLOW)]
