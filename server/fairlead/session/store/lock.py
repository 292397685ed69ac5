"""A file that at most one process holds. The system lets go of it when the process ends, however it ends."""

import contextlib
import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Taken(Exception):
    """Another process holds it."""


class Lock:
    """Held from the start until `release`."""

    def __init__(self, path: Path) -> None:
        """Takes it without waiting.

        Raises:
            Taken: another process, or another lock of this one, holds it.
            OSError: the file cannot be made or locked.
        """
        self._path = path
        while True:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _take(self._descriptor)
                if os.path.samestat(os.fstat(self._descriptor), path.stat()):
                    return
            except (BlockingIOError, PermissionError) as error:  # the second is what Windows says
                self.release()
                raise Taken(path) from error
            except FileNotFoundError:
                pass
            except OSError:
                self.release()
                raise
            self.release()  # who had it before has removed the file: a lock on that one keeps nobody out

    def release(self) -> None:
        os.close(self._descriptor)

    def remove(self) -> None:
        """Releases it and takes its file away: nobody asks for it any more.

        Raises:
            OSError: the file cannot be removed.
        """
        if sys.platform == "win32":  # an open file cannot be removed there, not even when it is another's by now
            self.release()
            with contextlib.suppress(PermissionError):
                self._path.unlink(missing_ok=True)
        else:
            self._path.unlink(missing_ok=True)
            self.release()
