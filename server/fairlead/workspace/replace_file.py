"""Writes files that a user asked Fairlead for, such as recordings. `write.py` writes the user's own files."""

import os
import shutil
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Write a file. It is replaced atomically and keeps its permissions; a link's target is replaced.

    Raises:
        OSError: the file cannot be written. Its previous content is unchanged.
    """
    path = path.resolve()
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
