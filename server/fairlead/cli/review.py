"""The review at the end of a run: shows the changes, asks about them, and reports the outcomes."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rich.text import Text

from fairlead.cli.ask import Option, ask
from fairlead.cli.client import AgentClient
from fairlead.cli.keys import Interrupted, Keyboard
from fairlead.cli.options import Accept
from fairlead.cli.view.diffs import Sides, draw_diff, two_sides
from fairlead.cli.view.display import Display
from fairlead.cli.view.need_text import need_lines
from fairlead.cli.view.text import clean, escape_hidden
from fairlead.display import escape_to_one_line
from fairlead.sentences import Sentence
from fairlead.uris import file_path
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.wire.run_lines import ReviewLine
from fairlead.workspace.paths import Roots

QUIT = Option("q", "quit", "stop here; the rest is not applied")
FILE_OPTIONS = (
    Option("y", "yes", "accept this file's changes"),
    Option("n", "no", "reject them; the file stays as it is"),
    Option("h", "by hunk", "decide on each change of this file"),
    Option("a", "all the rest", "accept this file and all that follow"),
    QUIT,
)
HUNK_OPTIONS = (
    Option("y", "yes", "accept this change"),
    Option("n", "no", "reject it"),
    QUIT,
)
CONFLICT_OPTIONS = (
    Option("y", "proposed", "replace your version with the proposed one"),
    Option("n", "yours", "keep your version and reject the proposed one"),
    QUIT,
)
CONFLICT = "You and the agent changed {what}. Which version?"
KINDS = {"create": "new file", "modify": "modified", "delete": "deleted", "rename": "renamed"}
Prove = Callable[[states.EditsWire], Awaitable[Sequence[states.ChangeIdWire] | None]]
"""Returns the changes among these that are proved; None if nothing must be decided."""

NOT_PROVED = "This run accepts only changes of steps that a check has verified."
MAX_TRIES = 3
"""How often a decision is tried if the proposals change meanwhile. After that, the changes stay undecided."""


class Quit(Exception):
    """The user quit the review."""


@dataclass
class FileReport:
    """The outcomes of one file's changes."""

    uri: str
    name: str
    kind: Literal["create", "modify", "delete", "rename"]
    counts: Counter[str] = field(default_factory=Counter[str])
    """The number of changes by outcome: applied, rejected, refused (the wire's conflict or failed), undecided.

    A file that is not decided on by hunk counts as one change.
    """
    weakens: list[str] = field(default_factory=list[str])
    """Why changes that are left weaken tests (docs/plan.md P22)."""

    @property
    def line(self) -> str:
        """The file as the summary lists it, for example `a.py (2 of 3 changes)`."""
        applied, total = self.counts["applied"], self.counts.total()
        if not applied:
            return self.name
        what = {"create": "new", "delete": "deleted", "rename": "renamed"}.get(self.kind, "")
        part = f"{applied} of {total} changes" if applied < total else ""
        words = ", ".join(word for word in (what, part) if word)
        return f"{self.name} ({words})" if words else self.name


