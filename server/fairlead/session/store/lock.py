"""A lock file that at most one process holds. The operating system releases the lock however the process ends.

On POSIX it is a record lock. `flock` is no alternative: a forked child that has not executed its program yet shares the
lock, and would still hold it after the server was killed. But a process can take a record lock twice, and loses it when
it closes any descriptor of the file. So a second `Lock` in the same process is refused before it opens the file.
"""

import contextlib
import os
import struct
import sys
import threading
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _is_locked(descriptor: int) -> bool:
        try:
            _lock(descriptor)  # there is no other way to ask; closing the file releases it
        except PermissionError:
            return True
        return False
else:
    import fcntl

    # `struct flock`, and the index of the lock's type in it. All other fields are 0 for a lock of the whole file
    _FLOCK, _TYPE = ("hhqqi0q", 0) if sys.platform == "linux" else ("qqihh0q", 3)

    def _lock(descriptor: int) -> None:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _is_locked(descriptor: int) -> bool:
        fields = [0] * 5
        fields[_TYPE] = fcntl.F_WRLCK
        answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack(_FLOCK, *fields))
        return struct.unpack(_FLOCK, answer)[_TYPE] != fcntl.F_UNLCK


_held: set[tuple[int, int] | None] = set()
"""The device and inode of each file that this process has locked."""
_changing = threading.Lock()
"""Guards `_held` and the locks of the files, which must change together."""


class Locked(Exception):
    """Another process, or another `Lock` of this one, holds the lock."""


class Lock:
    """Held from its construction until `release` or `remove`."""

    def __init__(self, path: Path) -> None:
        """Acquires the lock without waiting.

        Raises:
            Locked: another process, or another `Lock` of this one, holds it.
            OSError: the file cannot be created or locked.
        """
        self._path = path
        with _changing:
            while not self._try():
                pass

    def _try(self) -> bool:
        """Tries to acquire the lock. Returns False if its previous holder removed the file; then try again.

        Raises:
            Locked, OSError: as the constructor.
        """
        if _identity(self._path) in _held:
            raise Locked(self._path)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        self._file, acquired = _identity(self._descriptor), False
        try:
            _lock(self._descriptor)
            acquired = self._file == _identity(self._path)
        except (BlockingIOError, PermissionError) as error:  # PermissionError on Windows
            raise Locked(self._path) from error
        finally:
            if acquired:
                _held.add(self._file)
            else:
                os.close(self._descriptor)
        return acquired

    def release(self) -> None:
        """Releases the lock, so that another process can take it."""
        with _changing:
            self._release()

    def _release(self) -> None:
        _held.discard(self._file)
        os.close(self._descriptor)

    def remove(self) -> None:
        """Releases the lock and removes its file, which nobody needs anymore.

        On Windows, a file that another process has opened stays.

        Raises:
            OSError: the file cannot be removed. On POSIX, the lock is still held.
        """
        with _changing:
            if sys.platform == "win32":  # an open file cannot be removed, not even one that another process opened
                self._release()
                with contextlib.suppress(PermissionError):
                    self._path.unlink(missing_ok=True)
            else:
                self._path.unlink(missing_ok=True)
                self._release()


def is_held(path: Path) -> bool:
    """Whether a process has the lock, perhaps this one. On POSIX, nobody is refused because of this question.

    Raises:
        OSError: the file cannot be opened.
    """
    with _changing:
        if _identity(path) in _held:  # closing the file would release the lock
            return True
        try:
            descriptor = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            return _is_locked(descriptor)
        finally:
            os.close(descriptor)


def _identity(file: Path | int) -> tuple[int, int] | None:
    """The device and inode of a path or a descriptor; None if there is no such file."""
    try:
        status = os.stat(file)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
