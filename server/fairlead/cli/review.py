"""The end of a run: the proposed changes are shown, decided on, and what came of them is told."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from rich.text import Text

from fairlead.cli.ask import Option, ask
from fairlead.cli.client import AgentClient
from fairlead.cli.diffs import Sides, draw_diff, two_sides
from fairlead.cli.display import Display
from fairlead.cli.keys import Keyboard
from fairlead.cli.options import Accept
from fairlead.cli.text import clean, revealed
from fairlead.lsp import protocol as wire

FILE_OPTIONS = (
    Option("y", "yes", "accept this file's changes"),
    Option("n", "no", "reject them; the file stays as it is"),
    Option("h", "by hunk", "decide on each change of this file by itself"),
    Option("a", "all the rest", "accept this file and all that follow"),
    Option("q", "quit", "decide on nothing more; what is left is not applied"),
)
HUNK_OPTIONS = (
    Option("y", "yes", "accept this change"),
    Option("n", "no", "reject it"),
    Option("q", "quit", "decide on nothing more; what is left is not applied"),
)
CONFLICT_OPTIONS = (
    Option("y", "proposed", "take the proposed lines in the place of yours"),
    Option("n", "yours", "keep your lines; the proposed ones are rejected"),
    Option("q", "quit", "decide on nothing more; what is left is not applied"),
)
WHICH = "Both of you changed {what}. Which shall it be?"
KINDS = {"create": "new file", "modify": "modified", "delete": "deleted", "rename": "renamed"}
MAX_TRIES = 3


class Quit(Exception):
    """The person decides on nothing more."""


@dataclass
class FileReport:
    """What came of one file: how many of its changes were applied, rejected, refused (conflict, failed) or left."""

    name: str
    kind: str
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def line(self) -> str:
        """In words for people."""
        applied, total = self.counts["applied"], self.counts.total()
        if not applied:
            return self.name
        what = {"create": "new", "delete": "deleted", "rename": "renamed"}.get(self.kind, "")
        part = f"{applied} of {total} changes" if applied < total else ""
        words = ", ".join(word for word in (what, part) if word)
        return f"{self.name} ({words})" if words else self.name


class Review:
    """The review of one session's proposals, as the server holds them at its beginning."""

    def __init__(
        self, client: AgentClient, display: Display, keyboard: Keyboard, workspace: Path, edits: wire.EditsWire
    ) -> None:
        self._client = client
        self._display = display
        self._keyboard = keyboard
        self._workspace = workspace
        self._edits = edits
        self._reports = {file["uri"]: FileReport(self._name(file["uri"]), file["kind"]) for file in edits["files"]}

    async def decide(self, accept: Accept | None) -> None:
        """Shows each file and carries out what `accept` says; None leaves all as it is without showing it.

        Raises:
            Interrupted: Ctrl-C; what was decided until then holds.
        """
        try:
            if accept == "ask":
                await self._ask_for_each()
            elif accept is not None:
                for file in list(self._edits["files"]):
                    await self._show(file)
            if accept == "all":
                await self._accept_all()
        except Quit:
            pass
        finally:
            for file in self._edits["files"]:
                self._reports[file["uri"]].counts["left"] += _size(file) - self._refused(file["uri"])

    @property
    def reports(self) -> list[FileReport]:
        """What came of each file, in the order of the proposals."""
        return list(self._reports.values())

    def _refused(self, uri: str) -> int:
        return self._reports[uri].counts["refused"]

    async def _ask_for_each(self) -> None:
        take_rest = False
        for uri in list(self._reports):
            for _ in range(MAX_TRIES):
                file = self._file(uri)
                if file is None:
                    break
                sides = await self._show(file)
                options = [option for option in FILE_OPTIONS if option.key != "h" or _in_hunks(file)]
                if file["state"] == "conflict" and not _in_hunks(file):
                    yes = await self._question(WHICH.format(what=self._name(uri)), CONFLICT_OPTIONS) == "y"
                    if await self._send(wire.ACCEPT if yes else wire.REJECT, {"uri": uri}, over_yours=yes):
                        break
                    continue
                key = "y" if take_rest else await self._question(f"Accept {self._name(uri)}?", options)
                take_rest = take_rest or key == "a"
                if await self._decide_on(uri, key, sides):
                    break

    async def _decide_on(self, uri: str, key: str, sides: Sides) -> bool:
        """Carries out an answer for a file; False where it must be looked at again."""
        match key:
            case "h":
                return await self._by_hunk(uri, sides)
            case "n":
                return await self._send(wire.REJECT, {"uri": uri})
            case _:
                return await self._send(wire.ACCEPT, {"uri": uri})

    async def _by_hunk(self, uri: str, sides: Sides) -> bool:
        file = self._file(uri)
        total = number = len(file["hunks"]) if file else 0
        while (file := self._file(uri)) is not None and file["hunks"] and number > 0:
            hunk = file["hunks"][0]
            yours = _yours(hunk["conflict"]["current"]) if hunk["conflict"] is not None else []
            self._print([Text(), *self._diff(sides, [hunk]), *yours])
            question, options = f"Accept change {total - number + 1} of {total}?", HUNK_OPTIONS
            if hunk["conflict"] is not None:
                question, options = WHICH.format(what="these lines"), CONFLICT_OPTIONS
            yes = await self._question(question, options) == "y"
            over_yours = yes and hunk["conflict"] is not None
            method = wire.ACCEPT if yes else wire.REJECT
            if not await self._send(method, {"uri": uri, "hunk": hunk["id"]}, over_yours=over_yours):
                return False
            if self._reports[uri].counts["refused"]:
                return True
            number -= 1
            sides = await self._sides(uri)
        return True

    async def _accept_all(self) -> None:
        for _ in range(MAX_TRIES):
            if await self._send(wire.ACCEPT, {"all": True}):
                return

    async def _send(self, method: str, target: dict[str, Any], *, over_yours: bool = False) -> bool:
        """Sends a decision and tells what came of it; False where the proposals are no longer what was shown."""
        params = {"sessionId": self._edits["sessionId"], "target": target, "version": self._edits["version"]}
        params |= {"resolution": "proposed"} if over_yours else {}
        try:
            answer: wire.ReviewResult = await self._client.request(method, params)
        except wire.RequestError as error:
            if error.code != wire.CONTENT_MODIFIED:
                raise
            self._say(str(error), "yellow")
            self._edits = await self._client.request(
                "workspace/executeCommand",
                {"command": wire.COMMAND_EDITS, "arguments": [{"sessionId": self._edits["sessionId"]}]},
            )
            return False
        self._edits = answer["edits"]
        for uri in self._reports:
            self._tell(uri, [one for one in answer["outcomes"] if one["uri"] == uri])
        return True

    def _tell(self, uri: str, outcomes: Sequence[wire.OutcomeWire]) -> None:
        marks, report = self._display.marks, self._reports[uri]
        for outcome, count in Counter(one["outcome"] for one in outcomes).items():
            good = outcome in ("applied", "rejected")
            report.counts[outcome if good else "refused"] += count
            mark = marks.done if outcome == "applied" else marks.note if good else marks.failed
            style = "green" if outcome == "applied" else "dim" if good else "red"
            self._say(f"{mark} {self._name(uri)}: {outcome}", style)
            for message in dict.fromkeys(o["message"] for o in outcomes if o["outcome"] == outcome and o["message"]):
                self._say(f"  {clean(message)}", style)

    async def _show(self, file: wire.FileWire) -> Sides:
        """The file's heading and its whole diff."""
        sides = await self._sides(file["uri"])
        kind = KINDS[file["kind"]] + (f" to {self._name(file['newUri'])}" if file["newUri"] else "")
        risk = f"{file['risk']}  " if file["risk"] not in (None, "deletion") else ""
        risk += "protected  " if file["protected"] else ""
        risk += f"permissions {file['mode']}  " if file["mode"] is not None else ""
        heading = Text.assemble(
            (self._name(file["uri"]), "bold"),
            (f"  {kind}  ", "dim"),
            (risk, "yellow"),
            (f"+{file['additions']}", "green"),
            " ",
            (f"-{file['deletions']}", "red"),
        )
        diff = self._diff(sides, file["hunks"]) or [Text(_without_lines(file), style="dim")]
        yours = dict.fromkeys(hunk["conflict"]["current"] for hunk in file["hunks"] if hunk["conflict"] is not None)
        self._print([Text(), heading, *diff, *(line for text in yours for line in _yours(text)), Text()])
        return sides

    async def _sides(self, uri: str) -> Sides:
        return two_sides(await self._text(wire.BASE_SCHEME, uri), await self._text(wire.PROPOSED_SCHEME, uri))

    async def _text(self, scheme: str, uri: str) -> str:
        address = uri.replace("file://", f"{scheme}://{self._edits['sessionId']}", 1)
        answer = await self._client.request("workspace/textDocumentContent", {"uri": address})
        return answer["text"]

    def _diff(self, sides: Sides, hunks: Sequence[wire.HunkWire]) -> list[Text]:
        return draw_diff(sides, hunks, self._display.marks.return_sign)

    async def _question(self, question: str, options: Sequence[Option]) -> str:
        key = await ask(self._display, self._keyboard, question, options)
        if key == "q":
            raise Quit
        return key

    def _file(self, uri: str) -> wire.FileWire | None:
        return next((file for file in self._edits["files"] if file["uri"] == uri), None)

    def _name(self, uri: str) -> str:
        path = _path(uri)
        inside = path.is_relative_to(self._workspace)
        return revealed((path.relative_to(self._workspace) if inside else path).as_posix())

    def _say(self, text: str, style: str) -> None:
        self._print([Text(text, style=style)])

    def _print(self, lines: Sequence[Text]) -> None:
        self._display.show(lines)


