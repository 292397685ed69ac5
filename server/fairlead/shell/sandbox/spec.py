"""What the server tells the launcher (`launcher.py`): the box of one command, as plain values."""

import sys
from pathlib import Path
from typing import TypedDict

import fairlead

_START = "import sys; sys.path.append(sys.argv[1]); from fairlead.shell.sandbox import launcher; launcher."


def launcher(function: str, *arguments: int) -> list[str]:
    """A bare Python that runs a function of `launcher.py`."""
    folder = str(Path(fairlead.__file__).parents[1])
    return [sys.executable, "-I", "-S", "-c", f"{_START}{function}()", folder, *map(str, arguments)]


class OverlaySpec(TypedDict):
    """An overlay: `lower`, the topmost first, and `upper` with its `work` folder, seen at `target`."""

    target: str
    lower: list[str]
    upper: str
    work: str


class BoxSpec(TypedDict):
    """What the box shall be; marshalled, since that is read without an import.

    `binds` are (source, target, writable), in the order in which they are put in place; sources are looked up before
    any of them is. `scratch` is an empty folder, on which a file system in memory is put with the folders of
    `scratch_folders` (name, mode); binds take the box's own /tmp and the like from there. `links` are symbolic links
    (where to, path) in these. `join` are descriptors of the namespaces that the box is made in: a user namespace and
    its network (`loopback.py`); none where the command has the machine's network. `calls` is the filter of the
    kernel's calls (`seccomp.py`), or nothing. `processes` (threads too) and `memory` are limits of the box, `file_size`
    of each file; sizes are in bytes. `machine` is an empty folder for a view of the machine without what only root may
    read, `mounts` what is mounted there, the outermost first; for an ordinary user, both are empty.
    """

    server: int
    status: int
    uid: int
    gid: int
    join: list[int]
    layers: list[OverlaySpec]
    machine: str
    mounts: list[str]
    scratch: str
    scratch_size: int
    scratch_folders: list[tuple[str, int]]
    binds: list[tuple[str, str, bool]]
    links: list[tuple[str, str]]
    bubblewrap: str
    calls: bytes
    file_size: int
    processes: int
    memory: int
    cwd: str
    argv: list[str]
    env: dict[str, str]
