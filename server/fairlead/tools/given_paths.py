"""Reads the paths of a call as the model means them (docs/plan.md L11), before its tool gets them.

Models write paths as they are written elsewhere: in a shell, on Windows, in a list of lines. Taken literally, such a
path would make an oddly named file.
"""

import contextlib
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, Tool, ToolKind
from fairlead.display import shorten
from fairlead.errors import ToolError
from fairlead.uris import file_path
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.paths import PathEscape, Roots, check_length

FIELDS = ("path", "new_path")
"""The fields of the tools' inputs that are paths."""

_HOME = re.compile(r"(?:~|\$HOME|\$\{HOME\})(?=/|\Z)")
_WORKSPACE = re.compile(r"(?:\$PWD|\$\{PWD\}|\$\{workspaceFolder\})(?=/|\Z)")
_DRIVE = re.compile(r"[A-Za-z]:/")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class WithGivenPaths:
    """Implements `Tool` for a tool with paths: it gets them without blanks around them, or the call is refused."""

    def __init__(self, tool: Tool, files: Files) -> None:
        self._tool, self._files = tool, files

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    @property
    def kind(self) -> ToolKind:
        return self._tool.kind

    @property
    def read_only(self) -> bool:
        return self._tool.read_only

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        with contextlib.suppress(ToolError):  # `run` raises it
            input = self._read(input)
        return self._tool.describe(input)

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        return await self._tool.run(self._read(input), call)

    def _read(self, input: Mapping[str, Any]) -> dict[str, Any]:
        paths = {name: input[name] for name in FIELDS if input.get(name)}
        may_be_folder = self._tool.kind == "search"
        return {**input, **{name: read_path(self._files, given, may_be_folder) for name, given in paths.items()}}


def read_path(files: Files, given: str, may_be_folder: bool) -> str:
    """The path that the model means: without blanks around it. What exists under the very name is always meant.

    Raises:
        ToolError: the path would make an oddly named file, such as `src\\main.py` or `~/a.txt`. The message has the
            right form.
    """
    check_length(given)
    if _exists(files, given):
        return given
    meant = given.strip()
    folder, _, name = meant.rpartition("/")
    if _exists(files, meant) or (folder and name and "\\" not in name and _exists(files, folder)):
        return meant
    right = _right_form(files.roots, meant)
    if right != meant:
        raise WorkspaceError(
            f"Write {right} instead of {shorten(meant, 200)}: paths are relative to the workspace and have forward "
            "slashes."
        )
    if _CONTROL.search(meant.replace("\0", "")):  # a NUL has an error of its own
        raise WorkspaceError("The path contains a line break or another control character. Name one file, on one line.")
    named = meant[:-1] if meant.endswith("/.") else meant
    if named.endswith("/") and not may_be_folder:
        raise WorkspaceError(
            f"{shorten(meant)} names a folder. Add the name of the file, as in {shorten(named)}NAME. Folders are made "
            "with their files."
        )
    return meant


def _exists(files: Files, given: str) -> bool:
    """Whether there is something at a path, for the user or for the agent."""
    try:
        path = files.roots.resolve(given)
    except WorkspaceError:
        return False
    return os.path.lexists(path) or files.has_proposal(path) or files.user_files.buffer(path) is not None


def _right_form(roots: Roots, given: str) -> str:
    """The path in the form that the tools take; the same text if it has this form already.

    Raises:
        PathEscape: it is outside of the workspace.
    """
    right = given if sys.platform == "win32" else given.replace("\\", "/")
    if _DRIVE.match(right) and sys.platform != "win32":
        raise PathEscape(f"Path escapes workspace: {given}")
    absolute = _absolute(roots, right)
    return right if absolute is None else roots.relative(roots.resolve(str(absolute)))


def _absolute(roots: Roots, given: str) -> Path | None:
    """The absolute path for one that begins with the home, the workspace or `file://`; None for others."""
    if given.startswith("file://"):
        return file_path(given)
    start = _HOME.match(given) or _WORKSPACE.match(given)
    if start is None:
        return None
    folder = Path.home() if start.re is _HOME else roots.first.path
    return folder / given[start.end() :].lstrip("/")
