"""`diagnostics`: the problems that the editor shows in the user's files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairlead.agent.errors import ToolError
from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.workspace.editor import SEVERITIES, Diagnostic, DiagnosticsSource
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Root

MAX_SHOWN = 50
MAX_MESSAGE = 300

SPEC = ToolSpec(
    "diagnostics",
    "The problems that the user's editor shows in a file, or in all files. It does not know your proposed edits.",
    {"type": "object", "properties": {"path": {"type": "string", "description": "A file or a folder"}}},
)


class Diagnostics:
    spec = SPEC
    kind: ToolKind = "read"
    read_only = True

    def __init__(self, files: Files, source: DiagnosticsSource) -> None:
        self._files, self._source = files, source

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        given = input.get("path")
        return (f"Problems in {given}", (Location(given),)) if given else ("Problems in all files", ())

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        given = input.get("path")
        root = self._files.root
        below = root.resolve(given) if given else root.path
        if given and not below.exists():
            raise ToolError(f"The user has no such file: {given}")
        # checked before the request, for which the editor may open the file
        is_open = self._files.user_files.buffer(below) is not None
        found = await self._source.diagnostics(below if below.is_file() else None)
        if found is None:
            raise ToolError("The editor did not answer. Continue without it, or check with a command.")
        relevant = [problem for problem in found if problem.path.is_relative_to(below)]
        return "\n".join([*(problem_lines(relevant, root) or [_none(is_open)]), *self._proposed_note(below)])

    def _proposed_note(self, below: Path) -> list[str]:
        """A line about the proposed files, which the editor does not know."""
        paths = [Path(proposal.path) for proposal in self._files.changes]
        names = [self._files.root.relative(path) for path in paths if path.is_relative_to(below)]
        if not names:
            return []
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        return [f"(The editor does not know your proposed edits of {shown}.)"]


def problem_lines(found: Sequence[Diagnostic], root: Root) -> list[str]:
    """One line per problem, the most severe first."""
    ordered = sorted(found, key=lambda p: (SEVERITIES.index(p.severity), p.path, p.line, p.column))
    more = len(ordered) - MAX_SHOWN
    rest = [f"({more} more. Name a file to see its own.)"] if more > 0 else []
    return [*(_line(problem, root) for problem in ordered[:MAX_SHOWN]), *rest]


def _line(problem: Diagnostic, root: Root) -> str:
    message = " ".join(problem.message.split())
    short = message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}..."
    position = f"{root.relative(problem.path)}:{problem.line}:{problem.column}"
    return f"{position} {problem.severity} {short}" + (f" [{problem.source}]" if problem.source else "")


def _none(is_open: bool) -> str:
    """The result if there are no problems. Many language servers check only open files, which it mentions."""
    doubt = "" if is_open else " It may not check files that are not open."
    return f"The editor shows no problems there.{doubt}"
