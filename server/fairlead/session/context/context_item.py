"""Something that the user mentions in a prompt, or sends with it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ItemKind = Literal["file", "selection", "problems", "changes", "image"]


@dataclass(frozen=True, slots=True)
class ContextItem:
    """Something that the user mentions in a prompt, or sends with it."""

    path: Path | None = None
    """The file or folder; None for `changes`, `image`, and the `problems` of all files."""
    first: int | None = None
    """With `last`, the lines that the user means, counted from 1."""
    last: int | None = None
    kind: ItemKind = "file"
    text: str = ""
    """The diff of `changes`."""
    name: str = ""
    """What the user calls an `image` that is in no file of the workspace."""
    data: bytes = b""
    """The bytes of an `image`."""
