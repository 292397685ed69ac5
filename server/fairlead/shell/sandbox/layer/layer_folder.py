"""The folder of a session's layer: locked while its server lives. If the server dies, another one removes the folder.

The lock is on the folder itself and ends with the process. It counts only if the folder is still at its path, because
another server may remove a new folder before its creator has locked it. So nothing is written to a folder before it is
locked, and nothing is removed from a folder that another server has locked.
"""

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path

from fairlead.shell.sandbox.layer import trees
from fairlead.workspace.safe_open import closing

_NAME = "layer-"


class LayerFolder:
    """A new, locked folder at `path`, below `parent`."""

    def __init__(self, parent: Path) -> None:
        """Raises OSError if it cannot be created or locked."""
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=_NAME, dir=parent))
            try:
                lock = _lock(self.path)
            except OSError:
                os.rmdir(self.path)
                raise
            if lock is not None:  # otherwise another server has removed the folder, or is about to
                self._lock = lock
                return

    def remove(self) -> None:
        """Removes the folder and releases the lock. Raises OSError; the next sweep removes the rest."""
        try:
            trees.remove_all(self.path)
        finally:
            os.close(self._lock)


def sweep(parent: Path) -> None:
    """Removes the folders of servers that died, as far as they can be removed."""
    for path in parent.glob(f"{_NAME}*"):
        with contextlib.suppress(OSError):
            lock = _lock(path)
            if lock is not None:
                with closing(lock):
                    trees.remove_all(path)


def _lock(path: Path) -> int | None:
    """A descriptor that holds a folder's lock; None if another descriptor has it or the folder is gone.

    Raises:
        OSError: the folder cannot be opened, or the file system does not support such locks.
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
