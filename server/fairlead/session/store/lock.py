"""A lock file that at most one process holds. The operating system releases it however the process ends."""

import contextlib
import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Locked(Exception):
    """Another process holds the lock."""


class Lock:
    """Held from its construction until `release`."""

    def __init__(self, path: Path) -> None:
        """Acquires the lock without waiting.

        Raises:
            Locked: another process, or another `Lock` of this one, holds it.
            OSError: the file cannot be created or locked.
        """
        self._path = path
        while True:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _lock(self._descriptor)
                if os.path.samestat(os.fstat(self._descriptor), path.stat()):
                    return
            except (BlockingIOError, PermissionError) as error:  # PermissionError on Windows
                self.release()
                raise Locked(path) from error
            except FileNotFoundError:
                pass
            except OSError:
                self.release()
                raise
            self.release()  # the previous holder removed the file, so this lock would exclude nobody

    def release(self) -> None:
        """Releases the lock, so that another process can take it."""
        os.close(self._descriptor)

    def remove(self) -> None:
        """Releases the lock and removes its file, which nobody needs anymore.

        Raises:
            OSError: the file cannot be removed.
        """
        if sys.platform == "win32":  # an open file cannot be removed, not even one that another process opened since
            self.release()
            with contextlib.suppress(PermissionError):
                self._path.unlink(missing_ok=True)
        else:
            self._path.unlink(missing_ok=True)
            self.release()
