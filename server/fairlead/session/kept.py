"""Sessions with something left to review, kept in a file each, so that they are there after a restart of the window.

A snapshot is written a moment after a change and taken away when nothing is left to decide. It holds the plan, the
proposals, the conversation up to the last run's end and what the model is still to hear; no key and no environment. A
file that cannot be read is left alone and said in the log.
"""

import asyncio
import contextlib
import json
import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fairlead.session.snapshot import Snapshot, read_snapshot, snapshot_json

log = logging.getLogger(__name__)

DELAY = 0.5  # seconds between a change and its snapshot; many changes in between are one


class KeptSessions:
    """The folder of snapshots. Without a folder nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder / "sessions" if folder is not None else None
        self._due: dict[str, tuple[asyncio.TimerHandle, Snapshot]] = {}
        self._writing: set[asyncio.Task[None]] = set()

    def keep(self, snapshot: Snapshot) -> None:
        """Writes a snapshot a little later, the last one of several."""
        if self._folder is None:
            return
        session_id = snapshot.id
        waiting = self._due.get(session_id)
        timer = waiting[0] if waiting else asyncio.get_running_loop().call_later(DELAY, self._write_later, session_id)
        self._due[session_id] = timer, snapshot

    def load(self) -> Iterator[Snapshot]:
        """All snapshots that can be read, the oldest first."""
        if self._folder is None or not self._folder.is_dir():
            return
        for path in sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime):
            try:
                yield read_snapshot(json.loads(path.read_bytes()))
            except (OSError, ValueError) as error:
                log.warning("a kept session cannot be read: %s (%s)", path.name, error)

    def flush(self) -> None:
        """Writes what is due at once: the process ends."""
        for session_id, (timer, snapshot) in list(self._due.items()):
            timer.cancel()
            self._write(session_id, snapshot)
        self._due.clear()

    def _write_later(self, session_id: str) -> None:
        _, snapshot = self._due.pop(session_id)
        task = asyncio.ensure_future(asyncio.to_thread(self._write, session_id, snapshot))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    def _write(self, session_id: str, snapshot: Snapshot) -> None:
        assert self._folder is not None
        path = self._folder / f"{session_id}.json"
        try:
            if not len(snapshot.changes):
                path.unlink(missing_ok=True)
                return
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor, name = tempfile.mkstemp(dir=self._folder)
            try:
                with os.fdopen(descriptor, "w", encoding="ascii") as file:
                    file.write(json.dumps(snapshot_json(snapshot)))
                os.replace(name, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                raise
        except OSError as error:
            log.warning("the session cannot be kept for the next start: %s", error)
