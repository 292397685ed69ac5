"""`rename_symbol` and `apply_fix`: propose exactly the edits that the language support returns."""

from collections.abc import Sequence
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.code.queries import Answer, CodeQueries
from fairlead.display import count_of
from fairlead.edits.diff import changed_blocks
from fairlead.errors import ToolError
from fairlead.gate.gate import Gate
from fairlead.sentences import Sentence
from fairlead.text_lines import split_lines
from fairlead.tools.occurrences import other_occurrences
from fairlead.tools.secret_files import ask_for_secret
from fairlead.workspace.editor import FileEdit
from fairlead.workspace.files import Files

MAX_LISTED = 20

RENAME = ToolSpec(
    "rename_symbol",
    "Propose to rename a symbol everywhere it is used, as one exact change: all files or none.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "line": {"type": "integer", "minimum": 1},
            "symbol": {"type": "string", "description": "Its text, as in the file"},
            "new_name": {"type": "string"},
        },
        "required": ["path", "line", "symbol", "new_name"],
    },
)

FIX = ToolSpec(
    "apply_fix",
    "Propose one of the fixes that the code tool listed, by its title.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "line": {"type": "integer", "minimum": 1},
            "title": {"type": "string"},
        },
        "required": ["path", "line", "title"],
    },
)


class RenameSymbol:
    """Implements `Tool`."""

    spec = RENAME
    kind: ToolKind = "edit"
    read_only = False

    def __init__(self, files: Files, gate: Gate, queries: CodeQueries) -> None:
        self._files, self._gate, self._queries = files, gate, queries

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        title = Sentence("Rename {0} to {1}", input["symbol"], input["new_name"])
        return title, (Location(input["path"], input["line"]),)

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        await ask_for_secret(self._files, self._gate, call, "change", input["path"])
        path = self._files.roots.resolve(input["path"])
        symbol = input["symbol"]
        found = await self._queries.rename(path, symbol, input["line"], input["new_name"])
        proposed = await propose(self._files, found, call)
        others = await other_occurrences(self._files, symbol, [edit.target for edit in found.value])
        return "\n".join(filter(None, (proposed, others)))


class ApplyFix:
    """Implements `Tool`."""

    spec = FIX
    kind: ToolKind = "edit"
    read_only = False

    def __init__(self, files: Files, gate: Gate, queries: CodeQueries) -> None:
        self._files, self._gate, self._queries = files, gate, queries

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("{0} in {1}", input["title"], input["path"]), (Location(input["path"], input["line"]),)

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        await ask_for_secret(self._files, self._gate, call, "change", input["path"])
        path = self._files.roots.resolve(input["path"])
        return await propose(self._files, await self._queries.fix(path, input["line"], input["title"]), call)


async def propose(files: Files, found: Answer[Sequence[FileEdit]], call: RunningCall) -> str:
    """Proposes the changes, all or none. Returns a summary with a line per file, for at most `MAX_LISTED` files.

    Sets the `changed_paths` of the call.

    Raises:
        ToolError: nothing would change, or a change cannot be proposed.
    """
    if not found.value:
        raise ToolError("This would change nothing." if found.is_complete else found.note)
    await files.propose_all(found.value, call.author)
    call.changed_paths = [str(path) for edit in found.value for path in dict.fromkeys((edit.path, edit.target))]
    lines = [_line(files, edit) for edit in found.value[:MAX_LISTED]]
    more = len(found.value) - len(lines)
    return "\n".join(
        [
            f"Proposed in {count_of(len(found.value), 'file')}:",
            *lines,
            *([f"(and {more:,} more)"] if more else []),
            *([found.note] if found.note else []),
        ]
    )


def _line(files: Files, edit: FileEdit) -> str:
    name = files.roots.relative(edit.path)
    if edit.new is None:
        return f"{name}: deleted"
    if edit.old is None:
        return f"{name}: new"
    blocks = changed_blocks(split_lines(edit.old), split_lines(edit.new))
    changed = sum(max(b1 - b0, a1 - a0) for a0, a1, b0, b1 in blocks)
    moved = f", now {files.roots.relative(edit.new_path)}" if edit.new_path is not None else ""
    return f"{name}: {count_of(changed, 'line')}{moved}"
