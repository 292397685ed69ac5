"""Folders that a command left: walked and removed without following a link, whatever their depth and modes.

No command is writing there meanwhile: the box is over.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from typing import BinaryIO

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ALL = 0o700


class NotRegularFile(OSError):
    """What is there is no ordinary file."""


@contextlib.contextmanager
def opened(folder: str | os.PathLike[str], at: int | None = None) -> Iterator[int]:
    """A descriptor of a folder, which may be closed to its owner."""
    descriptor = open_folder(folder, at)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def opened_below(top: int, path: str) -> Iterator[int]:
    """A descriptor of a folder below another; raises OSError where it or a parent is not there, or is none."""
    at = os.dup(top)
    try:
        for part in filter(None, path.split("/")):
            below = open_folder(part, at)
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


def open_folder(folder: str | os.PathLike[str], at: int | None = None) -> int:
    """Raises OSError; NotADirectoryError for a link too."""
    try:
        return os.open(folder, FOLDER, dir_fd=at)
    except PermissionError:
        _open_up(folder, at)
        return os.open(folder, FOLDER, dir_fd=at)


def open_regular_file(name: str | os.PathLike[str], at: int | None = None) -> BinaryIO:
    """Open a regular file for reading. Raises OSError, and NotRegularFile for a link, a folder or a device."""
    try:
        descriptor = os.open(name, FILE, dir_fd=at)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotRegularFile(error.errno, error.strerror, error.filename) from error
        raise
    return as_regular_file(descriptor, name)


def as_regular_file(descriptor: int, name: str | os.PathLike[str]) -> BinaryIO:
    """What was opened as `FILE`, which is closed if it is none; raises NotRegularFile."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotRegularFile(errno.EINVAL, "not an ordinary file", os.fspath(name))
    return open(descriptor, "rb")


def walk_files(top: int, into: Callable[[str], bool]) -> Iterator[str]:
    """What is no folder below a folder, by its path from there; only folders that `into` says are looked into.

    Raises OSError where a folder cannot be read.
    """
    left = [""]
    while left:
        folder = left.pop()
        with opened_below(top, folder) as at, os.scandir(at) as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if not entry.is_dir(follow_symlinks=False):
                    yield path
                elif into(path):
                    left.append(path)


def make_folder(top: str | os.PathLike[str], path: str, uid: int, gid: int) -> None:
    """A new folder below one that another user may write to, for that user; raises OSError."""
    parent, _, name = path.rpartition("/")
    with opened(top) as first, opened_below(first, parent) as at:
        os.mkdir(name, dir_fd=at)
        with opened(name, at) as made:
            os.fchown(made, uid, gid)
            os.fchmod(made, 0o755)


def remove(name: str, at: int) -> None:
    """Removes a file, or a folder with all that is in it; what is not there is passed over."""
    try:
        if not stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=at)
            return
    except FileNotFoundError:
        return
    _empty(open_folder(name, at))
    os.rmdir(name, dir_fd=at)


def remove_all(folder: str | os.PathLike[str]) -> None:
    """Removes a folder of ours; one that is not there is passed over."""
    path = os.path.abspath(folder)
    with contextlib.suppress(FileNotFoundError), opened(os.path.dirname(path)) as parent:
        remove(os.path.basename(path), parent)


def _empty(descriptor: int) -> None:
    """Empties a folder and closes its descriptor; one open at a time, and no path that could be too long.

    Raises OSError where it does not come back to the folder it came from: the owner of a layer, who may be another
    user than the server, may have moved one out of it.
    """
    left = [_clear_files(descriptor)]  # the folders still to empty, in the first and in each below it
    way = [os.fstat(descriptor)]
    try:
        while left[-1] or len(left) > 1:
            if left[-1]:
                inner = open_folder(left[-1][-1], descriptor)
                os.close(descriptor)
                descriptor = inner
                left.append(_clear_files(descriptor))
                way.append(os.fstat(descriptor))
            else:
                left.pop()
                way.pop()
                above = os.open("..", FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = above
                if not os.path.samestat(os.fstat(descriptor), way[-1]):
                    raise OSError(errno.ESTALE, "a folder was moved away while it was removed")
                os.rmdir(left[-1].pop(), dir_fd=descriptor)
    finally:
        os.close(descriptor)


def _clear_files(descriptor: int) -> list[str]:
    """Unlinks what is no folder; returns the folders."""
    os.fchmod(descriptor, _ALL)
    folders: list[str] = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=descriptor)
    return folders


def _open_up(folder: str | os.PathLike[str], at: int | None) -> None:
    """Gives its owner every right; a link is left alone."""
    if stat.S_ISDIR(os.stat(folder, dir_fd=at, follow_symlinks=False).st_mode):
        os.chmod(folder, _ALL, dir_fd=at)
