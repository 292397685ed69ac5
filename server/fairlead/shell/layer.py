"""The port that runs commands, in the sandbox or in the workspace, and the values that it uses (docs/sandbox.md)."""

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from fairlead.errors import ToolError
from fairlead.shell.network import NO_NETWORK, Network, Service
from fairlead.shell.reads import Reads
from fairlead.workspace.paths import Roots

Where = Literal["sandboxed", "workspace"]

# variables that keep programs from waiting for input, and Python programs from holding back their output while they run
NON_INTERACTIVE = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",  # takes the message as it is
    "GIT_SEQUENCE_EDITOR": "true",  # for the list of a rebase, for which git prefers `sequence.editor` to GIT_EDITOR
    "PYTHONUNBUFFERED": "1",
}

# what a command reads in a hidden settings file, such as `.env` or `.npmrc`; a comment in such files
HIDDEN_TEXT = "# hidden by Fairlead\n"

REPOSITORY_DISCARDED = (
    "Changes to the repository itself (.git) were discarded. To commit, stage or stash, run the command with "
    "`unsandboxed`."
)
HEAD_MOVED = (
    "All changes by this command were discarded, because it moved HEAD or the stash (git stash, switch, checkout, "
    "rebase). The sandbox does not save these moves, and cannot tell git's changes to files from other changes. The "
    "proposals are unchanged. Work without stash and branches, or run the command with `unsandboxed`."
)

# enough for the parallel jobs of a build, each of which is several processes or threads
_MIN_PROCESSES, _PROCESSES_PER_CPU = 512, 64
_CONTAINER_MEMORY = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file's content and permissions."""

    data: bytes
    mode: int | None = None
    """Permission bits. None: those of the file on disk, or the default ones for a new file.

    In `Change.after`, None means that the command did not change them.
    """


@dataclass(frozen=True, slots=True)
class View:
    """How a command's view differs from the files on disk. Names are as `Roots.relative` returns them."""

    proposed: Mapping[str, Entry | None] = field(default_factory=dict[str, Entry | None])
    """Files that differ from the disk. None: the file does not exist in the view."""
    hidden: Collection[str] = ()
    """Files that the command must not read. Names that do not exist are ignored."""
    read_only: Collection[str] = ()
    """Files and folders that the command must not write. Names that do not exist are ignored."""
    repositories: Collection[str] = ()
    """Git folders, and `.git` files that name one. The command sees their settings without tokens and passwords."""
    enclosing: Mapping[Path, "View"] = field(default_factory=dict[Path, "View"])
    """The repositories around folders of the workspace that the command sees too, by the tops of their work trees.

    Names in their views are relative to the top. What the command changes in them is discarded, apart from files that
    git ignores.
    """

    nested_rules: Collection[str] = ()
    """The folders below the root with a `.fairleadignore` of their own, which does not apply."""
    empty_folders: Collection[str] = ()
    """Folders without files that exist in the view. Left out where there is a file instead."""
    removed_folders: Collection[str] = ()
    """Folders on disk that do not exist in the view, because all their files are deleted in it.

    A folder with other files in the view, such as ignored ones in the layer, exists nevertheless.
    """

    @property
    def hidden_files(self) -> Sequence[str]:
        """All hidden files. Those outside of the workspace have absolute paths."""
        return [*self.hidden, *(str(top / name) for top, view in self.enclosing.items() for name in view.hidden)]

    retained: bool = True
    """Whether it shows the ignored files that other commands left. Only a background command can do without them."""


PLAIN = View()
"""The files as they are on disk."""


def _available_memory() -> int:
    """The machine's memory, or the container's if that is less, in bytes. 0 on Windows, which has no sandbox."""
    if sys.platform == "win32":
        return 0
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(machine, int(_CONTAINER_MEMORY.read_text()))
    except (OSError, ValueError):  # the file does not exist or contains "max"
        return machine


@dataclass(frozen=True, slots=True)
class Limits:
    """The resources that all processes of a command may use together."""

    processes: int
    """Processes and threads."""
    memory: int
    """In bytes."""

    @classmethod
    def from_settings(cls, processes: int = 0, memory_mb: int = 0) -> "Limits":
        """The limits from the settings, with the memory in MiB.

        0 selects a default that suffices for a build and leaves the machine usable.
        """
        return cls(
            processes or max(_MIN_PROCESSES, _PROCESSES_PER_CPU * (os.cpu_count() or 1)),
            memory_mb << 20 or _available_memory() // 2,
        )


DEFAULT_LIMITS = Limits.from_settings()


@dataclass(frozen=True, slots=True)
class ShownFolder:
    """A folder outside of the workspace that a box shows."""

    path: Path
    is_writable: bool = False
    """Whether what is written there reaches the disk, without a review."""


@dataclass(frozen=True, slots=True)
class BoxSettings:
    """What the user's settings let the commands in the sandbox, or one program, use."""

    pass_variables: Sequence[str] = ()
    """The names of environment variables, as patterns."""
    services: Sequence[Service] = ()
    """Servers of this machine or elsewhere."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment variables with their values. They are passed outside of the sandbox too."""
    folders: Sequence[ShownFolder] = ()


