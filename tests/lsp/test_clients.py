"""The server with the capabilities of real clients (`fixtures/clients`): accept, undo and redo of each kind of file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from support.client import Client, Json, uri_path

pytestmark = pytest.mark.slow

Replay = Callable[..., dict[str, Any]]

CLIENTS = sorted((Path(__file__).parent / "fixtures" / "clients").glob("*.json"))
OURS: Json = {"agent": {"approvals": True, "checksEdits": True}}

BOM = b"\xef\xbb\xbf"
TEXT = "一\ntwo\n三 end"
NEW_TEXT = "一\n2\n三 end!"
MODIFIED = {
    "plain.txt": (TEXT.encode(), NEW_TEXT.encode()),
    "bom.txt": (BOM + TEXT.encode(), BOM + NEW_TEXT.encode()),
    "crlf.txt": (b"1\r\ntwo\r\n3 end", b"1\r\n2\r\n3 end!"),
    "mixed.txt": (b"1\r\ntwo\n3 end", b"1\r\n2\n3 end!"),
    "cp1252.txt": ("é\ntwo\n3 end".encode("cp1252"), "é\n2\n3 end!".encode("cp1252")),
    "utf16.txt": (TEXT.encode("utf-16"), NEW_TEXT.encode("utf-16")),
}
CREATED = {"new.txt": b"a\nb\n", "no end.txt": b"a\nb", "empty.txt": b"", "sub/new ü.txt": "ü\n".encode()}
BINARY = b"\0\1\2"


def _calls(folder: str) -> list[dict[str, Any]]:
    """The tool calls with which the agent changes the files of a folder."""

    def edits(name: str) -> list[dict[str, Any]]:
        texts = [("two", "2"), (" end", " end!")]
        return [{"edit_file": {"path": f"{folder}/{name}", "old_text": old, "new_text": new}} for old, new in texts]

    def rename(name: str, new: str) -> dict[str, Any]:
        return {"rename_file": {"path": f"{folder}/{name}", "new_path": f"{folder}/{new}"}}

    names = MODIFIED if folder == "closed" else ["plain.txt", "crlf.txt"]
    created = CREATED if folder == "closed" else ["new.txt", "empty.txt"]
    calls = [call for name in names for call in edits(name)]
    calls += [{"write_file": {"path": f"{folder}/{name}", "content": CREATED[name].decode()}} for name in created]
    calls += [rename("moved.txt", "to/moved.txt"), *edits("changed.txt"), rename("changed.txt", "renamed.txt")]
    calls += [{"delete_file": {"path": f"{folder}/gone.txt"}}]
    if folder == "closed":
        calls += [{"delete_file": {"path": f"{folder}/gone.bin"}}, rename("moved.bin", "to/moved.bin")]
    return calls


def _files(folder: str) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The files of a folder before the accept and after it."""
    names = MODIFIED if folder == "closed" else ["plain.txt", "crlf.txt"]
    created = CREATED if folder == "closed" else ["new.txt", "empty.txt"]
    same = TEXT.encode()
    before = {name: MODIFIED[name][0] for name in names} | {"moved.txt": same, "changed.txt": same, "gone.txt": same}
    after = {name: MODIFIED[name][1] for name in names} | {name: CREATED[name] for name in created}
    after |= {"to/moved.txt": same, "renamed.txt": NEW_TEXT.encode()}
    if folder == "closed":
        before |= {"gone.bin": BINARY, "moved.bin": BINARY}
        after |= {"to/moved.bin": BINARY}
    return _in(folder, before), _in(folder, after)


def _in(folder: str, files: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{folder}/{name}": data for name, data in files.items()}


class Editor(Client):
    """An editor that applies the kinds of edits that it announced. Other edits fail the test."""

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._changed_here: set[str] = set()
        self.answers["workspace/applyEdit"] = self._applied
        self.notify("workspace/didChangeConfiguration", {"settings": {}})  # as eglot does
        return self

    def _applied(self, params: Json) -> Json:
        workspace = self.capabilities["workspace"]
        able = workspace["workspaceEdit"]
        assert workspace["applyEdit"]
        operations = {change.get("kind") for change in params["edit"].get("documentChanges", [])} - {None}
        assert operations <= set(able.get("resourceOperations", []))
        assert "changes" not in params["edit"] or not able.get("documentChanges")
        before = dict(self.buffers)
        answer = self.apply_edit(params)
        self._changed_here |= {uri for uri, shown in self.buffers.items() if before.get(uri) != shown}
        return answer

    def save_all(self) -> None:
        """Saves the open documents that an edit changed."""
        for uri in self._changed_here & self.buffers.keys():
            uri_path(uri).write_bytes(self.buffers[uri][0].encode())
            self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        self._changed_here.clear()


CASES = [(path.stem, json.loads(path.read_text(encoding="utf-8"))["capabilities"]) for path in CLIENTS]
CASES += [(f"{name} with our client", {**able, "experimental": OURS}) for name, able in CASES if "visual" in name]


@pytest.mark.parametrize(("name", "able"), CASES, ids=[name for name, _ in CASES])
async def test_fault_85_decisions_with_a_real_clients_capabilities(
    name: str, able: Json, workspace: Path, replay: Replay
) -> None:
    """docs/faults.md 85: each file has the right bytes after all changes are accepted, undone and redone."""
    before, after = ({**closed, **opened} for closed, opened in zip(_files("closed"), _files("open"), strict=True))
    for path, data in before.items():
        (workspace / path).parent.mkdir(exist_ok=True)
        (workspace / path).write_bytes(data)
    settings = replay({"calls": _calls("closed") + _calls("open")}, {"text": "."})
    async with Editor(workspace, settings=settings, capabilities=able) as client:
        for path in (workspace / "open").iterdir():
            client.open(path)
        for new in ("new.txt", "empty.txt"):
            client.open(workspace / "open" / new, "\n" if name.startswith("neovim") else "")
        session = (await client.run())["sessionId"]
        assert [one["text"] for one in client.events("tool_finished") if one["isError"]] == []
        steps = [("accept", {"target": {"all": True}}, after), ("undo", {}, before), ("redo", {}, after)]
        for verb, params, expected in steps:
            command = {"command": f"fairlead.server.{verb}", "arguments": [{"sessionId": session, **params}]}
            review = await client.request("workspace/executeCommand", command)
            bad = [one for one in review["outcomes"] if one["outcome"] != "applied"]
            assert bad == [], verb
            client.save_all()
            assert _tree(workspace) == expected, verb
        # reported by a message, because a client that only runs commands does not read the outcomes
        said = " ".join(shown["message"] for shown in client.all("window/showMessage"))
        for operation in {"rename", "delete"} - set(able["workspace"]["workspaceEdit"].get("resourceOperations", [])):
            assert f"directly, because this editor cannot {operation} files" in said


def _tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
