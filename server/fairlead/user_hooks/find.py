"""Finds the user's hooks in their files. The files are read again when they have changed on disk."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairlead.user_hooks.definition import UnsupportedHook, UserHook
from fairlead.user_hooks.located_json import read_located
from fairlead.user_hooks.read_hooks import FileHooks, read_hooks
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.errors import WorkspaceError

WORKSPACE_FILES = (".claude/settings.json", ".claude/settings.local.json", ".fairlead/hooks.json")
WORKSPACE_FOLDER = ".github/hooks"
"""All its `.json` files, in the order of their names."""
OWN_FILES = (".config/fairlead/hooks.json", ".claude/settings.json")
"""Below the home."""
_OWN_FAIRLEAD = OWN_FILES[0]
_MAX_BYTES, _MAX_FILES = 1_000_000, 50


@dataclass(frozen=True, slots=True)
class FoundHooks:
    """The hooks of a workspace and of the user, in the order of their files."""

    hooks: Sequence[UserHook] = ()
    unsupported: Sequence[UnsupportedHook] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Read:
    stamp: tuple[int, int, int]
    found: FileHooks


@dataclass
class HookFiles:
    """Reads the files. What is proposed for them has no effect."""

    _read: dict[Path, _Read] = field(default_factory=dict[Path, _Read])

    def find(self, workspace: Sequence[Path], home: Path) -> FoundHooks:
        """All hooks.

        Args:
            workspace: its folders, in order; empty if it is not trusted. No link in them is followed.
        """
        files = [(home / name, None, name != _OWN_FAIRLEAD) for name in OWN_FILES]
        files += [(path, folder, False) for folder in workspace for path in _workspace_files(folder)]
        read = [self._of(path, folder, of_other) for path, folder, of_other in files]
        return FoundHooks(
            [hook for each in read for hook in each.hooks],
            [hook for each in read for hook in each.unsupported],
            [warning for each in read for warning in each.warnings],
        )

    def _of(self, path: Path, folder: Path | None, is_of_other_program: bool) -> FileHooks:
        try:
            status = path.stat(follow_symlinks=folder is None)
            stamp = status.st_mtime_ns, status.st_size, status.st_ino
        except (OSError, ValueError):
            self._read.pop(path, None)
            return FileHooks()
        known = self._read.get(path)
        if known is None or known.stamp != stamp:
            known = self._read[path] = _Read(stamp, _read_file(path, folder, is_of_other_program))
        return known.found


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
        if data is None:
            return FileHooks()
        if len(data) > _MAX_BYTES:
            raise ValueError(f"it is larger than {_MAX_BYTES:,} bytes")
        value = read_located(data.decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError, WorkspaceError) as error:
        return FileHooks(warnings=[f"{path} cannot be read: {error}"])
    return read_hooks(value, path, folder, is_of_other_program=is_of_other_program)
