"""The new errors that the proposals cause (docs/plan.md P20): those that a file does not have without them.

Files that the agent has read are checked too, because a proposal for another file may break them.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairlead.code.decode import Problem, problems, read_answer
from fairlead.code.provider import LanguageServer, SessionLanguageServers
from fairlead.display import count_of
from fairlead.edits.changeset import Changeset, changed_paths
from fairlead.edits.diff import changed_blocks
from fairlead.errors import ToolError
from fairlead.messages.history import clean_text
from fairlead.messages.parts import Note
from fairlead.text_lines import split_lines
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files

log = logging.getLogger(__name__)

MAX_REPORTED = 10
"""How many errors one report lists."""
MAX_MESSAGE = 300
"""How many characters of an error's message a report contains."""
MAX_DEPENDENTS = 20
"""How many files that the agent has read, but that have no proposal, are checked too. The latest ones are chosen."""

NEW_ERRORS = (
    "<new_errors>\nYour proposed edits cause {count}, which the files do not have without them:\n{items}\n"
    "Fix them, or say why they can stay.\n</new_errors>"
)

Texts = Mapping[Path, str]
ServerKey = tuple[Path | None, str]
"""Identifies a language server: its folder of the workspace, and its name."""
ErrorKey = tuple[Path, str, str]
"""Identifies an error even if its line moves: the file, the message and the code."""


@dataclass(slots=True)
class _Checked:
    """The new errors of a file with this text."""

    text: str
    errors: Sequence[Problem]

    def follow(self, text: str | None) -> Sequence[Problem]:
        """The errors in the text that the file has now: those whose lines are unchanged. Drops the others for good."""
        if text != self.text and self.errors:
            self.errors = [] if text is None else _moved(self.errors, split_lines(self.text), split_lines(text))
        if text is not None:
            self.text = text
        return self.errors


