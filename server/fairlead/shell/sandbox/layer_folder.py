"""The folder of a session's layer: locked while its server lives, removed by another server after that.

The lock is on the folder itself and ends with the process that holds it. It counts only while the folder still has its
name: another server may remove a new folder before the one that made it has locked it. So nothing is put into a folder
before its lock counts, and nothing is removed from a folder that somebody else has locked.
"""

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path

from fairlead.shell.sandbox import trees

_NAME = "layer-"


class LayerFolder:
    """A new folder at `path`, below `place`."""

    def __init__(self, place: Path) -> None:
        """Raises OSError where it cannot be made or locked."""
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=_NAME, dir=place))
            try:
                lock = _locked(self.path)
            except OSError:
                os.rmdir(self.path)
                raise
            if lock is not None:  # else another server has removed it, or is about to: it was not locked yet
                self._lock = lock
                return

    def remove(self) -> None:
        """Removes it with all that is in it, and releases it. Raises OSError; the next sweep removes what stays."""
        try:
            trees.remove_all(self.path)
        finally:
            os.close(self._lock)


def sweep(place: Path) -> None:
    """Removes the folders of servers that ended without doing so themselves."""
    for path in place.glob(f"{_NAME}*"):
        with contextlib.suppress(OSError):
            lock = _locked(path)
            if lock is not None:
                try:
                    trees.remove_all(path)
                finally:
                    os.close(lock)


def _locked(path: Path) -> int | None:
    """A descriptor that holds a folder's lock; None where somebody else has it, or the folder is gone.

    Raises:
        OSError: the file system has no such locks.
    """
    try:
        descriptor = os.open(path, trees.FOLDER)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.lstat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None
