"""The journals of the sessions: a file each, to which a line is added for each change, so that a kill loses nothing.

`sessions/ID.jsonl` begins with a line that says what it is (format, session, workspace). Each further line is an entry
(entries.py) or, behind the entries of a session at rest, its row in the list. Beside it, `ID.lock` is held by the
process that has the session. No key and no environment is in any of it, but for what commands wrote.
"""

import contextlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fairlead.session.state import SessionState
from fairlead.session.store import journal_files as files
from fairlead.session.store import journal_reading
from fairlead.session.store.codec import Json
from fairlead.session.store.entries import Written
from fairlead.session.store.journal_reading import FORMAT, Found
from fairlead.session.store.lock import Lock, Taken

log = logging.getLogger(__name__)

AGAIN = 5.0  # seconds from a failed write to the next try
GROWN = 4  # how many times its size after the last rewriting a journal may have
SMALL = 1_000_000  # bytes: below that a journal is not rewritten

NOT_SAVED = (
    "{session} cannot be saved: {reason} ({folder}). You can go on, but what happens now is lost when the server ends. "
    "Saving is tried again every few seconds."
)
SAVED_AGAIN = "{session} is saved again."
UNREADABLE = (
    "The session {name} cannot be read: {reason}. Its file is left as it is: {path}. "
    "If a newer Fairlead wrote it, update this one; else move the file away, and this message is gone."
)
MOST_REASON = 200  # characters


class Journal:
    """One session's. Writing never raises: what cannot be written is tried again as a whole.

    `warn` tells the user that the session cannot be saved, `tell` that it is saved again: each once until the other.
    """

    def __init__(
        self,
        path: Path | None,
        head: Json,
        warn: Callable[[str], None],
        tell: Callable[[str], None],
        clock: Callable[[], float],
        lock: Lock | None = None,
    ) -> None:
        """`path` None: nothing is kept. `lock` is given where the file is there already."""
        self._path, self._head, self._lock = path, head, lock
        self._warn, self._tell, self._clock = warn, tell, clock
        self._written = Written()
        self._file: int | None = None
        self._size = self._least = 0
        self._again_at: float | None = None
        self._warned = False

    def load(self) -> SessionState:
        """What the file says, but for a last line that was not written whole.

        Raises:
            OSError: it cannot be read.
            ValueError: it is no journal, or one of another format.
        """
        assert self._path is not None
        folded, self._size = journal_reading.read(self._path)
        self._written = Written(folded)
        return folded.state

    def go_on(self, state: SessionState) -> None:
        """What is written from now on is added to what was loaded; a last line that is not whole goes."""
        assert self._path is not None
        if self._lock is None:
            return  # the first write takes the lock, and writes all
        try:
            self._file = files.opened(self._path)
            os.ftruncate(self._file, self._size)
        except OSError as error:
            self._failed(error, state)

    @property
    def behind(self) -> float | None:
        """Where the last write failed: how many seconds until it is tried again. None where all is written."""
        if self._path is None or self._again_at is None:
            return None
        return max(0.0, self._again_at - self._clock())

    def write(self, state: SessionState, *, last: bool = False) -> None:
        """Adds what has changed. The `last` time it is tried in any case."""
        if self._path is None or (self.behind and not last):
            return
        if self._file is None:
            self._write_whole(state)
            return
        entry = self._written.entry(state)
        if entry is None:
            return
        data = _encoded(entry) + _row(state)
        try:
            files.append(self._file, data, self._size)
        except OSError as error:
            self._failed(error, state)
            return
        self._size += len(data)

    def tidy(self, state: SessionState) -> None:
        """Writes the file anew where it has grown far beyond what it says."""
        if self._file is not None and self._size > max(SMALL, GROWN * self._least):
            self._write_whole(state)

    def delete(self) -> None:
        """Takes the file away; nothing is written from now on.

        Raises:
            OSError: it cannot be removed.
        """
        path, self._path = self._path, None
        self._close_file()
        if path is not None:
            files.remove(path)
        self.forget_lock()

    def forget_lock(self) -> None:
        """The lock goes with its file: there is no journal for it.

        Raises:
            OSError: the lock's file cannot be removed.
        """
        if self._lock is not None:
            self._lock.remove()
            self._lock = None

    def close(self) -> None:
        """Lets another process have the session."""
        self._path = None
        self._close_file()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _write_whole(self, state: SessionState) -> None:
        """Makes the file, or puts another one with the same meaning in its place."""
        assert self._path is not None
        written = Written()
        entry = written.entry(state)
        if entry is None:
            return
        data = _encoded(self._head) + _encoded(entry) + _row(state)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = self._lock or Lock(self._path.with_suffix(".lock"))
            fresh = files.write_beside(self._path, data)
            self._close_file()
            os.replace(fresh, self._path)
            self._file = files.opened(self._path)
        except (OSError, Taken) as error:
            if self._file is None:
                self._failed(error, state)
            else:  # the old file still says all
                self._least = self._size
            return
        self._written, self._again_at = written, None
        self._size = self._least = len(data)
        if self._warned:
            self._warned = False
            self._tell(SAVED_AGAIN.format(session=_named(state)))

    def _failed(self, error: OSError | Taken, state: SessionState) -> None:
        """The file stays a while behind; the next time all of it is written, as entries are missing."""
        assert self._path is not None
        self._close_file()
        self._again_at = self._clock() + AGAIN
        reason = "it is open elsewhere" if isinstance(error, Taken) else error.strerror or str(error)
        log.warning("a journal cannot be written: %s", error)
        if not self._warned:
            self._warned = True
            self._warn(NOT_SAVED.format(session=_named(state), reason=reason, folder=self._path.parent))

    def _close_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


