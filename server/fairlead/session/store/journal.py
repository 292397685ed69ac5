"""The journals of sessions: one file each, with lines added for each change. A kill loses at most the last change.

`sessions/ID.jsonl` begins with a line that identifies it (format, session, workspace). Each further line is an entry
(entries.py) or, after an entry that leaves the session settled, its summary. The process that has the session open
holds `ID.lock`. API keys and environment variables are never written, unless a command printed them or a file contains
them.
"""

import contextlib
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairlead.display import escape_to_one_line
from fairlead.json_reader import to_json
from fairlead.session.state import SessionState
from fairlead.session.store import journal_files as files
from fairlead.session.store import reader
from fairlead.session.store.codec import Json
from fairlead.session.store.entries import EntryEncoder
from fairlead.session.store.lock import Lock, Locked, is_held
from fairlead.session.store.moved_folder import with_moved_folder
from fairlead.session.store.reader import FORMAT, JournalInfo, Summary

log = logging.getLogger(__name__)

RETRY_DELAY = 5.0  # seconds from a failed write to the next attempt
MAX_GROWTH = 4  # a journal is rewritten when it is this many times as large as after the last rewrite
SMALL_BYTES = 1_000_000  # smaller journals are not rewritten

UNREADABLE = (
    "The session {name} cannot be read: {reason}. Its file stays unchanged: {path}. "
    "If a newer version of Fairlead wrote it, update Fairlead; otherwise you can move the file away."
)
MAX_REASON = 200  # characters of an error in `UNREADABLE`; the rest is cut off
NOT_SAVED = (
    "{session} cannot be saved: {reason} ({folder}). You can continue, but what happens from now on is lost when the "
    "server ends. Saving is retried every few seconds."
)
SAVED_AGAIN = "{session} is saved again."


@dataclass(frozen=True, slots=True)
class SavingChanged:
    """A session can no longer be saved, or it is saved again."""

    session_id: str
    saved: bool
    message: str
    """For the user."""


def _log_saving(changed: SavingChanged) -> None:
    log.info(changed.message)


class Journal:
    """The journal of one session. Writing never raises: after a failed write, the whole state is written again."""

    def __init__(
        self,
        path: Path | None,
        head: Json,
        report: Callable[[SavingChanged], None],
        clock: Callable[[], float],
        lock: Lock | None = None,
    ) -> None:
        """
        Args:
            path: the file; None: nothing is saved.
            head: the first line of the file.
            report: tells the user that the session can no longer be saved, or is saved again.
            clock: seconds since an arbitrary start.
            lock: the lock of an existing file. None: the first write acquires it.
        """
        self._path, self._head, self._lock = path, head, lock
        self._report, self._clock = report, clock
        self._encoder = EntryEncoder()
        self._file: int | None = None
        self._size = self._size_after_rewrite = 0
        self._retry_at: float | None = None
        self._is_saved = True

    def load(self) -> SessionState:
        """Reads the file, without an incomplete last line.

        Raises:
            OSError: the file cannot be read.
            ValueError: the file is not a journal, has another format, or is damaged.
        """
        assert self._path is not None
        content, self._size = reader.load(self._path)
        self._encoder = EntryEncoder(content)
        return content.state

    def resume(self, state: SessionState) -> None:
        """Continues the loaded file; removes an incomplete last line. `state` is the session's state."""
        assert self._path is not None
        if self._lock is None:
            return  # the first write acquires the lock and writes the whole state
        try:
            self._file = files.open_for_append(self._path)
            os.ftruncate(self._file, self._size)
        except OSError as error:
            self._failed(error, state)

    @property
    def retry_delay(self) -> float | None:
        """If the last write failed, the seconds until the next attempt; otherwise None."""
        if self._path is None or self._retry_at is None:
            return None
        return max(0.0, self._retry_at - self._clock())

    def write(self, state: SessionState, *, force: bool = False) -> None:
        """Appends what has changed. Writes the whole state if there is no file yet, or if the last write failed.

        After a failed write, does nothing until the next attempt is due, except with `force`.
        """
        if self._path is None or (self.retry_delay and not force):
            return
        if self._file is None:
            self._write_whole(state)
            return
        entry = self._encoder.entry(state)
        if entry is None:
            return
        data = _encoded(entry) + _summary_line(state)
        try:
            files.append(self._file, data, self._size)
        except OSError as error:
            self._failed(error, state)
            return
        self._size += len(data)

    def compact(self, state: SessionState) -> None:
        """Rewrites the file if it has become much larger than after the last rewrite.

        A loaded file is rewritten the first time, unless it is small.
        """
        if self._file is not None and self._size > max(SMALL_BYTES, MAX_GROWTH * self._size_after_rewrite):
            self._write_whole(state)

    def move_folder(self, former: str, folder: str, state: SessionState) -> None:
        """Rewrites a loaded file for a workspace folder that has another path now.

        Args:
            state: the loaded state.
        """
        folders = [self._head["root"], *self._head.get("others", ())]
        self._head = _head(self._head["id"], [folder if each == former else each for each in folders])
        self._write_whole(with_moved_folder(state, former, folder))

    def delete(self) -> None:
        """Removes the journal's file and its lock file. Later writes do nothing.

        Raises:
            OSError: the file cannot be removed.
        """
        path, self._path = self._path, None
        self._close_file()
        if path is not None:
            files.remove(path)
        self.remove_lock()

    def remove_lock(self) -> None:
        """Releases the lock and removes its file. Call it only if there is no journal file.

        Raises:
            OSError: the lock file cannot be removed.
        """
        if self._lock is not None:
            self._lock.remove()
            self._lock = None

    def close(self) -> None:
        """Closes the file and releases the lock, so that another process can open the session.

        Later writes do nothing.
        """
        self._path = None
        self._close_file()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _write_whole(self, state: SessionState) -> None:
        """Writes the whole state to a new file, which replaces the old one, if there is one.

        If that fails, continues with the old file if it is complete and open.
        """
        assert self._path is not None
        encoder = EntryEncoder()
        entry = encoder.entry(state)
        if entry is None:
            return
        # the client reads the first line, and bytes that are not UTF-8 are in its paths as halves of surrogate pairs
        data = _encoded(self._head, in_ascii=True) + _encoded(entry) + _summary_line(state)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = self._lock or Lock(self._path.with_suffix(".lock"))
            new = files.write_new(self._path, data)
            self._close_file()
            os.replace(new, self._path)
            self._file = files.open_for_append(self._path)
        except (OSError, Locked) as error:
            if self._file is None:
                self._failed(error, state)
            else:  # the old file is still complete
                self._size_after_rewrite = self._size
            return
        self._encoder, self._retry_at = encoder, None
        self._size = self._size_after_rewrite = len(data)
        self._set_saved(True, SAVED_AGAIN.format(session=_named(state)))

    def _failed(self, error: OSError | Locked, state: SessionState) -> None:
        """Closes the incomplete file; the next attempt writes it as a whole."""
        assert self._path is not None
        self._close_file()
        self._retry_at = self._clock() + RETRY_DELAY
        reason = "it is open elsewhere" if isinstance(error, Locked) else error.strerror or str(error)
        log.warning("a journal cannot be written: %s", error)
        self._set_saved(False, NOT_SAVED.format(session=_named(state), reason=reason, folder=self._path.parent))

    def _set_saved(self, saved: bool, message: str) -> None:
        if saved != self._is_saved:
            self._is_saved = saved
            self._report(SavingChanged(self._head["id"], saved, message))

    def _close_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


