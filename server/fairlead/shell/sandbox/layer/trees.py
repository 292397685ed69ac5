"""Opens, walks and removes folders that a command left, without following links, whatever their depth and permissions.

The command may still run, and replace what is opened or read. Nothing is removed before its box has ended. Do not use
these functions for the user's folders, whose permissions must stay as they are (`lower_layer.py`).
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from typing import BinaryIO

from fairlead.workspace.safe_open import closing

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotRegularFile(OSError):
    """The path is not a regular file."""


def opened(folder: str | os.PathLike[str], at: int | None = None) -> AbstractContextManager[int]:
    """Opens a folder, as `open_folder`. Closes the descriptor at the end of a `with` block."""
    return closing(open_folder(folder, at))


@contextlib.contextmanager
def opened_below(top: int, path: str) -> Generator[int]:
    """A descriptor of a folder below another. Raises OSError if it or a parent does not exist or is not a folder."""
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
    """Opens a folder. Changes its permissions if they exclude its owner.

    Raises OSError; NotADirectoryError for a link too.
    """
    try:
        return os.open(folder, FOLDER, dir_fd=at)
    except PermissionError:
        allow_owner(folder, at, stat.S_IRWXU)
        return os.open(folder, FOLDER, dir_fd=at)


def open_regular_file(name: str | os.PathLike[str], at: int | None = None) -> BinaryIO:
    """Opens a regular file for reading. Raises OSError, and NotRegularFile for a link, a folder or a device."""
    try:
        descriptor = os.open(name, FILE, dir_fd=at)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotRegularFile(error.errno, error.strerror, error.filename) from error
        raise
    return as_regular_file(descriptor, name)


def as_regular_file(descriptor: int, name: str | os.PathLike[str]) -> BinaryIO:
    """The file of a descriptor that was opened as `FILE`. Closes it and raises NotRegularFile for anything else."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotRegularFile(errno.EINVAL, "not a regular file", os.fspath(name))
    return open(descriptor, "rb")


def walk_files(top: int, into: Callable[[str], bool]) -> Iterator[str]:
    """The relative paths below a folder of everything that is not a folder. `into` decides which folders are entered.

    Raises OSError if a folder cannot be read.
    """
    pending = [""]
    while pending:
        folder = pending.pop()
        with opened_below(top, folder) as at, os.scandir(at) as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if not entry.is_dir(follow_symlinks=False):
                    yield path
                elif into(path):
                    pending.append(path)


def make_folder(top: str | os.PathLike[str], path: str, uid: int, gid: int) -> None:
    """Creates a folder at `path` below `top`, and makes an account its owner. Its parents must exist.

    Raises OSError, also if the path exists.
    """
    parent, _, name = path.rpartition("/")
    with opened(top) as first, opened_below(first, parent) as at:
        os.mkdir(name, dir_fd=at)
        with opened(name, at) as made:
            os.fchown(made, uid, gid)
            os.fchmod(made, 0o755)


def remove(name: str, at: int) -> None:
    """Removes a file, or a folder with its content, if it exists. Raises OSError."""
    try:
        if not stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=at)
            return
    except FileNotFoundError:
        return
    _empty(open_folder(name, at))
    os.rmdir(name, dir_fd=at)


def remove_all(folder: str | os.PathLike[str]) -> None:
    """Removes one of our folders with its content, if it exists. Raises OSError."""
    path = os.path.abspath(folder)
    with contextlib.suppress(FileNotFoundError), opened(os.path.dirname(path)) as parent:
        remove(os.path.basename(path), parent)


def clear(folder: str | os.PathLike[str]) -> None:
    """Removes the content of one of our folders, as far as it can be removed."""
    with contextlib.suppress(OSError), opened(folder) as top:
        for name in os.listdir(top):
            remove(name, top)


def _empty(descriptor: int) -> None:
    """Empties a folder and closes its descriptor.

    Works at any depth, because it holds one descriptor at a time and builds no paths.

    Raises OSError if a folder was moved elsewhere in the meantime, so that `..` is not its former parent. The owner of
    the layer can do that, and may be a different account than the server's.
    """
    try:
        pending = [_clear_files(descriptor)]  # for each folder on the current path, the folders in it that remain
        parents = [os.fstat(descriptor)]
        while pending[-1] or len(pending) > 1:
            if pending[-1]:
                inner = open_folder(pending[-1][-1], descriptor)
                os.close(descriptor)
                descriptor = inner
                pending.append(_clear_files(descriptor))
                parents.append(os.fstat(descriptor))
            else:
                pending.pop()
                parents.pop()
                above = os.open("..", FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = above
                if not os.path.samestat(os.fstat(descriptor), parents[-1]):
                    raise OSError(errno.ESTALE, "a folder was moved away while it was removed")
                os.rmdir(pending[-1].pop(), dir_fd=descriptor)
    finally:
        os.close(descriptor)


def _clear_files(descriptor: int) -> list[str]:
    """Removes everything that is not a folder; returns the names of the folders."""
    os.fchmod(descriptor, stat.S_IRWXU)
    folders: list[str] = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=descriptor)
    return folders


def allow_owner(path: str | os.PathLike[str], at: int | None, mode: int) -> None:
    """Gives the owner of a file or folder more permissions. Raises OSError; also for a link."""
    with closing(os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)) as found:
        # through the descriptor, so that nothing else can be at the path by now
        os.chmod(f"/proc/self/fd/{found}", stat.S_IMODE(os.fstat(found).st_mode) | mode)
