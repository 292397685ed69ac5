"""Reads the record of a session from a file (docs/record.md)."""

from pathlib import Path

from fairlead.session.record.document import SessionRecord
from fairlead.session.record.shape import BadRecord, read_record

MAX_BYTES = 20_000_000


def load_record(path: Path) -> SessionRecord:
    """Reads a record that is not signed from a file.

    Raises:
        BadRecord: the file cannot be read, or is not a record.
    """
    return read_record(read_stored(path))


def read_stored(path: Path) -> bytes:
    """The content of a file that may be a record, signed or not.

    Raises:
        BadRecord: the file cannot be read, or is too large.
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
    return data
