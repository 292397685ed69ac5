"""Opens files below a folder of the workspace without following links (docs/faults.md 32 to 34).

`paths.py` has resolved the links in a path, but a new link may be created before the path is used. Linux refuses links
while it opens the whole path in one call (`openat2`). Other systems open the folders on the path one by one, without
following links. Windows can do neither, so the path is checked right before it is opened.
"""

import contextlib
import errno
import functools
import os
import stat
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

from fairlead.workspace.paths import PathEscape, below

_OPENAT2 = 437  # the same number on every architecture that CPython is built for
_NO_SYMLINKS, _BENEATH = 0x04, 0x08
_HAS_DIR_FD = os.supports_dir_fd >= {os.open, os.mkdir, os.stat, os.unlink}
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NO_BLOCK = getattr(os, "O_NONBLOCK", 0)
_ACL = "system.posix_acl_access"

OpenAt = Callable[[int, str, int], int]  # (folder descriptor, relative path, flags) -> descriptor


def open_beneath(path: Path, root: Path | None, flags: int = _FOLDER) -> int:
    """Opens a path and returns its descriptor.

    Args:
        path: a resolved path below `root`.
        root: a folder below which no link is followed; None: all links are followed.
        flags: as for `os.open`. The default opens a folder to work in.

    Raises:
        PathEscape: the path is outside of the root, or it or a folder on it is a link.
        OSError: as for `os.open`.
    """
    if root is None:
        return os.open(path, flags)
    name = below(path, root)
    if name is None:
        raise PathEscape(f"Path escapes workspace: {path}")
    try:
        if not _HAS_DIR_FD:
            return _open_after_check(path, root, flags)
        with closing(os.open(root, _FOLDER)) as top:
            return (_openat2() or _step_by_step)(top, name, flags)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EXDEV) or (error.errno == errno.ENOTDIR and _has_link(path, root)):
            raise _link_escape(name) from error
        raise


def read_regular(path: Path, max_bytes: int) -> bytes:
    """The bytes of a file that decides about other files, at most the first `max_bytes`.

    Empty if it is not a regular file, such as a pipe or a device, or cannot be read. Follows links. Never waits.
    """
    try:
        with closing(os.open(path, os.O_RDONLY | _NO_BLOCK | _BINARY)) as descriptor:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return b""
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(max_bytes)
    except (OSError, ValueError):
        return b""


def entries_of(folder: Path) -> list[os.DirEntry[str]]:
    """The entries of a folder; none if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _link_escape(name: str) -> PathEscape:
    return PathEscape(f"{name} now leads elsewhere, through a symbolic link.")


@contextlib.contextmanager
def closing(descriptor: int) -> Generator[int]:
    """Closes a descriptor at the end of a `with` block."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@functools.cache
def _openat2() -> OpenAt | None:
    """`openat2` of Linux 5.6; None if the system lacks or forbids it."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes  # noqa: PLC0415  missing in some builds of Python

        syscall = ctypes.CDLL(None, use_errno=True).syscall
    except (ImportError, OSError, AttributeError):
        return None

    def open_at(top: int, name: str, flags: int) -> int:
        how = (ctypes.c_uint64 * 3)(flags | os.O_CLOEXEC, 0, _NO_SYMLINKS | _BENEATH)
        size = ctypes.c_size_t(ctypes.sizeof(how))
        found = syscall(ctypes.c_long(_OPENAT2), ctypes.c_int(top), os.fsencode(name), ctypes.byref(how), size)
        if found < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), name)
        return found

    with closing(os.open(os.sep, _FOLDER)) as top:
        try:
            os.close(open_at(top, ".", _FOLDER))
        except OSError:
            return None
    return open_at


def _step_by_step(top: int, name: str, flags: int) -> int:
    *folders, last = name.split(os.sep)
    folder_fd = os.dup(top)
    try:
        for folder in folders:
            inner = os.open(folder, _FOLDER | _NO_FOLLOW, dir_fd=folder_fd)
            os.close(folder_fd)
            folder_fd = inner
        return os.open(last, flags | _NO_FOLLOW, dir_fd=folder_fd)
    finally:
        os.close(folder_fd)


def _open_after_check(path: Path, root: Path, flags: int) -> int:
    """For systems that cannot open relative to a folder: checks for links right before it opens the path."""
    if _has_link(path, root):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return os.open(path, flags)


def _has_link(path: Path, root: Path) -> bool:
    return any(part.is_symlink() for part in (path, *path.parents) if part != root and part.is_relative_to(root))


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a new file gets besides its bytes."""

    mode: int
    """The permission bits."""
    owner: tuple[int, int] | None = None
    """The ids of its user and group, as far as this process may set them; None: those of the process."""
    acl: bytes | None = None
    """Its access control list, as Linux stores it; None if it has none."""


