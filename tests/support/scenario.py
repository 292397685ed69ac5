"""Scenarios of editing: folders of data that are played through a real server process.

A folder contains `steps.yaml` and, for plain files, `input/` (the workspace before) and `expected/` (the workspace
afterwards). Files with unusual bytes are in `steps.yaml`, as a `Content`:

    text                        its bytes in UTF-8
    {text: ..., as: utf-16}     in another encoding; `bytes`: each character is one byte
    {lines: 9, each: "{}\\n", but: {3: "x\\n"}}   numbered lines, some replaced with other `Content`
    {repeat: 9, of: x, end: "\\n"}                the same text repeated

The keys of `steps.yaml`:

    rule      the guarantee, in a sentence
    fault     the number of the case in docs/faults.md, if any
    files     further files of the workspace: name to Content
    modes     for POSIX: name to permissions ("755")
    links     for POSIX: name to the target of a symbolic link
    expected  final differences from `expected/` or, without that folder, from the input: name to Content; null: no file
    untouched files whose modification time does not change
    steps     the actions, in order: the methods of `Player` without an underscore
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from support.client import Client, Json
from support.fake_api import Call, FakeApi, Text, Turn

HOME = Path(__file__).parents[1] / "scenarios"


@dataclass
class Scenario:
    """The content of a folder."""

    folder: Path
    rule: str
    steps: list[Json]
    fault: int | None = None
    files: dict[str, Any] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    expected: dict[str, Any] = field(default_factory=dict)
    untouched: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name in tests. It has the fault's number, because a test compares docs/faults.md with these names."""
        return self.folder.name if self.fault is None else f"fault_{self.fault:02}_{self.folder.name}"

    def lay_out(self, workspace: Path) -> None:
        """Copies the files into the workspace."""
        for name, data in {**_tree(self.folder / "input"), **_contents(self.files)}.items():
            assert data is not None
            path = workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        for name, mode in self.modes.items():
            (workspace / name).chmod(int(mode, 8))
        for name, target in self.links.items():
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace / name).symlink_to(target)

    def wanted(self, before: dict[str, bytes]) -> dict[str, bytes]:
        """The expected final content of the workspace, byte for byte."""
        folder = self.folder / "expected"
        found = {**(_tree(folder) if folder.is_dir() else before), **_contents(self.expected)}
        return {name: data for name, data in found.items() if data is not None}


def scenarios(kind: str) -> list[Scenario]:
    """The scenarios in `tests/scenarios/KIND`, in order."""
    found: list[Scenario] = []
    for folder in sorted(path.parent for path in (HOME / kind).glob("*/steps.yaml")):
        given = yaml.safe_load((folder / "steps.yaml").read_text(encoding="utf-8"))
        found.append(Scenario(folder, **given))
    return found


def tree(workspace: Path) -> dict[str, bytes]:
    """All regular files of a folder, including hidden ones; the content of a link is its target."""
    found: dict[str, bytes] = {}
    for path in workspace.rglob("*"):
        name = path.relative_to(workspace).as_posix()
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}".encode()
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def content(given: Any) -> bytes | None:
    """A `Content` as bytes."""
    if given is None or isinstance(given, str):
        return None if given is None else given.encode()
    if "lines" in given:
        other = {number: content(line) for number, line in given.get("but", {}).items()}
        return b"".join(other.get(n) or given["each"].format(n).encode() for n in range(1, given["lines"] + 1))
    if "repeat" in given:
        return (given["of"] * given["repeat"] + given["end"]).encode()
    encoding = given["as"]
    return given["text"].encode("latin-1" if encoding == "bytes" else encoding)


def _contents(given: dict[str, Any]) -> dict[str, bytes | None]:
    return {name: content(value) for name, value in given.items()}


def _tree(folder: Path) -> dict[str, bytes | None]:
    return dict(tree(folder)) if folder.is_dir() else {}


