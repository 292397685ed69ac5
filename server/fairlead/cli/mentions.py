"""Mentions in a task: files and folders as `@a.py` or `@"my notes.md"`, resources of tool servers as `@server:uri`."""

import re
from collections.abc import Collection
from pathlib import Path

from fairlead.wire.params import FileItem, ResourceItem
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import Roots

# at the start of a word, so that an e-mail address is not a mention
_MENTION = re.compile(r"""(?<![^\s(\[{"'])@(?:"([^"\n]+)"|([^\s"@]+))""")
_PUNCTUATION = ".,;:!?)]}'\""


def mentioned(task: str, workspace: Roots, servers: Collection[str]) -> list[FileItem | ResourceItem]:
    """What a task mentions, without duplicates. A mention of a file that does not exist is plain text.

    Args:
        servers: the names of the tool servers.
    """
    found: list[FileItem | ResourceItem] = []
    for quoted, plain in _MENTION.findall(task):
        names = [quoted] if quoted else _possible_names(plain)
        item = _resource(names[-1], servers) or _file(names, workspace)
        if item is not None and item not in found:
            found.append(item)
    return found


def _possible_names(word: str) -> list[str]:
    """The word, and the word without trailing punctuation, which may belong to the sentence; the longest first."""
    names = [word]
    while names[-1][-1:] and names[-1][-1] in _PUNCTUATION:
        names.append(names[-1][:-1])
    return names


def _resource(name: str, servers: Collection[str]) -> ResourceItem | None:
    """The resource that a name means; None if it does not begin with a server's name."""
    server = max((each for each in servers if name.startswith(f"{each}:")), key=len, default="")
    uri = name[len(server) + 1 :]
    return {"kind": "resource", "server": server, "resource": uri} if server and uri else None


def _file(names: list[str], workspace: Roots) -> FileItem | None:
    """The first of the files and folders with these names that exists."""
    path = next((path for name in names if (path := _existing(name, workspace)) is not None), None)
    return {"kind": "file", "uri": path.as_uri()} if path is not None else None


def _existing(name: str, workspace: Roots) -> Path | None:
    """The path of a file or folder in the workspace; None if there is none with this name."""
    try:
        path = workspace.path_of(name)
        exists = bool(name) and workspace.contains(path) and path.exists()
    except (OSError, ValueError, WorkspaceError):
        # no file can have this name or, in a workspace of several folders, it does not begin with a folder's name
        return None
    return path if exists else None
