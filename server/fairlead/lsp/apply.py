"""Applies a workspace edit to files on disk, as an editor without open buffers does: all of it, or nothing."""

import contextlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlead.agent.errors import ToolError
from fairlead.lsp.convert import apply_text_edits
from fairlead.lsp.params import file_path
from fairlead.workspace.disk import DiskText, read_text

Json = dict[str, Any]


@dataclass
class _Change:
    """A file's content before (None: there is none) and after, in bytes."""

    path: Path
    before: bytes | None
    after: bytes


def apply_workspace_edit(edit: Json, encoding: str = "utf-16") -> Json:
    """An `ApplyWorkspaceEditResult`: `applied`, and `failureReason` where it is false and nothing was changed."""
    try:
        changes = _plan(edit, encoding)
        _write_all(changes)
    except ToolError as error:
        return {"applied": False, "failureReason": str(error)}
    except OSError as error:
        name = Path(error.filename).name if error.filename else "a file"
        return {"applied": False, "failureReason": f"{name} could not be written: {error.strerror or error}"}
    return {"applied": True}


def _plan(edit: Json, encoding: str) -> list[_Change]:
    """What each file will say; reads, writes nothing."""
    changes: dict[Path, _Change] = {}
    texts: dict[Path, DiskText] = {}
    for change in edit["documentChanges"]:
        uri = change["uri"] if "kind" in change else change["textDocument"]["uri"]
        given = file_path(uri)
        if given is None:
            raise ToolError(f"No file: {uri}")
        path = Path(os.path.realpath(given))
        if change.get("kind") == "create":
            if path.exists():
                raise ToolError(f"{path.name} exists already.")
            texts[path] = DiskText("")
            changes[path] = _Change(path, None, b"")
            continue
        disk = texts.get(path) or read_text(path)
        if disk is None:
            raise ToolError(f"{path.name} is gone.")
        before = changes[path].before if path in changes else disk.encode(disk.text)
        changes[path] = _Change(path, before, disk.encode(apply_text_edits(disk.text, change["edits"], encoding)))
    return list(changes.values())


def _write_all(changes: list[_Change]) -> None:
    """Writes all files beside their places first, then moves them there; a failure puts back what was moved."""
    folders: list[Path] = []
    staged: list[tuple[_Change, Path]] = []
    moved: list[_Change] = []
    try:
        for change in changes:
            folders += _make_folders(change.path.parent)
            staged.append((change, _stage(change)))
        for change, temporary in staged:
            os.replace(temporary, change.path)
            moved.append(change)
    except OSError:
        for change in reversed(moved):
            _put_back(change)
        for folder in reversed(folders):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    finally:
        for _, temporary in staged:
            temporary.unlink(missing_ok=True)


def _make_folders(folder: Path) -> list[Path]:
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing[::-1]


def _stage(change: _Change) -> Path:
    """A temporary file beside the target with the new content and the old mode."""
    descriptor, name = tempfile.mkstemp(prefix=f".{change.path.name[:40]}.", dir=change.path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(change.after)
        temporary.chmod(change.path.stat().st_mode & 0o7777 if change.before is not None else _new_file_mode())
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _put_back(change: _Change) -> None:
    with contextlib.suppress(OSError):
        if change.before is None:
            change.path.unlink()
        else:
            change.path.write_bytes(change.before)


def _new_file_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
