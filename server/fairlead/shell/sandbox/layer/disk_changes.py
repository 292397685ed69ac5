"""Finds the user's files that have changed between two commands, while files that git ignores stay in the layer.

What the user has built on disk may be newer than the proposals. A file that was replaced by an older one may be older
than what commands have built from its former content. In both cases, `shown_times.py` gives new times.

All files are compared, except those in folders of dependencies and caches, whose tools do not compare which of two
files is newer. This costs about 5 ms for 1,000 files.
"""

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping

from fairlead.shell.sandbox import repository
from fairlead.shell.sandbox.layer.ignored import CACHES, MAX_TEXT, IgnoreRules, outer_rules
from fairlead.shell.sandbox.layer.lower_layer import FileStatus, file_status
from fairlead.shell.sandbox.layer.upper_layer import UpperLayer

MAX_FILES = 50_000
"""In a folder with more files, none are compared in this session."""
MAX_REPLACED = 1_000
"""How many files get new times after one comparison because they were replaced by older ones."""
_TOO_MANY: Mapping[str, FileStatus] = {}
_MAX_VISITED = 20_000
_TICK = 10_000_000
"""How much earlier than it happened a change can be recorded, in ns: file systems use the time of the last tick."""
_NOT_COMPARED = frozenset((".git", ".svn", ".hg", ".jj", *(rule.rstrip("/") for rule in CACHES if rule.endswith("/"))))


def prepare(uppers: Iterable[UpperLayer]) -> None:
    """Prepares the upper layers that the next command sees for what the user has changed. Call it before `fill`.

    Raises:
        OSError: a stale file cannot be removed.
    """
    uppers = list(uppers)
    has_new_outputs = [upper.prepare() for upper in uppers]
    has_new_outputs += [_compare(upper, _apart(upper, uppers)) for upper in uppers]
    if any(has_new_outputs):
        for upper in uppers:  # a build in one folder may be made of files in another one
            upper.times.renew()


def begin(uppers: Iterable[UpperLayer], since: int) -> None:
    """Begins to compare the files if a command has left something that stays. Call it when the command has ended.

    Args:
        since: when its box was opened, by the file system's clock, in ns. What changed later counts as changed.
    """
    uppers = list(uppers)
    if not any(upper.retained for upper in uppers):
        return
    for upper in uppers:
        if upper.on_disk is None:
            upper.on_disk = _statuses(upper, _apart(upper, uppers))
            changed = [path for path, (*_, changed_at) in upper.on_disk.items() if changed_at > since]
            ignored, others = _split(upper, changed)
            for path in others:
                upper.times.note_changed(path, None)
            if ignored:
                upper.times.renew()


def has_output_since(upper: UpperLayer, moment: int) -> bool:
    """Whether a command wrote a file that stays at this moment or later, in ns. True if there are too many files."""
    visited, pending = 0, [str(upper.folder / path) for path in upper.retained]
    try:
        while pending:
            visited += 1
            path = pending.pop()
            found = os.stat(path, follow_symlinks=False)
            if found.st_ctime_ns >= moment - _TICK or visited > _MAX_VISITED:
                return True
            with contextlib.suppress(NotADirectoryError), os.scandir(path) as entries:
                pending += [entry.path for entry in entries]
    except OSError:
        return True
    return False


def _compare(upper: UpperLayer, apart: Collection[str]) -> bool:
    """Notes the files that have changed since the last comparison. Returns whether the user may have built some."""
    before = upper.on_disk
    if before is None or before is _TOO_MANY:
        return False
    now = upper.on_disk = _statuses(upper, apart)
    ignored, others = _split(upper, [path for path in now if before.get(path) != now[path]])
    replaced = 0
    for path in others:
        if replaced < MAX_REPLACED:
            replaced += upper.times.note_replaced(path, before.get(path), now[path])
    return bool(ignored)


def _split(upper: UpperLayer, paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """The paths that git ignores, and the others. Leaves out what the layer has a version of."""
    paths = [path for path in paths if not upper.is_retained(path)]
    if not paths:
        return [], []
    outer = outer_rules(upper.root, repository.find_outside(upper.root) or upper.root / ".git")
    rules = IgnoreRules(lambda path: upper.lower.read(path, MAX_TEXT), outer)
    ignored = {path for path in paths if rules.ignores_file(path)}
    return sorted(ignored), [path for path in paths if path not in ignored]


def _apart(upper: UpperLayer, uppers: Iterable[UpperLayer]) -> Collection[str]:
    """The folders that have layers of their own."""
    return {str(other.root) for other in uppers if other is not upper}


def _statuses(upper: UpperLayer, apart: Collection[str]) -> Mapping[str, FileStatus]:
    """The status of each regular file of the user, by path; `_TOO_MANY` if there are too many files."""
    found: dict[str, FileStatus] = {}
    for path, status in _files(str(upper.root), apart):
        found[path] = status
        if len(found) > MAX_FILES:
            return _TOO_MANY
    return found


def _files(root: str, apart: Collection[str]) -> Iterator[tuple[str, FileStatus]]:
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(root + folder) as entries:
                names = list(entries)
        except OSError:
            continue
        for entry in names:
            path = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _NOT_COMPARED and root + path not in apart:
                    pending.append(path)
            elif entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    yield path[1:], file_status(entry.stat(follow_symlinks=False))
