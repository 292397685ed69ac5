"""Collects a command's changes: compares the upper layer with the files before the command.

Ignored files stay in the layer. Everything else is taken out of it, unless the command still runs: changes to git's own
data (`.git`) and to hidden files are discarded, and all others are returned, up to the limits below. The content is
hostile (docs/sandbox.md): links, devices, deep trees, endless files.
"""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from fairlead.shell.layer import HEAD_MOVED, REPOSITORY_DISCARDED, Change, Changes, Entry, FolderChanges, View
from fairlead.shell.sandbox import repository
from fairlead.shell.sandbox.layer import trees
from fairlead.shell.sandbox.layer.ignored import IgnoreRules, OuterRules, is_environment, outer_rules
from fairlead.shell.sandbox.layer.lower_layer import Fingerprint, LowerLayer, file_status, parents
from fairlead.shell.sandbox.layer.settled_files import Basis
from fairlead.shell.sandbox.layer.upper_layer import OPAQUE, PERMISSIONS, UpperLayer, is_opaque, is_whiteout, mode_of
from fairlead.workspace.paths import PathEscape
from fairlead.workspace.repositories import is_git_folder

# limits for what is proposed: bytes of one file, changes, bytes of all files, levels of folders
MAX_BYTES = 20_000_000
MAX_CHANGES = 2_000
MAX_TOTAL = 200_000_000
MAX_DEPTH = 100
# the search for what a running command wrote ends after this many changes too many
_MAX_OMITTED = 20_000
TOO_MANY = "Too many changes:"
_CHUNK = 1 << 20
_TOO_LARGE = f"it is larger than {MAX_BYTES // 1_000_000} MB"
_LINK = "on disk it is a link, or in a linked folder"
_MAX_NAMED = 5
# Files that a command wrote without changing them are copied for every later command, so that their times are new. A
# command that writes more files than this usually edits all files of a kind in place, and builds nothing meanwhile.
_MAX_REWRITTEN = 1_000


def collect(
    upper: UpperLayer, view: View, since: int, repositories: Sequence[Path] = (), *, takes: bool = True
) -> Changes:
    """Returns the command's changes.

    Args:
        upper: the layer. Afterwards it contains only ignored files and new virtual environments. After an exception, it
            is cleared (`UpperLayer.clear`).
        view: what the command saw.
        since: when the box was opened, by the file system's clock, in ns.
        repositories: the upper layers over repositories outside of the workspace.
        takes: false if the command still runs. Then the layer stays as it is, and what is in it as it was at the last
            call, and did not differ from the view then, is not read again (`SettledFiles`).

    Raises:
        OSError, PathEscape: something cannot be read.
    """
    collector = _Collector(upper, view, since, takes)
    upper.settled.begin()
    try:
        with trees.opened(upper.folder) as top:
            collector.collect_folder(top, "", _Folder(shows_lower=True, is_ignored=False))
        collector.collect_vanished()
        collector.collect_outside(repositories)
    except BaseException:
        if takes:
            upper.clear()
        raise
    if takes:
        collector.note_rewritten()
        upper.retained = collector.retained
        upper.times.note_end()
    return collector.result()


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder of the layer."""

    shows_lower: bool
    """Whether the user's folder of the same name is visible through it."""
    is_ignored: bool
    depth: int = 0


