"""Remembers which tool servers the user has allowed, and what they offered. One file for all workspaces.

If two processes write the file at the same time, what one of them remembers is lost, and the user is asked again.
"""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from fairlead.json_reader import WrongValue, read, to_json
from fairlead.json_values import fields_of, is_list
from fairlead.tool_servers.connection import ListedTool
from fairlead.tool_servers.offers import ListedPrompt
from fairlead.workspace.replace_file import replace_file

log = logging.getLogger(__name__)

MAX_SERVERS = 500
_MAX_BYTES = 50_000_000
_Listed = TypeVar("_Listed", ListedTool, ListedPrompt)


class KnownServers:
    """What is remembered, by the digests of definitions.

    Args:
        path: the file; None: nothing is remembered beyond this process.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._last: tuple[tuple[int, int, int], dict[str, Any]] = ((0, 0, 0), {})
        """What the file contained when it was last read, with its modification time, size and inode then."""
        self._in_memory: dict[str, Any] = {}
        self._tools: dict[str, tuple[Any, Sequence[ListedTool] | None]] = {}
        """The tools that were read last, each with the JSON value from which they were read."""

    def is_allowed(self, digest: str) -> bool:
        """Whether the user has allowed what a definition starts."""
        return fields_of(self._read().get(digest)).get("isAllowed") is True

    def allow(self, digest: str) -> None:
        self._change(digest, {"isAllowed": True})

    def tools(self, digest: str) -> Sequence[ListedTool] | None:
        """The tools that the model may see; None if the server has not listed any yet."""
        given = fields_of(self._read().get(digest)).get("tools")
        last, tools = self._tools.get(digest, (None, None))
        if given is not last:
            tools = self._listed(digest, "tools", ListedTool)
            self._tools[digest] = given, tools
        return tools

    def keep_tools(self, digest: str, tools: Sequence[ListedTool]) -> None:
        self._change(digest, {"tools": to_json(tools)})

    def prompts(self, digest: str) -> Sequence[ListedPrompt]:
        """The prompts that a server listed last."""
        return self._listed(digest, "prompts", ListedPrompt) or ()

    def keep_prompts(self, digest: str, prompts: Sequence[ListedPrompt]) -> None:
        self._change(digest, {"prompts": to_json(prompts)})

    def _listed(self, digest: str, field: str, kind: type[_Listed]) -> list[_Listed] | None:
        given = fields_of(self._read().get(digest)).get(field)
        try:
            return [read(kind, each, "") for each in given] if is_list(given) else None
        except WrongValue:
            return None

    def forget(self, digest: str) -> None:
        self._change(digest, None)

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

    def _change(self, digest: str, fields: Mapping[str, Any] | None) -> None:
        known = dict(self._read())
        before = fields_of(known.pop(digest, None))
        if fields is not None:
            known[digest] = {**before, **fields}  # as the newest one
        known = dict(list(known.items())[-MAX_SERVERS:])
        self._in_memory = known
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(self._path, json.dumps(known, ensure_ascii=False).encode("utf-8", "surrogatepass"))
            except OSError as error:
                log.warning("what is known of tool servers cannot be saved: %s", error)


def tool_digest(tool: ListedTool) -> str:
    """Identifies all that a model and the user learn of a tool."""
    return hashlib.sha256(json.dumps(asdict(tool), sort_keys=True).encode()).hexdigest()
