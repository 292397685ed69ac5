"""The editor's open documents, kept in step by didOpen, didChange and didClose."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairlead.edits.text import split_lines
from fairlead.lsp.convert import offset_at
from fairlead.lsp.params import file_path
from fairlead.workspace.editor import Buffer


class Document:
    """An open document. Held in lines, so that a change costs what it changes and not the whole text."""

    def __init__(self, uri: str, path: Path, text: str, version: int) -> None:
        self.uri = uri
        self.path = path
        self.version = version
        self.left = False
        self._text: str | None = text
        self._lines = split_lines(text)

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = "".join(self._lines)
        return self._text

    def change(self, change: dict[str, Any], encoding: str) -> None:
        """One content change (LSP 3.18, `TextDocumentContentChangeEvent`)."""
        if change.get("range") is None:
            self._text, self._lines = change["text"], split_lines(change["text"])
            return
        lines = self._lines
        start, end = (_place(lines, change["range"][name], encoding) for name in ("start", "end"))
        first, last = start[0], min(end[0] + 1, len(lines))
        head = lines[start[0]][: start[1]] if start[0] < len(lines) else ""
        tail = lines[end[0]][end[1] :] if end[0] < len(lines) else ""
        # half of a line end may find its other half beside the change
        if first > 0 and not head:
            first, head = first - 1, lines[first - 1]
        if last < len(lines):
            tail, last = tail + lines[last], last + 1
        lines[first:last] = split_lines(head + change["text"] + tail)
        self._text = None


def _place(lines: list[str], position: dict[str, int], encoding: str) -> tuple[int, int]:
    """The line and the offset in it that a position means; beyond a line's or the text's end it is that end."""
    row = position["line"]
    if row >= len(lines):
        if lines and not lines[-1].endswith(("\n", "\r")):
            return len(lines) - 1, len(lines[-1])
        return len(lines), 0
    return row, offset_at([lines[row]], {"line": 0, "character": position["character"]}, encoding)


class Documents:
    """The Buffers port. One file is one document, whatever links lead to it."""

    def __init__(self) -> None:
        self.encoding = "utf-16"
        self._documents: dict[str, Document] = {}
        self._names: set[str] = set()
        self._stamp = 0

    @property
    def stamp(self) -> int:
        return self._stamp

    def open_buffer(self, path: Path) -> Buffer | None:
        if path.name not in self._names:  # quick, for it is asked of each file that the agent knows, each round
            return None
        document = self._documents.get(os.path.realpath(path))
        return Buffer(document.text, document.version, document.left) if document is not None else None

    def open_paths(self) -> Sequence[Path]:
        return [document.path for document in self._documents.values()]

    def uri(self, path: Path) -> str:
        """How the editor names a file: its own URI where the file is open."""
        document = self._documents.get(os.path.realpath(path))
        return document.uri if document is not None else path.as_uri()

    def opened(self, uri: str, text: str, version: int) -> Path | None:
        path = file_path(uri)
        if path is not None:
            self._stamp += 1
            self._documents[os.path.realpath(path)] = Document(uri, path, text, version)
            self._name_all()
        return path

    def changed(self, uri: str, version: int, changes: Sequence[dict[str, Any]]) -> Path | None:
        """Applies the changes one after the other (LSP 3.18, `didChange`)."""
        path = file_path(uri)
        document = self._documents.get(os.path.realpath(path)) if path is not None else None
        if document is None:
            return None
        self._stamp += 1
        for change in changes:
            document.change(change, self.encoding)
        document.version, document.left = version, False
        return document.path

    def closed(self, uri: str) -> Path | None:
        path = file_path(uri)
        if path is not None:
            self._stamp += 1
            self._documents.pop(os.path.realpath(path), None)
            self._name_all()
        return path

    def _name_all(self) -> None:
        """Under which names an open file may be asked for: its own, and that of a link to it."""
        named = ((Path(real).name, document.path.name) for real, document in self._documents.items())
        self._names = {name for names in named for name in names}

    def saved(self, uri: str) -> Path | None:
        path = file_path(uri)
        self._stamp += 1
        if path is not None:
            self._mark(path, left=False)
        return path

    def leave(self, path: Path) -> None:
        self._stamp += 1
        self._mark(path, left=True)

    def _mark(self, path: Path, *, left: bool) -> None:
        document = self._documents.get(os.path.realpath(path))
        if document is not None:
            document.left = left
