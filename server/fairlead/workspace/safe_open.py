"""Opening what lies beneath the workspace's root, at the moment of use (docs/faults.md 32 to 34).

A path was resolved before (`paths.py`), so no link is left in it. Between that look and the use somebody may put one
there; here it is refused and not followed. Linux does it in one call (`openat2`), other systems folder by folder.
"""

import errno
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path

from fairlead.workspace.paths import PathEscape, below

_OPENAT2 = 437  # the same number on every architecture that CPython is built for
_NO_SYMLINKS, _BENEATH = 0x04, 0x08
_HELD = os.supports_dir_fd >= {os.open, os.mkdir, os.stat, os.unlink}
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)

Opened = Callable[[int, str, int], int]  # a folder's descriptor, a path from there and flags to a descriptor


def open_beneath(path: Path, root: Path | None, flags: int = _FOLDER) -> int:
    """A descriptor of what `path` says now; without a `root` there is no border.

    Args:
        path: below `root`, with no link in it.
        flags: as of `os.open`; left out, a folder is opened to work in.

    Raises:
        PathEscape: a link stands there, or on the way.
        OSError: as `os.open`.
    """
    if root is None:
        return os.open(path, flags)
    name = below(path, root)
    if name is None:
        raise PathEscape(f"Path escapes workspace: {path}")
    try:
        if not _HELD:
            return _looked_at(path, root, flags)
        top = os.open(root, _FOLDER)
        try:
            return (_openat2() or _step_by_step)(top, name, flags)
        finally:
            os.close(top)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EXDEV) or (error.errno == errno.ENOTDIR and _has_link(path, root)):
            raise PathEscape(f"{name} leads elsewhere now, through a symbolic link.") from error
        raise


@functools.cache
def _openat2() -> Opened | None:
    """`openat2` of Linux 5.6, None where there is none or it is forbidden."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes  # noqa: PLC0415  not in every build of Python

        syscall = ctypes.CDLL(None, use_errno=True).syscall
    except (ImportError, OSError, AttributeError):
        return None

    def opened(top: int, name: str, flags: int) -> int:
        how = (ctypes.c_uint64 * 3)(flags | os.O_CLOEXEC, 0, _NO_SYMLINKS | _BENEATH)
        size = ctypes.c_size_t(ctypes.sizeof(how))
        found = syscall(ctypes.c_long(_OPENAT2), ctypes.c_int(top), os.fsencode(name), ctypes.byref(how), size)
        if found < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), name)
        return found

    top = os.open(os.sep, _FOLDER)
    try:
        os.close(opened(top, ".", _FOLDER))
    except OSError:
        return None
    finally:
        os.close(top)
    return opened


def _step_by_step(top: int, name: str, flags: int) -> int:
    *folders, last = name.split(os.sep)
    held = os.dup(top)
    try:
        for folder in folders:
            inner = os.open(folder, _FOLDER | _NO_FOLLOW, dir_fd=held)
            os.close(held)
            held = inner
        return os.open(last, flags | _NO_FOLLOW, dir_fd=held)
    finally:
        os.close(held)


def _looked_at(path: Path, root: Path, flags: int) -> int:
    """Where no folder can be held open: a look right before is all there is."""
    if _has_link(path, root):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return os.open(path, flags)


def _has_link(path: Path, root: Path) -> bool:
    return any(one.is_symlink() for one in (path, *path.parents) if one != root and one.is_relative_to(root))


class Folder:
    """A folder that is held open, so that what is done to its files by their names happens there and nowhere else.

    Raises:
        PathEscape, OSError: as `open_beneath`.
    """

    def __init__(self, path: Path, root: Path | None) -> None:
        self._path = path
        self._held = open_beneath(path, root) if _HELD else None
        if self._held is None and root is not None and _has_link(path, root):
            raise PathEscape(f"{path.name} leads elsewhere now, through a symbolic link.")

    def close(self) -> None:
        if self._held is not None:
            os.close(self._held)

    def _name(self, name: str) -> str:
        return name if self._held is not None else str(self._path / name)

    def status(self, name: str) -> os.stat_result:
        return os.stat(self._name(name), dir_fd=self._held, follow_symlinks=False)

    def read(self, name: str) -> bytes | None:
        """A file's bytes, None where there is none.

        Raises:
            PathEscape: a link stands in its place.
        """
        try:
            with open(self._open(name, os.O_RDONLY | _NO_WAIT), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise PathEscape(f"{name} leads elsewhere now, through a symbolic link.") from error
            raise

    def write(self, name: str, data: bytes, mode: int | None = None) -> None:
        """Writes a file anew, in its place; with a `mode` one that must not be there yet."""
        new = os.O_CREAT | os.O_EXCL if mode is not None else os.O_TRUNC
        with open(self._open(name, os.O_WRONLY | new), "wb") as file:
            file.write(data)
            if mode is not None:
                os.chmod(file.fileno() if os.chmod in os.supports_fd else self._name(name), mode)

    def _open(self, name: str, flags: int) -> int:
        return os.open(self._name(name), flags | _NO_FOLLOW | _BINARY, 0o600, dir_fd=self._held)

    def move(self, name: str, to: str) -> None:
        """A file takes another's place, in one moment."""
        os.replace(self._name(name), self._name(to), src_dir_fd=self._held, dst_dir_fd=self._held)

    def remove(self, name: str) -> None:
        os.unlink(self._name(name), dir_fd=self._held)

    def make(self, name: str) -> None:
        """A new folder in it."""
        os.mkdir(self._name(name), dir_fd=self._held)

    def unmake(self, name: str) -> None:
        """Takes an empty folder away."""
        os.rmdir(self._name(name), dir_fd=self._held)
