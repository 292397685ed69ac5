"""The action `problems` of the tool `code`: the problems that the editor or a language server finds in files."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from fairlead.code.decode import Problem
from fairlead.code.provider import NoAnswer
from fairlead.code.queries import CodeQueries
from fairlead.display import count_of
from fairlead.errors import ToolError
from fairlead.workspace.editor import SEVERITIES, Diagnostic, DiagnosticsSource
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots

MAX_SHOWN = 50
MAX_MESSAGE = 300


class Problems:
    """Finds the problems in files, as text for the model."""

    def __init__(self, files: Files, queries: CodeQueries, source: DiagnosticsSource | None) -> None:
        """`source` has the problems that the editor shows; None: the editor does not report them."""
        self._files, self._queries, self._source = files, queries, source

    async def render(self, given: str | None) -> str:
        """The problems in a file, a folder or (None) all files, the most severe first.

        Without an editor that reports problems, only the proposed files of a folder are checked; a note says so.

        Raises:
            ToolError: there is no such file, there was no answer, or nothing could be checked.
        """
        roots = self._files.roots
        within = roots.scopes(given)
        target = within[0]
        if given and not target.exists() and self._files.read(target) is None:
            raise ToolError(f"No such file or folder: {given}")
        if target.is_dir():
            candidates = [path for path in self._proposed(within) if self._queries.servers.name_for(path)]
        else:
            candidates = [target] if self._source is None or self._files.has_proposal(target) else []
        # before the request, because the editor may open the file for it
        is_open = self._files.user_files.buffer(target) is not None
        checked = await self._checked(candidates)
        found = [problem for problems in checked.values() for problem in problems]
        if target in checked:
            return "\n".join(problem_lines(found, roots) or ["No problems."])
        if self._source is not None:
            shown = await self._source.diagnostics(None if target.is_dir() else target)
            return self._with_editor(shown, within, is_open, checked, found)
        if not checked:
            raise ToolError("The problems of all files are not known here. Name a file, or check with a command.")
        count = count_of(len(checked), "file")
        note = f"(Only your proposed edits were checked, in {count}. Name another file to check it.)"
        return "\n".join([*(problem_lines(found, roots) or ["No problems."]), note])

    async def _checked(self, paths: Iterable[Path]) -> dict[Path, list[Diagnostic]]:
        """The problems in files according to their language servers. Omits files without an answer.

        Raises:
            NoAnswer: a server did not answer, and the editor reports no problems either.
        """
        checked: dict[Path, list[Diagnostic]] = {}
        for path in paths:
            try:
                answer = await self._queries.problems(path)
            except NoAnswer:
                if self._source is None:
                    raise
                continue
            checked[path] = [_diagnostic(path, problem) for problem in answer]
        return checked

    def _with_editor(
        self,
        shown: Sequence[Diagnostic] | None,
        within: Sequence[Path],
        is_open: bool,
        checked: Collection[Path],
        found: Sequence[Diagnostic],
    ) -> str:
        """The problems `found` in the files that language servers have `checked`, and those `shown` in other files.

        Raises:
            ToolError: the editor did not answer (`shown` is None).
        """
        if shown is None:
            raise ToolError("The editor did not answer. Continue without it, or check with a command.")
        found = [
            *found,
            *(each for each in shown if any(map(each.path.is_relative_to, within)) and each.path not in checked),
        ]
        return "\n".join(
            [
                *(problem_lines(found, self._files.roots) or [_no_problems(is_open)]),
                *self._unknown_note(within, checked),
            ]
        )

    def _proposed(self, within: Sequence[Path]) -> list[Path]:
        targets = [Path(proposal.target) for proposal in self._files.changes if proposal.proposed is not None]
        return [target for target in targets if any(map(target.is_relative_to, within))]

    def _unknown_note(self, within: Sequence[Path], checked: Collection[Path]) -> list[str]:
        """A line about the proposed files that no language server checked: the editor does not know their text."""
        names = [self._files.roots.relative(path) for path in self._proposed(within) if path not in checked]
        if not names:
            return []
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        return [f"(The editor does not know your proposed edits to {shown}.)"]


def _diagnostic(path: Path, problem: Problem) -> Diagnostic:
    return Diagnostic(path, problem.line, problem.start[1] + 1, problem.severity, problem.message, problem.source)


def problem_lines(found: Sequence[Diagnostic], roots: Roots) -> list[str]:
    """One line per problem, the most severe first: `path:line:column severity message [source]`.

    After `MAX_SHOWN` problems, a last line says how many more there are.
    """
    ordered = sorted(found, key=lambda p: (SEVERITIES.index(p.severity), p.path, p.line, p.column))
    more = len(ordered) - MAX_SHOWN
    rest = [f"({more} more. Name a file to see only its problems.)"] if more > 0 else []
    return [*(_line(problem, roots) for problem in ordered[:MAX_SHOWN]), *rest]


def _line(problem: Diagnostic, roots: Roots) -> str:
    message = " ".join(problem.message.split())
    short = message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}..."
    position = f"{roots.relative(problem.path)}:{problem.line}:{problem.column}"
    return f"{position} {problem.severity} {short}" + (f" [{problem.source}]" if problem.source else "")


def _no_problems(is_open: bool) -> str:
    """The result if there are no problems. For a file that is not open, and a folder, adds a caveat.

    Some editors check only open files.
    """
    caveat = "" if is_open else " It may not check files that are not open."
    return f"The editor shows no problems there.{caveat}"
