"""Mentions of files and folders in a task: `@src/a.py`, or `@"my notes.md"` for a name with spaces."""

import re
from pathlib import Path

from fairlead.wire.params import FileItem
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import Roots

# at the start of a word, so that an e-mail address is not a mention
_MENTION = re.compile(r"""(?<![^\s(\[{"'])@(?:"([^"\n]+)"|([^\s"@]+))""")
_PUNCTUATION = ".,;:!?)]}'\""


def mentioned(task: str, workspace: Roots) -> list[FileItem]:
    """The files and folders that a task mentions, without duplicates. A mention of anything else is plain text."""
    found: dict[Path, None] = {}
    for quoted, plain in _MENTION.findall(task):
        for name in [quoted] if quoted else _possible_names(plain):
            path = _existing(name, workspace)
            if path is not None:
                found[path] = None
                break
    return [{"kind": "file", "uri": path.as_uri()} for path in found]


def _possible_names(word: str) -> list[str]:
    """The word, and the word without trailing punctuation, which may belong to the sentence; the longest first."""
    names = [word]
    while names[-1][-1:] and names[-1][-1] in _PUNCTUATION:
        names.append(names[-1][:-1])
    return names


def _existing(name: str, workspace: Roots) -> Path | None:
    """The path of a file or folder in the workspace; None if there is none with this name."""
    try:
        path = workspace.path_of(name)
        exists = bool(name) and workspace.contains(path) and path.exists()
    except (OSError, ValueError, WorkspaceError):
        # no file can have this name or, in a workspace of several folders, it does not begin with a folder's name
        return None
    return path if exists else None
