"""Starts programs that read the user's files outside of a box, with limits (docs/faults.md 190).

A cloned repository decides what such a program reads. The limits keep it from using up the machine.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

NICE = 5
"""How much lower than normal the priority is. The editor comes first."""
MEMORY = 256 << 20
"""The most memory that a program may use, in bytes. Only Linux enforces it."""
_WINDOWS_PRIORITY = 0x4000  # BELOW_NORMAL_PRIORITY_CLASS
# in a process group of its own, whose priority covers all threads that it has started meanwhile
_GROUP: dict[str, Any] = {"creationflags": _WINDOWS_PRIORITY} if sys.platform == "win32" else {"process_group": 0}


async def start(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], *, has_stdin: bool = False
) -> asyncio.subprocess.Process:
    """Starts a program with low priority and limited memory, its output in pipes. The caller limits the rest.

    Raises:
        OSError, ValueError: as for `asyncio.create_subprocess_exec`.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=env,
        stdin=asyncio.subprocess.PIPE if has_stdin else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        **_GROUP,
    )
    limit(process.pid)
    return process


def output_of(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], *, seconds: float, max_bytes: int
) -> bytes | None:
    """What a program prints; None if it fails, takes longer than `seconds` or prints more than `max_bytes`.

    Blocks: call it in a thread.
    """
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    try:
        process = subprocess.Popen(argv, cwd=cwd, env=env, **pipes, **_GROUP)
    except (OSError, ValueError):
        return None
    with process:
        limit(process.pid)
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        try:
            assert process.stdout is not None
            data = process.stdout.read(max_bytes + 1)
            if len(data) > max_bytes:
                process.kill()
            code = process.wait()
        finally:
            timer.cancel()
    return data if code == 0 else None


def limit(pid: int, memory: int = MEMORY) -> None:
    """Gives a process that has just started a low priority and, on Linux, at most so many bytes of memory.

    It must be in a process group of its own. Does nothing if it has ended.
    """
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, pid, os.getpriority(os.PRIO_PROCESS, 0) + NICE)
    if sys.platform == "linux":
        import resource  # noqa: PLC0415  missing on Windows

        # written memory only, because reserved but unused memory would count for RLIMIT_AS
        for kind, most in ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_CORE, 0)):
            with contextlib.suppress(OSError, ValueError):
                resource.prlimit(pid, kind, (most, most))