@dataclass
class _Collector:
    upper: UpperLayer
    view: View
    since: int
    takes: bool
    changes: list[Change] = field(default_factory=list[Change])
    retained: dict[str, Fingerprint] = field(default_factory=dict[str, Fingerprint])
    _seen: set[str] = field(default_factory=set[str])  # paths that need not be checked for a deletion anymore
    _omitted: int = 0
    _bytes_read: int = 0
    _repository_changed: int = 0
    _head_moved: bool = False
    _changed_ignored: list[str] = field(default_factory=list[str])
    _new_ignored: list[str] = field(default_factory=list[str])
    _empty_folders: list[str] = field(default_factory=list[str])
    _removed_folders: list[str] = field(default_factory=list[str])
    # the files that the command wrote without changing their content, with that content and the permission bits
    _rewritten: dict[str, tuple[bytes, int]] = field(default_factory=dict[str, tuple[bytes, int]])

    def __post_init__(self) -> None:
        self._lower: LowerLayer = self.upper.lower
        self._texts: dict[str, bytes | None] = {}  # the ignore files that the command left; None: deleted
        self._hidden = frozenset(self.view.hidden)
        self._proposed_folders = {parent for path in self.view.proposed for parent in parents(path)}

    # found when they are needed first, because a command that wrote nothing needs none of them
    @cached_property
    def _outside(self) -> Path | None:
        return repository.find_outside(self.upper.root)

    @cached_property
    def _outer(self) -> OuterRules:
        return outer_rules(self.upper.root, self._outside or self.upper.root / ".git")

    @cached_property
    def _before(self) -> IgnoreRules:
        return IgnoreRules(self._text_before, self._outer)

    @cached_property
    def _after(self) -> IgnoreRules:
        return IgnoreRules(self._text_after, self._outer)

    def collect_folder(self, at: int, path: str, folder: _Folder) -> Mapping[str, bool]:
        """Collects everything in a folder of the layer. Afterwards the folder contains only the files that stay.

        Returns whether later commands see something there, for each name in the folder.
        """
        self._read_rules(at, path)
        with os.scandir(at) as entries:
            names = sorted(entry.name for entry in entries)
        found: dict[str, bool] = {}
        for name in names:
            if self._is_enough():
                break
            try:
                found[name] = self._entry(at, name, f"{path}/{name}" if path else name, folder)
            except FileNotFoundError:  # the command has just removed it
                if self.takes:
                    raise
        return found

    def collect_vanished(self) -> None:
        """Collects the deletions of proposed new files, which leave no trace in the layer or on disk."""
        for path, entry in self.view.proposed.items():
            if entry is not None and path not in self._seen and self._is_reported(path):
                self._deleted(path)

    def collect_outside(self, repositories: Sequence[Path]) -> None:
        """Notes whether a repository outside of the workspace changed, by its upper layers."""
        for folder in repositories:
            with trees.opened(folder) as at:
                self._note_repository(at, LowerLayer(self._outside or self.upper.root), "")

    def note_rewritten(self) -> None:
        """Notes that the files that the command wrote without changing them may have had another content meanwhile."""
        if len(self._rewritten) <= _MAX_REWRITTEN:
            for path, content in self._rewritten.items():
                self.upper.times.note_changed(path, content)

    def result(self) -> Changes:
        """Everything that was collected; without changes to files if HEAD or the stash moved."""
        if self._head_moved:
            return Changes([], self._new_ignored, [HEAD_MOVED], repository_changed=self._repository_changed)
        lines = [REPOSITORY_DISCARDED] if self._repository_changed else []
        if self._omitted:
            others = f"more than {_MAX_OMITTED:,} other" if self._is_enough() else f"{self._omitted:,} more"
            lines.append(f"{TOO_MANY} those to {others} files were discarded.")
        if self._changed_ignored:
            names, omitted = self._changed_ignored[:_MAX_NAMED], len(self._changed_ignored) - _MAX_NAMED
            more = f" and {omitted:,} more" if omitted > 0 else ""
            lines.append(
                "These ignored files were changed in the sandbox only; commands see the changes, read_file does not: "
                f"{', '.join(map(_printable, names))}{more}."
            )
        not_empty = [path for path in self.view.empty_folders if path not in set(self._empty_folders)]
        folders = FolderChanges(self._empty_folders, not_empty, self._removed_folders)
        return Changes(
            self.changes,
            self._new_ignored,
            lines,
            folders=folders,
            repository_changed=self._repository_changed,
            omitted=self._omitted,
        )

    def _entry(self, at: int, name: str, path: str, folder: _Folder) -> bool:
        """Collects one entry of a folder, and removes it from the layer unless git ignores it.

        Returns whether later commands see something at the path.
        """
        found = os.stat(name, dir_fd=at, follow_symlinks=False)
        settled = None if self.takes else self.upper.settled.find(path, found, lambda: self._basis(path, folder))
        if settled is not None:
            self._seen.add(path)
            self._changed_ignored += [path] if settled.has_changed else []
            return settled.stays
        in_lower = folder.shows_lower and self._lower.status(path) is not None
        if self.upper.is_untouched_copy(path, found, self.view):
            self._remove(name, at)
            return in_lower
        if name == ".git" or self._is_git_folder(at, name, path, found):
            self._repository_entry(at, name, path, found)
            return in_lower
        if stat.S_ISDIR(found.st_mode):
            return self._folder_entry(at, name, path, folder)
        whiteout = is_whiteout(name, at, found)
        over_folder = folder.shows_lower and self._lower.is_folder(path)
        if self._is_ignored(path, folder, as_folder=whiteout and over_folder):
            has_changed = self._retain(path, found)
            if not whiteout:
                self._note_new_ignored(path, path)
            if folder.is_ignored:
                self.upper.settled.add(path, found, "ignored", stays=not whiteout, has_changed=has_changed)
            return not whiteout
        stays = not whiteout
        if not whiteout and self._is_reported(path):
            stays = self._leaf(at, name, path, found, folder) or in_lower
        if (whiteout or over_folder) and path not in self.view.removed_folders:
            self._deleted_below(path)
            if whiteout and over_folder:
                self._removed_folders.append(_printable(path))
        if whiteout and not over_folder and path in self.view.proposed and self.view.proposed[path] is None:
            self.upper.settled.add(path, found, None, stays=False)
        self._remove(name, at)
        return stays

    def _remove(self, name: str, at: int) -> None:
        if self.takes:
            trees.remove(name, at)

    def _folder_entry(self, at: int, name: str, path: str, folder: _Folder) -> bool:
        lower = self._lower.status(path) if folder.shows_lower else None
        over_folder = lower is not None and stat.S_ISDIR(lower.st_mode)
        with trees.opened(name, at) as inner:
            ignored = folder.is_ignored or self._folder_is_ignored(path) or (lower is None and is_environment(inner))
            shows_lower = over_folder and not is_opaque(inner)
            if ignored and not shows_lower and path not in self._proposed_folders:
                self._retain(path)
                self._note_new_ignored(f"{path}/", path)
                return True
            if folder.depth >= MAX_DEPTH:
                self._add_not_proposed(path, "the folders are nested too deeply")
            else:
                if lower is not None and not over_folder and self._is_reported(path):
                    self._deleted(path)
                names = self.collect_folder(inner, path, _Folder(shows_lower, ignored, folder.depth + 1))
                if not ignored:
                    self._note_if_empty(path, names, self._lower.names(path) if shows_lower else None)
                if over_folder and not shows_lower:
                    self._deleted_below(path)
                    if self.takes:
                        with contextlib.suppress(OSError):
                            os.removexattr(inner, OPAQUE)
        if folder.depth >= MAX_DEPTH:
            self._remove(name, at)
            return over_folder
        if self.takes:
            with contextlib.suppress(OSError):  # not empty: some files stay
                os.rmdir(name, dir_fd=at)
        return True

    def _note_if_empty(self, path: str, names: Mapping[str, bool], lower: Sequence[str] | None) -> None:
        """Notes a folder that the command left empty. One that is empty on disk too needs no note.

        Args:
            names: the names in the layer's folder, and whether later commands see something there.
            lower: the names in the user's folder that is visible through it; None if there is none.
        """
        is_empty = not any(names.values()) and names.keys() >= set(lower or ())
        if is_empty and (lower != [] or path in self.view.empty_folders) and _printable(path) == path:
            if len(self._empty_folders) < MAX_CHANGES:
                self._empty_folders.append(path)
            else:
                self._omitted += 1

    def _leaf(self, at: int, name: str, path: str, found: os.stat_result, folder: _Folder) -> bool:
        """Collects a file, link or device that the command left, if it differs from what was there before.

        Returns false if it is lost, because it cannot be proposed.
        """
        self._seen.add(path)
        if not stat.S_ISREG(found.st_mode):
            is_link = stat.S_ISLNK(found.st_mode)
            is_same = is_link and self._same_link(at, name, path)
            return is_same or self._add_not_proposed(path, "it is a link" if is_link else "it is not a regular file")
        basis = self._basis(path, folder)  # before anything is read
        if self.upper.is_untouched(path, found):
            return self._note_settled(path, found, basis)
        if self._is_full():
            self.upper.times.note_changed(path, None)
            return False
        if not found.st_mode & stat.S_IRUSR and os.geteuid() != 0:
            trees.allow_owner(name, at, stat.S_IRUSR)
        with trees.open_regular_file(name, at) as file:
            if found.st_size > MAX_BYTES:
                if self._is_users(path, file):
                    return self._note_settled(path, found, basis)
                return self._add_not_proposed(path, _TOO_LARGE)
            data = file.read(MAX_BYTES)
        self._bytes_read += len(data)
        before, obstacle = self._before_command(path)
        mode = found.st_mode & PERMISSIONS
        if before is not None and before.data == data and before.mode == mode:
            self._rewritten[path] = data, mode
            return self._note_settled(path, found, basis)
        if obstacle:
            return self._add_not_proposed(path, obstacle)
        self.upper.times.note_changed(path, (data, mode))
        expected = before.mode if before is not None else mode & ~0o111
        self._add(Change(path, before, Entry(data, None if mode == expected else mode)))
        return True

    def _basis(self, path: str, folder: _Folder) -> Basis:
        """What a file in a folder is compared with."""
        if path in self.view.proposed:
            return self.view.proposed[path]
        if folder.is_ignored:
            return "ignored"
        lower = self._lower.status(path)
        return file_status(lower) if lower is not None else None

    def _note_settled(self, path: str, found: os.stat_result, basis: Basis) -> bool:
        """Notes that a file does not differ from its basis. Returns true, because it stays."""
        self.upper.settled.add(path, found, basis)
        return True

    def _is_users(self, path: str, file: BinaryIO) -> bool:
        """Whether a file has the same bytes as the user's."""
        with contextlib.suppress(OSError, PathEscape), self._lower.open_file(path) as theirs:
            if os.fstat(theirs.fileno()).st_size == os.fstat(file.fileno()).st_size:
                while (chunk := theirs.read(_CHUNK)) == file.read(_CHUNK):
                    if not chunk:
                        return True
        return False

    def _before_command(self, path: str) -> tuple[Entry | None, str]:
        """The file before the command, and why its change cannot be proposed ("" if it can).

        The file is None if it did not exist, and may be None if its change cannot be proposed.
        """
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
            return None, "" if self._lower.is_folder(path) else "it was not a regular file"
        except PathEscape:
            return None, _LINK
        except OSError as error:
            return None, f"its old content cannot be read: {error.strerror}"
        return entry, "it was changed on disk while the command ran" if found.st_ctime_ns > self.since else ""

    def _deleted_below(self, path: str) -> None:
        """Collects the deleted files at and below a path where the layer has a whiteout, or replaces a folder."""
        for leaf in self._leaves(path):
            if leaf not in self._seen and self._is_reported(leaf):
                self._deleted(leaf)

    def _leaves(self, path: str) -> Iterator[str]:
        """The files at and below a path before the command.

        Leaves out the user's files below it that are ignored or git's own. Includes all proposals below it, even
        deletions.
        """
        if self._lower.is_folder(path):
            for leaf in self._lower.files(path, self._is_entered):
                if not leaf.endswith("/.git") and not self._before.ignores_file(leaf):
                    yield leaf
        elif self._lower.status(path) is not None:
            yield path
        yield from (each for each in self.view.proposed if each.startswith(f"{path}/"))

    def _is_entered(self, folder: str) -> bool:
        return not (
            folder.count("/") >= MAX_DEPTH
            or folder.endswith("/.git")
            or self._before.ignores_folder(folder)
            or is_git_folder(lambda name: self._lower.status(f"{folder}/{name}") is not None)
        )

    def _deleted(self, path: str) -> None:
        if path in self.view.proposed and self.view.proposed[path] is None:  # there was nothing to delete
            return
        self._seen.add(path)
        self.upper.times.note_changed(path, None)
        if self._is_full():
            return
        before, obstacle = self._before_command(path)
        self._bytes_read += len(before.data) if before is not None else 0
        self._add(Change(path, before, None, obstacle))

    def _is_full(self) -> bool:
        """Whether a limit is reached. If so, counts one more file as omitted, even if it may be unchanged."""
        full = len(self.changes) >= MAX_CHANGES or self._bytes_read >= MAX_TOTAL
        self._omitted += full
        return full

    def _is_enough(self) -> bool:
        """Whether the search ends, because a running command wrote far too much."""
        return not self.takes and self._omitted >= _MAX_OMITTED

    def _add_not_proposed(self, path: str, reason: str) -> bool:
        """Adds a change that cannot be proposed. Returns false, because it is lost."""
        self.upper.times.note_changed(path, None)
        self._add(Change(path, None, None, reason))
        return False

    def _add(self, change: Change) -> None:
        if len(self.changes) >= MAX_CHANGES:
            self._omitted += 1
            return
        path = _printable(change.path)
        self.changes.append(change if path == change.path else Change(path, None, None, "its name is not UTF-8"))

    def _retain(self, path: str, found: os.stat_result | None = None) -> bool:
        """Leaves an ignored file or folder in the layer. Returns whether it is a file of the user that was changed.

        Args:
            found: a file's status there; None for a folder.
        """
        self._seen.add(path)
        self.retained[path] = fingerprint = self._lower.fingerprint(path)
        written = found is not None and found.st_ctime_ns > self.since
        has_changed = written and fingerprint is not None and not self._before.is_cache(path)
        if has_changed:
            self._changed_ignored.append(path)
        return has_changed

    def _note_new_ignored(self, name: str, path: str) -> None:
        if path not in self.upper.retained:
            self._new_ignored.append(_printable(name))

    def _is_git_folder(self, at: int, name: str, path: str, found: os.stat_result) -> bool:
        """Whether the lower and the upper folder together are a git folder."""
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
            self._repository_changed = max(self._repository_changed, found.st_ctime_ns)
        self._remove(name, at)

    def _note_repository(self, at: int, lower: LowerLayer, above: str) -> None:
        changed, moved = repository.inspect_changes(at, lambda name: lower.read(above + name, _CHUNK))
        self._repository_changed = max(self._repository_changed, changed)
        self._head_moved |= moved

    def _is_reported(self, path: str) -> bool:
        """Whether changes to a file are reported: not if it was hidden from the command."""
        return path not in self._hidden

    def _is_ignored(self, path: str, folder: _Folder, *, as_folder: bool) -> bool:
        """Whether a path is ignored: an old one by the rules before the command, a new one by the rules after it.

        A proposed one is never ignored. `as_folder`: whether the path is a whiteout over a folder of the user.
        """
        if path in self.view.proposed or (as_folder and path in self._proposed_folders):
            return False
        if folder.is_ignored or (as_folder and self._before.ignores_folder(path)):
            return True
        return (self._before if folder.shows_lower and self._lower.status(path) else self._after).ignores_file(path)

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
        """Reads the rules that the command left in a folder, before its entries are collected."""
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


def _printable(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
