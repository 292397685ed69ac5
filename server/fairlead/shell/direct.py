"""Commands in the workspace itself, with the person's rights: where there is no sandbox, or it was not wanted."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.shell import reaper
from fairlead.shell.layer import USUAL, Changes, Launch, Limits, View, Where
from fairlead.shell.process import command_environment


class DirectLayer:
    """Runs on the files on the disk; what a `View` says beyond them is not seen.

    On Linux all that a command started ends with it (`reaper.py`). Elsewhere that is its process group (on Windows its
    process tree): what leaves the group lives on.
    """

    where: Where = "workspace"

    def __init__(self, root: Path) -> None:
        self._root = root

    async def open(
        self,
        command: str,
        view: View,
        *,
        limits: Limits = USUAL,
        network: bool = False,
        background: bool = False,
    ) -> "DirectBox":
        """Raises ToolError where there is no shell. Of the limits the number of processes holds, on Linux."""
        shell = shutil.which("bash") or (shutil.which("sh") if sys.platform != "win32" else None)
        if shell is None:
            raise ToolError(
                "There is no bash on this system; install it (on Windows: Git for Windows) to run commands."
            )
        # isolated and without site packages: nothing of the workspace is imported, and it starts in 10 ms
        reaped = [sys.executable, "-I", "-S", reaper.__file__, str(os.getpid()), str(limits.processes)]
        minded = reaped if sys.platform == "linux" else []
        return DirectBox(Launch([*minded, shell, "-c", "--", command], self._root, command_environment()))

    async def aclose(self) -> None:
        """Keeps nothing."""


@dataclass(frozen=True)
class DirectBox:
    launch: Launch

    async def close(self) -> Changes:
        """Nothing is to be read back: the command wrote to the person's own files."""
        return Changes()
