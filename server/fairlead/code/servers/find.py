"""Finds the programs of language servers. Downloads nothing."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.workspace.paths import real_path

PYTHON_FOLDERS = (".venv/bin", "venv/bin", ".venv/Scripts", "venv/Scripts")
"""The folders of a workspace in which Python's environments have their programs."""
FOLDERS = (*PYTHON_FOLDERS, "node_modules/.bin")
"""The folders of a workspace in which Python's environments and npm packages have their programs."""
SEARCH_INTERVAL = 10.0
"""Seconds until a program is searched for again."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program of a language server."""

    path: Path
    from_workspace: bool
    """Whether it is in the workspace. If so, whoever wrote the workspace also chose the program."""


class Programs:
    """Finds the programs for a workspace. Caches each result for a few seconds."""

    def __init__(self, root: Path, clock: Callable[[], float]) -> None:
        self._root, self._clock = root, clock
        self._found: dict[str, tuple[float, Program | None]] = {}

    def find(self, name: str) -> Program | None:
        """The program with this name or at this path; None if there is none.

        Searches for a name in the workspace's environments, then on PATH. A relative path starts at the workspace.
        """
        until, found = self._found.get(name, (float("-inf"), None))
        if self._clock() >= until:
            found = _search(name, self._root)
            self._found[name] = self._clock() + SEARCH_INTERVAL, found
        return found


def find_python(root: Path) -> Path | None:
    """The Python of a workspace's environment; None if the workspace has no environment with a Python."""
    return _in_environment("python", root, PYTHON_FOLDERS)


def _search(name: str, root: Path) -> Program | None:
    # `which` would take a relative path as relative to the current folder
    if os.path.dirname(name) and not os.path.isabs(name):
        name = str(root / name)
    found = _in_environment(name, root, FOLDERS) or shutil.which(name)
    if found is None:
        return None
    path = Path(os.path.abspath(found))
    roots = (root, real_path(root))
    is_inside = any(each.is_relative_to(folder) for each in (path, real_path(path)) for folder in roots)
    return Program(path, is_inside)


def _in_environment(name: str, root: Path, folders: Sequence[str]) -> Path | None:
    # not as a list in the form of PATH, because the workspace's path may contain the separator
    found = (shutil.which(str(root / folder / name)) for folder in folders)
    return next(map(Path, filter(None, found)), None)
