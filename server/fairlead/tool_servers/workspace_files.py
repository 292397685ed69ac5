"""The tool servers that the files of a workspace define. They start only if the user allows their whole command."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.json_values import plain_json
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.read_definitions import read_file
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.errors import WorkspaceError

FILES = (".mcp.json", ".vscode/mcp.json")
"""The form of Claude Code and others, and that of VS Code."""
_MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class _Read:
    stamp: tuple[int, int] | None
    servers: Mapping[str, Definition]
    problems: Sequence[str]


class WorkspaceServers:
    """Reads the files again when they have changed on disk. What is proposed for them has no effect."""

    def __init__(self) -> None:
        self._read: dict[Path, _Read] = {}

    def definitions(self, folders: Sequence[Path]) -> tuple[dict[str, Definition], list[str]]:
        """The servers of a workspace's folders by name, of which the first counts, and the problems in the files."""
        found: dict[str, Definition] = {}
        problems: list[str] = []
        for folder in folders:
            for name in FILES:
                read = self._of(folder, folder / name)
                found = {**read.servers, **found}
                problems += read.problems
        return found, problems

    def _of(self, folder: Path, path: Path) -> _Read:
        try:
            status = path.stat()
            stamp = status.st_mtime_ns, status.st_size
        except (OSError, ValueError):
            stamp = None
        known = self._read.get(path)
        if known is None or known.stamp != stamp:
            problems: list[str] = []
            servers = _read_file(folder, path, problems) if stamp is not None else None
            known = self._read[path] = _Read(stamp, servers or {}, problems)
        return known


def _read_file(folder: Path, path: Path, problems: list[str]) -> Mapping[str, Definition]:
    try:
        data = read_bytes(path, folder) or b""
        if len(data) > _MAX_BYTES:
            raise ValueError(f"it is larger than {_MAX_BYTES:,} bytes")
        value = json.loads(plain_json(data.decode("utf-8-sig")))
    except (OSError, ValueError, RecursionError, WorkspaceError) as error:
        problems.append(f"{path.name} cannot be read: {error}")
        return {}
    return read_file(value, path, problems)
