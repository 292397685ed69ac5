"""`edit_file`: proposes to replace text that occurs exactly once in a file (docs/plan.md L12)."""

from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.edits.diff import hunks
from fairlead.edits.match import MatchError, replace_once
from fairlead.errors import ToolError
from fairlead.gate.gate import Gate
from fairlead.sentences import Sentence
from fairlead.tools.secret_files import ask_for_secret
from fairlead.workspace.files import Files
from fairlead.workspace.long_work import compute

SPEC = ToolSpec(
    "edit_file",
    "Propose to replace old_text with new_text in a file. old_text must occur exactly once, whitespace included: "
    "copy it from read_file, with enough lines around it to be unique.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "old_text": {"type": "string"},
            "new_text": {"type": "string"},
        },
        "required": ["path", "old_text", "new_text"],
    },
)


class EditFile:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "edit"
    read_only = False

    def __init__(self, files: Files, gate: Gate) -> None:
        self._files, self._gate = files, gate

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("Edit {0}", input["path"]), (Location(input["path"]),)

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        await ask_for_secret(self._files, self._gate, call, "edit", input["path"])
        path = self._files.roots.resolve(input["path"])
        await self._files.user_files.preload(path)
        old = self._files.read(path)
        if old is None:
            hint = self._files.describe_removal(path) or "To make a new file, use write_file."
            raise ToolError(f"No such file: {input['path']}. {hint}")
        try:
            new = await compute(replace_once, old, input["old_text"], input["new_text"])
        except MatchError as error:
            raise ToolError(str(error)) from error
        await self._files.propose(path, new, call.author, over=old)
        changed = await compute(hunks, old, new)
        line = changed[0].new_start + 1
        added, removed = sum(len(h.new) for h in changed), sum(len(h.old) for h in changed)
        return f"Proposed at line {line} (+{added} -{removed})."
