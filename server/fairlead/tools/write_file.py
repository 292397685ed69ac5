"""`write_file`: proposes a whole file."""

from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.display import count_of
from fairlead.edits.bad_bytes import UnclearBytes, with_bad_bytes
from fairlead.edits.line_endings import match_line_endings
from fairlead.errors import ToolError
from fairlead.gate.gate import Gate
from fairlead.sentences import Sentence
from fairlead.text_lines import distinct_line_endings, split_lines, usual_line_ending
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

    def __init__(self, files: Files, gate: Gate) -> None:
        self._files, self._gate = files, gate

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("Write {0}", input["path"]), (Location(input["path"]),)

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        await ask_for_secret(self._files, self._gate, call, "rewrite", input["path"])
        path = self._files.roots.resolve(input["path"])
        await self._files.user_files.preload(path)
        old = self._files.read(path)
        given = input["content"]
        content = await compute(_in_form_of, old or "", given)
        if content == old:
            kept = "" if content == given else ", apart from its line endings, which stay as they are"
            return f"The file already has this content{kept}; nothing was proposed."
        await self._files.propose(path, content, call.author)
        what = "new file" if old is None else "rewrite"
        count = len(await compute(split_lines, content))
        note = " Its mixed line endings were adjusted." if len(distinct_line_endings(given)) > 1 else ""
        return f"Proposed ({what}, {count_of(count, 'line')}).{note}"


def _in_form_of(old: str, new: str) -> str:
    """The content with the line endings and the bytes that are not UTF-8 of the text that it replaces.

    A content with only one kind of line ending other than LF keeps it.

    Raises:
        ToolError: it is not clear which bytes to keep.
    """
    endings = distinct_line_endings(new)
    if len(endings) != 1 or endings == {"\n"}:
        new = match_line_endings(old, new, default=usual_line_ending(new))
    try:
        return with_bad_bytes(old, new)
    except UnclearBytes as error:
        raise ToolError(str(error)) from error
