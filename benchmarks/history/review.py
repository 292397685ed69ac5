"""The user: decides on the proposals in random order, undoes and redoes decisions, and checks the result each time.

After every request, the files and the proposals are compared with the expected ones. The first difference ends the
review with a `Mismatch`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from history.editor import Editor, file_mode
from history.plan import Job
from history.text import split_lines
from support.client import Json, WireError

DEADLINE = 120.0
SINGLE_DECISIONS = 40
LOOKED_AT = 4

Contents = dict[Path, bytes | None]
# the contents of the files that a decision affects, their modes, and all proposals by URI
State = tuple[Contents, dict[Path, int | None], Json]


class Mismatch(Exception):
    """A check failed; with `path` and the contents if it concerns a file."""

    def __init__(
        self, what: str, path: Path | None = None, expected: bytes | None = None, found: bytes | None = None
    ) -> None:
        super().__init__(what)
        self.path = path
        self.expected = expected
        self.found = found


@dataclass
class Slowest:
    """The slowest answer, and its request."""

    seconds: float = 0.0
    what: str = ""

    def note(self, seconds: float, what: str) -> None:
        if seconds > self.seconds:
            self.seconds, self.what = seconds, what


@dataclass
class _Step:
    """A decision that can be undone: files and proposals before and after it."""

    before: State
    after: State


@dataclass
class Review:
    editor: Editor
    session: str
    jobs: dict[Path, Job]
    rng: Random
    counts: Counter[str]
    slowest: Slowest
    edits: Json = field(default_factory=dict)
    steps: list[_Step] = field(default_factory=list)

    async def run(self, to_the_end: bool) -> None:
        """Decides on proposals until none is left. If not `to_the_end`, may stop after any decision."""
        self.edits = self._shown() or {"sessionId": self.session, "version": 0, "files": []}
        await self._typed()
        self._check_proposals()
        await self._look()
        single = min(SINGLE_DECISIONS, 2 + int(1.5 * sum(max(1, len(file["hunks"])) for file in self.files)))
        for _ in range(single):
            if not self.files:
                break
            await self._decide()
            if not to_the_end and self.rng.random() < 0.2:
                return
        while self.files:
            target: Json = {"all": True} if self.rng.random() < 0.3 else {"uri": self.rng.choice(self.files)["uri"]}
            await self._accept(target)

    @property
    def files(self) -> list[Json]:
        return self.edits["files"]

    async def _typed(self) -> None:
        """Types into files that have proposals. An accept of a hunk that does not exist must notice the new text.

        The later checks show whether the proposals were rebased: they must lead from the new text to `Job.text`.
        """
        typed = [(path, job) for path, job in self.jobs.items() if job.typed is not None]
        for path, job in typed:
            self.editor.type_text(path, job.typed or "")
            if self.rng.random() < 0.5:
                self.editor.save()
            target = {"uri": path.as_uri(), "hunk": "none"}
            params = {"sessionId": self.session, "target": target}
            self.edits = (await self.editor.request("agent/edits/accept", params, DEADLINE))["edits"]
            self.counts["files that the user changed too"] += 1

    async def _decide(self) -> None:
        """One random action of the user."""
        target = self._target()
        dice = self.rng.random()
        if dice < 0.15:
            await self._reject(target)
            await self._undo(1)
        elif dice < 0.35:
            await self._accept(target)
            depth = self.rng.randint(1, min(3, len(self.steps)))
            await self._undo(depth)
            if self.rng.random() < 0.8:
                await self._redo(depth)
        else:
            await self._accept(target)

    def _target(self) -> Json:
        file = self.rng.choice(self.files)
        items = sorted({item for one in self.files for item in one["itemIds"]})
        if items and self.rng.random() < 0.05:
            return {"item": self.rng.choice(items)}
        if file["kind"] != "modify" or not file["hunks"] or self.rng.random() < 0.1:
            return {"uri": file["uri"]}
        return {"uri": file["uri"], "hunk": self.rng.choice(file["hunks"])["id"]}

    # requests and checks of their results

    async def _accept(self, target: Json) -> None:
        after = self._files_after(target)
        before = self._state({path: self.editor.content(path) for path in after})
        ids = self._ids_by_content(target)
        result = await self._ask("accept", target)
        self._check_outcomes(result, "applied", f"accept of {target}")
        self._check_files(after, f"accept of {target}")
        self._check_gone(target, before[2])
        self._check_ids(target, ids)
        self.counts["accepts"] += 1
        self.counts["hunks accepted"] += sum(one["hunk"] is not None for one in result["outcomes"])
        self.counts["files accepted as a whole"] += sum(one["hunk"] is None for one in result["outcomes"])
        self.steps.append(_Step(before, self._state(after)))

    async def _reject(self, target: Json) -> None:
        before = self._state({path: self.editor.content(path) for path in self._files_after(target)})
        result = await self._ask("reject", target)
        self._check_outcomes(result, "rejected", f"reject of {target}")
        self._check_files(before[0], f"reject of {target}")
        self._check_gone(target, before[2])
        self.counts["rejects"] += 1
        self.steps.append(_Step(before, self._state(before[0])))

    async def _undo(self, depth: int) -> None:
        undone = self.steps[-depth:]
        for step in reversed(undone):
            await self._ask("undo")
            self.counts["undos"] += 1
            self._check_state(step.before, "undo")
        self.steps[-depth:] = []
        self._undone = undone

    async def _redo(self, depth: int) -> None:
        for step in self._undone[:depth]:
            await self._ask("redo")
            self.counts["redos"] += 1
            self._check_state(step.after, "redo")
            self.steps.append(step)

    async def _ask(self, what: str, target: Json | None = None) -> Json:
        params: Json = {"sessionId": self.session}
        if target is not None:
            params["target"] = target
            if self.rng.random() < 0.5:
                params["version"] = self.edits["version"]
        start = time.perf_counter()
        try:
            result = await self.editor.request(f"agent/edits/{what}", params, DEADLINE)
        except TimeoutError as error:
            raise Mismatch(f"{what}: no answer in {DEADLINE:.0f} s", self._subject(target)) from error
        except WireError as error:
            raise Mismatch(f"{what}: refused: {error.message}", self._subject(target)) from error
        self.slowest.note(time.perf_counter() - start, what)
        if self.editor.faults:
            raise Mismatch(f"{what}: the editor got an impossible request: {self.editor.faults[0]}")
        self.edits = result["edits"]
        shown = self._shown()
        if shown is not None and shown["version"] > self.edits["version"]:
            self.edits = shown  # published meanwhile
        elif shown != self.edits:
            raise Mismatch(f"{what}: the answer's edits are not those of the last notification")
        if self.rng.random() < 0.7:
            self.editor.save()
        return result

    def _shown(self) -> Json | None:
        """The last published state of the proposals."""
        shown = self.editor.last("agent/edits")
        return shown if shown is not None and shown["sessionId"] == self.session else None

    def _check_outcomes(self, result: Json, wanted: str, what: str) -> None:
        wrong = [one for one in result["outcomes"] if one["outcome"] != wanted]
        if wrong or not result["outcomes"]:
            raise Mismatch(f"{what}: {wrong[:3] or 'no outcome'}", self._path_of(wrong))

    def _check_files(self, expected: Contents, what: str) -> None:
        for path, data in expected.items():
            found = self.editor.content(path)
            if found != data:
                raise Mismatch(f"{path.name}: wrong bytes after {what}", path, data, found)

    def _state(self, contents: Contents) -> State:
        return contents, {path: file_mode(path) for path in contents}, _shape(self.edits)

    def _check_state(self, state: State, what: str) -> None:
        contents, modes, proposals = state
        self._check_files(contents, what)
        for path, mode in modes.items():
            if file_mode(path) != mode:
                raise Mismatch(f"{path.name}: mode {file_mode(path)} after {what}, not {mode}", path)
        own = _shape(self.edits)
        if own != proposals:
            odd = [uri for uri in {*own, *proposals} if own.get(uri) != proposals.get(uri)]
            raise Mismatch(f"{what}: the proposals have changed: {odd[:3]}", self.editor.path(odd[0]))

    def _check_gone(self, target: Json, before: Json) -> None:
        """Checks that the decided changes are no longer proposed, and that the hunks of other files keep their ids.

        Other hunks of the same file may get new ids, because the diff may show them differently; these are counted. If
        the target is a plan item, checks nothing.
        """
        now = _shape(self.edits)
        for uri, file in before.items():
            chosen = "all" in target or (target.get("uri") == uri and "hunk" not in target)
            if chosen and uri in now:
                raise Mismatch(f"{uri} is decided and still proposed", self.editor.path(uri))
            left = {hunk["id"] for hunk in now.get(uri, {"hunks": []})["hunks"]}
            if target.get("uri") == uri and target.get("hunk") in left:
                raise Mismatch(f"{target} is decided and still proposed", self.editor.path(uri))
            if "item" not in target and not chosen:
                decided = {target.get("hunk")} if target.get("uri") == uri else set()
                rest = {hunk["id"] for hunk in file["hunks"]} - decided
                self.counts["hunks that changed their id"] += len(rest - left)
                if target.get("uri") != uri and rest != left:
                    raise Mismatch(f"{uri}: changed by a decision on another file", self.editor.path(uri))

    def _ids_by_content(self, target: Json) -> dict[tuple[str, str], list[str]]:
        """For the file in which one hunk is decided: the ids of its other hunks by their content, in order."""
        found: dict[tuple[str, str], list[str]] = {}
        for file in self.files:
            path = self.editor.path(file["uri"])
            if file["uri"] != target.get("uri") or "hunk" not in target or file["kind"] != "modify":
                continue
            old, new = split_lines(self._own(path)), split_lines(self.jobs[path].text or "")
            for hunk in file["hunks"]:
                start, begin = _starts(hunk)
                says = [old[start : start + hunk["oldLines"]], new[begin : begin + hunk["newLines"]]]
                ids = found.setdefault(("".join(says[0]), "".join(says[1])), [])
                if hunk["id"] != target["hunk"]:
                    ids.append(hunk["id"])
        return found

    def _check_ids(self, target: Json, before: dict[tuple[str, str], list[str]]) -> None:
        """Checks that the other hunks with the same content keep their ids after one hunk was decided."""
        for says, ids in self._ids_by_content(target).items():
            known = before.get(says, [])
            if len(known) == len(ids) and known != ids:
                raise Mismatch(f"{target}: hunks with the same content have other ids: {known[:3]}, now {ids[:3]}")

    def _files_after(self, target: Json) -> Contents:
        """The expected contents of the files that accepting a target changes."""
        found: Contents = {}
        for file in self.files:
            if "uri" in target and target["uri"] != file["uri"]:
                continue
            path = self.editor.path(file["uri"])
            ids = {hunk["id"] for hunk in file["hunks"]}
            if "hunk" in target:
                ids = {target["hunk"]}
            elif "item" in target:
                if target["item"] not in file["itemIds"]:
                    continue
                ids = {hunk["id"] for hunk in file["hunks"] if hunk["itemId"] == target["item"]}
            whole = file["kind"] != "modify" or len(ids) == len(file["hunks"])
            found |= self._file_after(path, None if whole else [hunk for hunk in file["hunks"] if hunk["id"] in ids])
        return found

    def _file_after(self, path: Path, hunks: Sequence[Json] | None) -> Contents:
        job = self.jobs[path]
        if job.new_path is None:
            return {path: None}
        new_path = self.editor.root / job.new_path
        gone: Contents = {path: None} if job.path is not None and path != new_path else {}
        if job.text is None:
            return {**gone, new_path: self.editor.content(path)}
        if hunks is None:
            return {**gone, new_path: job.text_format.encode(job.text)}
        return {path: job.text_format.encode(with_hunks(self._own(path), job.text, hunks))}

    def _own(self, path: Path) -> str:
        """A file's text for the user, read in the encoding that it had at first."""
        data, text_format = self.editor.content(path) or b"", self.jobs[path].text_format
        return data[len(text_format.bom) :].decode(text_format.codec)

    # the proposals

    def _check_proposals(self) -> None:
        """Checks that exactly the jobs are proposed, each with the right kind."""
        shown = {self.editor.path(file["uri"]): file for file in self.files}
        for path, job in self.jobs.items():
            file = shown.pop(path, None)
            if file is None:
                raise Mismatch(f"{path.name}: nothing is proposed", path)
            kind = kind_of(job)
            new = self.editor.path(file["newUri"]) if file["newUri"] else path
            if (file["kind"], file["state"]) != (kind, "pending") or new != self.editor.root / (job.new_path or path):
                raise Mismatch(f"{path.name}: proposed as {file['kind']} ({file['state']}), not as {kind}", path)
        if shown:
            raise Mismatch(f"proposed, although no job does that: {[path.name for path in shown][:5]}")

    async def _look(self) -> None:
        """Checks the proposed text of some files, as the diff shows it."""
        texts = [(path, job) for path, job in self.jobs.items() if job.text is not None and kind_of(job) != "rename"]
        for path, job in self.rng.sample(texts, min(LOOKED_AT, len(texts))):
            uri = f"fairlead-proposed://{self.session}{path.as_uri().removeprefix('file://')}"
            shown = (await self.editor.request("workspace/textDocumentContent", {"uri": uri}, DEADLINE))["text"]
            # a byte order mark at the beginning is not a part of the text
            if shown != (job.text or "").removeprefix("\ufeff"):
                expected, found = job.text_format.encode(job.text or ""), shown.encode("utf-8", "surrogatepass")
                raise Mismatch(f"{path.name}: the proposed text is wrong", path, expected, found)

    def _subject(self, target: Json | None) -> Path | None:
        """The file that a request is about, if there is one."""
        if target is not None:
            return self.editor.path(target["uri"]) if "uri" in target else None
        return next(iter(self.steps[-1].before[0]), None) if self.steps else None

    def _path_of(self, outcomes: Sequence[Json]) -> Path | None:
        return self.editor.path(outcomes[0]["uri"]) if outcomes else None


def kind_of(job: Job) -> str:
    if job.path is None:
        return "create"
    if job.new_path is None:
        return "delete"
    return "modify" if job.path == job.new_path else "rename"


def with_hunks(own: str, proposed: str, hunks: Iterable[Json]) -> str:
    """The text `own` after these hunks of `proposed` were accepted."""
    lines, new = split_lines(own), split_lines(proposed)
    for hunk in sorted(hunks, key=lambda hunk: (hunk["oldStart"], hunk["oldLines"]), reverse=True):
        start, begin = _starts(hunk)
        lines[start : start + hunk["oldLines"]] = new[begin : begin + hunk["newLines"]]
    return "".join(lines)


def _starts(hunk: Json) -> tuple[int, int]:
    """Where a hunk begins in both texts, counted from 0. An empty side has the number of the line before it."""
    return hunk["oldStart"] - (1 if hunk["oldLines"] else 0), hunk["newStart"] - (1 if hunk["newLines"] else 0)


def _shape(edits: Json) -> dict[str, Any]:
    """The proposals without their version, by file."""
    return {file["uri"]: file for file in edits["files"]}