@dataclass
class Journals:
    """The folder of journals."""

    folder: Path | None = None
    """None: nothing is saved."""
    warn: Callable[[str], None] = log.warning
    """Shows a warning to the user."""
    report: Callable[[SavingChanged], None] = _log_saving
    """Tells the user that a session can no longer be saved, or is saved again."""
    clock: Callable[[], float] = time.monotonic
    """Seconds since an arbitrary start."""
    _unreadable: set[str] = field(default_factory=set[str])
    """The ids of the journals that are damaged or from a newer version."""
    _reported: set[str] = field(default_factory=set[str])
    """The ids of the journals that this process has reported as unreadable, perhaps only for a moment."""

    def new(self, session_id: str, *folders: str) -> Journal:
        """The journal of a new session in a workspace with these folders. Its file is created with the first entry."""
        return Journal(self._path(session_id), _head(session_id, folders), self.report, self.clock)

    def in_memory(self) -> Journal:
        """A journal that saves nothing."""
        return Journal(None, {}, self.report, self.clock)

    def scan(self, known: Collection[str] = ()) -> Iterator[JournalInfo]:
        """The journals in the folder, the most recently written first. Reports unreadable ones (`report_unreadable`).

        Leaves out those that this process has reported.

        Args:
            known: the ids of journals to leave out.
        """
        if self.folder is None or not self.folder.is_dir():
            return
        skipped = {*known, *self._unreadable}
        found = [path for path in self.folder.glob("*.jsonl") if path.stem not in skipped]
        for path in sorted(found, key=_written_at, reverse=True):
            try:
                yield reader.inspect(path)
            except FileNotFoundError:  # another process has deleted it
                continue
            except (OSError, ValueError) as error:
                # without its title, because it may belong to another workspace
                self.report_unreadable(path.stem, _unreadable(path.stem, path, error), error)

    def is_open_elsewhere(self, info: JournalInfo) -> bool:
        """Whether a `Journal` has a session open, usually one of another process."""
        try:
            return is_held(self._scanned_path(info).with_suffix(".lock"))
        except OSError as error:  # as in `open`, where the session can be read without its lock
            log.warning("a lock cannot be read: %s", error)
            return False

    def exists(self, session_id: str) -> bool:
        """Whether a session has a journal, even if it cannot be read now."""
        path = self._path(session_id)
        return path is not None and path.exists()

    def read(self, info: JournalInfo) -> SessionState:
        """Reads a journal without locking it.

        Raises:
            OSError: the file does not exist anymore, or cannot be read.
            ValueError: the file is damaged.
        """
        path = self._scanned_path(info)
        return reader.load(path)[0].state

    def open(self, info: JournalInfo) -> tuple[Journal, SessionState]:
        """Locks and reads a journal. `Journal.resume` continues it.

        If the lock file cannot be written, reads it without a lock; then the first write acquires the lock.

        Raises:
            Locked: another process has the session open.
            OSError: the file does not exist anymore, or cannot be read.
            ValueError: the file is damaged.
        """
        path = self._scanned_path(info)
        try:
            lock = Lock(path.with_suffix(".lock"))
        except OSError:
            lock = None  # the folder is not writable now; the first write tries again to lock
        journal = Journal(path, _head(info.id, info.folders), self.report, self.clock, lock)
        try:
            return journal, journal.load()
        except FileNotFoundError:
            journal.remove_lock()
            raise
        except (OSError, ValueError):
            journal.close()
            raise

    def remove(self, info: JournalInfo) -> None:
        """Removes an old session, unless another process has it open, or has continued it since `scan`.

        Failures are only logged.
        """
        path = self._scanned_path(info)
        try:
            lock = Lock(path.with_suffix(".lock"))
        except (OSError, Locked) as error:
            log.warning("an old session was not removed: %s", error)
            return
        try:
            if path.exists() and reader.inspect(path) != info:
                lock.release()
                return
            files.remove(path)
            lock.remove()
        except (OSError, ValueError) as error:
            lock.release()
            log.warning("an old session was not removed: %s", error)

    def remove_leftovers(self, before: float) -> None:
        """Removes leftovers of journals that were never completed, because the disk was full or the server was killed.

        Args:
            before: seconds since the epoch; files that were written later stay.
        """
        if self.folder is None:
            return
        for path in [each for kind in ("lock", "new", "reported") for each in self.folder.glob(f"*.{kind}")]:
            if path.with_suffix(".jsonl").exists() or not 0 < _written_at(path) < before:
                continue
            with contextlib.suppress(OSError, Locked):
                lock = Lock(path.with_suffix(".lock"))
                if path.with_suffix(".jsonl").exists():
                    lock.release()
                else:
                    for kind in (".new", ".reported"):
                        path.with_suffix(kind).unlink(missing_ok=True)
                    lock.remove()

    def report_unreadable(self, session_id: str, reason: str, error: Exception) -> None:
        """Tells the user that a session cannot be read, once for all processes until its file changes.

        `scan` does not find it again, unless `error` is the system's, which may be temporary.
        """
        path = self._path(session_id)
        assert path is not None
        if not isinstance(error, OSError):
            self._unreadable.add(session_id)
        elif sys.platform == "win32":  # the file is locked for a moment while another process replaces or checks it
            log.warning("%s", escape_to_one_line(reason))
            return
        log.warning("%s", escape_to_one_line(reason))
        if session_id not in self._reported and files.note_report(path):
            self.warn(reason)
        self._reported.add(session_id)

    def unreadable_reason(self, session_id: str, error: Exception) -> str:
        """The message for the user: which session cannot be read, why, and what to do. Reads the whole file."""
        path = self._path(session_id)
        assert path is not None
        title = reader.last_title(path)
        return _unreadable(f"“{title}” ({session_id})" if title else session_id, path, error)

    def _path(self, session_id: str) -> Path | None:
        return self.folder / f"{session_id}.jsonl" if self.folder is not None else None

    def _scanned_path(self, info: JournalInfo) -> Path:
        """The path of a journal that `scan` found."""
        path = self._path(info.id)
        assert path is not None
        return path


