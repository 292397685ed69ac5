"""Writes a commit's tree to the workspace on disk, and compares the workspace with a tree, byte for byte."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from history.git import EXECUTABLE, LINK, SUBMODULE, Entry, Tree

Blob = Callable[[Entry], bytes]
Stamp = tuple[int, int, int, int]


@dataclass(frozen=True)
class Difference:
    """A path with unexpected content; `expected` and `found` are None if there is no file."""

    path: str
    what: str
    expected: bytes | None = None
    found: bytes | None = None


def mode_of(entry: Entry) -> int:
    return 0o755 if entry.mode == EXECUTABLE else 0o644


class Workspace:
    """A folder that gets the content of one tree after another."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tree: Tree = {}
        self.absent: set[str] = set()
        self._stamps: dict[str, Stamp] = {}
        root.mkdir(parents=True, exist_ok=True)

    def become(self, tree: Tree, blob: Blob) -> None:
        """Gives the folder the content of a tree; paths that this disk cannot represent are in `absent`."""
        self.prune()
        wanted = {path: entry for path, entry in tree.items() if entry.mode != SUBMODULE}
        for path in [path for path, entry in self.tree.items() if wanted.get(path) != entry]:
            self.remove(path)
        for path, entry in wanted.items():
            if path not in self.tree:
                self.put(path, entry, blob(entry))
        self._stamps = dict(self._walk())

    def clear(self) -> None:
        """Deletes everything in the folder."""
        for path, _ in list(self._walk()):
            os.unlink(self._at(path))
        self.prune()
        self.tree, self.absent, self._stamps = {}, set(), {}

    def put(self, path: str, entry: Entry, data: bytes) -> None:
        """Writes a file as it is in a tree, replacing an existing file or link; never writes through a link.

        A path that this disk cannot represent is added to `absent`.
        """
        whole = self._at(path)
        try:
            self._make_way(path)
            if entry.mode == LINK:
                os.symlink(data, os.fsencode(whole))
            else:
                with open(whole, "xb") as file:
                    file.write(data)
                os.chmod(whole, mode_of(entry))
        except (OSError, ValueError):
            self.absent.add(path)
            self.tree.pop(path, None)
            return
        self.absent.discard(path)
        self.tree[path] = entry

    def remove(self, path: str) -> None:
        """Deletes a file and the folders that become empty."""
        self.tree.pop(path, None)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(self._at(path))
        parent = os.path.dirname(path)
        while parent:
            try:
                os.rmdir(self._at(parent))
            except OSError:
                return
            parent = os.path.dirname(parent)

    def set_mode(self, path: str, entry: Entry) -> None:
        os.chmod(self._at(path), mode_of(entry))

    def prune(self) -> int:
        """Deletes empty folders, which trees do not contain. Returns their number."""
        gone = 0
        for top, _, _ in os.walk(self.root, topdown=False):
            if top != str(self.root):
                with contextlib.suppress(OSError):
                    os.rmdir(top)
                    gone += 1
        return gone

    def bytes_of(self, path: str) -> bytes | None:
        """A file's bytes, None if there is no regular file."""
        try:
            status = os.lstat(self._at(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        with open(self._at(path), "rb") as file:
            return file.read()

    def differences(self, tree: Tree, touched: Collection[str], blob: Blob) -> list[Difference]:
        """The differences from a tree. Files that are not in `touched` must not even have been rewritten."""
        found: list[Difference] = []
        expected = {path: entry for path, entry in tree.items() if entry.mode != SUBMODULE and path not in self.absent}
        stamps = dict(self._walk())
        for path in stamps.keys() - expected.keys():
            found.append(Difference(path, "must not exist", None, self.bytes_of(path)))
        for path, entry in expected.items():
            stamp = stamps.get(path)
            if stamp is None:
                found.append(Difference(path, "is missing", blob(entry), None))
            elif path in touched or stamp != self._stamps.get(path):
                found += self._compared(path, entry, blob(entry), path in touched)
        if not found:
            self.tree, self._stamps = expected, stamps
        return sorted(found, key=lambda one: one.path)

    def _compared(self, path: str, entry: Entry, data: bytes, touched: bool) -> Iterator[Difference]:
        whole = self._at(path)
        status = os.lstat(whole)
        if entry.mode == LINK:
            if not stat.S_ISLNK(status.st_mode) or os.readlink(os.fsencode(whole)) != data:
                yield Difference(path, "is not the link that it should be", data, self.bytes_of(path))
            return
        own = self.bytes_of(path)
        if own != data:
            yield Difference(path, "has other bytes", data, own)
        elif stat.S_IMODE(status.st_mode) != mode_of(entry):
            yield Difference(path, f"has mode {stat.S_IMODE(status.st_mode):o}, not {entry.mode}", data, own)
        elif not touched:
            yield Difference(path, "was written, although nothing in it changes", data, own)

    def _make_way(self, path: str) -> None:
        """Creates the parent folders of a path, replacing files and links, and deletes a file or link at the path."""
        parents = path.split("/")[:-1]
        for depth in range(1, len(parents) + 1):
            folder = self._at("/".join(parents[:depth]))
            if os.path.lexists(folder) and (os.path.islink(folder) or not os.path.isdir(folder)):
                os.unlink(folder)
            if not os.path.isdir(folder):
                os.mkdir(folder)
        if os.path.lexists(self._at(path)):
            os.unlink(self._at(path))

    def _at(self, path: str) -> str:
        return os.path.join(str(self.root), path)

    def _walk(self, below: str = "") -> Iterator[tuple[str, Stamp]]:
        folders = [below]
        while folders:
            folder = folders.pop()
            with os.scandir(self._at(folder)) as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                    else:
                        status = entry.stat(follow_symlinks=False)
                        yield path, (status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode)
