"""`diagnostics`: the problems that the editor shows in the person's files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairlead.agent.errors import ToolError
from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.workspace.editor import SEVERITIES, Diagnostic, DiagnosticsSource
from fairlead.workspace.files import Files

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
        is_open = self._files.user_files.buffer(below) is not None  # the editor may open it now, to look at it
        found = await self._source.diagnostics(below if below.is_file() else None)
        if found is None:
            raise ToolError("The editor gave no answer. Go on without, or check with a command.")
        there = [one for one in found if one.path.is_relative_to(below)]
        return "\n".join([*(self._lines(there) or [_none(is_open)]), *self._unknown(below)])

    def _lines(self, found: Sequence[Diagnostic]) -> list[str]:
        """The worst first, one line each."""
        ordered = sorted(found, key=lambda one: (SEVERITIES.index(one.severity), one.path, one.line, one.column))
        more = len(ordered) - MAX_SHOWN
        left = [f"({more} more. Name a file to see its own.)"] if more > 0 else []
        return [*map(self._line, ordered[:MAX_SHOWN]), *left]

    def _line(self, one: Diagnostic) -> str:
        message = " ".join(one.message.split())
        short = message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}..."
        place = f"{self._files.root.relative(one.path)}:{one.line}:{one.column}"
        return f"{place} {one.severity} {short}" + (f" [{one.source}]" if one.source else "")

    def _unknown(self, below: Path) -> list[str]:
        """What the editor cannot know: the files as they are proposed."""
        paths = [Path(proposal.path) for proposal in self._files.changes]
        names = [self._files.root.relative(path) for path in paths if path.is_relative_to(below)]
        if not names:
            return []
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        return [f"(Without your proposed edits of {shown}: the editor knows these files as the user has them.)"]


def _none(is_open: bool) -> str:
    """Many a language support looks at a file only when it is open, so nothing found is not always "all well"."""
    doubt = "" if is_open else " It may not look at files that are not open."
    return f"The editor shows no problems there.{doubt}"
