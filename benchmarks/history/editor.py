"""The user's editor: applies the server's workspace edits byte by byte, updates open files, and saves.

It is strict: an edit is a `Fault` if a real editor would have to guess its meaning, for example because a position does
not exist, a new file exists already, or the version differs. The replay of the commit then ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from urllib.parse import unquote_to_bytes

from history.text import TextFormat, common_ends, decode, one_end, split_lines
from support import server_process
from support.client import EDITOR, Client, Json

# for each position encoding: the Python codec, and the number of bytes in a code unit
_UNITS: dict[str, tuple[str, int]] = {"utf-16": ("utf-16-le", 2), "utf-8": ("utf-8", 1), "utf-32": ("utf-32-le", 4)}
# UTF-16 twice, because it is the most common
POSITION_ENCODINGS = ("utf-16", "utf-16", "utf-8", "utf-32")
LAST_MESSAGES = 80
STATES = (
    "agent/edits",
    "workspace/applyEdit",
    *(f"answer:agent/edits/{what}" for what in ("accept", "reject", "undo", "redo")),
)


class Fault(Exception):
    """The server sent the editor an invalid request."""


@dataclass
class Open:
    """An open file with the editor's text, saved or not."""

    uri: str
    text: str
    version: int
    text_format: TextFormat
    dirty: bool = False


