"""Finds the programs of language servers. Downloads nothing."""

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.json_values import fields_of
from fairlead.workspace.paths import real_path

PYTHON_FOLDERS = (".venv/bin", "venv/bin", ".venv/Scripts", "venv/Scripts")
"""The folders of a workspace in which Python's environments have their programs."""
FOLDERS = (*PYTHON_FOLDERS, "node_modules/.bin")
"""The folders of a workspace in which Python's environments and npm packages have their programs."""
SEARCH_INTERVAL = 10.0
"""Seconds until a program is searched for again."""
MAX_PACKAGE_FILE = 1 << 20
"""The size of the longest package.json that is read, in bytes."""


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
        self._found: dict[tuple[str, tuple[str, int] | None], tuple[float, Program | None]] = {}

    def find(self, name: str, package: tuple[str, int] | None = None) -> Program | None:
        """The program with this name or at this path; None if there is none.

        Searches for a name in the workspace's environments, then on PATH. A relative path starts at the workspace.

        Args:
            package: the npm package that the program must belong to, and its lowest major version. Another program of
                this name hides those that come later on PATH, as it does in a shell.
        """
        until, found = self._found.get((name, package), (float("-inf"), None))
        if self._clock() >= until:
            found = _search(name, self._root)
            if found is not None and package is not None and _major_version(found.path, package[0]) < package[1]:
                found = None
            self._found[name, package] = self._clock() + SEARCH_INTERVAL, found
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


def _major_version(program: Path, package: str) -> int:
    """The major version of the npm package that a program belongs to; 0 if it belongs to none.

    npm installs a program as a link into its package, or as a script in `.bin` or, on Windows, beside `node_modules`.
    """
    here = program.parent
    for folder in (real_path(program).parent.parent, here.parent / package, here / "node_modules" / package):
        path = folder / "package.json"
        with contextlib.suppress(OSError, ValueError, RecursionError):
            fields = fields_of(json.loads(_beginning(path)) if path.is_file() else None)
            if fields.get("name") == package and (found := re.match(r"[0-9]{1,6}(?=\.)", str(fields.get("version")))):
                return int(found[0])
    return 0


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_PACKAGE_FILE)


def _in_environment(name: str, root: Path, folders: Sequence[str]) -> Path | None:
    # not as a list in the form of PATH, because the workspace's path may contain the separator
    found = (shutil.which(str(root / folder / name)) for folder in folders)
    return next(map(Path, filter(None, found)), None)
