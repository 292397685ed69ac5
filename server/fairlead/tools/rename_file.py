"""`rename_file`: proposes another path for a file."""

from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.errors import ToolError
from fairlead.gate.gate import Gate
from fairlead.sentences import Sentence
from fairlead.tools.folders import removed_with
from fairlead.tools.secret_files import ask_for_secret
from fairlead.workspace.files import Files

SPEC = ToolSpec(
    "rename_file",
    "Propose to rename or move a file; folders are made as needed. Read and edit it under its new path from then on.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "new_path": {"type": "string"}},
        "required": ["path", "new_path"],
    },
)


class RenameFile:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "move"
    read_only = False

    def __init__(self, files: Files, gate: Gate) -> None:
        self._files, self._gate = files, gate

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        title = Sentence("Rename {0} to {1}", input["path"], input["new_path"])
        return title, (Location(input["path"]), Location(input["new_path"]))

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        await ask_for_secret(self._files, self._gate, call, "rename", input["path"])
        roots = self._files.roots
        path, new_path = roots.resolve(input["path"]), roots.resolve(input["new_path"])
        roots.check_no_link(input["path"])
        if path == new_path:
            raise ToolError("Both paths are the same file. Choose another new_path.")
        await self._files.rename(path, new_path, call.author)
        return f"Proposed (now {roots.relative(new_path)}).{removed_with(self._files, path)}"
