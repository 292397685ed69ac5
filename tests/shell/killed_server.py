"""A server that is killed while its command runs: `killed_server.py WORKSPACE STATE BUBBLEWRAP [deaf]`.

It prints the command's first line. `deaf`: the kernel does not signal the death of a parent, as happened once
(docs/faults.md 28).
"""

import asyncio
import ctypes
import os
import platform
import signal
import struct
import sys
from pathlib import Path

from fairlead.shell.sandbox.box import kernel
from fairlead.shell.sandbox.probe import Capability
from fairlead.workspace.paths import Roots
from shell.boxes import PLAIN, start

NO_NEW_PRIVILEGES = 38
PRCTL = {"x86_64": 157, "aarch64": 167}


def without_death_signals() -> None:
    """From now on, requesting a signal at the parent's death succeeds without effect."""
    load, equal, answer = 0x20, 0x15, 0x06
    number, first, allow, succeed = 0, 16, 0x7FFF0000, 0x00050000
    steps = [(load, 0, number), (equal, 3, PRCTL[platform.machine()]), (load, 0, first), (equal, 1, 1)]
    steps += [(answer, 0, succeed), (answer, 0, allow)]
    ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)  # without it, only root may install a filter
    kernel.install_seccomp_filter(
        b"".join(struct.pack("=HBBI", code, 0, otherwise, value) for code, otherwise, value in steps)
    )


async def main(workspace: Path, state: Path, bubblewrap: str) -> None:
    layer = await Capability(Roots.of(workspace), state, bubblewrap).layer()
    box = await layer.open("trap '' TERM; setsid sleep 60 & echo ready; sleep 60", PLAIN)
    process = await start(box)
    assert process.stdout is not None
    print((await process.stdout.readline()).decode(), end="", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[4:] == ["deaf"]:
        without_death_signals()
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
