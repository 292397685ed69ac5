"""Finds the programs of language servers. Nothing is ever downloaded."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FOLDERS = (".venv/bin", "venv/bin", ".venv/Scripts", "venv/Scripts", "node_modules/.bin")
"""Where the environments of a workspace have their programs."""
KEEP = 10.0
"""Seconds until a program is looked for again."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that was found."""

    path: Path
    from_workspace: bool
    """Whether it is a part of the workspace, so that whoever wrote the workspace also chose the program."""


class Programs:
    """The programs for a workspace. A search is repeated after a few seconds at the earliest."""

    def __init__(self, root: Path, clock: Callable[[], float]) -> None:
        self._root, self._clock = root, clock
        self._found: dict[str, tuple[float, Program | None]] = {}

    def find(self, name: str) -> Program | None:
        """The program with this name, or at this absolute path: in the workspace's environments, or on PATH."""
        until, found = self._found.get(name, (float("-inf"), None))
        if self._clock() >= until:
            found = find_program(name, self._root)
            self._found[name] = self._clock() + KEEP, found
        return found


def find_program(name: str, root: Path) -> Program | None:
    """See `Programs.find`."""
    folders = os.pathsep.join(str(root / folder) for folder in FOLDERS)
    # a name with a separator is a path, which `which` takes relative to the current folder
    if os.path.dirname(name) and not os.path.isabs(name):
        name = str(root / name)
    found = shutil.which(name, path=folders) or shutil.which(name)
    if found is None:
        return None
    path = Path(os.path.abspath(found))
    inside = any(each.is_relative_to(folder) for each in (path, path.resolve()) for folder in (root, root.resolve()))
    return Program(path, inside)