class Editor(Client):
    """A language client that edits the workspace's files. `wire` contains the last messages."""

    def __init__(self, workspace: Path, units: str, env: dict[str, str], settings: Json, server_log: Path) -> None:
        self.units = units
        capabilities = {**EDITOR, "general": {"positionEncodings": [self.units]}}
        super().__init__(workspace, settings=settings, capabilities=capabilities, env=env)
        self.answers["agent/approve"] = lambda _: {"option": "allow_once"}
        self.root = workspace
        self.rng = Random(0)
        self.files: dict[Path, Open] = {}
        self.faults: list[str] = []
        self.wire: deque[Json] = deque(maxlen=LAST_MESSAGES)
        self._states: dict[str, int] = {}
        self.server_log = server_log

    async def start(self) -> None:
        with self.server_log.open("ab") as log:
            self.process = await server_process.start(self.command, self.env, log.fileno())
        self._tasks.append(asyncio.ensure_future(self._read()))

    # the last messages, from which a fault can be reproduced

    def send(self, message: Json) -> None:
        self.wire.append(message)
        super().send(message)

    async def _take(self, message: Json) -> None:
        self.wire.append({"from the server": message})
        await super()._take(message)
        name, _ = self.log[-1]
        if name in STATES:  # only the last of each is needed, and all of them would fill the memory
            self._states[name], old = len(self.log) - 1, self._states.get(name)
            if old is not None:
                self.log[old] = (name, None)

    def begin_commit(self, rng: Random) -> None:
        """Begins the next commit: discards the messages, and makes the random choices with `rng` from now on."""
        self.rng = rng
        self.log.clear()
        self._states.clear()
        self.wire.clear()
        self._tasks[:] = [task for task in self._tasks if not task.done()]

    # open files

    def open_file(self, path: Path, coming: str) -> bool:
        """Opens a text file from disk, if an editor can represent both its text and `coming`, its later text.

        Returns whether it was opened.
        """
        data = read(path)
        found = decode(data) if data is not None else None
        if path in self.files or found is None or one_end(found.text, coming) not in ("\n", "\r\n"):
            return False
        self.files[path] = Open(path.as_uri(), found.text, 1, found.text_format)
        self._tell_open(path)
        return True

    def type_text(self, path: Path, text: str) -> None:
        """Changes a file: in its buffer if it is open, as the user does, otherwise on disk, as another program does."""
        held = self.files.get(path)
        if held is None:
            data = read(path) or b""
            found = decode(data)
            overwrite(path, (found.text_format if found else TextFormat()).encode(text))
            return
        change = typed(held.text, text, self.units)
        held.text, held.dirty = text, True
        held.version += 1
        document = {"uri": held.uri, "version": held.version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})

    def close_file(self, path: Path) -> None:
        gone = self.files.pop(path)
        self.notify("textDocument/didClose", {"textDocument": {"uri": gone.uri}})

    def close_all(self) -> None:
        self.save()
        for path in list(self.files):
            self.close_file(path)

    def save(self) -> None:
        """Saves all unsaved files in their own encodings."""
        for path, held in self.files.items():
            if held.dirty:
                path.write_bytes(held.text_format.encode(held.text))
                held.dirty = False
                self.notify("textDocument/didSave", {"textDocument": {"uri": held.uri}})

    def content(self, path: Path) -> bytes | None:
        """A file as the user sees it, in its open buffer or on disk; None if there is no file."""
        held = self.files.get(path)
        return held.text_format.encode(held.text) if held is not None else read(path)

    # workspace/applyEdit

    def apply_edit(self, params: Json) -> Json:
        try:
            self._check_digests(params["digests"])
            for change in params["edit"]["documentChanges"]:
                self._operations[change.get("kind", "edit")](change)
        except Fault as fault:
            self.faults.append(str(fault))
            return {"applied": False, "failureReason": str(fault)}
        return {"applied": True}

    def _check_digests(self, digests: Json) -> None:
        """Raises Fault if an edit was made for different content on disk. Does not check files with unsaved changes."""
        for uri, digest in digests.items():
            path = self.path(uri)
            held = self.files.get(path)
            if (held is None or not held.dirty) and sha256(read(path) or b"").hexdigest() != digest:
                raise Fault(f"{path.name}: the edit was made for different content of the file")

    @property
    def _operations(self) -> dict[str, Callable[[Json], None]]:
        return {"edit": self._edit, "create": self._create, "delete": self._delete, "rename": self._rename}

    def _edit(self, change: Json) -> None:
        path, version = self.path(change["textDocument"]["uri"]), change["textDocument"]["version"]
        held = self.files.get(path)
        if held is not None:
            if version != held.version:
                raise Fault(f"{path.name}: the edit is for version {version}, the document has version {held.version}")
            self._edit_open(path, held, change["edits"])
            return
        if version is not None:
            raise Fault(f"{path.name}: the edit is for version {version} of a document that is not open")
        data = read(path)
        if data is None:
            raise Fault(f"{path.name}: the edited file does not exist")
        found = decode(data)
        if found is None or found.text_format.codec != "utf-8":
            raise Fault(f"{path.name}: the edited file is closed and not UTF-8, so an editor may misread it")
        new, _ = edited(found.text, change["edits"], self.units)
        overwrite(path, found.text_format.encode(new))

    def _edit_open(self, path: Path, held: Open, edits: list[Json]) -> None:
        held.text, steps = edited(held.text, edits, self.units)
        held.version += 1
        held.dirty = True
        changes = steps if self.rng.random() < 0.5 else [{"text": held.text}]
        document = {"uri": held.uri, "version": held.version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def _create(self, change: Json) -> None:
        path = self.path(change["uri"])
        if os.path.lexists(path):
            raise Fault(f"{path.name}: cannot be created, because it exists")
        _make_parents(path)
        path.touch(mode=0o644)

    def _delete(self, change: Json) -> None:
        path = self.path(change["uri"])
        self._must_be_file(path, "deleted")
        path.unlink()
        if path in self.files:
            self.close_file(path)

    def _rename(self, change: Json) -> None:
        old, new = self.path(change["oldUri"]), self.path(change["newUri"])
        self._must_be_file(old, "renamed")
        if os.path.lexists(new):
            raise Fault(f"{old.name}: cannot be renamed to {new.name}, which exists")
        _make_parents(new)
        old.rename(new)
        held = self.files.get(old)
        if held is not None:  # as in VS Code, the text moves with its unsaved changes
            self.close_file(old)
            self.files[new] = Open(new.as_uri(), held.text, 1, held.text_format, held.dirty)
            self._tell_open(new)

    def _tell_open(self, path: Path) -> None:
        held = self.files[path]
        document = {"uri": held.uri, "languageId": "x", "version": held.version, "text": held.text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def path(self, uri: str) -> Path:
        """The file that a URI names. Raises Fault if it is outside of the workspace, also after links are resolved."""
        if not uri.startswith("file:///"):
            raise Fault(f"not a file URI: {uri}")
        path = Path(os.path.normpath(os.fsdecode(unquote_to_bytes(uri.removeprefix("file://")))))
        real = Path(os.path.realpath(path.parent)) / path.name
        if not real.is_relative_to(self.root) or real == self.root:
            raise Fault(f"outside of the workspace: {uri}")
        return path

    def _must_be_file(self, path: Path, what: str) -> None:
        if not os.path.lexists(path) or not stat.S_ISREG(path.lstat().st_mode):
            raise Fault(f"{path.name}: cannot be {what}, because it is not a regular file")


def read(path: Path) -> bytes | None:
    """A regular file's bytes, None if there is no file."""
    with contextlib.suppress(OSError):
        if stat.S_ISREG(path.lstat().st_mode):
            return path.read_bytes()
    return None


def overwrite(path: Path, data: bytes) -> None:
    """Writes in place, so that the file keeps its identity and permissions."""
    with open(path, "r+b") as file:
        file.write(data)
        file.truncate()


def file_mode(path: Path) -> int | None:
    """A file's permissions, None if there is no file."""
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except OSError:
        return None


def _make_parents(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Fault(f"{path.name}: its folder cannot be created: {error.strerror}") from error


def edited(text: str, edits: list[Json], units: str) -> tuple[str, list[Json]]:
    """Applies LSP TextEdits to a text. Also returns them as changes that can be sent one after the other."""
    lines = split_lines(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    if lines and not lines[-1].endswith(("\n", "\r")):
        starts.pop()

    def offset(position: Json) -> int:
        row, column = position["line"], position["character"]
        if row >= len(starts):
            raise Fault(f"an edit in line {row + 1} of {len(starts)}")
        line = lines[row].rstrip("\r\n") if row < len(lines) else ""
        inner = _characters(line, column, units)
        if inner is None:
            raise Fault(f"an edit at column {column} of line {row + 1}, where no character begins")
        return starts[row] + inner

    spans = [(offset(edit["range"]["start"]), offset(edit["range"]["end"]), edit) for edit in edits]
    spans.sort(key=lambda span: span[:2])
    parts: list[str] = []
    last = 0
    for start, end, edit in spans:
        if start < last or end < start:
            raise Fault("the edits overlap")
        parts += [text[last:start], edit["newText"]]
        last = end
    steps = [{"range": edit["range"], "text": edit["newText"]} for _, _, edit in reversed(spans)]
    return "".join([*parts, text[last:]]), steps


def typed(old: str, new: str, units: str) -> Json:
    """The content change that replaces only the characters that differ, as if they were typed. Never splits a CRLF."""
    head, tail = common_ends(old, new)
    start, end = head, len(old) - tail
    while any(at > 0 and text[at - 1 : at + 1] == "\r\n" for at, text in ((start, old), (start, new))):
        start -= 1
    while any(text[at - 1 : at + 1] == "\r\n" for at, text in ((end, old), (len(new) - len(old) + end, new))):
        end += 1
    places = [_position(old, at, units) for at in (start, end)]
    return {"range": {"start": places[0], "end": places[1]}, "text": new[start : len(new) - len(old) + end]}


def _position(text: str, at: int, units: str) -> Json:
    lines = split_lines(text[:at])
    inner = lines.pop() if lines and not lines[-1].endswith(("\n", "\r")) else ""
    codec, width = _UNITS[units]
    return {"line": len(lines), "character": len(inner.encode(codec)) // width}


def _characters(line: str, column: int, units: str) -> int | None:
    """A column as a number of characters, None if it is beyond the line or inside a character."""
    if column == 0:
        return 0
    codec, width = _UNITS[units]
    data = line.encode(codec)
    if column * width > len(data):
        return None
    try:
        return len(data[: column * width].decode(codec))
    except UnicodeDecodeError:
        return None
