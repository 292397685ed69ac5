"""Mentions of files and folders in a task: `@src/a.py`, or `@"my notes.md"` for a name with spaces."""

import re
from pathlib import Path

from fairlead.lsp import protocol as wire
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import Roots

# at the start of a word, so that an e-mail address is not a mention
_MENTION = re.compile(r"""(?<![^\s(\[{"'])@(?:"([^"\n]+)"|([^\s"@]+))""")
_PUNCTUATION = ".,;:!?)]}'\""


def mentioned(task: str, workspace: Roots) -> list[wire.ContextItemWire]:
    """The files and folders that a task mentions, without duplicates. A mention of anything else is plain text."""
    found: dict[Path, None] = {}
    for quoted, plain in _MENTION.findall(task):
        for name in [quoted] if quoted else _without_punctuation(plain):
            path = _existing(name, workspace)
            if path is not None:
                found[path] = None
                break
    return [{"kind": "file", "uri": path.as_uri()} for path in found]


def _without_punctuation(word: str) -> list[str]:
    """The word, and the word without the punctuation that may belong to the sentence, longest first."""
    words = [word]
    while words[-1][-1:] and words[-1][-1] in _PUNCTUATION:
        words.append(words[-1][:-1])
    return words


def _existing(name: str, workspace: Roots) -> Path | None:
    """The path of a file or folder in the workspace; None if there is none with this name."""
    try:
        path = workspace.path_of(name)
        exists = bool(name) and workspace.contains(path) and path.exists()
    except (
        OSError,
        ValueError,
        WorkspaceError,
    ):  # a name that no file can have, or without its folder
        return None
    return path if exists else None