class Player:
    """Plays the steps of one scenario: the agent, the user in the editor, and another program on the disk."""

    def __init__(self, client: Client, api: FakeApi, workspace: Path) -> None:
        self.client = client
        self.api = api
        self.workspace = workspace
        self.session = ""
        self._written_at = 0
        self._read = 0  # how many of the messages to the model have been checked

    async def play(self, steps: list[Json]) -> None:
        self.session = (await self.client.request("agent/sessions/create", {}))["sessionId"]
        for number, step in enumerate(steps, 1):
            (name, main), *rest = step.items()
            try:
                await getattr(self, name)(main, **dict(rest))
            except Exception as error:
                error.add_note(f"in step {number}: {str(step)[:500]}")
                raise

    async def agent(self, calls: list[Json], results: list[str] | None = None, feedback: Any = None) -> None:
        """Runs a task with one round of these calls, after which the model ends the run.

        Each of `results` is part of a call's result, in the order of the calls; an error begins with "Error:".
        `feedback` lists parts of what the model reads in addition to its task and the results. `[]`: it reads nothing
        else. None: this is not checked.
        """
        turn = Turn(tuple(Call(name, given) for call in calls for name, given in call.items()))
        for one in [*([turn] if calls else []), Turn((Text("Done."),))]:
            self.api.push(one)
        before = len(self.client.events("tool_finished"))
        result = await self.client.run("Do it.", sessionId=self.session)
        assert (result["stopReason"], self.api.refusals) == ("end_turn", [])
        finished = [event["text"] for event in self.client.events("tool_finished")[before:]]
        for wanted, text in zip(results if results is not None else [""] * len(finished), finished, strict=True):
            assert wanted in text, f"{wanted!r} is not in {text!r}"
            assert text.startswith("Error:") == wanted.startswith("Error:"), text
        self._check_feedback(feedback)

    def _check_feedback(self, feedback: list[str] | None) -> None:
        messages = self.api.requests[-1].body["messages"]
        blocks = [block for one in messages[self._read :] if one["role"] == "user" for block in one["content"]]
        self._read = len(messages)
        texts = [block["text"] for block in blocks if block["type"] == "text" and block["text"] != "Do it."]
        assert [event["text"] for event in self.client.events("feedback")][-len(texts) :] == texts or not texts
        for part in feedback or []:
            assert part in "\n".join(texts), f"{part!r} is not in {texts}"
        assert feedback != [] or texts == []

    async def open(self, name: str, text: str | None = None) -> None:
        """The user opens a file. `text` is its text in the editor, if it has unsaved changes or another encoding."""
        self.client.open(self._path(name), text)

    async def close(self, name: str) -> None:
        self.client.close(self._path(name).as_uri())

    async def type(self, name: str, text: str | None = None, replace: dict[str, str] | None = None) -> None:
        """The user changes an open file: its whole text or pieces of it."""
        now = self.client.buffers[self._path(name).as_uri()][0]
        self.client.type(self._path(name), self._changed(now, text, replace))

    async def save(self, name: str) -> None:
        path = self._path(name)
        path.write_bytes(self.client.buffers[path.as_uri()][0].encode())
        self.client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})

    async def write(self, name: str, to: Any = "", replace: dict[str, str] | None = None) -> None:
        """Another program changes a file on disk."""
        path = self._path(name)
        self._written_at = self._version()
        if replace is not None:
            path.write_bytes(self._changed(path.read_bytes().decode(), None, replace).encode())
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content(to) or b"")

    async def remove(self, name: str) -> None:
        """Another program deletes a file on disk."""
        self._written_at = self._version()
        self._path(name).unlink()

    async def noticed(self, _: None) -> None:
        """Waits until the server has published proposals that include the other program's change."""
        await self.client.until(lambda: self._version() > self._written_at)

    async def accept(self, target: Any, **given: Any) -> None:
        """The user accepts `all`, `{file}`, `{file, hunk}` (hunks are numbered from 1) or `{item}`."""
        await self._decide("agent/edits/accept", target, **given)

    async def reject(self, target: Any, **given: Any) -> None:
        await self._decide("agent/edits/reject", target, **given)

    async def undo(self, _: None, **given: Any) -> None:
        await self._outcomes("agent/edits/undo", {}, **given)

    async def redo(self, _: None, **given: Any) -> None:
        await self._outcomes("agent/edits/redo", {}, **given)

    async def amend(
        self, name: str, text: str | None = None, replace: Any = None, refused: str = "", **given: Any
    ) -> None:
        """The user changes the proposed text, completely or in pieces."""
        uri = self._path(name).as_uri()
        new = self._changed(await self._side("proposed", name), text, replace)
        await self._ask("agent/edits/amend", {"uri": uri, "text": new, **given}, refused)

    async def shows(self, files: dict[str, Any], conflicts: list[Json] | None = None) -> None:
        """Waits until the client shows these proposals: the states of the hunks by file, or the file's kind.

        `conflicts`: the sides of all hunks in conflict, in order.
        """
        await self.client.until(lambda: self._shown() == files)
        if conflicts is not None:
            hunks = [hunk for file in self.client.last("agent/edits")["files"] for hunk in file["hunks"]]
            assert [hunk["conflict"] for hunk in hunks if hunk["conflict"]] == conflicts

    async def says(self, files: dict[str, Any]) -> None:
        """Checks the content of files as the user sees it: in the open buffer or on the disk; null: no file."""
        for name, wanted in files.items():
            path = self._path(name)
            buffer = self.client.buffers.get(path.as_uri())
            found = path.read_bytes() if path.exists() else None
            assert (buffer[0].encode() if buffer else found) == content(wanted), name

    async def has_mode(self, modes: dict[str, str]) -> None:
        assert {name: f"{self._path(name).stat().st_mode & 0o777:o}" for name in modes} == modes

    async def sides(self, name: str, **texts: str) -> None:
        """Checks the texts of the virtual documents of a diff: `base` and `proposed`."""
        assert {side: await self._side(side, name) for side in texts} == texts

    # helpers of the steps

    def _path(self, name: str) -> Path:
        return self.workspace / name

    def _changed(self, now: str, text: str | None, replace: dict[str, str] | None) -> str:
        for old, new in (replace or {}).items():
            assert now.count(old) == 1, f"{old!r} occurs {now.count(old)} times"
            now = now.replace(old, new)
        return now if text is None else text

    async def _side(self, side: str, name: str) -> str:
        path = self._path(name).as_uri().removeprefix("file://")
        uri = f"fairlead-{side}://{self.session}{path}"
        return (await self.client.request("workspace/textDocumentContent", {"uri": uri}))["text"]

    async def _edits(self) -> Json:
        params = {"command": "fairlead.server.edits", "arguments": [{"sessionId": self.session}]}
        return await self.client.request("workspace/executeCommand", params)

    def _shown(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for file in (self.client.last("agent/edits") or {"files": []})["files"]:
            shown: Any = [hunk["state"] for hunk in file["hunks"]]
            if file["kind"] != "modify":
                to = f" to {self._name(file['newUri'])}" if file["newUri"] else ""
                shown = f"{file['kind']}{to}{' in conflict' if file['state'] == 'conflict' else ''}"
            found[self._name(file["uri"])] = shown
        return found

    def _version(self) -> int:
        return (self.client.last("agent/edits") or {"version": 0})["version"]

    def _name(self, uri: str) -> str:
        return uri.removeprefix(f"{self.workspace.as_uri()}/")

    async def _decide(
        self, method: str, target: Any, outcomes: Any = None, says: str = "", refused: str = "", **given: Any
    ) -> None:
        if target == "all":
            wire: Json = {"all": True}
        elif "item" in target:
            wire = target
        else:
            wire = {"uri": self._path(target["file"]).as_uri()}
            if "hunk" in target:
                [file] = [one for one in (await self._edits())["files"] if one["uri"] == wire["uri"]]
                wire["hunk"] = file["hunks"][target["hunk"] - 1]["id"]
        await self._outcomes(method, {"target": wire, **given}, outcomes, says, refused)

    async def _outcomes(
        self, method: str, params: Json, outcomes: Any = None, says: str = "", refused: str = ""
    ) -> None:
        """Sends a decision and checks its outcomes; `says` is part of their messages.

        `outcomes`: the sorted outcomes by file, or one word that is the outcome of all.
        """
        result = await self._ask(method, params, refused)
        if result is None:
            return
        found: dict[str, list[str]] = {}
        for one in result["outcomes"]:
            found.setdefault(self._name(one["uri"]), []).append(one["outcome"])
        if isinstance(outcomes, str):
            assert {word for words in found.values() for word in words} == {outcomes}, result["outcomes"]
        elif outcomes is not None:
            assert {name: sorted(words) for name, words in found.items()} == outcomes, result["outcomes"]
        messages = " ".join(one["message"] for one in result["outcomes"])
        assert says in messages, f"{says!r} is not in {messages!r}"

    async def _ask(self, method: str, params: Json, refused: str) -> Json | None:
        """Sends a request; `refused`: the code and part of the message of the expected error."""
        params = {"sessionId": self.session, **params}
        if not refused:
            return await self.client.request(method, params)
        code, _, part = refused.partition(" ")
        error = await self.client.error(method, params)
        assert (error.code, part in error.message) == (int(code), True), (error.code, error.message)
        return None
