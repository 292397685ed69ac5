"""Applies a workspace edit to files on disk, as an editor without open buffers does: all of it, or nothing."""

import hashlib
from pathlib import Path
from typing import Any

from fairlead.agent.errors import ToolError
from fairlead.lsp.convert import apply_text_edits
from fairlead.lsp.params import file_path
from fairlead.workspace.disk import decode, read_bytes
from fairlead.workspace.write import FileChange, write_files

Json = dict[str, Any]


def apply_workspace_edit(params: Json, encoding: str = "utf-16") -> Json:
    """An `ApplyWorkspaceEditResult`: `applied`, and `failureReason` where it is false and nothing was changed.

    A file that has a digest in `params` is changed only if its bytes have it (docs/protocol.md, Standard LSP).
    """
    try:
        write_files(_plan(params, encoding))
    except ToolError as error:
        return {"applied": False, "failureReason": str(error)}
    except OSError as error:
        name = Path(error.filename).name if error.filename else "a file"
        return {"applied": False, "failureReason": f"{name} could not be written: {error.strerror or error}"}
    return {"applied": True}


def _plan(params: Json, encoding: str) -> list[FileChange]:
    """What each file will say once the operations were done one after the other; reads, writes nothing."""
    digests = {_path(uri): digest for uri, digest in params.get("digests", {}).items()}
    before: dict[Path, bytes | None] = {}
    after: dict[Path, bytes | None] = {}
    modes: dict[Path, int] = {}

    def now(path: Path) -> bytes | None:
        if path not in after:
            before[path] = after[path] = read_bytes(path)
            if path in digests and digests[path] != hashlib.sha256(before[path] or b"").hexdigest():
                raise ToolError(f"{path.name} changed at the same time.")
        return after[path]

    def there(path: Path) -> bytes:
        data = now(path)
        if data is None:
            raise ToolError(f"{path.name} is gone.")
        return data

    def free(path: Path) -> None:
        if now(path) is not None:
            raise ToolError(f"{path.name} exists already.")

    for change in params["edit"]["documentChanges"]:
        match change.get("kind"):
            case "create":
                path = _path(change["uri"])
                free(path)
                after[path] = b""
            case "delete":
                path = _path(change["uri"])
                there(path)
                after[path] = None
            case "rename":
                old, new = _path(change["oldUri"]), _path(change["newUri"])
                free(new)
                after[new], after[old] = there(old), None
                if old.exists():
                    modes[new] = old.stat().st_mode & 0o7777
            case _:
                path = _path(change["textDocument"]["uri"])
                disk = decode(there(path), path.name)
                after[path] = disk.encode(apply_text_edits(disk.text, change["edits"], encoding), path.name)
    changed = [path for path in after if after[path] != before[path]]
    return [FileChange(path, before[path], after[path], modes.get(path)) for path in changed]


def _path(uri: str) -> Path:
    """The file itself, not a link to it."""
    given = file_path(uri)
    if given is None:
        raise ToolError(f"No file: {uri}")
    return given.resolve()
