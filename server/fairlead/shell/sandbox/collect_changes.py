"""What a command left in an upper layer: read, compared with what the command found, and taken out again.

Changes of the repository are dropped, outputs that git ignores stay, everything else is a change of the workspace. The
content is hostile (docs/sandbox.md): links, devices, deep trees, files without end.
"""

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from fairlead.shell.layer import Change, Changes, Entry, View
from fairlead.shell.sandbox import repository, trees
from fairlead.shell.sandbox.ignored import IgnoreRules, is_environment, outer_rules
from fairlead.shell.sandbox.lower_layer import Fingerprint, LowerLayer
from fairlead.shell.sandbox.upper_layer import OPAQUE, PERMISSIONS, UpperLayer, is_opaque, is_whiteout, mode_of
from fairlead.workspace.paths import PathEscape
from fairlead.workspace.repositories import is_git_folder

MAX_BYTES = 20_000_000
MAX_CHANGES = 2_000
MAX_TOTAL = 200_000_000
MAX_DEPTH = 100
_CHUNK = 1 << 20
_LINK = "on the disk it is a link, or below one"
_NAMED = 5


def collect(upper: UpperLayer, view: View, since: int, repositories: Sequence[Path] = ()) -> Changes:
    """Takes the command's changes out of the layer.

    `since` is when it was opened (by the file system's clock, in ns); `repositories` are the upper layers over
    repositories outside of the workspace. Raises OSError where something cannot be read; then, as after any other
    fault, nothing is left in the layer.
    """
    reading = _Collector(upper, view, since)
    try:
        with trees.opened(upper.folder) as top:
            reading.folder(top, "", _Below(visible=True, ignored=False))
        reading.vanished()
        reading.outside(repositories)
    except BaseException:
        upper.clear()
        raise
    upper.kept = reading.kept
    return reading.result()


@dataclass(frozen=True, slots=True)
class _Below:
    """A folder of the layer: whether the person's folder of that name is seen through it, whether git ignores it."""

    visible: bool
    ignored: bool
    depth: int = 0


