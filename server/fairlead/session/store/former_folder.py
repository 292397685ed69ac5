"""Moves journals from the folder in which the client saved its sessions before, also from another file system."""

import contextlib
import errno
import logging
import os
from pathlib import Path

from fairlead.session.store import journal_files as files
from fairlead.session.store.lock import Lock, Locked

log = logging.getLogger(__name__)


def move_journals(former: Path, folder: Path) -> None:
    """Moves the journals of a former folder, apart from those that another process has open or moves now.

    At every moment, a journal is whole in at least one of the folders. Also removes the locks that killed servers left.
    Does nothing if both are the same folder.
    """
    with contextlib.suppress(OSError):  # one of them does not exist
        if former.samefile(folder):
            return
    found = {path.with_suffix(".jsonl") for kind in ("jsonl", "lock") for path in former.glob(f"*.{kind}")}
    for path in sorted(found):
        try:
            lock = Lock(path.with_suffix(".lock"))
        except (OSError, Locked) as error:
            log.warning("a session was not moved: %s", error)
            continue
        try:
            if path.exists():  # otherwise it was moved or removed
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                _move(path, folder / path.name)
            lock.remove()
        except OSError as error:
            lock.release()
            log.warning("a session was not moved: %s", error)


def _move(path: Path, target: Path) -> None:
    if target.exists():  # a copy whose original was not removed, because the process was killed; it may be newer
        path.unlink()
        return
    try:
        path.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        status = path.stat()
        new = files.write_new(target, path.read_bytes())
        os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))  # the time of a journal decides when it is deleted
        new.replace(target)
        path.unlink()
