"""Writes and removes the files of a journal. A full disk or a kill damages at most the lines that are being added.

`ID.reported` notes which content of an unreadable journal the user knows about.
"""

import os
from pathlib import Path


def append(file: int, data: bytes, size: int) -> None:
    """Appends all of the data to a file, or leaves the file unchanged.

    Args:
        file: a descriptor from `open_for_append`.
        size: the current size of the file in bytes. If writing fails, the file is cut back to this size.

    Raises:
        OSError: the data could not be written completely.
    """
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        os.ftruncate(file, size)
        raise


def remove(path: Path) -> None:
    """Removes a journal if it exists, its note, and the new file that an interrupted rewrite may have left.

    Raises:
        OSError: a file cannot be removed.
    """
    for each in (path, path.with_suffix(".new"), path.with_suffix(".reported")):
        each.unlink(missing_ok=True)


def note_report(path: Path) -> bool:
    """Records that the user learns that a journal cannot be read.

    Returns False if this or another process has noted it already and the file has not changed since.
    """
    note = path.with_suffix(".reported")
    try:
        status = path.stat()
        content = f"{status.st_size} {status.st_mtime_ns}".encode()
        if note.exists() and note.read_bytes() == content:
            return False
        note.unlink(missing_ok=True)
        with open(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
    except FileExistsError:  # another process has just noted it
        return False
    except OSError:  # the folder is not writable
        pass
    return True


def write_new(path: Path, data: bytes) -> Path:
    """Writes a new file that can replace the one at `path`; returns the path of the new file.

    Raises:
        OSError: the file cannot be written; no part of it remains.
    """
    new = path.with_suffix(".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    return new


def open_for_append(path: Path) -> int:
    """A descriptor for appending to an existing file. Raises OSError."""
    return os.open(path, os.O_WRONLY | os.O_APPEND)
