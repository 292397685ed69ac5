"""The upper layer of the workspace: what a view puts into it before a command, and what the command left there.

Between commands it holds nothing but what git's rules ignore (builds, dependencies), so that these stay warm; proposals
are written anew each time, and the changeset stays the only truth. What is read here is hostile: no link is followed,
and size, number and depth are bounded. Never here: a mount.
"""

import contextlib
import os
import stat
import time
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.shell.layer import Entry, View
from fairlead.shell.sandbox import trees
from fairlead.shell.sandbox.lower_layer import Fingerprint, LowerLayer

WHITEOUT = "user.overlay.whiteout"
OPAQUE = "user.overlay.opaque"
PERMISSIONS = 0o777
USUAL_MODE = 0o644
_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Owner:
    uid: int
    gid: int


class UpperLayer:
    """The upper layer at `folder`, over the workspace at `root`; what is made in it belongs to `owner`."""

    def __init__(self, root: Path, folder: Path, owner: Owner) -> None:
        self.root, self.lower, self.folder, self._owner = root, LowerLayer(root), folder, owner
        # what stays in the layer, and what the person had there when it did
        self.kept: dict[str, Fingerprint] = {}
        self._times: dict[str, tuple[bytes, int]] = {}

    def fill(self, view: View) -> None:
        """Writes a view's files.

        Raises:
            ToolError: they cannot be written.
        """
        self.forget_stale()
        with trees.opened(self.folder) as top:
            self._own(top)  # a command may have closed the folder to those after it
            os.fchmod(top, stat.S_IMODE(os.stat(self.root).st_mode) | stat.S_IRWXU)
            for path, entry in view.proposed.items():
                try:
                    self._put(top, path, entry)
                except OSError as error:
                    raise ToolError(
                        f"The proposed {path} cannot be shown to a command: {error.strerror}. Nothing was run."
                    ) from error

    def clear(self) -> None:
        """Forgets everything, the builds too: where it is not known what is in it."""
        self.kept = {}
        with contextlib.suppress(OSError), trees.opened(self.folder) as top:
            for name in os.listdir(top):
                trees.remove(name, top)

    def forget_stale(self) -> None:
        """What the person changed since is theirs again: an old copy must not hide it."""
        stale = [path for path, then in self.kept.items() if self.lower.fingerprint(path) != then]
        with trees.opened(self.folder) as top:
            for path in stale:
                del self.kept[path]
                folder, _, name = path.rpartition("/")
                with contextlib.suppress(FileNotFoundError, NotADirectoryError), trees.opened_below(top, folder) as at:
                    trees.remove(name, at)

    def _put(self, top: int, path: str, entry: Entry | None) -> None:
        folder, _, name = path.rpartition("/")
        lower = self.lower.status(path)
        if entry is None and lower is None:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError), trees.opened_below(top, folder) as at:
                trees.remove(name, at)
            return
        at = self._make_folders(top, folder)
        try:
            trees.remove(name, at)
            if entry is None:
                os.mknod(name, stat.S_IFCHR, os.makedev(0, 0), dir_fd=at)
            else:
                self._write(at, name, entry, lower, self._time(path, entry.data, lower))
        finally:
            os.close(at)

    def _time(self, path: str, data: bytes, lower: os.stat_result | None) -> int:
        """When a file was changed, in ns: the same as last time for the same content, so that builds stay warm; for
        another one a later second, for compilers' caches (Python's, make's) tell edits by that and the size."""
        digest = blake2b(data).digest()
        then, earlier = self._times.get(path) or (b"", 0 if lower is None else lower.st_mtime_ns)
        if then == digest:
            return earlier
        now = time.time_ns()
        when = now if now // _SECOND > earlier // _SECOND else earlier + _SECOND
        self._times[path] = digest, when
        return when

    def _write(self, at: int, name: str, entry: Entry, lower: os.stat_result | None, time_ns: int) -> None:
        mode = entry.mode if entry.mode is not None else mode_of(lower)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600, dir_fd=at)
        with open(descriptor, "wb") as file:
            file.write(entry.data)
            self._own(descriptor)
            os.fchmod(descriptor, mode & PERMISSIONS)
            file.flush()
            os.utime(descriptor, ns=(time_ns, time_ns))

    def _make_folders(self, top: int, folder: str) -> int:
        """A descriptor of a folder of the layer, made with its parents where they are not there yet."""
        at, path = os.dup(top), ""
        for part in filter(None, folder.split("/")):
            path = f"{path}/{part}" if path else part
            try:
                below = trees.open_folder(part, at)
            except OSError:
                below = self._make_folder(at, part, self.lower.status(path))
            os.close(at)
            at = below
        return at

    def _make_folder(self, at: int, name: str, lower: os.stat_result | None) -> int:
        try:
            in_the_way = os.stat(name, dir_fd=at, follow_symlinks=False)
        except FileNotFoundError:
            in_the_way = None
        trees.remove(name, at)
        os.mkdir(name, dir_fd=at)
        below = trees.open_folder(name, at)
        self._own(below)
        if lower is not None and stat.S_ISDIR(lower.st_mode):
            os.fchmod(below, stat.S_IMODE(lower.st_mode))
            if in_the_way is not None:  # the command had deleted the folder, or made something else of it
                os.setxattr(below, OPAQUE, b"y")
        return below

    def _own(self, descriptor: int) -> None:
        if os.geteuid() != self._owner.uid:
            os.fchown(descriptor, self._owner.uid, self._owner.gid)


def mode_of(found: os.stat_result | None) -> int:
    """The permission bits of a file; the usual ones where there is none."""
    return found.st_mode & PERMISSIONS if found is not None and stat.S_ISREG(found.st_mode) else USUAL_MODE


def is_whiteout(name: str, at: int, found: os.stat_result) -> bool:
    """Whether an entry of an upper layer says that the one below it is deleted."""
    if stat.S_ISCHR(found.st_mode):
        return found.st_rdev == 0
    if not stat.S_ISREG(found.st_mode) or found.st_size:
        return False
    try:
        with trees.open_regular_file(name, at) as file:
            os.getxattr(file.fileno(), WHITEOUT)
    except OSError:
        return False
    return True


def is_opaque(descriptor: int) -> bool:
    """Whether a folder of an upper layer hides all that the one below it holds."""
    try:
        return os.getxattr(descriptor, OPAQUE) == b"y"
    except OSError:
        return False