class Review:
    """The review of a session's proposals. Nothing that may propose further files runs meanwhile.

    Args:
        report: called with the outcomes of each decision.
    """

    def __init__(
        self,
        client: AgentClient,
        display: Display,
        keyboard: Keyboard,
        workspace: Roots,
        edits: states.EditsWire,
        report: Callable[[ReviewLine], None] = lambda _: None,
    ) -> None:
        self._client = client
        self._report = report
        self._display = display
        self._keyboard = keyboard
        self._workspace = workspace
        self._reports: dict[str, FileReport] = {}
        self._shown: set[str] = set()
        self._set_edits(edits)

    async def decide(self, accept: Accept | None, prove: Prove | None = None, *, weakened_tests: bool = False) -> None:
        """Shows each file and decides on it as `accept` says. `none` only shows the files; None does not even do that.

        Afterwards, `reports` is complete, even if this raises. Everything without a decision is undecided.

        Args:
            weakened_tests: for `all`: whether it includes the changes that weaken tests.
            prove: for `checks`: returns the changes to accept; all others are rejected. None: decides on nothing.

        Raises:
            Interrupted: Ctrl-C, or the terminal was closed. Earlier decisions are not undone.
            RequestError, ServerExited: as for `AgentClient.request`.
        """
        try:
            if accept == "ask":
                await self._ask_for_each()
            elif accept is not None:
                await self._show_new()
            if accept == "all":
                await self._accept_all(weakened_tests=weakened_tests)
            elif accept == "checks" and prove is not None:
                await self._accept_proved(prove)
        except Quit:
            pass
        finally:
            for file in self._edits["files"]:
                report = self._reports[file["uri"]]
                counts, report.weakens = report.counts, reasons_in(file)
                counts["undecided"] += max(0, _decision_count(file) - counts["refused"])

    @property
    def reports(self) -> list[FileReport]:
        """The outcomes of each file, in the order of the review."""
        return list(self._reports.values())

    def _set_edits(self, edits: states.EditsWire) -> None:
        self._edits = edits
        for file in edits["files"]:
            self._reports.setdefault(file["uri"], FileReport(file["uri"], self._name(file["uri"]), file["kind"]))

    async def _show_new(self) -> None:
        """Shows the files that have not been shown yet."""
        for file in self._edits["files"]:
            if file["uri"] not in self._shown:
                await self._show(file)

    async def _ask_for_each(self) -> None:
        accept_rest = False
        for uri in list(self._reports):
            for _ in range(MAX_TRIES):
                if self._keyboard.is_interrupted:  # after `a`, no key is read
                    raise Interrupted
                file = self._file(uri)
                if file is None:
                    break
                sides = await self._show(file)
                options = [option for option in FILE_OPTIONS if option.key != "h" or is_decided_by_hunk(file)]
                if file["state"] == "conflict" and not is_decided_by_hunk(file):
                    yes = await self._question(CONFLICT.format(what=self._name(uri)), CONFLICT_OPTIONS) == "y"
                    if await self._send(wire.ACCEPT if yes else wire.REJECT, {"uri": uri}, replace_yours=yes):
                        break
                    continue
                is_asked = not accept_rest or bool(reasons_in(file))  # a weakened test needs a look
                key = await self._question(f"Accept {self._name(uri)}?", options) if is_asked else "y"
                accept_rest = accept_rest or key == "a"
                if await self._decide_on(uri, key, sides):
                    break

    async def _decide_on(self, uri: str, key: str, sides: Sides) -> bool:
        """Applies the answer for a file. False if the proposals changed, so the file must be shown again."""
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
            need = self._need_lines(file, [hunk])
            self._print([Text(), *self._diff(sides, [hunk]), *self._reason_lines(hunk["weakens"]), *yours, *need])
            question, options = f"Accept change {total - number + 1} of {total}?", HUNK_OPTIONS
            if hunk["conflict"] is not None:
                question, options = CONFLICT.format(what="these lines"), CONFLICT_OPTIONS
            yes = await self._question(question, options) == "y"
            replace_yours = yes and hunk["conflict"] is not None
            method = wire.ACCEPT if yes else wire.REJECT
            if not await self._send(method, {"uri": uri, "hunk": hunk["id"]}, replace_yours=replace_yours):
                return False
            if self._reports[uri].counts["refused"]:
                return True
            number -= 1
            sides = await self._sides(uri)
        return True

    async def _accept_all(self, *, weakened_tests: bool) -> None:
        if weakened_tests and any(map(reasons_in, self._edits["files"])):
            await self._accept_target({"weakenedTests": True})
        if self._edits["files"]:
            await self._accept_target({"all": True})

    async def _accept_target(self, target: dict[str, Any]) -> None:
        for _ in range(MAX_TRIES):
            if await self._send(wire.ACCEPT, target):
                return
            await self._show_new()

    async def _accept_proved(self, prove: Prove) -> None:
        """Accepts what `prove` returns and rejects the rest. Tries again if the proposals changed meanwhile."""
        for _ in range(MAX_TRIES):
            changes = await prove(self._edits)
            if changes is None:
                return
            if not changes or await self._send(wire.ACCEPT, {"changes": list(changes)}):
                break
            await self._show_new()
        else:
            return
        left = [file["uri"] for file in self._edits["files"] if not self._reports[file["uri"]].counts["refused"]]
        if left:
            await self._send(wire.REJECT, {"changes": [{"uri": uri} for uri in left]}, reason=NOT_PROVED)

    async def _send(
        self, method: str, target: dict[str, Any], *, replace_yours: bool = False, reason: str = ""
    ) -> bool:
        """Sends a decision and shows its outcomes.

        Returns False if the proposals changed since they were shown, for example by a hook: then nothing was decided,
        and `_edits` has the new ones.

        Args:
            replace_yours: whether the proposed lines replace the user's in a conflict.
            reason: why changes are rejected, for the model.
        """
        params = {"sessionId": self._edits["sessionId"], "target": target, "version": self._edits["version"]}
        params |= {"resolution": "proposed"} if replace_yours else {}
        params |= {"reason": reason} if reason else {}
        try:
            answer: wire.ReviewResult = await self._client.request(method, params)
        except wire.RequestError as error:
            if error.code not in (wire.CONTENT_MODIFIED, wire.REQUEST_FAILED):
                raise
            edits: states.EditsWire = await self._client.request(
                "workspace/executeCommand",
                {"command": wire.COMMAND_EDITS, "arguments": [{"sessionId": self._edits["sessionId"]}]},
            )
            if error.code == wire.REQUEST_FAILED and edits["version"] == self._edits["version"]:
                raise
            self._print_line(clean(str(error)), "yellow")
            self._set_edits(edits)
            return False
        decision = "accept" if method == wire.ACCEPT else "reject"
        self._report({"type": "review", "decision": decision, "outcomes": answer["outcomes"]})
        for file in self._edits["files"]:
            self._show_outcomes(file, [each for each in answer["outcomes"] if each["uri"] == file["uri"]])
        assert answer["edits"] is not None  # only a client that announces `incremental` gets None
        self._set_edits(answer["edits"])
        return True

    def _show_outcomes(self, file: states.FileEditsWire, outcomes: Sequence[wire.OutcomeWire]) -> None:
        uri, marks = file["uri"], self._display.marks
        report, by_hunk = self._reports[uri], is_decided_by_hunk(file)
        for outcome, count in Counter(each["outcome"] for each in outcomes).items():
            succeeded = outcome in ("applied", "rejected")
            report.counts[outcome if succeeded else "refused"] += count if by_hunk else 1
            mark = marks.done if outcome == "applied" else marks.note if succeeded else marks.failed
            style = "green" if outcome == "applied" else "dim" if succeeded else "red"
            self._print_line(f"{mark} {self._name(uri)}: {outcome}", style)
            for message in dict.fromkeys(o["message"] for o in outcomes if o["outcome"] == outcome and o["message"]):
                self._print_line(f"  {clean(message)}", style)

    async def _show(self, file: states.FileEditsWire) -> Sides:
        """Shows a file's heading, its whole diff, its new errors and the user's lines in conflicts."""
        self._shown.add(file["uri"])
        sides = await self._sides(file["uri"])
        kind = KINDS[file["kind"]] + (f" to {self._name(file['newUri'])}" if file["newUri"] else "")
        risk = f"{file['risk']}  " if file["risk"] not in (None, "deletion") else ""
        risk += "protected  " if file["protected"] else ""
        risk += "weakens tests  " if reasons_in(file) else ""
        risk += "no check read it  " if file["unread"] else ""
        risk += f"permissions {file['mode']}  " if file["mode"] is not None else ""
        heading = Text.assemble(
            (self._name(file["uri"]), "bold"),
            (f"  {kind}  ", "dim"),
            (risk, "yellow"),
            (f"+{file['additions']}", "green"),
            " ",
            (f"-{file['deletions']}", "red"),
        )
        diff = self._diff(sides, file["hunks"]) or [Text(_note_without_diff(file), style="dim")]
        yours = dict.fromkeys(hunk["conflict"]["current"] for hunk in file["hunks"] if hunk["conflict"] is not None)
        errors = [Text(self._problem(file, problem), style="red") for problem in file["problems"]]
        weakens = self._reason_lines([*file["weakens"], *(why for hunk in file["hunks"] for why in hunk["weakens"])])
        need = self._need_lines(file, file["hunks"])
        lines = [*diff, *weakens, *errors, *(line for text in yours for line in _yours(text)), *need]
        self._print([Text(), heading, *lines, Text()])
        return sides

    def _reason_lines(self, reasons: Sequence[states.TitleWire]) -> list[Text]:
        """Why changes weaken tests, a line for each."""
        return [Text(f"{self._display.marks.failed} {clean(sentence_of(why))}", style="yellow") for why in reasons]

    def _need_lines(self, file: states.FileEditsWire, hunks: Sequence[states.HunkWire]) -> list[Text]:
        """What the checks say about these changes, a line for each."""
        return [Text(line, style="dim") for line in need_lines(self._edits["needed"], file, hunks)]

    def _problem(self, file: states.FileEditsWire, problem: states.DiagnosticWire) -> str:
        """A new error of the proposed text, on one line."""
        name, line = self._name(file["newUri"] or file["uri"]), problem["range"]["start"]["line"] + 1
        return f"{self._display.marks.failed} {name}:{line}: {' '.join(clean(problem['message']).split())}"

    async def _sides(self, uri: str) -> Sides:
        return two_sides(await self._text(wire.BASE_SCHEME, uri), await self._text(wire.PROPOSED_SCHEME, uri))

    async def _text(self, scheme: str, uri: str) -> str:
        content_uri = uri.replace("file://", f"{scheme}://{self._edits['sessionId']}", 1)
        answer = await self._client.request("workspace/textDocumentContent", {"uri": content_uri})
        return answer["text"]

    def _diff(self, sides: Sides, hunks: Sequence[states.HunkWire]) -> list[Text]:
        return draw_diff(sides, hunks, self._display.marks.return_sign)

    async def _question(self, question: str, options: Sequence[Option]) -> str:
        key = await ask(self._display, self._keyboard, question, options)
        if key == "q":
            raise Quit
        return key

    def _file(self, uri: str) -> states.FileEditsWire | None:
        return next((file for file in self._edits["files"] if file["uri"] == uri), None)

    def _name(self, uri: str) -> str:
        path = file_path(uri)
        return escape_to_one_line(self._workspace.relative(path) if path is not None else uri)

    def _print_line(self, text: str, style: str) -> None:
        self._print([Text(text, style=style)])

    def _print(self, lines: Sequence[Text]) -> None:
        self._display.show(lines)