class ProposedProblems:
    """Checks the proposed texts of a session with its language servers."""

    def __init__(self, files: Files, servers: SessionLanguageServers, seconds: Callable[[], float]) -> None:
        """`seconds` returns how long a check may take; 0: nothing is checked, and no server is started."""
        self._files, self._servers, self._seconds = files, servers, seconds
        self._baselines: dict[Path, tuple[str, Counter[ErrorKey]]] = {}
        self._checked: dict[Path, _Checked] = {}
        self._reported: set[ErrorKey] = set()
        self.version = 0
        """Increases when a check changes the current errors. An error is current until its lines change."""
        self._checked_state: object = None
        self._completed: set[str] | None = None
        self._warmed_for = Changeset()
        self._starts: dict[ServerKey, asyncio.Task[None]] = {}
        """The starts that have begun in the background. The end of a check does not cancel them."""
        self._late: set[ServerKey] = set()
        """The servers that were still starting when a check last reached its time limit."""

    def errors(self) -> Mapping[Path, Sequence[Problem]]:
        """The new errors by file. Omits those whose lines have changed since they were found."""
        found = {path: checked.follow(self._text(path)) for path, checked in self._checked.items() if checked.errors}
        return {path: errors for path, errors in found.items() if errors}

    def count(self, path: str) -> int:
        """The number of new errors of a file, given by its current or its proposed path.

        0 if its text was not checked. Omits those whose lines have changed since they were found.
        """
        proposal = self._files.changes.get(path)
        target = Path(proposal.target if proposal is not None else path)
        checked = self._checked.get(target)
        return len(checked.follow(self._text(target))) if checked is not None and checked.errors else 0

    def warm(self) -> None:
        """Starts the language servers of the proposed files in the background, so that a later check need not wait.

        Starts each server only once between two checks.
        """
        if not self._seconds():
            return
        before, self._warmed_for = self._warmed_for, self._files.changes
        changed = self._proposed(changed_paths(before, self._warmed_for))
        self._begin_starts(self._groups(changed))

    def _begin_starts(self, groups: Mapping[ServerKey, Sequence[Path]]) -> None:
        for key, paths in groups.items():
            if key not in self._starts:
                self._starts[key] = asyncio.ensure_future(self._start(paths[0]))

    async def aclose(self) -> None:
        """Cancels the starts of servers. Does not stop the servers that are running."""
        for task in self._starts.values():
            task.cancel()
        await asyncio.gather(*self._starts.values(), return_exceptions=True)

    def _starting(self) -> set[ServerKey]:
        return {key for key, start in self._starts.items() if not start.done()}

    async def _start(self, path: Path) -> None:
        try:
            await self._servers.start(path)
        except ToolError as error:  # not only `NoAnswer`: it may have no layer to run in
            log.info("no language server: %s", error)

    async def check_once_per_step(self, completed: Collection[str]) -> None:
        """Checks the proposals if a step has been completed since the last call. The first call checks nothing.

        Args:
            completed: the ids of all completed steps.
        """
        before, self._completed = self._completed, set(completed)
        if before is not None and not self._completed <= before:
            await self.check()

    async def check(self) -> None:
        """Checks the proposals, unless nothing has changed since the last time, or the time limit is 0.

        Without proposals, there are no errors, and no server starts.

        Files that could not be checked, or not before the time limit, count as free of errors until something changes.
        Waits only once for a server that is still starting, such as one that the user has not allowed yet. Its files
        are checked by the first call after it has started.
        """
        state = self._files.version, self._files.user_files.change_token
        proposed, seconds = self._proposed(self._files.changes.files), self._seconds()
        if state == self._checked_state or not seconds:
            return
        # nothing is new without a proposal, and then no server starts
        groups = self._groups([*proposed, *self._dependents(proposed)] if proposed else [])
        late = self._late & self._starting()
        # a server that was started before may have been stopped since, because nobody needed it
        self._starts = {key: start for key, start in self._starts.items() if not start.done()}
        self._begin_starts(groups)
        await asyncio.sleep(0)  # lets the starts begin: the time limit would cancel one that the check begins
        checked: dict[Path, _Checked] = {}
        try:
            async with asyncio.timeout(seconds):
                for key, group in groups.items():
                    if key not in late:
                        checked |= await self._check_group(group)
        except TimeoutError:
            log.info("the proposed texts were not checked within %.0f s", seconds)
            late = self._late = self._starting()
        before, self._checked = self.errors(), checked
        if self.errors() != before:
            self.version += 1
        self._checked_state = state if not late else None

    def take_report(self) -> list[Note]:
        """A note about the new errors that the model has not read yet; an empty list if there are none.

        Afterwards all current errors count as read, even those that exceed `MAX_REPORTED`.
        """
        errors = self.errors()
        new = self._unread(errors)
        self._reported = {_key(path, problem) for path, found in errors.items() for problem in found}
        if not new:
            return []
        lines = [self._line(path, problem) for path, problem in new[:MAX_REPORTED]]
        more = [f"({len(new) - MAX_REPORTED} more)"] if len(new) > MAX_REPORTED else []
        files = len({path for path, _ in new})
        count = f"{count_of(len(new), 'new error')} in {count_of(files, 'file')}"
        return [Note("new_errors", clean_text(NEW_ERRORS.format(count=count, items="\n".join([*lines, *more]))))]

    def _unread(self, errors: Mapping[Path, Sequence[Problem]]) -> list[tuple[Path, Problem]]:
        """The errors that the model has not read."""
        found = [(path, problem) for path, problems in errors.items() for problem in problems]
        return [(path, problem) for path, problem in found if _key(path, problem) not in self._reported]

    @property
    def has_report(self) -> bool:
        """Whether `take_report` would return something."""
        return bool(self._unread(self.errors()))

    def _line(self, path: Path, problem: Problem) -> str:
        message = " ".join(problem.message.split())[:MAX_MESSAGE]
        source = f" [{problem.source}]" if problem.source else ""
        return f"{self._files.roots.relative(path)}:{problem.line}:{problem.start[1] + 1} {message}{source}"

    async def _check_group(self, paths: Sequence[Path]) -> Mapping[Path, _Checked]:
        """Checks files of one language server. A file that was not checked is missing from the result."""
        checked: dict[Path, _Checked] = {}
        try:
            server = await self._servers.server(paths[0])
            await self._update_baselines(server, paths)
            shown = self._shown(paths)
            for path, found in (await self._diagnose(server, shown, paths)).items():
                checked_text, known = self._baselines.get(path) or ("", Counter[ErrorKey]())
                if checked_text == (self._user_text(path) or ""):  # otherwise the user's text was not checked in time
                    checked[path] = _Checked(shown[path], _new_errors(path, found, known))
        except ToolError as error:
            log.info("the proposed texts were not checked: %s", error)
        return checked

    async def _update_baselines(self, server: LanguageServer, paths: Sequence[Path]) -> None:
        """Checks the user's text of each file, unless it is the one checked last. Forgets files that have no text."""
        texts = {path: text for path in paths if (text := self._user_text(path)) is not None}
        outdated = [path for path, text in texts.items() if self._baselines.get(path, ("", None))[0] != text]
        for path in set(self._baselines) - set(texts):
            if path in paths:
                del self._baselines[path]
        if outdated:
            for path, found in (await self._diagnose(server, texts, outdated)).items():
                self._baselines[path] = texts[path], Counter(_key(path, problem) for problem in found)

    async def _diagnose(
        self, server: LanguageServer, shown: Texts, paths: Sequence[Path]
    ) -> Mapping[Path, Sequence[Problem]]:
        """Shows the server these texts, and returns the errors in some of them.

        A file that was not checked in time is missing from the result.
        """
        await server.show(shown)
        answers = await server.diagnostics([path for path in paths if path in shown])
        found = {
            path: read_answer(
                lambda answer, text=shown[path]: problems(answer, text, server.encoding), answer, server.name
            )
            for path, answer in answers.items()
        }
        return {path: [each for each in some if each.severity == "error"] for path, some in found.items()}

    def _shown(self, paths: Sequence[Path]) -> dict[Path, str]:
        """The texts of these files, and of all files that differ from the disk, as the agent sees them."""
        texts = {path: text for path, text in self._files.texts_not_on_disk() if text is not None}
        return {**texts, **{path: text for path in paths if (text := self._text(path)) is not None}}

    def _proposed(self, paths: Iterable[str]) -> list[Path]:
        """The targets of these proposals that have a proposed text and a language server."""
        found = map(self._files.changes.get, paths)
        targets = [Path(each.target) for each in found if each is not None and each.proposed is not None]
        return [target for target in targets if self._servers.name_for(target)]

    def _dependents(self, proposed: Collection[Path]) -> Iterable[Path]:
        read = [path for path in self._files.read_tracker.paths if path not in proposed]
        return [path for path in read if self._servers.name_for(path)][-MAX_DEPENDENTS:]

    def _groups(self, paths: Iterable[Path]) -> Mapping[ServerKey, Sequence[Path]]:
        """The files by language server."""
        groups: dict[ServerKey, list[Path]] = {}
        for path in paths:
            root = self._files.roots.folder_of(path)
            key = (None if root is None else root.path, self._servers.name_for(path))
            groups.setdefault(key, []).append(path)
        return groups

    def _text(self, path: Path) -> str | None:
        try:
            return self._files.read(path)
        except WorkspaceError:
            return None

    def _user_text(self, path: Path) -> str | None:
        proposal = self._files.changes.for_target(str(path))
        try:
            return self._files.current(Path(proposal.path) if proposal is not None else path)
        except WorkspaceError:
            return None


def _moved(errors: Sequence[Problem], old: Sequence[str], new: Sequence[str]) -> list[Problem]:
    """The errors on unchanged lines, with their lines in the new text."""
    blocks, moved = changed_blocks(old, new), list[Problem]()
    for error in errors:
        first, last = error.start[0], error.end[0]
        if not any(start <= last and first < max(end, start) for start, end, _, _ in blocks):
            shift = sum((b1 - b0) - (a1 - a0) for a0, a1, b0, b1 in blocks if a0 <= first)
            start, end = (first + shift, error.start[1]), (last + shift, error.end[1])
            moved.append(replace(error, start=start, end=end))
    return moved


def _new_errors(path: Path, found: Sequence[Problem], known: Counter[ErrorKey]) -> list[Problem]:
    """The errors that are not among the known ones. A known error may have moved to another line."""
    left, new = known.copy(), list[Problem]()
    for problem in found:
        key = _key(path, problem)
        if left[key] > 0:
            left[key] -= 1
        else:
            new.append(problem)
    return new


def _key(path: Path, problem: Problem) -> ErrorKey:
    return path, problem.message, problem.code
