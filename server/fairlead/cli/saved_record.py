"""The record of a session as a file: written after a run, and read to verify it (docs/record.md)."""

from pathlib import Path

from fairlead.session.record.document import SessionRecord
from fairlead.session.record.shape import BadRecord, read_record

MAX_BYTES = 20_000_000


def load_record(path: Path) -> SessionRecord:
    """Reads a record from a file.

    Raises:
        BadRecord: the file cannot be read, or is not a record.
    """
    if path.is_dir():
        raise BadRecord("It is a folder.")
    if path.exists() and not path.is_file():  # a pipe may never end
        raise BadRecord("It is not a regular file.")
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: the path contains NUL
        reason = error.strerror if isinstance(error, OSError) else None
        raise BadRecord(f"It cannot be read: {reason or error}.") from error
    if len(data) > MAX_BYTES:
        raise BadRecord(f"It is too large for a record: more than {MAX_BYTES // 1_000_000} MB.")
    return read_record(data)


def may_overwrite(path: Path) -> bool:
    """Whether a record may be written to this path. It may replace an older record, but no other file."""
    if not path.is_file() or not path.stat().st_size:  # a device has no contents to lose
        return True
    try:
        load_record(path)
    except BadRecord:
        return False
    return True
