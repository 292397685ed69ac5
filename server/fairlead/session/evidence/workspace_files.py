"""What the workspace's files looked like at the last comparison, to find the files that have changed since.

A comparison leaves out the files that Git ignores. It costs about as much as `git status`, in a thread.
"""

import asyncio
import os
import stat
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path

from fairlead.shell.sandbox.layer.ignored import CACHES
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import Root, Roots
from fairlead.workspace.ripgrep import paths_below

ABSENT = "absent"
"""In place of the digest of a file: there is no file."""
EXECUTABLE = "+x"
"""Follows the SHA-256 of the bytes of an executable file."""
UNKNOWN = "unknown"
"""In place of the digest of a file: its content was not read in time, so it equals no other."""

MAX_NAMED = 200
"""How many changed files a comparison names. If there are more, no earlier state holds again."""
MAX_READ = 10_000
"""In a folder with more files, contents are not read: a file counts as changed if its size, times or inode changed."""
MAX_READ_BYTES = 1_000_000
"""Nor are the contents of larger files."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that was changed, created or deleted after the last comparison."""

    path: str
    before: str
    """The digest of its content at the last comparison."""
    at_ns: int
    """When it last changed, or a later moment, in nanoseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file at the last comparison."""

    stamp: int
    """Identifies its size, times and inode."""
    digest: str = UNKNOWN
    """Of its content, as in `KnownFiles`."""


class _Comparison:
    """Compares all files with what was seen before. It does so in a thread, while files may become known.

    Args:
        before: what was seen, by folder of the workspace and path. Files that become known leave it meanwhile.
        known: the paths of the files that are left out.
        first_since: after which moment a change counts if there was no comparison before, in nanoseconds since the
            epoch; None: there was one.
    """

    def __init__(
        self,
        before: Mapping[str, dict[str, _Seen]],
        known: Collection[str],
        is_secret: Callable[[str], bool],
        first_since: int | None,
    ) -> None:
        self._before, self._known, self._is_secret, self._first_since = before, known, is_secret, first_since
        self.changed: list[ChangedFile] = []
        self.seen: dict[str, dict[str, _Seen]] = {}
        """The files that differ from `before`, by folder of the workspace and path."""
        self.gone: list[str] = []
        """The paths that do not exist anymore, or that Git ignores now."""
        self.is_first = False
        """Whether a folder was looked at for the first time."""

    def add_folder(self, root: Root, names: Iterable[tuple[str, str]]) -> None:
        """Compares the files of a folder of the workspace: the name (`Roots.relative`) and the path of each in it."""
        found = {root.prefix + path.replace("/", os.sep): name for name, path in names}
        before, now = self._before.get(str(root.path)), self.seen.setdefault(str(root.path), {})
        self.is_first |= before is None
        may_read = len(found) <= MAX_READ

        def digest_of(path: str, status: os.stat_result) -> str:
            is_read = may_read and status.st_size <= MAX_READ_BYTES and not self._is_secret(found[path])
            return _digest(path, root.path, status) if is_read else UNKNOWN

        for path in found.keys() - self._known:
            status = _status(path)
            if status is None:
                continue
            stamp, last = _stamp(status), None if before is None else before.get(path)
            if last is not None and last.stamp == stamp:
                continue
            if before is None:
                now[path] = _Seen(stamp, digest_of(path, status))
                if self._first_since is not None and status.st_ctime_ns >= self._first_since:
                    self.changed.append(ChangedFile(path, UNKNOWN, status.st_ctime_ns))
                continue
            digest = UNKNOWN if last is None or last.digest == UNKNOWN else digest_of(path, status)
            now[path] = _Seen(stamp, digest)
            if last is None or digest == UNKNOWN or last.digest != digest:
                self.changed.append(ChangedFile(path, ABSENT if last is None else last.digest, status.st_ctime_ns))
        for path, last in [(path, last) for path, last in list((before or {}).items()) if path not in found]:
            self.gone.append(path)
            if path not in self._known and _status(path) is None:
                self.changed.append(ChangedFile(path, last.digest, _changed_at(Path(path).parent)))


