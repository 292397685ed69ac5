"""Writes a file that the user asked Fairlead for, such as a recording. `write.py` writes the user's own files."""

import os
import shutil
from pathlib import Path

from fairlead.workspace.paths import real_path


def replace_file(path: Path, data: bytes) -> None:
    """Writes a file atomically, with its old permissions. If the path is a link, replaces its target.

    Writes directly to a device or a pipe.

    Raises:
        OSError: the file cannot be written; its previous content is unchanged.
    """
    path = real_path(path)
    if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
        path.write_bytes(data)
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
