"""`delete_file`: proposes that a file shall be no more."""

from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.workspace.files import Files

SPEC = ToolSpec(
    "delete_file",
    "Propose to delete a file. The user reviews it; until then only you see it gone.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


class DeleteFile:
    spec = SPEC
    kind: ToolKind = "delete"
    read_only = False

    def __init__(self, files: Files) -> None:
        self._files = files

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return f"Delete {input['path']}", (Location(input["path"]),)

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        path = self._files.root.resolve(input["path"])
        self._files.root.check_no_link(input["path"])
        self._files.delete(path, call.item_id, call.id)
        return (
            "Proposed (deletion)." if self._files.proposal(path) else "Done: what was proposed there is not any more."
        )
