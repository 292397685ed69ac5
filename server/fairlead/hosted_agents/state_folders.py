"""The folders in which an agent keeps its settings and its sign-in.

The agent writes into its state folder from its box, and the user's sign-in runs outside of the box. So the sign-in has
a folder of its own that the agent cannot write, and what the sign-in wrote there is copied into the state folder. What
the agent makes in its state folder, such as a link, is never followed.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from fairlead.hosted_agents.connection import AgentFailed
from fairlead.hosted_agents.definition import AgentDefinition
from fairlead.json_values import fields_of
from fairlead.workspace.safe_open import closing, read_regular

MAX_FILE, MAX_FILES = 16 << 20, 2_000
"""The largest file that is taken over from a sign-in, in bytes, and the most files."""
IN_THE_WAY = "its state folder has a link or a file in place of a folder: {path}. Remove it, and try again"
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
Owner = tuple[int, int] | None
"""The ids of a user and a group; None: they stay as they are."""


@dataclass(frozen=True, slots=True)
class StateFolders:
    """The folders of one agent.

    Args:
        state: what the agent sees and writes.
        sign_in: what only the user's sign-in writes.
    """

    state: Path
    sign_in: Path
    _parts: Sequence[tuple[str, str]] = field(default=())
    """The variables that name folders, each with a path relative to the folder."""

    @classmethod
    def of(cls, definition: AgentDefinition, folder: Path) -> "StateFolders":
        """The folders of an agent, given the folder for those of all agents."""
        return cls(folder / "state" / definition.name, folder / "sign-in" / definition.name, definition.state)

    def for_agent(self, owner: Owner) -> Mapping[str, str]:
        """The variables that name the folders for the agent. Creates them, and takes over the user's sign-in.

        Args:
            owner: the account that the agent runs as, if that is not the server's.

        Raises:
            AgentFailed: something that the agent has made is in the way.
            OSError: they cannot be created.
        """
        found = self._make(self.state, owner)
        self._take_sign_in(owner)
        return found

    def for_sign_in(self) -> Mapping[str, str]:
        """The variables that name the folders for a sign-in. Creates them. Raises OSError."""
        return self._make(self.sign_in, None)

    def _make(self, top: Path, owner: Owner) -> dict[str, str]:
        top.mkdir(mode=0o700, parents=True, exist_ok=True)
        with closing(os.open(top, _FOLDER)) as descriptor:
            _set_owner(descriptor, owner)
        for _, part in self._parts:
            with closing(_open_folder(top, PurePosixPath(part).parts, owner)):
                pass
        return {variable: str(top / part) for variable, part in self._parts}

    def _take_sign_in(self, owner: Owner) -> None:
        """Copies the files that a sign-in has written since the last time."""
        taken = self.sign_in.with_name(f"{self.sign_in.name}.taken.json")
        try:
            before = fields_of(json.loads(taken.read_bytes()))
        except (OSError, ValueError):
            before = dict[str, Any]()
        now = {name: [status.st_mtime_ns, status.st_size] for name, status in _files_below(self.sign_in)}
        changed = [name for name, stamp in now.items() if before.get(name) != stamp]
        for name in changed:
            _write(self.state, PurePosixPath(name), read_regular(self.sign_in / name, MAX_FILE), owner)
        if changed:
            taken.write_text(json.dumps(now), "utf-8")


def _files_below(top: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files below a folder, by their paths relative to it; at most MAX_FILES."""
    left = MAX_FILES
    for folder, _, names in os.walk(top):
        for name in names:
            path = Path(folder, name)
            with contextlib.suppress(OSError):
                if path.is_file() and not path.is_symlink() and left > 0:
                    left -= 1
                    yield path.relative_to(top).as_posix(), path.stat()


def _open_folder(top: Path, parts: Sequence[str], owner: Owner) -> int:
    """The descriptor of a folder below another one. Creates what is missing, and follows no link below `top`."""
    descriptor = os.open(top, _FOLDER)
    for part in parts:
        with closing(descriptor):
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o700, dir_fd=descriptor)
            try:
                inner = os.open(part, _FOLDER, dir_fd=descriptor)
            except OSError as error:
                raise AgentFailed(IN_THE_WAY.format(path=top.joinpath(*parts))) from error
        descriptor = inner
        _set_owner(descriptor, owner)
    return descriptor


def _write(top: Path, path: PurePosixPath, data: bytes, owner: Owner) -> None:
    """Writes a file below a folder, in place of what is there."""
    name = f".{path.name}.fairlead-new"
    with closing(_open_folder(top, path.parts[:-1], owner)) as folder:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=folder)
        with open(descriptor, "wb") as file:
            _set_owner(file.fileno(), owner)
            file.write(data)
        try:
            os.rename(name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except IsADirectoryError as error:
            raise AgentFailed(IN_THE_WAY.format(path=top / path)) from error


def _set_owner(descriptor: int, owner: Owner) -> None:
    if sys.platform != "win32" and owner is not None and os.fstat(descriptor).st_uid != owner[0]:
        os.fchown(descriptor, *owner)
