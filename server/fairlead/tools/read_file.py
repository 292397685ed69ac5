"""`read_file`: returns a file's text, proposals included, without line numbers."""

import asyncio
import difflib
from itertools import accumulate
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.display import count_of
from fairlead.edits.bad_bytes import as_shown
from fairlead.errors import ToolError
from fairlead.gate.gate import Gate
from fairlead.messages.images import MAX_BYTES, TOO_LARGE, dimensions, image_of, media_type
from fairlead.sentences import Sentence
from fairlead.text_lines import split_lines, with_line_endings
from fairlead.tool_servers.results import untrusted
from fairlead.tools.kept_results import KeptResults
from fairlead.tools.secret_files import ask_for_secret
from fairlead.workspace.disk import BinaryFile
from fairlead.workspace.files import Files
from fairlead.workspace.long_work import compute

MAX_LINES = 2000
MAX_CHARS = 60_000
MIN_NOTE_CHARS = 1000  # a text of at most this length is returned again, even if it is unchanged
UNCHANGED = "(Unchanged: the same call of read_file returned {path} before, further up in this conversation.)"

SPEC = ToolSpec(
    "read_file",
    "Read a text file, with your own proposed edits in it. Plain text without line numbers. "
    f"At most {MAX_LINES} lines at a time; continue with offset. A PNG, JPEG, GIF or WebP file is shown as a picture.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Relative to the workspace"},
            "limit": {"type": "integer", "minimum": 1, "description": "How many lines"},
            "offset": {"type": "integer", "minimum": 1, "description": "The first line, from 1"},
        },
        "required": ["path"],
    },
)


class ReadFile:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "read"
    read_only = True

    def __init__(self, files: Files, gate: Gate, kept: KeptResults) -> None:
        self._files, self._gate, self._kept = files, gate, kept

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("Read {0}", input["path"]), (Location(input["path"], input.get("offset")),)

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        kept = self._kept.get(input["path"])
        if kept is not None:
            found = await compute(excerpt, kept, input.get("offset") or 1, input.get("limit") or MAX_LINES)
            return untrusted(found, input["path"])
        other = await self._kept.read_other(input["path"].strip())
        if other is not None:
            return await compute(excerpt, other, input.get("offset") or 1, input.get("limit") or MAX_LINES)
        await ask_for_secret(self._files, self._gate, call, "read", input["path"])
        path = self._files.roots.resolve(input["path"])
        try:
            text = await self._files.read_for_agent(path)
        except BinaryFile:
            picture = await asyncio.to_thread(self._files.binary, path)
            if picture is None or media_type(picture) is None:
                raise
            return _show(picture, input["path"], call)
        if text is None:
            hint = self._files.describe_removal(path) or self._similar(input["path"])
            raise ToolError(f"No such file: {input['path']}{hint and f'. {hint}'}")
        shown = await compute(excerpt, as_shown(text), input.get("offset") or 1, input.get("limit") or MAX_LINES)
        if len(shown) > MIN_NOTE_CHARS and call.already_shown(shown):
            return UNCHANGED.format(path=input["path"])
        return shown

    def _similar(self, given: str) -> str:
        folder = self._files.roots.resolve(given).parent
        is_secret = self._files.secret_filter()
        found = folder.iterdir() if folder.is_dir() else ()
        existing = (entry for entry in found if not self._files.describe_removal(entry))
        names = [entry.name for entry in existing if not is_secret(self._files.roots.relative(entry))]
        close = difflib.get_close_matches(given.rsplit("/", 1)[-1], names[:5000], n=3, cutoff=0.6)
        return f"Similar names there: {', '.join(close)}" if close else ""


def _show(picture: bytes, name: str, call: RunningCall) -> str:
    """Shows the model a picture. Returns the text beside it."""
    kind, size = media_type(picture), dimensions(picture)
    if kind is None or len(picture) > MAX_BYTES:
        raise ToolError(f"{name} is {TOO_LARGE}.")
    call.images = (image_of(kind, picture),)
    return f"(A picture, {size[0]} × {size[1]} pixels.)" if size is not None else "(A picture.)"


def excerpt(text: str, offset: int, limit: int) -> str:
    """At most `limit` lines, starting with line `offset` (from 1). A final line says what was omitted.

    Never more than `MAX_LINES` lines and `MAX_CHARS` characters, not counting the final line. All line endings become
    LF.
    """
    lines = split_lines(with_line_endings(text, "\n"))
    if not lines:
        return "(The file is empty.)"
    if offset > len(lines):
        return f"(The file has only {count_of(len(lines), 'line')}.)"
    chosen = lines[offset - 1 : offset - 1 + min(limit, MAX_LINES)]
    fitting = sum(size - 1 <= MAX_CHARS for size in accumulate(map(len, chosen)))  # the last line ending does not count
    last = offset - 1 + max(1, fitting)
    more = f"; continue with offset {last + 1}" if last < len(lines) else ""
    if not fitting:
        omitted = len(chosen[0].removesuffix("\n")) - MAX_CHARS
        return f"{chosen[0][:MAX_CHARS]}\n(The last {omitted:,} characters of line {offset} were omitted{more}.)"
    shown = "".join(chosen[:fitting])
    if fitting == len(lines):
        return shown
    return shown.removesuffix("\n") + f"\n(Lines {offset} to {last} of {len(lines)}{more}.)"
