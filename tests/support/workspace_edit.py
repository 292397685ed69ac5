"""Applies a workspace edit to files on disk, all or nothing, as an editor without open documents does."""

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

from fairlead.positions import apply_text_edits
from fairlead.uris import file_path
from fairlead.workspace.disk import decode, read_bytes
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import real_path
from fairlead.workspace.write import FileChange, FileWriter

Json = dict[str, Any]


def apply_workspace_edit(params: Json, encoding: str = "utf-16") -> Json:
    """Applies the edit and returns an `ApplyWorkspaceEditResult`. If it has a `failureReason`, nothing was changed, or
    the reason says which deleted file could not be restored and where it is now.

    A file with a digest in `params` is changed only if its bytes match (docs/protocol.md, Standard LSP).

    Args:
        params: those of `workspace/applyEdit`. The edit must use `documentChanges`.
        encoding: the unit of the edit's columns (`code_units`).

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the edit is malformed. Nothing was changed.
    """
    try:
        FileWriter().write(_file_changes(params, encoding))
    except WorkspaceError as error:
        return {"applied": False, "failureReason": str(error)}
    except OSError as error:
        name = Path(error.filename).name if error.filename else "a file"
        return {"applied": False, "failureReason": f"{name} could not be written: {error.strerror or error}"}
    return {"applied": True}


def _file_changes(params: Json, encoding: str) -> list[FileChange]:
    """What all operations together change in each file. Writes nothing. Raises WorkspaceError if one is impossible."""
    digests = {_path(uri): digest for uri, digest in params.get("digests", {}).items()}
    before: dict[Path, bytes | None] = {}
    after: dict[Path, bytes | None] = {}
    moved: dict[Path, os.stat_result] = {}

    def current(path: Path) -> bytes | None:
        if path not in after:
            before[path] = after[path] = read_bytes(path)
            if path in digests and digests[path] != hashlib.sha256(before[path] or b"").hexdigest():
                raise WorkspaceError(f"{path.name} changed at the same time.")
        return after[path]

    def existing(path: Path) -> bytes:
        data = current(path)
        if data is None:
            raise WorkspaceError(f"{path.name} no longer exists.")
        return data

    def require_absent(path: Path) -> None:
        if current(path) is not None:
            raise WorkspaceError(f"{path.name} already exists.")

    for change in params["edit"]["documentChanges"]:
        match change.get("kind"):
            case "create":
                path = _path(change["uri"])
                require_absent(path)
                after[path] = b""
            case "delete":
                path = _path(change["uri"])
                existing(path)
                after[path] = None
            case "rename":
                old, new = _path(change["oldUri"]), _path(change["newUri"])
                require_absent(new)
                after[new], after[old] = existing(old), None
                if old.exists():
                    moved[new] = old.stat()
            case _:
                path = _path(change["textDocument"]["uri"])
                disk = decode(existing(path), path.name)
                after[path] = disk.encode(apply_text_edits(disk.text, change["edits"], encoding), path.name)
    changes: list[FileChange] = []
    for path, data in after.items():
        if data != before[path]:
            old = moved.get(path)
            mode = stat.S_IMODE(old.st_mode) if old is not None else None
            owner = (old.st_uid, old.st_gid) if old is not None else None
            changes.append(FileChange(path, before[path], data, mode, owner))
    return changes


def _path(uri: str) -> Path:
    """The path of a file URI, with links resolved. Raises WorkspaceError for another URI."""
    path = file_path(uri)
    if path is None:
        raise WorkspaceError(f"Not the URI of a file: {uri}")
    return real_path(path)