def _path(uri: str) -> Path:
    path = unquote(urlsplit(uri).path)
    return Path(path.removeprefix("/") if os.name == "nt" else path)


def _size(file: wire.FileWire) -> int:
    """How many decisions a file is worth."""
    return len(file["hunks"]) if _in_hunks(file) else 1


def _in_hunks(file: wire.FileWire) -> bool:
    """Whether it is decided hunk by hunk; what is created, deleted, renamed, binary or executable is one decision.

    So is what the user deleted meanwhile: there is no text of theirs beside which a hunk could stand.
    """
    conflicts = (hunk["conflict"] for hunk in file["hunks"])
    if any(conflict is not None and conflict["current"] is None for conflict in conflicts):
        return False
    return file["kind"] == "modify" and not file["binary"] and file["mode"] is None


def _without_lines(file: wire.FileWire) -> str:
    """What to say of a file without a changed line."""
    if file["binary"]:
        return "(not text: accepted or rejected as a whole)"
    return "(an empty file)" if file["kind"] == "create" else "(its text stays the same)"


def _yours(current: str | None) -> list[Text]:
    """What the user wrote where lines are proposed, in a conflict; None: they deleted the file."""
    if current is None:
        return [Text("Meanwhile you deleted this file.", style="yellow")]
    lines = current.splitlines() or ["(nothing)"]
    return [Text("Meanwhile you wrote there:", style="yellow"), *(Text(f"  {revealed(line)}") for line in lines)]
