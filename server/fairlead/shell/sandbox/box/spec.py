"""The description of a command's box in plain values, which the server sends to the launcher (`launcher.py`)."""

import sys
from pathlib import Path
from typing import Literal, TypedDict

import fairlead
from fairlead.shell.sandbox.box.path_calls import PathCall

_START = "import sys; sys.path.append(sys.argv[1]); from fairlead.shell.sandbox.box.{} import main; main()"

Route = tuple[bool, bool, bytes, int]
"""(whether the addresses are the box itself; else they are unreachable; whether it is for IPv6, address, prefix)."""
Listening = tuple[str, str, int]
"""(`stream` or `datagram`, address, port). The address `::` is all, IPv4 included."""


def program_argv(module: Literal["launcher", "network_setup", "relay"], *arguments: str | int) -> list[str]:
    """The command line of an isolated Python that runs one of the modules next to this one."""
    folder = str(Path(fairlead.__file__).parents[1])
    return [sys.executable, "-I", "-S", "-c", _START.format(module), folder, *map(str, arguments)]


class OverlaySpec(TypedDict):
    """An overlay mount at `target`. `lower` lists the topmost folder first; `work` is overlayfs's own folder."""

    target: str
    lower: list[str]
    upper: str
    work: str


class NetworkSpec(TypedDict):
    """The network of a session's boxes (`network_setup.py`). Sent as marshal data."""

    uid: int
    gid: int
    """The account to which it belongs."""
    sockets: int
    """The descriptor over which the listening sockets are sent to the relay; -1: there is no relay."""
    routes: list[Route]
    listen: list[Listening]


class BoxSpec(TypedDict):
    """The box of one command. Sent as marshal data, for which Python loads no other file. Sizes are in bytes."""

    server: int
    """The pid of the server. The box ends with it."""
    status: int
    """The descriptor of the pipe to which the launcher reports."""
    uid: int
    gid: int
    """The account that the command runs as (`uid` and `gid`)."""
    join: list[int]
    """Descriptors of a user namespace and its network (`network.py`)."""
    layers: list[OverlaySpec]
    machine: str
    """For root only: an empty folder for a view of the machine without the files that only root may read.

    Empty: the box shows the machine itself.
    """
    mounts: list[str]
    """The mount points that the view at `machine` shows, the outermost first. Empty if there is no such view."""
    scratch: str
    """An empty folder, on which the box's file system in memory is mounted."""
    scratch_size: int
    scratch_folders: list[tuple[str, int]]
    """The folders in that file system, as (name, mode). The box's own /dev, /tmp and the like are bound from there."""
    binds: list[tuple[str, str, bool]]
    """(source, target, writable), in the order of mounting. All sources are opened before the first is mounted."""
    links: list[tuple[str, str]]
    """Symbolic links in the box's own folders, as (target, path)."""
    bubblewrap: str
    """The path of the program. Empty: the launcher makes the box itself."""
    seccomp: bytes
    """The filter of system calls (`seccomp.py`). May be empty."""
    reads: int
    """The descriptor of a file in memory, to which the accesses of the box are written (`reads.py`).

    -1: they are not recorded.
    """
    path_filter: bytes
    """The filter that makes the kernel report them (`path_calls.py`)."""
    path_calls: dict[int, list[PathCall]]
    """What each reported call does, by number."""
    documents: list[bytes]
    """For files whose names end so, it is recorded which programs look at them."""
    file_size: int
    """The maximum size of a file."""
    processes: int
    """The maximum number of processes and threads."""
    memory: int
    """The limit on memory, including files in memory."""
    terminal: bool
    """Whether the standard streams are a terminal, which becomes that of the command's session."""
    cwd: str
    argv: list[str]
    env: dict[str, str]
