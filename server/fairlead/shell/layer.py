"""Where a command runs, what it sees there and what it leaves: the port that a system fills (docs/sandbox.md)."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from fairlead.agent.errors import ToolError

Where = Literal["sandboxed", "workspace"]

# what builds need by their parallel jobs; each of them is several processes or threads
_LEAST_PROCESSES, _PROCESSES_PER_CPU = 512, 64
_CONTAINER_MEMORY = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file: its bytes, and its permission bits (None: those of the file that is there, else the usual ones)."""

    data: bytes
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class View:
    """What a command shall see besides the files on the disk. Paths are relative to the workspace, with `/`.

    `proposed` says what a file holds instead, None: it is not there. `hidden` are files that the command must not read,
    `read_only` files and folders that it must not write; names that do not exist are passed over. `repositories` are
    folders of git, and a `.git` that leads to one, of whose settings it sees no tokens.
    """

    proposed: Mapping[str, Entry | None] = field(default_factory=dict[str, Entry | None])
    hidden: Collection[str] = ()
    read_only: Collection[str] = ()
    repositories: Collection[str] = ()


def _memory() -> int:
    """The machine's, or the container's where that has less; in bytes."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(machine, int(_CONTAINER_MEMORY.read_text()))
    except (OSError, ValueError):  # there is no such file, or it says "max"
        return machine


@dataclass(frozen=True, slots=True)
class Limits:
    """What a command may take of the machine, all of it together: processes and threads, and memory in bytes."""

    processes: int
    memory: int

    @classmethod
    def of(cls, processes: int = 0, memory_mb: int = 0) -> "Limits":
        """0: by the machine's size, so that honest builds stay below it and the machine stays usable."""
        return cls(
            processes or max(_LEAST_PROCESSES, _PROCESSES_PER_CPU * (os.cpu_count() or 1)),
            memory_mb << 20 or _memory() // 2,
        )


# where nobody set any
USUAL = Limits.of()


@dataclass(frozen=True, slots=True)
class Change:
    """What a command did to one file. `before` is what it found (of the view), `after` what it left; None: no file.

    `unfit` says, for people, why this cannot be proposed (a link, a device, too large); `after` is None then.
    """

    path: str
    before: Entry | None
    after: Entry | None
    unfit: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a command left in the workspace's layer.

    `files` are not ignored by git's rules. `kept` names what is (caches, builds) and was not there before: files, and
    folders with `/` for all that is in them; they stay for the next command. `dropped` names what is neither, one line
    each, for people (changes of `.git`, say).
    """

    files: Sequence[Change] = ()
    kept: Sequence[str] = ()
    dropped: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """How the process of a command is started; `pass_fds` are inherited."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    pass_fds: Sequence[int] = ()


class NotRun(ToolError):
    """The command was not run: the place for it could not be made. `reason` is what failed, where more is said."""

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason or text


class Box(Protocol):
    """A place made for one command."""

    @property
    def launch(self) -> Launch: ...

    async def close(self) -> Changes:
        """After the process has ended, or was never started: takes the place down and says what was changed there.

        Raises:
            NotRun: the process ended before the command began.
            ToolError: it cannot be read back; the message says what is lost.
        """
        ...


class Layer(Protocol):
    """How commands run on this system. One per session; `aclose` removes what it kept on the disk."""

    @property
    def where(self) -> Where:
        """`sandboxed`: on the proposed files, and nothing else can be written. `workspace`: on the person's files."""
        ...

    async def open(
        self,
        command: str,
        view: View,
        *,
        limits: Limits = USUAL,
        network: bool = False,
        background: bool = False,
    ) -> Box:
        """Makes the place for a command line of bash. Several may be open at once when all but one are `background`.

        Raises:
            ToolError: it cannot be made. Nothing ever runs in a weaker place than `where` says.
        """
        ...

    async def aclose(self) -> None: ...
