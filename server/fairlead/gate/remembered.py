"""Remembers for all workspaces what the user has allowed, by digests of definitions."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlead.json_values import fields_of
from fairlead.workspace.replace_file import replace_file

log = logging.getLogger(__name__)

MAX_REMEMBERED = 500
_MAX_BYTES = 50_000_000


class Remembered:
    """What is remembered, by digest. One file for all workspaces.

    If two processes write the file at the same time, what one of them remembers is lost, and the user is asked again.

    Args:
        path: the file; None: nothing is remembered beyond this process.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._last: tuple[tuple[int, int, int], dict[str, Any]] = ((0, 0, 0), {})
        """What the file contained when it was last read, with its modification time, size and inode then."""
        self._in_memory: dict[str, Any] = {}

    def is_allowed(self, digest: str) -> bool:
        """Whether the user has allowed what a definition starts."""
        return self.fields(digest).get("isAllowed") is True

    def allow(self, digest: str) -> None:
        self.change(digest, {"isAllowed": True})

    def forget(self, digest: str) -> None:
        self.change(digest, None)

    def fields(self, digest: str) -> dict[str, Any]:
        """What is remembered about a definition."""
        return fields_of(self._read().get(digest))

    def change(self, digest: str, fields: Mapping[str, Any] | None) -> None:
        """Remembers more about a definition. None: nothing anymore."""
        known = dict(self._read())
        before = fields_of(known.pop(digest, None))
        if fields is not None:
            known[digest] = {**before, **fields}  # as the newest one
        known = dict(list(known.items())[-MAX_REMEMBERED:])
        self._in_memory = known
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(self._path, json.dumps(known, ensure_ascii=False).encode("utf-8", "surrogatepass"))
            except OSError as error:
                log.warning("%s cannot be saved: %s", self._path.name, error)

    def _read(self) -> dict[str, Any]:
        if self._path is None:
            return self._in_memory
        try:
            status = self._path.stat()
            stamp = status.st_mtime_ns, status.st_size, status.st_ino
            if stamp != self._last[0] and status.st_size <= _MAX_BYTES:
                self._last = stamp, fields_of(json.loads(self._path.read_text("utf-8")))
            return self._last[1] if stamp == self._last[0] else {}
        except (OSError, ValueError, RecursionError):
            return {}