class Folder:
    """An open folder. Its files are addressed by name, so operations stay in it even if its path changes.

    On Windows, which cannot do that, they are addressed by path.

    All methods raise `OSError` like the functions of `os`.
    """

    def __init__(self, path: Path, root: Path | None) -> None:
        """
        Raises:
            PathEscape, OSError: as for `open_beneath`.
        """
        self.path = path
        self._fd = open_beneath(path, root) if _HAS_DIR_FD else None
        if self._fd is None and root is not None and _has_link(path, root):
            raise _link_escape(path.name)

    def close(self) -> None:
        """Closes the descriptor."""
        if self._fd is not None:
            os.close(self._fd)

    def _name(self, name: str) -> str:
        return name if self._fd is not None else str(self.path / name)

    def names(self) -> list[str]:
        """The names in the folder."""
        if self._fd is None:
            return os.listdir(self.path)
        with closing(os.open(".", os.O_RDONLY, dir_fd=self._fd)) as readable:
            return os.listdir(readable)

    def status(self, name: str) -> os.stat_result:
        """The status of an entry. For a link, its own status, not that of its target."""
        return os.stat(self._name(name), dir_fd=self._fd, follow_symlinks=False)

    def has(self, name: str) -> bool:
        """Whether there is an entry of this name. A link is one, wherever it leads."""
        try:
            self.status(name)
        except FileNotFoundError:
            return False
        return True

    def attributes(self, name: str) -> Attributes:
        """The attributes of a file."""
        status, acl = self.status(name), None
        if sys.platform == "linux":
            with contextlib.suppress(OSError), closing(self._open(name, os.O_RDONLY | _NO_BLOCK)) as descriptor:
                acl = os.getxattr(descriptor, _ACL)
        return Attributes(stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid), acl)

    def read(self, name: str) -> bytes | None:
        """The bytes of a file, None if there is no file.

        Raises:
            PathEscape: it is a link.
        """
        try:
            # `open` refuses a folder, and then does not close its descriptor
            with closing(self._open(name, os.O_RDONLY | _NO_BLOCK)) as fd, open(fd, "rb", closefd=False) as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _link_escape(name) from error
            raise

    def write(self, name: str, data: bytes, new: Attributes | None = None, mode: int | None = None) -> None:
        """Overwrites an existing file. With attributes, creates a file instead, which must not exist.

        Args:
            mode: the new permission bits of an existing file; None: they stay.
        """
        how = os.O_CREAT | os.O_EXCL if new is not None else os.O_TRUNC
        with open(self._open(name, os.O_WRONLY | how), "wb") as file:
            file.write(data)
            if new is not None:
                _set_owner(file.fileno(), new.owner)
                if sys.platform == "linux" and new.acl is not None:
                    with contextlib.suppress(OSError):
                        os.setxattr(file.fileno(), _ACL, new.acl)
                mode = new.mode  # the last, because the others change bits of the mode
            if mode is not None:
                os.chmod(file.fileno() if os.chmod in os.supports_fd else self._name(name), mode)

    def _open(self, name: str, flags: int) -> int:
        return os.open(self._name(name), flags | _NO_FOLLOW | _BINARY, 0o600, dir_fd=self._fd)

    def move(self, name: str, to: str) -> None:
        """Renames a file atomically, replacing the target."""
        os.replace(self._name(name), self._name(to), src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def remove(self, name: str) -> None:
        """Removes a file."""
        os.unlink(self._name(name), dir_fd=self._fd)

    def mkdir(self, name: str) -> None:
        """Creates a folder."""
        os.mkdir(self._name(name), dir_fd=self._fd)

    def rmdir(self, name: str) -> None:
        """Removes an empty folder."""
        os.rmdir(self._name(name), dir_fd=self._fd)


def _set_owner(descriptor: int, owner: tuple[int, int] | None) -> None:
    """Sets the user and the group of a file. Only root may set any; others may set a group that they are in."""
    if sys.platform == "win32" or owner is None:
        return
    for user, group in ((-1, owner[1]), (owner[0], -1)):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, user, group)
