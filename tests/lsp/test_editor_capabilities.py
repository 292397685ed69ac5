"""Every kind of change with every set of client capabilities: who writes the change, and the file's new contents."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import pytest
from lsprotocol import types

from fairlead.edits.origins import Author
from fairlead.edits.proposal import PLAIN, Raw
from fairlead.lsp.documents import Documents
from fairlead.lsp.editor import ClientCapabilities, LspEditor
from fairlead.lsp.rpc import AgentProtocol
from fairlead.session.errors import RequestRefused
from fairlead.session.review import decisions, undo
from fairlead.session.review.target import Target
from fairlead.workspace.disk import decode_or_describe
from session.harness import SessionHarness
from support.client import Json, edited, uri_path

pytestmark = pytest.mark.slow

TEXT = "one\ntwo\nthree\n"
NEW_TEXT = "one\n2\nthree\n"
BINARY = b"\0\1\2"
BLANK = ("", "\n")  # how Emacs and Neovim show a file that does not exist
OPERATIONS = ("create", "rename", "delete")


@dataclass(frozen=True)
class Change:
    """A change that the agent proposes for the file `f`.

    `old` and `new` are the file's bytes before and after the change, None if there is no file.
    """

    name: str
    old: bytes | None
    new: bytes | None
    new_name: str = "f"
    mode: int | None = None

    @property
    def operation(self) -> str:
        if self.old is None:
            return "create"
        return "delete" if self.new is None else "rename" if self.new_name != "f" else ""


CHANGES = [
    Change("create", None, b"a\nb\n"),
    Change("create without a final newline", None, b"a\nb"),
    Change("create an empty file", None, b""),
    Change("create a binary file", None, BINARY),
    Change("modify", TEXT.encode(), NEW_TEXT.encode()),
    Change("modify CRLF", b"one\r\ntwo\r\n", b"one\r\n2\r\n"),
    Change("modify an empty file", b"", b"a\n"),
    Change("rename", TEXT.encode(), TEXT.encode(), "g"),
    Change("rename with edits", TEXT.encode(), NEW_TEXT.encode(), "sub/g"),
    Change("delete", TEXT.encode(), None),
    Change("mode", TEXT.encode(), TEXT.encode(), mode=0o755),
    Change("delete a binary file", BINARY, None),
    Change("modify Windows-1252", b"caf\xe9\ntwo\n", b"caf\xe9\n2\n"),
]


class Editor:
    """A client that applies the kinds of edits that it announced, and fails the test for all others."""

    def __init__(self, edits: bool, checks: bool, changes: bool, operations: tuple[str, ...], saves: bool) -> None:
        self.documents = Documents()
        self.buffers: dict[str, tuple[str, int]] = {}
        self.ends_lines = False
        self._edits, self._checks, self._operations, self._saves = edits, checks, operations, saves
        self._changes = changes or bool(operations)
        kinds = [types.ResourceOperationKind(name) for name in operations]
        workspace_edit = types.WorkspaceEditClientCapabilities(document_changes=changes, resource_operations=kinds)
        workspace = types.WorkspaceClientCapabilities(apply_edit=edits, workspace_edit=workspace_edit)
        agent = {"checksEdits": checks, "claimsFiles": checks}
        capabilities = types.ClientCapabilities(workspace=workspace, experimental={"agent": agent})
        self.port = LspEditor(cast("AgentProtocol", self), self.documents)
        self.port.capabilities = ClientCapabilities(capabilities)

    def open(self, path: Path, text: str) -> None:
        self.buffers[path.as_uri()] = (text, 1)
        self.documents.opened(path.as_uri(), text, 1)

    def type(self, uri: str, text: str) -> None:
        version = self.buffers[uri][1] + 1
        self.buffers[uri] = (text, version)
        self.documents.changed(uri, version, [{"text": text}])

    def shown(self, path: Path) -> str | None:
        return self.buffers[path.as_uri()][0] if path.as_uri() in self.buffers else None

    async def request(self, method: str, params: Json) -> Json:
        if method == "agent/editor/claims":
            return {"claimed": params["uris"], "refused": []}
        assert (method, self._edits) == ("workspace/applyEdit", True)
        assert ("documentChanges" in params["edit"]) == self._changes
        for uri, digest in params.get("digests", {}).items():
            if uri not in self.buffers:
                assert self._checks and sha256(uri_path(uri).read_bytes()).hexdigest() == digest
        plain = params["edit"].get("changes", {})
        texts: list[Json] = [{"textDocument": {"uri": uri, "version": None}, "edits": plain[uri]} for uri in plain]
        for change in params["edit"].get("documentChanges", texts):
            assert change.get("kind") is None or change["kind"] in self._operations
            getattr(self, f"_{change.get('kind', 'text')}")(change)
        return {"applied": True}

    def _text(self, change: Json) -> None:
        uri, version = change["textDocument"]["uri"], change["textDocument"]["version"]
        path, edits = uri_path(uri), change["edits"]
        if uri not in self.buffers:
            assert self._checks, "this editor would edit a closed file without checking its bytes"
            path.write_bytes(edited(path.read_bytes().decode(), edits).encode())
            return
        text, known = self.buffers[uri]
        assert version == (known if self._changes else None)
        if edits:
            text = edited(text, edits)
            self.type(uri, f"{text}\n" if self.ends_lines and not text.endswith("\n") else text)
            if self._saves:
                text = self.buffers[uri][0]
                path.write_bytes(b"" if self.ends_lines and text == "\n" else text.encode())
                self.documents.saved(uri)

    def _create(self, change: Json) -> None:
        assert self._checks and change["uri"] not in self.buffers
        with uri_path(change["uri"]).open("xb"):
            pass

    def _delete(self, change: Json) -> None:
        assert self._checks or change["uri"] in self.buffers
        uri_path(change["uri"]).unlink()
        self._close(change["uri"])

    def _rename(self, change: Json) -> None:
        old, new = uri_path(change["oldUri"]), uri_path(change["newUri"])
        assert self._checks or change["oldUri"] in self.buffers
        assert not new.exists() and change["newUri"] not in self.buffers
        new.parent.mkdir(exist_ok=True)
        old.rename(new)
        text = self._close(change["oldUri"])
        if text is not None:
            self.open(new, text)

    def _close(self, uri: str) -> str | None:
        self.documents.closed(uri)
        return self.buffers.pop(uri, (None, 0))[0]


ABILITIES = [
    (edits, checks, changes, operations)
    for edits, checks in ((False, False), (True, False), (True, True))
    for size in range(4)
    for operations in itertools.combinations(OPERATIONS, size)
    for changes in ((False,) if not edits else (True,) if size in (1, 2) else (False, True))
    if edits or not operations
]


def _named(able: tuple[bool, bool, bool, tuple[str, ...]]) -> str:
    names = zip(("applyEdit", "checksEdits", "documentChanges"), able[:3], strict=True)
    return " ".join([*(name for name, has in names if has), *able[3]]) or "nothing"


@pytest.mark.parametrize("able", ABILITIES, ids=map(_named, ABILITIES))
async def test_fault_85_each_kind_of_change_with_each_set_of_capabilities(tmp_path: Path, able: Any) -> None:
    """docs/faults.md 85: accept, undo and redo produce the exact text, or a message says what to do first.

    The editor is never asked for an edit that it did not announce, a change to a closed file is never refused, and no
    unsaved text is lost.
    """
    number = itertools.count()
    for change in CHANGES:
        for shown, saves in _documents(change):
            folder = tmp_path / str(next(number))
            folder.mkdir()
            await _Case(folder, change, Editor(*able, saves=saves), shown).run()


def _documents(change: Change) -> Iterator[tuple[str | None, bool]]:
    """Pairs of the text that the editor shows (None if the file is closed) and whether it saves after an edit."""
    yield None, True
    if BINARY in (change.old, change.new) or b"\xe9" in (change.old or b""):
        return
    shown = BLANK if not change.old else (change.old.decode(), change.old.decode() + "typed\n")
    yield from itertools.product(shown, (True, False))


class _Case:
    """One change in one editor. `shown` is the text in the editor before the change, None if the file is closed."""

    def __init__(self, folder: Path, change: Change, editor: Editor, shown: str | None) -> None:
        self._harness = SessionHarness(folder, editor.documents, editor.port)
        self._folder, self._change, self._editor, self._shown = folder, change, editor, shown
        self._file, self._target = folder / "f", folder / change.new_name
        self._typed = "typed\n" if shown and shown.endswith("typed\n") else ""
        editor.ends_lines = shown == "\n"  # as Neovim
        self._about = f"{change.name}, shown: {shown!r}"

    async def run(self) -> None:
        change, session = self._change, self._harness.session
        if change.old is not None:
            self._file.write_bytes(change.old)
        if self._shown is not None:
            self._editor.open(self._file, self._shown)
        await self._propose()
        before = self._state()
        [outcome] = await decisions.accept(session.review, Target(), None)
        if outcome.outcome != "applied":
            assert self._must_refuse(), (self._about, outcome)
            assert "then try again" in outcome.message
            assert self._state() == before, self._about
            return
        assert not self._must_refuse(), self._about
        self._check_after()
        after = self._state()
        for step, expected in ((undo.undo, before), (undo.redo, after), (undo.undo, before)):
            try:
                [outcome] = await step(session.review)
            except RequestRefused as error:
                raise AssertionError((self._about, step)) from error
            assert outcome.outcome == "applied", (self._about, step, outcome)
            assert self._texts() == expected["texts"], (self._about, step)

    async def _propose(self) -> None:
        change, files = self._change, self._harness.session.files
        if change.mode is not None or BINARY in (change.old, change.new):
            said = [None if data is None else decode_or_describe(data, "f").text for data in (change.old, change.new)]
            raw = Raw(change.new, change.mode) if change.new == BINARY else Raw(mode=change.mode)
            await files.capture(self._file, said[0], said[1], Author(), raw if change.new is not None else PLAIN)
            return
        if change.new is None:
            await files.delete(self._file, Author())
            return
        new = change.new.decode("utf-8" if change.new.isascii() else "cp1252")
        if change.old != change.new:
            await files.propose(self._file, new + self._typed, Author())
        if change.new_name != "f":
            await files.rename(self._file, self._target, Author())

    @property
    def _able(self) -> Any:
        return self._editor.port.edit_capabilities

    def _must_refuse(self) -> bool:
        """Whether an accept must be refused: the file is open, and the editor cannot change it or would lose unsaved
        text.
        """
        if self._shown is None or self._change.mode is not None:
            return False
        if not self._change.operation:
            return not self._able.edits
        if self._change.operation == "create":
            return not self._able.edits and self._change.new != b""
        return bool(self._typed) and not (self._able.edits and self._change.operation in self._able.operations)

    def _check_after(self) -> None:
        """Checks that the user sees exactly the proposed text, in the editor or on disk."""
        change = self._change
        expected = None if change.new is None else change.new + self._typed.encode()
        if expected and self._editor.ends_lines and not expected.endswith(b"\n"):
            expected += b"\n"
        assert self._texts() == {name: expected for name in (change.new_name,) if expected is not None}, self._about
        if self._shown is None:
            disk = self._target.read_bytes() if self._target.exists() else None
            assert disk == change.new, self._about
        if change.mode is not None:
            assert self._target.stat().st_mode & 0o777 == change.mode

    def _texts(self) -> dict[str, bytes]:
        """The files as the session sees them: the open document if there is one, otherwise the bytes on disk."""
        user_files = self._harness.session.files.user_files
        found: dict[str, bytes] = {}
        for path in {self._file, self._target}:
            buffer = user_files.buffer(path)
            if buffer is not None:
                found[path.relative_to(self._folder).as_posix()] = buffer.text.encode()
            elif path.exists():
                found[path.relative_to(self._folder).as_posix()] = path.read_bytes()
        return found

    def _state(self) -> dict[str, Any]:
        disk = {path.name: path.read_bytes() for path in self._folder.rglob("*") if path.is_file()}
        return {"texts": self._texts(), "disk": disk, "buffers": dict(self._editor.buffers)}