@dataclass(frozen=True, slots=True)
class ProgramBox:
    """What is special about the box of one program that the user's settings or Fairlead chose."""

    paths: Sequence[Path] = ()
    """The absolute paths of programs, never chosen by the model or the workspace.

    In the sandbox, they are visible with what they need, wherever they are.
    """
    own: BoxSettings | None = None
    """What it may use in place of what the user's settings let every command use."""
    terminal: str = ""
    """The kind of the terminal that its standard streams are, as in the variable TERM. Empty: they are none."""


NO_PROGRAM = ProgramBox()


@dataclass(frozen=True, slots=True)
class Change:
    """What a command did to one file."""

    path: str
    before: Entry | None
    """The file in the command's view before it ran. None: it did not exist, or `not_proposed` is set."""
    after: Entry | None
    """The file after the command ended. None: it does not exist, or `not_proposed` is set."""
    not_proposed: str = ""
    """Why the change cannot be proposed (a link, a device, too large), as text for the model. Empty if it can be."""


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """What a command did to folders, as far as the changes to files do not show it."""

    empty: Collection[str] = ()
    """The folders that the command left without files: new ones, and those whose files it deleted or moved away.

    Includes those of `View.empty_folders` that are still there and empty.
    """
    not_empty: Collection[str] = ()
    """Those of `View.empty_folders` that have files now, or do not exist anymore."""
    removed: Collection[str] = ()
    """The folders on disk that the command removed or moved away; without those below others."""


NO_FOLDERS = FolderChanges()


@dataclass(frozen=True, slots=True)
class Changes:
    """What a command changed in its view of the workspace."""

    files: Sequence[Change] = ()
    """Changes to files that git's rules do not ignore."""
    ignored: Sequence[str] = ()
    """Files and folders that git ignores (caches, builds) and that no earlier command left in the layer.

    They include the user's own ignored files if the command changed them. Later commands see them. The name of a folder
    ends with `/`. Empty for a background command, whose ignored files are lost.
    """
    warnings: Sequence[str] = ()
    """Lines for the model about other changes, such as discarded changes to `.git`, and what the command lacked."""
    discarded_outside: bool = False
    """Whether changes outside of the workspace were discarded. If so, the command saw files that do not exist."""
    folders: FolderChanges = NO_FOLDERS
    repository_changed: int = 0
    """When a repository last changed, in ns by the file system's clock; 0: it did not."""
    omitted: int = 0
    """How many changes are left out, because there are too many. A warning says so."""
    reads: Reads | None = None
    """What the command read, if that was to be recorded and could be."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start the process of a command. The process inherits the descriptors in `pass_fds`."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    pass_fds: Sequence[int] = ()
    has_report: bool = False
    """Whether the process ends what its command left running, and reports it (`reaper.REPORT`)."""


class NotRun(ToolError):
    """The command was not run, because its box could not be made. `reason` says what failed, but not what to do."""

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason or text


class Box(Protocol):
    """What one command runs in: a box of the sandbox, or the workspace itself."""

    @property
    def launch(self) -> Launch:
        """How to start the command's process."""
        ...

    async def changes(self, shown: Mapping[str, Entry | None]) -> Changes:
        """What the command has changed so far, while it runs. Changes nothing for it.

        Args:
            shown: the files that somebody else has written to the box since it was opened, which count as the
                command's view; None: removed. Named as in `View`.

        Raises:
            ToolError: the changes cannot be read.
        """
        ...

    async def close(self) -> Changes:
        """Removes the box and returns what the command changed.

        Call it once, when the process has ended or if it was never started.

        Raises:
            NotRun: the box could not be made, so the process ended before the command had begun.
            ToolError: the changes cannot be read; the message says what is lost.
        """
        ...


class Layer(Protocol):
    """Where and how a session's commands run."""

    @property
    def roots(self) -> Roots:
        """The workspace's folders at the time the layer was made."""
        ...

    @property
    def where(self) -> Where:
        """`sandboxed`: on a copy-on-write view that includes the proposals. `workspace`: on the user's files."""
        ...

    @property
    def has_retained(self) -> bool:
        """Whether the ignored files in the sandbox differ from the user's, because commands changed them."""
        ...

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
    ) -> Box:
        """Makes the box for a bash command line.

        In the sandbox, any number of `background` boxes may be open, but only one other. If the call is cancelled, the
        box is closed. The call waits for that, unless it is cancelled again.

        Args:
            command: the command line.
            view: how the command's view differs from the files on disk. Has an effect only in the sandbox.
            folder: where the command starts. None: in the first folder of the workspace.
            limits: the resources that the command may use.
            network: what a sandboxed command may reach, besides the services that the user's settings name. Others
                reach everything.
            background: whether the command runs in the background, so that the limit of one open box does not apply.
            program: for a command that the user's settings or Fairlead chose.
            records: whether to record what the command reads (`Changes.reads`). Only the sandbox can, and only if the
                command reaches no server, which could read something for it.

        Raises:
            ToolError: the box cannot be made, or another box that is not `background` is open. The command does not run
                outside the sandbox instead.
        """
        ...

    async def leftovers(self, view: View) -> Sequence[str]:
        """The ignored files that earlier commands left and that may decide what a command does (some, if many).

        As absolute paths. Leaves out compiled outputs and caches. Empty outside of the sandbox.
        """
        ...

    async def aclose(self) -> None:
        """Removes the layer's files. Call it when all boxes are closed."""
        ...
