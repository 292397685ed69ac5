"""The editor's open documents, kept in step by didOpen, didChange and didClose."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlead.edits.text import split_lines
from fairlead.lsp.convert import offset_at
from fairlead.lsp.params import file_path
from fairlead.workspace.editor import Buffer


@dataclass
class Document:
    uri: str
    path: Path
    text: str
    version: int


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
        return Buffer(document.text, document.version) if document is not None else None

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
            document.text = self._apply(document.text, change)
        document.version = version
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
        self._stamp += 1
        return file_path(uri)

    def _apply(self, text: str, change: dict[str, Any]) -> str:
        if change.get("range") is None:
            return change["text"]
        lines = split_lines(text)
        start = offset_at(lines, change["range"]["start"], self.encoding)
        end = offset_at(lines, change["range"]["end"], self.encoding)
        return text[:start] + change["text"] + text[end:]