@dataclass
class Journals:
    """The folder of journals. Without a folder nothing is kept.

    `warn` and `tell` reach the user, `clock` tells seconds.
    """

    folder: Path | None = None
    warn: Callable[[str], None] = log.warning
    tell: Callable[[str], None] = log.info
    clock: Callable[[], float] = time.monotonic
    _said: set[str] = field(default_factory=set[str])

    def new(self, session_id: str, root: str) -> Journal:
        """The journal of a new session; its file is made with the first entry."""
        return Journal(self._path(session_id), _head(session_id, root), self.warn, self.tell, self.clock)

    def unkept(self) -> Journal:
        """One that keeps nothing."""
        return Journal(None, {}, self.warn, self.tell, self.clock)

    def found(self) -> Iterator[Found]:
        """The journals that are there, the one that was written last first."""
        if self.folder is None or not self.folder.is_dir():
            return
        for path in sorted(self.folder.glob("*.jsonl"), key=_written_at, reverse=True):
            try:
                yield journal_reading.look(path)
            except FileNotFoundError:  # another process has deleted it
                continue
            except (OSError, ValueError) as error:
                self.unreadable(path.stem, self.reason(path.stem, error))

    def read(self, found: Found) -> SessionState:
        """What a journal says at this moment; it stays whose it is.

        Raises:
            OSError: the file is gone or cannot be read.
            ValueError: it cannot be understood.
        """
        path = self._path(found.id)
        assert path is not None
        return journal_reading.read(path)[0].state

    def open(self, found: Found) -> tuple[Journal, SessionState]:
        """A journal that is there, and what it says. It is written to again once it is told to `go_on`.

        Raises:
            Taken: another process has the session.
            OSError: the file is gone or cannot be read.
            ValueError: it cannot be understood.
        """
        path = self._path(found.id)
        assert path is not None
        try:
            lock = Lock(path.with_suffix(".lock"))
        except OSError:
            lock = None  # nothing can be written here, so nobody's journal can be mixed up; it is tried again then
        journal = Journal(path, _head(found.id, found.root), self.warn, self.tell, self.clock, lock)
        try:
            return journal, journal.load()
        except FileNotFoundError:
            journal.forget_lock()
            raise
        except (OSError, ValueError):
            journal.close()
            raise

    def remove(self, found: Found) -> None:
        """Removes a session that nobody wants any more, unless another process has it or has gone on with it."""
        path = self._path(found.id)
        assert path is not None
        try:
            lock = Lock(path.with_suffix(".lock"))
        except (OSError, Taken) as error:
            log.warning("an old session stays: %s", error)
            return
        try:
            if path.exists() and journal_reading.look(path) != found:
                lock.release()
                return
            files.remove(path)
            lock.remove()
        except (OSError, ValueError) as error:
            lock.release()
            log.warning("an old session stays: %s", error)

    def sweep(self, before: float) -> None:
        """Removes what is there of journals that were never made, since the disk was full or the server was killed.

        `before` (seconds since the epoch): what was written later stays.
        """
        if self.folder is None:
            return
        for path in [*self.folder.glob("*.lock"), *self.folder.glob("*.new")]:
            if path.with_suffix(".jsonl").exists() or not 0 < _written_at(path) < before:
                continue
            with contextlib.suppress(OSError, Taken):
                lock = Lock(path.with_suffix(".lock"))
                if path.with_suffix(".jsonl").exists():
                    lock.release()
                else:
                    path.with_suffix(".new").unlink(missing_ok=True)
                    lock.remove()

    def unreadable(self, session_id: str, reason: str) -> None:
        """Says once of a file that it cannot be read."""
        if session_id not in self._said:
            self._said.add(session_id)
            self.warn(reason)

    def reason(self, session_id: str, error: Exception) -> str:
        """For the user: which session cannot be read, why, and what to do."""
        path = self._path(session_id)
        assert path is not None
        name, why = journal_reading.title(path), str(error)
        short = why if len(why) <= MOST_REASON else f"{why[:MOST_REASON]}..."
        return UNREADABLE.format(name=f"“{name}” ({session_id})" if name else session_id, reason=short, path=path)

    def _path(self, session_id: str) -> Path | None:
        return self.folder / f"{session_id}.jsonl" if self.folder is not None else None


def _head(session_id: str, root: str) -> Json:
    return {"format": FORMAT, "id": session_id, "root": root}


def _named(state: SessionState) -> str:
    return f"The session “{state.title}”" if state.title else "This session"


def _encoded(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _row(state: SessionState) -> bytes:
    """The line that spares the next start the rest of the file."""
    if state.phase != "idle" or len(state.changes):
        return b""
    return _encoded({"row": [state.title, state.updated, state.plan.completed, len(state.plan.items)]})


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
