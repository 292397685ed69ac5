"""Runs commands outside the sandbox, directly in the workspace and with the user's permissions."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.errors import ToolError
from fairlead.shell import reaper
from fairlead.shell.environment import command_environment
from fairlead.shell.layer import (
    DEFAULT_LIMITS,
    NO_PROGRAM,
    BoxSettings,
    Changes,
    Entry,
    Launch,
    Limits,
    ProgramBox,
    View,
    Where,
)
from fairlead.shell.network import NO_NETWORK, Network
from fairlead.workspace.paths import Roots

# folders with the bash of WSL, which runs in another file system
_WSL_FOLDERS = {"system32", "sysnative", "windowsapps"}


def find_windows_bash(folders: Iterable[str]) -> str | None:
    """The bash of Git for Windows if PATH contains one of its folders, else another bash on PATH, else None.

    Git for Windows adds only its folder `cmd` to PATH. Its bash is in the folder `bin` next to it.
    """
    on_path = [Path(folder) for folder in folders if folder]
    of_git = [above / "bin" for folder in on_path if os.path.isfile(folder / "git.exe") for above in folder.parents[:2]]
    others = [folder for folder in on_path if _WSL_FOLDERS.isdisjoint(part.casefold() for part in folder.parts)]
    return next((str(path) for folder in [*of_git, *others] if os.path.isfile(path := folder / "bash.exe")), None)


class DirectLayer:
    """Runs commands on the files on disk and ignores their `View`.

    On Linux, every process that a command started ends with it (`reaper.py`). Elsewhere only its process group does
    (on Windows its process tree), so a process that leaves the group survives.
    """

    where: Where = "workspace"
    has_retained = False

    def __init__(self, roots: Roots) -> None:
        self.roots = roots

    async def open(
        self,
        command: str,
        view: View,
        *,
        folder: Path | None = None,
        limits: Limits = DEFAULT_LIMITS,
        network: Network = NO_NETWORK,
        background: bool = False,
        program: ProgramBox = NO_PROGRAM,
        records: bool = False,
    ) -> "DirectBox":
        """See `Layer.open`. `view`, `network`, `background` and `records` have no effect.

        Of the limits, only `processes` applies, and only on Linux. Threads do not count.

        Raises:
            ToolError: there is no shell.
        """
        windows = sys.platform == "win32"
        shell = find_windows_bash(os.get_exec_path()) if windows else shutil.which("bash") or shutil.which("sh")
        if shell is None:
            raise ToolError("bash was not found. Install it (on Windows: Git for Windows) to run commands.")
        # isolated and without site packages: imports nothing from the workspace and starts in 10 ms
        reaping = [sys.executable, "-I", "-S", reaper.__file__, str(os.getpid()), str(limits.processes)]
        wrapper = reaping if sys.platform == "linux" else []
        cwd = self.roots.first.path if folder is None else folder
        argv = [*wrapper, shell, "-c", "--", command]
        env = {**command_environment(), **(program.own or BoxSettings()).variables}
        return DirectBox(Launch(argv, cwd, env, has_report=bool(wrapper)))

    async def leftovers(self, view: View) -> Sequence[str]:
        """Returns none: all files are the user's."""
        return ()

    async def aclose(self) -> None:
        """Does nothing: there is nothing to remove."""


@dataclass(frozen=True)
class DirectBox:
    """A command in the workspace itself. It has no changes to propose."""

    launch: Launch

    async def changes(self, shown: Mapping[str, Entry | None]) -> Changes:
        """Returns no changes, as `close`."""
        return Changes()

    async def close(self) -> Changes:
        """Returns no changes: the command wrote to the user's own files."""
        return Changes()
