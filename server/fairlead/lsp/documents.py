"""The editor's open documents, synchronized by didOpen, didChange, didSave and didClose."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairlead.positions import offset_at
from fairlead.text_lines import split_lines
from fairlead.uris import file_path
from fairlead.workspace.editor import Buffer
from fairlead.workspace.paths import real_path


class Document:
    """An open document. Its text is stored as lines, so that a small change of a large text is cheap."""

    def __init__(self, uri: str, path: Path, text: str, version: int) -> None:
        self.uri = uri
        self.path = path
        self.file = ""
        """Where the path led, with links followed, when the client last reported something about the document."""
        self.version = version
        self.file_removed = False
        """See `Buffer.file_removed`."""
        self._text: str | None = text
        """The joined lines; None until they are needed."""
        self._lines = split_lines(text)

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = "".join(self._lines)
        return self._text

    def change(self, change: dict[str, Any], encoding: str) -> None:
        """Applies one content change (LSP 3.18, `TextDocumentContentChangeEvent`)."""
        if change.get("range") is None:
            self._text, self._lines = change["text"], split_lines(change["text"])
            return
        lines = self._lines
        start, end = (_line_and_offset(lines, change["range"][name], encoding) for name in ("start", "end"))
        first, last = start[0], min(end[0] + 1, len(lines))
        head = lines[start[0]][: start[1]] if start[0] < len(lines) else ""
        tail = lines[end[0]][end[1] :] if end[0] < len(lines) else ""
        # a change may join or split a \r\n, so the line after it is included. So is the line before it, if the change
        # begins at the start of a line
        if first > 0 and not head:
            first, head = first - 1, lines[first - 1]
        if last < len(lines):
            tail, last = tail + lines[last], last + 1
        lines[first:last] = split_lines(head + change["text"] + tail)
        self._text = None


def _line_and_offset(lines: list[str], position: dict[str, int], encoding: str) -> tuple[int, int]:
    """The line of a position and the offset in that line, limited to the end of the line and of the text."""
    row = position["line"]
    if row >= len(lines):
        if lines and not lines[-1].endswith(("\n", "\r")):
            return len(lines) - 1, len(lines[-1])
        return len(lines), 0
    return row, offset_at([lines[row]], {"line": 0, "character": position["character"]}, encoding)


class Documents:
    """Implements the port `Buffers`. Also finds the document of a file that was opened through a link.

    If a file is open under several paths, each of them finds its own document. Another path of the file finds the
    document that was opened last. For `open_buffer`, the name of that path must be in `_names`.
    """

    def __init__(self) -> None:
        self.encoding = "utf-16"
        self._documents: dict[Path, Document] = {}
        """By the path of the URI, not of the file: a link may lead elsewhere when the document changes or is closed."""
        self._by_file: dict[str, Document] = {}
        """By `Document.file`."""
        self._names: set[str] = set()
        """The names of the open paths and of the files that they lead to, without folders."""
        self._change_token = 0

    @property
    def change_token(self) -> int:
        return self._change_token

    def open_buffer(self, path: Path) -> Buffer | None:
        # `realpath` is slow, and each round asks for every known file; so a link with another name finds nothing
        if path.name not in self._names:
            return None
        document = self._find(path)
        return Buffer(document.text, document.version, document.file_removed) if document is not None else None

    def open_paths(self) -> Sequence[Path]:
        return [document.path for document in self._documents.values()]

    def uri(self, path: Path) -> str:
        """The editor's URI of a file if it is open, else one made from the path."""
        document = self._find(path)
        return document.uri if document is not None else path.as_uri()

    def opened(self, uri: str, text: str, version: int) -> Path | None:
        """Adds a document. Returns its path, or None if it is not a file."""
        path = file_path(uri)
        if path is not None:
            self._documents.pop(path, None)  # the last one opened is the last in the order
            self._documents[path] = Document(uri, path, text, version)
            self._follow_links(path)
        return path

    def changed(self, uri: str, version: int, changes: Sequence[dict[str, Any]]) -> Path | None:
        """Applies the changes in order (LSP 3.18, `didChange`). Returns the path; None if the document is not open."""
        path = file_path(uri)
        document = self._documents.get(path) if path is not None else None
        if document is None:
            return None
        for change in changes:
            document.change(change, self.encoding)
        document.version, document.file_removed = version, False
        self._follow_links(document.path)
        return document.path

    def closed(self, uri: str) -> Path | None:
        """Removes a document. Returns its path, or None if it is not a file."""
        path = file_path(uri)
        if path is not None:
            self._documents.pop(path, None)
            self._follow_links(path)
        return path

    def saved(self, uri: str) -> Path | None:
        """Records that the file of a document exists again. Returns its path, or None if it is not a file."""
        path = file_path(uri)
        if path is not None:
            if path in self._documents:
                self._documents[path].file_removed = False
            self._follow_links(path)
        return path

    def note_removal(self, path: Path) -> None:
        self._change_token += 1
        document = self._find(path)
        if document is not None:
            document.file_removed = True

    def _find(self, path: Path) -> Document | None:
        if path in self._documents:
            return self._documents[path]
        file = str(real_path(path))
        document = self._by_file.get(file)
        return document if document is not None and str(real_path(document.path)) == file else None

    def _follow_links(self, path: Path) -> None:
        """Updates where the path of a document leads, and the names to find documents by. Counts as a change."""
        self._change_token += 1
        documents = self._documents.values()
        if path in self._documents:
            self._documents[path].file = str(real_path(path))
        self._by_file = {document.file: document for document in documents}
        self._names = {name for document in documents for name in (Path(document.file).name, document.path.name)}
