"""Reads how a box ended, and ends a box whose launcher died."""

import os
import select
import time
from dataclasses import dataclass

from fairlead.shell.sandbox.box.limits import kill_tree

# seconds for the processes of a box to end after its launcher died, and between two attempts to kill them
END_TIMEOUT, _KILL_INTERVAL = 10.0, 0.1


@dataclass(frozen=True, slots=True)
class LauncherStatus:
    """What a launcher reported."""

    init: int | None
    """The pid of the box's init, if it was started."""
    ended: bool
    """Whether the launcher saw the init end."""
    error: str
    """Why the command was not started. Empty if it was, or if the launcher ended without a report."""

    @classmethod
    def parse(cls, text: str) -> "LauncherStatus":
        """Reads what the launcher wrote to its status pipe."""
        lines = {word: rest for word, _, rest in (line.partition(" ") for line in text.splitlines())}
        return cls(int(lines["init"]) if "init" in lines else None, "done" in lines, lines.get("error", ""))


def end_box(status: LauncherStatus) -> bool:
    """Kills the processes that a dead launcher left. Tries for at most END_TIMEOUT seconds.

    Returns whether all have ended; the init is always the last.
    """
    if status.ended or status.init is None:
        return True
    try:
        init = os.pidfd_open(status.init)
    except ProcessLookupError:
        return True
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    ended = select.poll()
    ended.register(init, select.POLLIN)
    try:
        deadline = time.monotonic() + END_TIMEOUT
        while not ended.poll(_KILL_INTERVAL * 1000):
            if time.monotonic() > deadline:
                return False
            kill_tree(status.init, proc)
        return True
    finally:
        os.close(proc)
        os.close(init)
