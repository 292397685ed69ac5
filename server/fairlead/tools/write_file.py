"""`write_file`: proposes a whole file."""

from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.display import count_of
from fairlead.edits.line_endings import match_line_endings
from fairlead.edits.text import split_lines
from fairlead.tools.approvals import Approvals
from fairlead.tools.secret_files import ask_for_secret
from fairlead.workspace.files import Files
from fairlead.workspace.long_work import compute

SPEC = ToolSpec(
    "write_file",
    "Propose a file's whole content: a new file, or a rewrite. For a change of a few lines use edit_file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
)


class WriteFile:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "edit"
    read_only = False

    def __init__(self, files: Files, approvals: Approvals) -> None:
        self._files, self._approvals = files, approvals

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return f"Write {input['path']}", (Location(input["path"]),)

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        await ask_for_secret(self._files, self._approvals, call, "rewrite", input["path"])
        path = self._files.roots.resolve(input["path"])
        await self._files.user_files.preload(path)
        old = self._files.read(path)
        content = input["content"]
        if old is not None and "\r" not in content:
            content = await compute(match_line_endings, old, content)
        if content == old:
            kept = "" if content == input["content"] else ", apart from its line endings, which stay as they are"
            return f"The file already has this content{kept}; nothing was proposed."
        await self._files.propose(path, content, call.author)
        what = "new file" if old is None else "rewrite"
        count = len(await compute(split_lines, content))
        return f"Proposed ({what}, {count_of(count, 'line')})."