def sentence_of(words: states.TitleWire) -> str:
    """A sentence of the wire in English."""
    return words["prefix"] + Sentence(words["template"], *words["arguments"])


def reasons_in(file: states.FileEditsWire) -> list[str]:
    """Why changes of a file weaken tests."""
    found = [*file["weakens"], *(why for hunk in file["hunks"] for why in hunk["weakens"])]
    return list(dict.fromkeys(map(sentence_of, found)))


def _decision_count(file: states.FileEditsWire) -> int:
    return len(file["hunks"]) if is_decided_by_hunk(file) else 1


def is_decided_by_hunk(file: states.FileEditsWire) -> bool:
    """Whether each hunk is decided on separately, rather than the file as a whole.

    New, deleted, renamed and binary files and new permissions are decided on as a whole, as is a file that the user has
    deleted, because it has no lines.
    """
    conflicts = (hunk["conflict"] for hunk in file["hunks"])
    if any(conflict is not None and conflict["current"] is None for conflict in conflicts):
        return False
    return file["kind"] == "modify" and not file["binary"] and file["mode"] is None


def _note_without_diff(file: states.FileEditsWire) -> str:
    """The note for a file without changed lines."""
    if file["binary"]:
        return "(not text, or text in another encoding: accepted or rejected as a whole)"
    return "(an empty file)" if file["kind"] in ("create", "delete") else "(the content does not change)"


def _yours(current: str | None) -> list[Text]:
    """The lines that show the user's side of a conflict. `current` is its text; None: the user deleted the file."""
    if current is None:
        return [Text("You deleted this file.", style="yellow")]
    lines = current.splitlines() or ["(nothing)"]
    return [
        Text("Your version of these lines:", style="yellow"),
        *(Text(f"  {escape_hidden(line)}") for line in lines),
    ]
