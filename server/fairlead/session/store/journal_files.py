"""The files of a journal: how they are written so that a full disk or a kill leaves a whole one, and removed."""

import os
from pathlib import Path


def append(file: int, data: bytes, size: int) -> None:
    """Adds to a file that has a size, or leaves it as it is.

    Raises:
        OSError: not all of it could be written.
    """
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        os.ftruncate(file, size)
        raise


def remove(path: Path) -> None:
    """Takes a journal away, with what a kill left of writing it anew.

    Raises:
        OSError: it cannot be removed.
    """
    path.unlink(missing_ok=True)
    path.with_suffix(".new").unlink(missing_ok=True)


def write_beside(path: Path, data: bytes) -> Path:
    """Writes a file beside another one.

    Raises:
        OSError: it cannot be written; nothing of it stays.
    """
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    return fresh


def opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND)