@dataclass
class _Collector:
    upper: UpperLayer
    view: View
    since: int
    changes: list[Change] = field(default_factory=list)
    kept: dict[str, Fingerprint] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _beyond: int = 0
    _read: int = 0
    _repository: bool = False
    _moved: bool = False
    _differ: list[str] = field(default_factory=list)
    _fresh: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lower: LowerLayer = self.upper.lower
        root = self.upper.root
        outer = outer_rules(root, repository.find_outside(root) or root / ".git")
        self._before = IgnoreRules(self._text_before, outer)
        self._after = IgnoreRules(self._text_after, outer)
        self._texts: dict[str, bytes | None] = {}
        self._hidden = frozenset(self.view.hidden)
        self._proposed_folders = {
            path[:at] for path in self.view.proposed for at, letter in enumerate(path) if letter == "/"
        }

    def folder(self, at: int, path: str, below: _Below) -> None:
        """Everything in a folder of the layer; afterwards only what is kept is in it."""
        self._read_rules(at, path)
        with os.scandir(at) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            self._entry(at, name, f"{path}/{name}" if path else name, below)

    def vanished(self) -> None:
        """Proposed files of which the layer has nothing any more, and the disk never had."""
        for path, entry in self.view.proposed.items():
            if entry is not None and path not in self._seen and self._is_told(path):
                self._deleted(path)

    def outside(self, repositories: Sequence[Path]) -> None:
        """What was changed of a repository that is not in the workspace."""
        place = repository.find_outside(self.upper.root)
        for folder in repositories:
            with trees.opened(folder) as at:
                self._note_repository(at, LowerLayer(place or self.upper.root), "")

    def result(self) -> Changes:
        if self._moved:
            return Changes([], self._fresh, [repository.MOVED])
        lines = [repository.DISCARDED] if self._repository else []
        if self._beyond:
            lines.append(f"{self._beyond:,} more files were changed than can be proposed at once; they are not kept.")
        if self._differ:
            more = f" and {len(self._differ) - _NAMED:,} more" if len(self._differ) > _NAMED else ""
            lines.append(
                "IgnoreRules files of the disk were changed in the sandbox only, where commands see them and read_file "
                f"does not: {', '.join(map(_shown, self._differ[:_NAMED]))}{more}."
            )
        return Changes(self.changes, self._fresh, lines)

    def _entry(self, at: int, name: str, path: str, below: _Below) -> None:
        found = os.stat(name, dir_fd=at, follow_symlinks=False)
        if name == ".git" or self._is_git_folder(at, name, path, found):
            self._repository_entry(at, name, path, found)
            return
        if stat.S_ISDIR(found.st_mode):
            self._folder_entry(at, name, path, below)
            return
        whiteout = is_whiteout(name, at, found)
        over_folder = below.visible and self._lower.is_folder(path)
        if self._is_ignored(path, below, as_folder=whiteout and over_folder):
            self._keep(path, found)
            if not whiteout:
                self._name_kept(path, path)
            return
        if not whiteout and self._is_told(path):
            self._leaf(at, name, path, found)
        if whiteout or over_folder:
            self._gone(path)
        trees.remove(name, at)

    def _folder_entry(self, at: int, name: str, path: str, below: _Below) -> None:
        lower = self._lower.status(path) if below.visible else None
        over_folder = lower is not None and stat.S_ISDIR(lower.st_mode)
        with trees.opened(name, at) as inner:
            ignored = below.ignored or self._folder_is_ignored(path) or (lower is None and is_environment(inner))
            through = over_folder and not is_opaque(inner)
            if ignored and not through and path not in self._proposed_folders:
                self._keep(path)
                self._name_kept(f"{path}/", path)
                return
            if below.depth >= MAX_DEPTH:
                self._unfit(path, "the folders are nested too deeply")
            else:
                if lower is not None and not over_folder and self._is_told(path):
                    self._deleted(path)
                self.folder(inner, path, _Below(through, ignored, below.depth + 1))
                if over_folder and not through:
                    self._gone(path)
                    with contextlib.suppress(OSError):
                        os.removexattr(inner, OPAQUE)
        if below.depth >= MAX_DEPTH:
            trees.remove(name, at)
            return
        with contextlib.suppress(OSError):  # it holds what is kept
            os.rmdir(name, dir_fd=at)

    def _leaf(self, at: int, name: str, path: str, found: os.stat_result) -> None:
        self._seen.add(path)
        if not stat.S_ISREG(found.st_mode):
            if not (stat.S_ISLNK(found.st_mode) and self._same_link(at, name, path)):
                self._unfit(path, "it is a link" if stat.S_ISLNK(found.st_mode) else "it is no ordinary file")
            return
        if self._is_full():
            return
        if not found.st_mode & stat.S_IRUSR and os.geteuid() != 0:
            os.chmod(name, stat.S_IMODE(found.st_mode) | stat.S_IRUSR, dir_fd=at)
        with trees.open_regular_file(name, at) as file:
            if found.st_size > MAX_BYTES:
                self._large(path, file)
                return
            data = file.read(MAX_BYTES)
        self._read += len(data)
        before, unfit = self._found(path)
        mode = found.st_mode & PERMISSIONS
        if before is not None and before.data == data and before.mode == mode:
            return
        if unfit:
            self._unfit(path, unfit)
            return
        usual = before.mode if before is not None else mode & ~0o111
        self._tell(Change(path, before, Entry(data, None if mode == usual else mode)))

    def _large(self, path: str, file: BinaryIO) -> None:
        """Beyond what is proposed; told only if it differs from what the person has."""
        with contextlib.suppress(OSError, PathEscape), self._lower.open_file(path) as theirs:
            if os.fstat(theirs.fileno()).st_size == os.fstat(file.fileno()).st_size:
                while (chunk := theirs.read(_CHUNK)) == file.read(_CHUNK):
                    if not chunk:
                        return
        self._unfit(path, f"it is larger than {MAX_BYTES // 1_000_000} MB")

    def _found(self, path: str) -> tuple[Entry | None, str]:
        """What the command found at a path, and why a change of it cannot be proposed."""
        if path in self.view.proposed:
            entry = self.view.proposed[path]
            if entry is None or entry.mode is not None:
                return entry, ""
            return Entry(entry.data, mode_of(self._lower.status(path))), ""
        try:
            with self._lower.open_file(path) as file:
                found = os.fstat(file.fileno())
                if found.st_size > MAX_BYTES:
                    return None, f"it was larger than {MAX_BYTES // 1_000_000} MB"
                entry = Entry(file.read(), found.st_mode & PERMISSIONS)
        except (FileNotFoundError, NotADirectoryError):
            return None, ""
        except trees.NotRegularFile:
            return None, "" if self._lower.is_folder(path) else "it was no ordinary file"
        except PathEscape:
            return None, _LINK
        except OSError as error:
            return None, f"what it was cannot be read: {error.strerror}"
        return entry, "it was changed on the disk while the command ran" if found.st_ctime_ns > self.since else ""

    def _gone(self, path: str) -> None:
        """A whiteout, or a folder made anew: what was there and is not in the layer."""
        for leaf in self._leaves(path):
            if leaf not in self._seen and self._is_told(leaf):
                self._deleted(leaf)

    def _leaves(self, path: str) -> Iterator[str]:
        """The files that a command found at and below a path, ignored ones left out."""
        if self._lower.is_folder(path):
            for leaf in self._lower.files(path, self._is_looked_into):
                if not leaf.endswith("/.git") and not self._before.ignores_file(leaf):
                    yield leaf
        elif self._lower.status(path) is not None:
            yield path
        yield from (each for each in self.view.proposed if each.startswith(f"{path}/"))

    def _is_looked_into(self, folder: str) -> bool:
        return not (
            folder.count("/") >= MAX_DEPTH
            or folder.endswith("/.git")
            or self._before.ignores_folder(folder)
            or is_git_folder(lambda name: self._lower.status(f"{folder}/{name}") is not None)
        )

    def _deleted(self, path: str) -> None:
        if self.view.proposed.get(path, _ABSENT) is None:
            return
        self._seen.add(path)
        if self._is_full():
            return
        before, unfit = self._found(path)
        self._read += len(before.data) if before is not None else 0
        self._tell(Change(path, before, None, unfit))

    def _is_full(self) -> bool:
        """Whether one more change is too much to look at; it is counted then."""
        full = len(self.changes) >= MAX_CHANGES or self._read >= MAX_TOTAL
        self._beyond += full
        return full

    def _unfit(self, path: str, why: str) -> None:
        self._tell(Change(path, None, None, why))

    def _tell(self, change: Change) -> None:
        if len(self.changes) >= MAX_CHANGES:
            self._beyond += 1
            return
        shown = _shown(change.path)
        self.changes.append(change if shown == change.path else Change(shown, None, None, "its name is not UTF-8"))

    def _keep(self, path: str, found: os.stat_result | None = None) -> None:
        """`found`: the file as the layer has it, left out for a folder."""
        self._seen.add(path)
        self.kept[path] = mark = self._lower.fingerprint(path)
        written = found is not None and found.st_ctime_ns > self.since
        if written and mark is not None and not self._before.is_cache(path):
            self._differ.append(path)

    def _name_kept(self, shown: str, path: str) -> None:
        if path not in self.upper.kept:
            self._fresh.append(_shown(shown))

    def _is_git_folder(self, at: int, name: str, path: str, found: os.stat_result) -> bool:
        """By what the command left and what was there, together."""
        names: set[str] = set()
        if stat.S_ISDIR(found.st_mode):
            with trees.opened(name, at) as inner:
                names.update(os.listdir(inner))
        return is_git_folder(lambda each: each in names or self._lower.status(f"{path}/{each}") is not None)

    def _repository_entry(self, at: int, name: str, path: str, found: os.stat_result) -> None:
        if stat.S_ISDIR(found.st_mode):
            with trees.opened(name, at) as inner:
                self._note_repository(inner, self._lower, f"{path}/")
        else:
            self._repository = True
        trees.remove(name, at)

    def _note_repository(self, at: int, lower: LowerLayer, above: str) -> None:
        changed, moved = repository.inspect_changes(at, lambda name: lower.read(above + name, _CHUNK))
        self._repository |= changed
        self._moved |= moved

    def _is_told(self, path: str) -> bool:
        """What is hidden from a command is none of its changes."""
        return path not in self._hidden

    def _is_ignored(self, path: str, below: _Below, *, as_folder: bool) -> bool:
        """By the rules that were there before for a file that was, else by those that are there now."""
        if path in self.view.proposed or (as_folder and path in self._proposed_folders):
            return False
        if below.ignored or (as_folder and self._before.ignores_folder(path)):
            return True
        return (self._before if below.visible and self._lower.status(path) else self._after).ignores_file(path)

    def _folder_is_ignored(self, path: str) -> bool:
        return (self._before if self._lower.is_folder(path) else self._after).ignores_folder(path)

    def _same_link(self, at: int, name: str, path: str) -> bool:
        with contextlib.suppress(OSError):
            return os.readlink(name, dir_fd=at) == self._lower.link(path)
        return False

    def _text_before(self, path: str) -> bytes | None:
        if path in self.view.proposed:
            entry = self.view.proposed[path]
            return None if entry is None else entry.data
        return self._lower.read(path, _CHUNK)

    def _text_after(self, path: str) -> bytes | None:
        return self._texts[path] if path in self._texts else self._text_before(path)

    def _read_rules(self, at: int, path: str) -> None:
        """The rules that the command left in a folder, before anything of it is judged or taken out."""
        rules = f"{path}/.gitignore" if path else ".gitignore"
        try:
            found = os.stat(".gitignore", dir_fd=at, follow_symlinks=False)
        except OSError:
            return
        if stat.S_ISREG(found.st_mode) and not is_whiteout(".gitignore", at, found):
            with contextlib.suppress(OSError), trees.open_regular_file(".gitignore", at) as file:
                self._texts[rules] = file.read(_CHUNK)
                return
        self._texts[rules] = None


_ABSENT = Entry(b"")


def _shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
