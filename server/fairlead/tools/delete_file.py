"""`delete_file`: proposes to delete a file."""

from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.gate.gate import Gate
from fairlead.sentences import Sentence
from fairlead.tools.folders import removed_with
from fairlead.tools.secret_files import ask_for_secret
from fairlead.workspace.files import Files

SPEC = ToolSpec(
    "delete_file",
    "Propose to delete a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


class DeleteFile:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "delete"
    read_only = False

    def __init__(self, files: Files, gate: Gate) -> None:
        self._files, self._gate = files, gate

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("Delete {0}", input["path"]), (Location(input["path"]),)

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        await ask_for_secret(self._files, self._gate, call, "delete", input["path"])
        path = self._files.roots.resolve(input["path"])
        self._files.roots.check_no_link(input["path"])
        await self._files.delete(path, call.author)
        if not self._files.proposal(path):
            return "Done: the proposal for this file was removed."
        return f"Proposed (deletion).{removed_with(self._files, path)}"
