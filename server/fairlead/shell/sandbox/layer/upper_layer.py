"""The upper layer of an overlay: the proposed files before a command, and the command's changes after it.

Between commands it contains only files that git ignores (builds, dependencies), so that builds stay warm. Proposals are
written again for each command, because the changeset is their only source. So are copies of user's files that must not
show their time on disk (`shown_times.py`). The content is hostile: no link is followed. This module mounts nothing.
"""

import contextlib
import os
import stat
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairlead.errors import ToolError
from fairlead.shell.layer import Entry, View
from fairlead.shell.sandbox.layer import trees
from fairlead.shell.sandbox.layer.lower_layer import FileStatus, Fingerprint, LowerLayer, file_status, parents
from fairlead.shell.sandbox.layer.settled_files import SettledFiles
from fairlead.shell.sandbox.layer.shown_times import HasOutputSince, ShownTimes
from fairlead.workspace.safe_open import closing

WHITEOUT = "user.overlay.whiteout"
OPAQUE = "user.overlay.opaque"
PERMISSIONS = 0o777
DEFAULT_MODE = 0o644
# the largest file of the user, in bytes, that is copied to give it a new time
_MAX_COPY = 20_000_000


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
    """The upper layer at `folder`, over the workspace at `root`. New files in it belong to `owner`.

    It may be over another upper layer (`below`) of the same workspace, whose files then have the same times in it. If
    it does not show what is `retained` there, they have new times, because the user's builds may be newer.
    """

    def __init__(
        self, root: Path, folder: Path, owner: Owner, below: "UpperLayer | None" = None, *, retained: bool = True
    ) -> None:
        self.root, self.lower, self.folder, self._owner = root, LowerLayer(root), folder, owner
        self.lower_folders = [root] if below is None or not retained else [below.folder, root]
        # the files and folders that stay between commands, each with the fingerprint of the user's file at its path,
        # taken when the changes were collected
        self.retained: dict[str, Fingerprint] = {}
        self.times = ShownTimes() if below is None else below.times.copy()
        if not retained:
            self.times.renew()
        # the user's files at the last comparison; None: nothing has stayed in any layer yet
        self.on_disk: Mapping[str, FileStatus] | None = None
        # the status of each file that `fill` wrote
        self._written: dict[str, FileStatus] = {}
        self._has_output_since: HasOutputSince = lambda _: True
        self.settled = SettledFiles()

    def prepare(self) -> bool:
        """Removes the retained files that the user has changed since, so that commands see the user's version.

        Also prepares the times for what stays. Returns whether there were any such files.

        Raises:
            OSError: a stale file cannot be removed.
        """
        has_stale = self._remove_stale()
        if self.on_disk is None:
            self.times = ShownTimes()
        for path in filter(self.is_retained, self.times.paths()):
            self.times.forget(path)
        return has_stale

    def fill(self, view: View, has_output_since: HasOutputSince) -> None:
        """Writes the proposed files and the empty folders of a view, and whiteouts for what does not exist in it.

        Also writes copies of the user's files that need new times.

        Args:
            has_output_since: as for `ShownTimes.show`.

        Raises:
            ToolError: a file cannot be written.
            OSError: the layer cannot be opened.
        """
        self._written, self._has_output_since = {}, has_output_since
        with trees.opened(self.folder) as top:
            self._give_to_owner(top)  # an earlier command may have changed the permissions
            os.fchmod(top, stat.S_IMODE(os.stat(self.root).st_mode) | stat.S_IRWXU)
            for path, entry in view.proposed.items():
                with _named(f"the proposed {path}"):
                    self._put(top, path, entry)
            for path in self.times.paths():
                if path not in view.proposed and path not in view.hidden:
                    with _named(path):
                        self._put_unproposed(top, path)
            self._put_folders(top, view)

    def is_untouched(self, path: str, found: os.stat_result) -> bool:
        """Whether a file in the layer is as `fill` wrote it, given its status."""
        return self._written.get(path) == file_status(found)

    def is_untouched_copy(self, path: str, found: os.stat_result, view: View) -> bool:
        """Whether a file in the layer is a copy that only gives the user's file a new time."""
        return path not in view.proposed and self.is_untouched(path, found)

    def is_retained(self, path: str) -> bool:
        """Whether the layer has a version of its own at or above a path, which git ignores."""
        return path in self.retained or any(path[:at] in self.retained for at, part in enumerate(path) if part == "/")

    def clear(self) -> None:
        """Removes all that can be removed, including builds. For a layer with unknown content, or on a full disk."""
        self.retained, self.on_disk = {}, None
        trees.clear(self.folder)

    def _remove_stale(self) -> bool:
        stale = [path for path, known in self.retained.items() if self.lower.fingerprint(path) != known]
        with trees.opened(self.folder) as top:
            for path in stale:
                del self.retained[path]
                folder, _, name = path.rpartition("/")
                with contextlib.suppress(FileNotFoundError, NotADirectoryError), trees.opened_below(top, folder) as at:
                    trees.remove(name, at)
                _remove_empty(top, folder)
        return bool(stale)

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

    def _put(self, top: int, path: str, entry: Entry | None, *, is_copy: bool = False) -> None:
        folder, _, name = path.rpartition("/")
        lower = self.lower.status(path)
        if entry is None:
            self.times.hide(path)
        if entry is None and lower is None:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError), trees.opened_below(top, folder) as at:
                trees.remove(name, at)
            return
        with closing(self._make_folders(top, folder)) as at:
            trees.remove(name, at)
            if entry is None:
                os.mknod(name, stat.S_IFCHR, os.makedev(0, 0), dir_fd=at)
                return
            mode = entry.mode if entry.mode is not None else mode_of(lower)
            time_ns = self.times.show(path, entry.data, mode, None if is_copy else lower, self._has_output_since)
            self._written[path] = self._write(at, name, entry.data, mode, time_ns)

    def _put_unproposed(self, top: int, path: str) -> None:
        """Writes a copy of the user's file if commands must not see its time on disk."""
        lower = self.lower.status(path)
        if lower is None:
            self.times.hide(path)
            self._renew_folder(top, path)
        elif self.times.is_late_enough(path, lower):
            self.times.forget(path)
        elif self._can_copy(lower):
            data = self.lower.read(path, _MAX_COPY)
            if data is not None:
                self._put(top, path, Entry(data), is_copy=True)

    def _can_copy(self, lower: os.stat_result) -> bool:
        """Whether a file of the user is not too large to copy, and a copy can be read by nobody else."""
        is_readable = os.geteuid() != 0 or lower.st_uid == self._owner.uid or bool(lower.st_mode & stat.S_IROTH)
        return is_readable and stat.S_ISREG(lower.st_mode) and lower.st_size <= _MAX_COPY

    def _renew_folder(self, top: int, path: str) -> None:
        """Gives the folder in which a file no longer exists a new time, unless it does not exist itself."""
        folder = path.rpartition("/")[0]
        while folder and not self.lower.is_folder(folder):
            folder = folder.rpartition("/")[0]
        os.close(self._make_folders(top, folder))

    def _write(self, at: int, name: str, data: bytes, mode: int, time_ns: int) -> FileStatus:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600, dir_fd=at)
        with open(descriptor, "wb") as file:
            file.write(data)
            self._give_to_owner(descriptor)
            os.fchmod(descriptor, mode & PERMISSIONS)
            file.flush()
            os.utime(descriptor, ns=(time_ns, time_ns))
            return file_status(os.fstat(descriptor))

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


@contextlib.contextmanager
def _named(what: str) -> Generator[None]:
    """Turns an OSError into a ToolError that names the file."""
    try:
        yield
    except OSError as error:
        raise ToolError(
            f"The command was not run: {what} could not be written to its sandbox ({error.strerror})."
        ) from error


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