class WorkspaceFiles:
    """Finds the files that have changed, except for those that the session knows: `KnownFiles` follows these.

    Args:
        roots: returns the folders of the workspace.
        secret_filter: returns a predicate on the names of files. The contents of secrets are not read.
    """

    def __init__(self, roots: Callable[[], Roots], secret_filter: Callable[[], Callable[[str], bool]]) -> None:
        self._roots, self._secret_filter = roots, secret_filter
        self._seen: dict[str, dict[str, _Seen]] | None = None
        self.unseen: frozenset[str] = frozenset()
        """The paths that `take` did not find since the last comparison, and where there was a file."""
        self.saved = ""
        """What was seen, as text for the journal. `restore` reads it."""
        self.has_cut = False
        """Whether the last comparison found more files than it named."""

    def restore(self, saved: str, unseen: Iterable[str]) -> None:
        """Replaces what was seen with what an earlier process has saved: its `saved` and `unseen`."""
        self.saved, self._seen, self.unseen = saved, None, frozenset(unseen)

    def take(self, path: Path) -> ChangedFile | None:
        """Stops following a file, because the session knows it from now on.

        Returns how it changed since the last comparison; None if it did not, or if it was not seen then. If it was
        created since, the next comparison finds that.
        """
        name, status = str(path), _status(path)
        folder = next((folder for folder in (self._seen or {}).values() if name in folder), None)
        if folder is None:
            if status is not None:
                self.unseen |= {name}
            return None
        seen = folder.pop(name)
        if status is not None and _stamp(status) == seen.stamp:
            return None
        return ChangedFile(name, seen.digest, status.st_ctime_ns if status is not None else _changed_at(path.parent))

    @property
    def has_compared(self) -> bool:
        """Whether the files were looked at."""
        return self._seen is not None

    def follows(self, path: str) -> bool:
        """Whether a file was seen, so that `compare` finds out when it has changed."""
        return any(path in folder for folder in list((self._seen or {}).values()))  # also called in a thread

    def has_below(self, folder: str) -> bool:
        """Whether a file that has not changed was seen below a folder."""
        start = os.path.join(folder, "")
        return any(path.startswith(start) for files in (self._seen or {}).values() for path in files)

    async def compare(self, known: Callable[[], Collection[str]], since_ns: int) -> Sequence[ChangedFile]:
        """Returns the files that have changed since the last comparison, and stops following them.

        Args:
            known: returns the paths of the files that the session knows now.
            since_ns: after which moment a change counts in the first comparison, in nanoseconds since the epoch.

        Raises:
            WorkspaceError: the files cannot be listed.
        """
        if self._seen is None and self.saved:
            try:
                self._seen = await asyncio.to_thread(_unpacked, self.saved)
            except ValueError:
                since_ns = 0  # what was seen is unknown, so that every file may have changed
        roots, unseen, before = self._roots(), self.unseen, self._seen or {}
        comparison = _Comparison(
            before,
            set(known()) - unseen,
            self._secret_filter(),
            since_ns if self._seen is None else None,
        )
        for root in roots.folders:
            names = roots.names_in(root, await paths_below(root.path, CACHES))
            await asyncio.to_thread(comparison.add_folder, root, names)
        self._seen = before
        self.unseen -= unseen
        changed = self._merge(comparison, unseen, known())
        if comparison.is_first or len(comparison.changed) > MAX_NAMED:
            seen = {root: dict(files) for root, files in before.items()}
            self.saved = await asyncio.to_thread(_packed, seen)
        return changed

    def _merge(self, found: _Comparison, unseen: Collection[str], known: Collection[str]) -> Sequence[ChangedFile]:
        assert self._seen is not None
        for root, files in found.seen.items():
            self._seen.setdefault(root, {}).update(files)
        changed = [each for each in found.changed if each.path in unseen or each.path not in known]
        changed.sort(key=lambda each: each.path)
        self.has_cut = len(changed) > MAX_NAMED
        if self.has_cut:
            latest = max(each.at_ns for each in changed)
            changed = [ChangedFile(each.path, UNKNOWN, latest) for each in changed[:MAX_NAMED]]
        not_followed = {*found.gone, *(each.path for each in changed), *known}
        for files in self._seen.values():
            for name in not_followed & files.keys():
                del files[name]
        return changed


def _status(path: str | Path) -> os.stat_result | None:
    """The status of a regular file; None if there is none."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _stamp(status: os.stat_result) -> int:
    parts = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=8).digest())


def _changed_at(folder: Path) -> int:
    """When names in a folder, or in the nearest folder above it that exists, last changed, or a later moment."""
    for each in (folder, *folder.parents):
        try:
            return each.stat().st_ctime_ns
        except OSError:
            continue
    return 0


def _digest(path: str, root: Path, status: os.stat_result) -> str:
    """The digest of a file with this status; `UNKNOWN` if it cannot be read, or changed meanwhile."""
    try:
        data = read_bytes(Path(path), root)
    except WorkspaceError:
        return UNKNOWN
    now = _status(path)
    if data is None or now is None or _stamp(now) != _stamp(status):
        return UNKNOWN
    return sha256(data).hexdigest() + (EXECUTABLE if status.st_mode & 0o100 else "")


def _packed(seen: Mapping[str, Mapping[str, _Seen]]) -> str:
    parts: list[str] = []
    for root, files in seen.items():
        parts += [root, str(len(files))]
        for path, each in files.items():
            parts += [path.removeprefix(root), f"{each.stamp:x}", each.digest]
    return b64encode(zlib.compress("\0".join(parts).encode("utf-8", "surrogateescape"), 1)).decode()


def _unpacked(saved: str) -> dict[str, dict[str, _Seen]]:
    """What `_packed` saved. Raises ValueError if it is damaged."""
    seen: dict[str, dict[str, _Seen]] = {}
    try:
        parts, at = zlib.decompress(b64decode(saved)).decode("utf-8", "surrogateescape").split("\0"), 0
        while at < len(parts):
            root, end = parts[at], at + 2 + 3 * int(parts[at + 1])
            rows = zip(*(parts[at + start : end : 3] for start in (2, 3, 4)), strict=True)
            seen[root] = {root + path: _Seen(int(stamp, 16), digest) for path, stamp, digest in rows}
            at = end
    except (IndexError, zlib.error) as error:
        raise ValueError(f"damaged: {error}") from error
    return seen
