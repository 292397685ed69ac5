"""The upper layer of an overlay: the proposed files before a command, and the command's changes after it.

Between commands it contains only files that git ignores (builds, dependencies), so that builds stay warm. Proposals are
written again for each command, because the changeset is their only source. The content is hostile: no link is followed.
This module mounts nothing.
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
from fairlead.shell.sandbox.layer import trees
from fairlead.shell.sandbox.layer.lower_layer import Fingerprint, LowerLayer, parents
from fairlead.workspace.safe_open import closing

WHITEOUT = "user.overlay.whiteout"
OPAQUE = "user.overlay.opaque"
PERMISSIONS = 0o777
DEFAULT_MODE = 0o644
_SECOND = 1_000_000_000  # ns


@dataclass(frozen=True, slots=True)
class Owner:
    """The account that owns the files of a layer."""

    uid: int
    gid: int


def owner_of(root: Path) -> Owner:
    """The account that commands run as: our own, or the workspace's owner if the server runs as root."""
    found = root.stat()
    return Owner(found.st_uid, found.st_gid) if os.geteuid() == 0 else Owner(os.geteuid(), os.getegid())


class UpperLayer:
    """The upper layer at `folder`, over the workspace at `root`. New files in it belong to `owner`."""

    def __init__(self, root: Path, folder: Path, owner: Owner) -> None:
        self.root, self.lower, self.folder, self._owner = root, LowerLayer(root), folder, owner
        # the files and folders that stay between commands, each with the fingerprint of the user's file at its path,
        # taken when the changes were collected
        self.retained: dict[str, Fingerprint] = {}
        # for each proposed file, the digest of its last content, and the modification time of that content in ns
        self._times: dict[str, tuple[bytes, int]] = {}

    def fill(self, view: View) -> None:
        """Writes the proposed files and the empty folders of a view, and whiteouts for what does not exist in it.

        Removes stale files first.

        Raises:
            ToolError: a proposed file cannot be written.
            OSError: the layer cannot be opened, or a stale file cannot be removed.
        """
        self.remove_stale()
        with trees.opened(self.folder) as top:
            self._give_to_owner(top)  # an earlier command may have changed the permissions
            os.fchmod(top, stat.S_IMODE(os.stat(self.root).st_mode) | stat.S_IRWXU)
            for path, entry in view.proposed.items():
                try:
                    self._put(top, path, entry)
                except OSError as error:
                    raise ToolError(
                        f"The command was not run: the proposed {path} could not be written to its sandbox "
                        f"({error.strerror})."
                    ) from error
            self._put_folders(top, view)

    def clear(self) -> None:
        """Removes all that can be removed, including builds. For a layer with unknown content, or on a full disk."""
        self.retained = {}
        trees.clear(self.folder)

    def remove_stale(self) -> None:
        """Removes retained files that the user has changed since, so that commands see the user's version."""
        stale = [path for path, known in self.retained.items() if self.lower.fingerprint(path) != known]
        with trees.opened(self.folder) as top:
            for path in stale:
                del self.retained[path]
                folder, _, name = path.rpartition("/")
                with contextlib.suppress(FileNotFoundError, NotADirectoryError), trees.opened_below(top, folder) as at:
                    trees.remove(name, at)
                _remove_empty(top, folder)

    def _put_folders(self, top: int, view: View) -> None:
        """Creates the empty folders of a view, and whiteouts for the removed ones in which nothing is left."""
        files = [*self.retained, *(path for path, entry in view.proposed.items() if entry is not None)]
        occupied = {parent for path in files for parent in parents(path)}
        for path in view.empty_folders:
            if not any(self._is_file(each, view) for each in (path, *parents(path))):
                os.close(self._make_folders(top, path))
                occupied.update((path, *parents(path)))
        hidden: set[str] = set()
        for path in sorted(view.removed_folders):  # the parents first
            if path not in occupied and self.lower.is_folder(path) and hidden.isdisjoint(parents(path)):
                self._put(top, path, None)
                hidden.add(path)

    def _is_file(self, path: str, view: View) -> bool:
        """Whether a path is a file in a view, or a retained file or folder."""
        if path in view.proposed:
            return view.proposed[path] is not None
        return path in self.retained or (self.lower.status(path) is not None and not self.lower.is_folder(path))

    def _put(self, top: int, path: str, entry: Entry | None) -> None:
        folder, _, name = path.rpartition("/")
        lower = self.lower.status(path)
        if entry is None and lower is None:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError), trees.opened_below(top, folder) as at:
                trees.remove(name, at)
            return
        with closing(self._make_folders(top, folder)) as at:
            trees.remove(name, at)
            if entry is None:
                os.mknod(name, stat.S_IFCHR, os.makedev(0, 0), dir_fd=at)
            else:
                self._write(at, name, entry, lower, self._time(path, entry.data, lower))

    def _time(self, path: str, data: bytes, lower: os.stat_result | None) -> int:
        """The modification time for a proposed file, in ns.

        The same content keeps its time, so that builds stay warm. Other content gets a later second, because caches
        (Python's, make's) detect edits by the second and the size.
        """
        digest = blake2b(data).digest()
        last_digest, last_time = self._times.get(path) or (b"", 0 if lower is None else lower.st_mtime_ns)
        if last_digest == digest:
            return last_time
        now = time.time_ns()
        new_time = now if now // _SECOND > last_time // _SECOND else last_time + _SECOND
        self._times[path] = digest, new_time
        return new_time

    def _write(self, at: int, name: str, entry: Entry, lower: os.stat_result | None, time_ns: int) -> None:
        mode = entry.mode if entry.mode is not None else mode_of(lower)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600, dir_fd=at)
        with open(descriptor, "wb") as file:
            file.write(entry.data)
            self._give_to_owner(descriptor)
            os.fchmod(descriptor, mode & PERMISSIONS)
            file.flush()
            os.utime(descriptor, ns=(time_ns, time_ns))

    def _make_folders(self, top: int, folder: str) -> int:
        """A descriptor of a folder of the layer. Creates it and its parents where necessary.

        Replaces anything on the path that is not a folder.
        """
        at, path = os.dup(top), ""
        for part in filter(None, folder.split("/")):
            path = f"{path}/{part}" if path else part
            with closing(at):
                try:
                    below = trees.open_folder(part, at)
                except OSError:
                    below = self._make_folder(at, part, self.lower.status(path))
            at = below
        return at

    def _make_folder(self, at: int, name: str, lower: os.stat_result | None) -> int:
        try:
            replaced = os.stat(name, dir_fd=at, follow_symlinks=False)
        except FileNotFoundError:
            replaced = None
        trees.remove(name, at)
        os.mkdir(name, dir_fd=at)
        below = trees.open_folder(name, at)
        try:
            self._give_to_owner(below)
            if lower is not None and stat.S_ISDIR(lower.st_mode):
                os.fchmod(below, stat.S_IMODE(lower.st_mode))
                if replaced is not None:  # a command deleted or replaced the folder, so hide its old content
                    os.setxattr(below, OPAQUE, b"y")
        except OSError:
            os.close(below)
            raise
        return below

    def _give_to_owner(self, descriptor: int) -> None:
        if os.geteuid() != self._owner.uid:
            os.fchown(descriptor, self._owner.uid, self._owner.gid)


def _remove_empty(top: int, folder: str) -> None:
    """Removes a folder and its parents below `top`, up to the first that is not empty."""
    with contextlib.suppress(OSError):
        for path in (folder, *reversed(parents(folder))):
            above, _, name = path.rpartition("/")
            with trees.opened_below(top, above) as at:
                os.rmdir(name, dir_fd=at)


def mode_of(found: os.stat_result | None) -> int:
    """The permission bits of a regular file; DEFAULT_MODE if there is none."""
    return found.st_mode & PERMISSIONS if found is not None and stat.S_ISREG(found.st_mode) else DEFAULT_MODE


def is_whiteout(name: str, at: int, found: os.stat_result) -> bool:
    """Whether an entry of an upper layer marks the entry of the lower layer as deleted."""
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
    """Whether a folder of an upper layer hides the content of the folder in the lower layer."""
    try:
        return os.getxattr(descriptor, OPAQUE) == b"y"
    except OSError:
        return False