def _head(session_id: str, folders: Sequence[str]) -> Json:
    first, *others = folders
    return {"format": FORMAT, "id": session_id, "root": first, **({"others": others} if others else {})}


def _unreadable(name: str, path: Path, error: Exception) -> str:
    why = str(error)
    short = why if len(why) <= MAX_REASON else f"{why[:MAX_REASON]}..."
    return UNREADABLE.format(name=name, reason=short, path=path)


def _named(state: SessionState) -> str:
    return f"The session “{state.title}”" if state.title else "This session"


def _encoded(value: Json, *, in_ascii: bool = False) -> bytes:
    """A line of the file.

    Entries are not in ASCII: when JSON in ASCII is read, the two halves of a surrogate pair become one character.
    """
    line = json.dumps(value, separators=(",", ":"), ensure_ascii=in_ascii)
    return line.encode("utf-8", "surrogatepass") + b"\n"


def _summary_line(state: SessionState) -> bytes:
    """The line with the summary of a settled session, so that the next start need not read the rest of the file.

    Empty if the session is not settled.
    """
    if state.phase != "idle" or len(state.changes):
        return b""
    plan = state.plan
    progress = plan.completed, len(plan.items)
    row = Summary(state.title, state.updated, *progress, state.selection, state.ended, state.spent)
    return _encoded({"row": to_json(row)})


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
