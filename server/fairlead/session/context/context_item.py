"""What a prompt can refer to: files, lines, problems, changes, pictures, and what tool servers offer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ItemKind = Literal["file", "selection", "problems", "changes", "terminal", "image", "serverPrompt", "resource", "skill"]


@dataclass(frozen=True, slots=True)
class ContextItem:
    """Something that the user mentions in a prompt, or sends with it."""

    path: Path | None = None
    """The file or folder.

    None for `changes`, `terminal`, `image`, `serverPrompt`, `resource`, the `problems` of all files, and a `selection`
    in a document that is not a file.
    """
    first_line: int | None = None
    """The first of the lines that the user means, counted from 1; None for the whole file."""
    last_line: int | None = None
    """The last of these lines, inclusive; None for the whole file."""
    kind: ItemKind = "file"
    text: str | None = None
    """The diff of `changes`; the output of the command `name` of a `terminal`; the lines of a `selection` in a document
    that is not a file as the tools read it; what a `serverPrompt` says; the arguments of a `skill`.
    """
    name: str = ""
    """The name of an `image`, a `serverPrompt`, a `skill`, or the document of such a `selection`; a `resource`'s URI.

    With a path, the document shows a part or another version of that file, and the name says which: `cell 2`.
    """
    server: str = ""
    """The tool server of a `serverPrompt` or a `resource`."""
    exit_code: int | None = None
    """Of the command of a `terminal`; None if it is unknown."""
    data: bytes = b""
    """The bytes of an `image`."""
