"""Finds the user's hooks in their files. The files are read again when they have changed on disk."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairlead.user_hooks.definition import UnsupportedHook, UserHook
from fairlead.user_hooks.located_json import read_located
from fairlead.user_hooks.read_hooks import FileHooks, read_hooks
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.file_problem import FileProblem

WORKSPACE_FILES = (".claude/settings.json", ".claude/settings.local.json", ".fairlead/hooks.json")
WORKSPACE_FOLDER = ".github/hooks"
"""All its `.json` files, in the order of their names."""
OWN_FILES = (".config/fairlead/hooks.json", ".claude/settings.json")
"""Below the home."""
_OWN_NAME = "hooks.json"
"""The name of the file whose hooks need no approval, unless the home is in the workspace."""
_MAX_BYTES, _MAX_FILES = 1_000_000, 50


@dataclass(frozen=True, slots=True)
class FoundHooks:
    """The hooks of a workspace and of the user, in the order of their files."""

    hooks: Sequence[UserHook] = ()
    unsupported: Sequence[UnsupportedHook] = ()
    problems: Sequence[FileProblem] = ()
    """What is wrong with the files."""


@dataclass(frozen=True, slots=True)
class _Read:
    stamp: tuple[int, int, int]
    found: FileHooks


_Key = tuple[Path, Path | None, bool]


@dataclass
class HookFiles:
    """Reads the files. What is proposed for them has no effect."""

    _read: dict[_Key, _Read] = field(default_factory=dict[_Key, _Read])

    def find(self, workspace: Sequence[Path], home: Path) -> FoundHooks:
        """All hooks.

        Args:
            workspace: its folders, in order; empty if it is not trusted. No link in them is followed.
        """
        of_workspace = _of_workspace(workspace)
        own = [home / name for name in OWN_FILES if home / name not in of_workspace]
        read = [self._of(path, None, path.name != _OWN_NAME or _is_in(path, workspace)) for path in own]
        read += [self._of(path, folder, False) for path, folder in of_workspace.items()]
        return FoundHooks(
            [hook for each in read for hook in each.hooks],
            [hook for each in read for hook in each.unsupported],
            [problem for each in read for problem in each.problems],
        )

    def _of(self, path: Path, folder: Path | None, is_of_other_program: bool) -> FileHooks:
        key = path, folder, is_of_other_program
        try:
            status = path.stat(follow_symlinks=folder is None)
            stamp = status.st_mtime_ns, status.st_size, status.st_ino
        except (OSError, ValueError):
            self._read.pop(key, None)
            return FileHooks()
        known = self._read.get(key)
        if known is None or known.stamp != stamp:
            known = self._read[key] = _Read(stamp, _read_file(path, folder, is_of_other_program))
        return known.found


def problems_in(path: Path, text: str, workspace: Sequence[Path], home: Path) -> Sequence[FileProblem]:
    """What is wrong with the text of a file, if hooks are read from it.

    Args:
        workspace: as for `HookFiles.find`.
    """
    if path.suffix != ".json":
        return ()
    own: dict[Path, Path | None] = {home / name: None for name in OWN_FILES}
    folders = own | _of_workspace(workspace)
    if path not in folders:
        return ()
    return _read_data(text.encode("utf-8", "surrogatepass"), path, folders[path], is_of_other_program=False).problems


def _is_in(path: Path, workspace: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in workspace)


def _of_workspace(workspace: Sequence[Path]) -> dict[Path, Path]:
    """The files with hooks in the folders of a workspace, each with its folder."""
    return {path: folder for folder in workspace for path in _workspace_files(folder)}


def _workspace_files(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in WORKSPACE_FILES)
    try:
        names = sorted(name for name in os.listdir(folder / WORKSPACE_FOLDER) if name.endswith(".json"))
    except OSError:
        names = []
    yield from (folder / WORKSPACE_FOLDER / name for name in names[:_MAX_FILES])


def _read_file(path: Path, folder: Path | None, is_of_other_program: bool) -> FileHooks:
    try:
        data = read_bytes(path, folder)
    except WorkspaceError as error:
        return _unreadable(path, error)
    return FileHooks() if data is None else _read_data(data, path, folder, is_of_other_program=is_of_other_program)


def _read_data(data: bytes, path: Path, folder: Path | None, *, is_of_other_program: bool) -> FileHooks:
    try:
        if len(data) > _MAX_BYTES:
            raise ValueError(f"it is larger than {_MAX_BYTES:,} bytes")
        value = read_located(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return _unreadable(path, error)
    return read_hooks(value, path, folder, is_of_other_program=is_of_other_program)


def _unreadable(path: Path, error: Exception) -> FileHooks:
    reason, line = (error.msg, error.lineno) if isinstance(error, json.JSONDecodeError) else (str(error), None)
    return FileHooks(problems=[FileProblem(path, f"it cannot be read: {reason}", line, is_left_out=True)])
