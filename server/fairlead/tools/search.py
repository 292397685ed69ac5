"""`search`: searches file contents with ripgrep, including proposals and open buffers."""

import base64
import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.display import count_of
from fairlead.edits.bad_bytes import as_shown
from fairlead.sentences import Sentence
from fairlead.tools.globs import glob_filter
from fairlead.tools.search_encodings import (
    NOT_UTF_8,
    OtherTexts,
    joined_texts,
    line_text,
    may_match_beyond_ascii,
    names_beyond_ascii,
    other_texts,
)
from fairlead.tools.search_scope import (
    IGNORED_SECONDS,
    WITH_IGNORED,
    SearchTarget,
    both,
    ignored_files,
    left_out,
    search_scope,
)
from fairlead.tools.secret_files import omitted_secrets
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.ripgrep import OutOfMemory, plain_name, records

MAX_LINES = 200
MAX_COLLECTED = 5000
MAX_LINE = 300  # characters that are shown of a line
MAX_CONTEXT = 10
MAX_FILES = 1_000_000
LEAD = 100  # characters before the match in a shortened line
NAMES_CR = re.compile(r"\r|(?<!\\)(?:\\\\)*\\(?:r|x0d|x\{0*d\})", re.IGNORECASE)
INSTEAD_OF_OPTIONS = {
    "--pcre2": "Write the pattern without look-around and backreferences.",
    "--multiline": "A pattern matches within one line. Search for each line on its own.",
}
"""What the model can do instead of setting an option that `rg` suggests."""
TOO_LONG = "(a line that is very long, or has very many matches)"
_PLAIN_OPTIONS = ("--with-filename", "--null", "--line-number", "--no-heading")
_PLAIN_RECORD = re.compile(rb"([^\0]*)\0([0-9]+)([:-])(.*)\r?", re.DOTALL)

SPEC = ToolSpec(
    "search",
    "Search file contents with a regular expression (ripgrep). Skips ignored files, includes your proposed "
    f"edits. Prints path:line:text, at most {MAX_LINES} lines.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string", "description": "File or folder to search, default all"},
            "glob": {"type": "string", "description": "Such as *.py or src/**, from path or the workspace"},
            "context": {"type": "integer", "minimum": 0, "description": "Lines shown around each match"},
            "ignoreCase": {"type": "boolean"},
        },
        "required": ["pattern"],
    },
)


@dataclass(frozen=True, order=True)
class Found:
    """A line that the search reports."""

    path: str
    """The name of the file (`Roots.relative`)."""
    line: int
    """Counted from 1; 0 for a line that is too long to be read."""
    text: str
    """The line, or a part of it if it is very long."""
    match: bool
    """False for the lines around a match."""


class Search:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "search"
    read_only = True

    def __init__(self, files: Files, ignored_seconds: float = IGNORED_SECONDS) -> None:
        """`ignored_seconds` limits the search in ignored files, which follows if nothing else matches."""
        self._files, self._ignored_seconds = files, ignored_seconds

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("Search {0}", input["pattern"]), ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        given = input["pattern"]
        targets, texts = search_scope(self._files, input.get("path"))
        matches = glob_filter(input.get("glob"), self._files.roots, [target.path for target in targets])
        is_secret = self._files.secret_filter()
        unsaved = await self._unsaved(targets, texts)
        pattern = ["--ignore-case"] if input.get("ignoreCase") else []
        # lets $ match before \r\n, but refuses patterns that name \r
        pattern += [] if NAMES_CR.search(given) else ["--crlf"]
        pattern += ["--regexp", given, "--"]
        options = ["--context", str(min(input.get("context") or 0, MAX_CONTEXT)), *pattern]
        found: list[Found] = []
        secrets = {name for name, text in unsaved.items() if text is not None and matches(name) and is_secret(name)}

        def named(target: SearchTarget, inner: str) -> str | None:
            name = target.name(inner)
            is_wanted = name is not None and matches(name) and name not in unsaved and not is_secret(name)
            return name if is_wanted else None

        existing = [target for target in targets if target.path.exists()]
        for target in existing:
            hits = self._found([*options, target.inner], target.root.path, partial(named, target))
            in_target, omitted = await both(hits, target.secrets(is_secret, MAX_FILES))
            found += in_target
            secrets |= {name for name in omitted if matches(name) and name not in unsaved}
        shown = {name: as_shown(text) for name, text in unsaved.items() if text is not None and matches(name)}
        found += await self._in_texts(options, {name: text for name, text in shown.items() if not is_secret(name)})
        others, has_match = OtherTexts(), any(hit.match for hit in found)
        if names_beyond_ascii(given) or (may_match_beyond_ascii(given) and not has_match):
            lists = (_files_with([*NOT_UTF_8, each.inner], each.root.path, partial(named, each)) for each in existing)
            others = await other_texts(self._files, lists)
            found = [hit for hit in found if hit.path not in others.texts]
            found += await self._in_texts(options, others.texts)
        notes = others.note if names_beyond_ascii(given) else ""
        if not any(hit.match for hit in found):
            ignored = [
                _files_with([WITH_IGNORED, *pattern, target.inner], target.root.path, partial(named, target))
                for target in existing
            ]
            note, omitted = await ignored_files(ignored, existing, is_secret, MAX_FILES, self._ignored_seconds)
            secrets |= {name for name in omitted if matches(name) and name not in unsaved}
            notes += note
        # counts all secrets in the scope: the number of those with a match would reveal their content
        return _show(sorted(set(found))) + notes + left_out(targets) + omitted_secrets(len(secrets))

    async def _unsaved(self, targets: Sequence[SearchTarget], texts: dict[Path, str | None]) -> dict[str, str | None]:
        """The texts by name (None: no file), without those of ignored files. Proposed files are never ignored."""
        roots = self._files.roots
        listed = [path for path in texts if not self._files.is_proposed(path) and path.exists()]
        not_ignored = {name for target in targets for name in await target.names(MAX_FILES)} if listed else set[str]()
        ignored = {path for path in listed if roots.relative(path) not in not_ignored}
        return {roots.relative(path): text for path, text in texts.items() if path not in ignored}

    async def _in_texts(self, options: Sequence[str], texts: Mapping[str, str]) -> list[Found]:
        """The lines that `rg` finds in texts, by the name of the file. Searches them all at once, as one text."""
        in_texts: list[Found] = []
        for joined in joined_texts(texts, gap=MAX_CONTEXT):  # the gap separates the contexts
            arguments = ["--text", *options, "-"]
            for hit in await self._found(arguments, self._files.roots.first.path, lambda _: "", joined.text):
                place = joined.place(hit.line)
                if place is not None:
                    in_texts.append(replace(hit, path=place[0], line=place[1]))
        return in_texts

    async def _found(
        self, arguments: Sequence[str], cwd: Path, named: Callable[[str], str | None], stdin: str | None = None
    ) -> list[Found]:
        """The lines that `rg` finds in files, or in the text `stdin`: at most the first `MAX_COLLECTED`.

        Args:
            named: returns the name to report for a path that `rg` printed; None: the file is not wanted.

        Raises:
            WorkspaceError: as for `records`.
        """
        try:
            return await _collect(self._hits(arguments, cwd, named, stdin))
        except OutOfMemory:
            # a line with millions of matches needs too much memory, because each match is printed with its place
            return await _collect(self._hits_without_places(arguments, cwd, named, stdin))

    async def _hits_without_places(
        self, arguments: Sequence[str], cwd: Path, named: Callable[[str], str | None], stdin: str | None
    ) -> AsyncGenerator[Found, None]:
        """Like `_hits`, but of a very long line it has the beginning, wherever the match is."""
        limits = ("--max-columns", str(MAX_LINE + 1), "--max-columns-preview")
        async with aclosing(records([*_PLAIN_OPTIONS, *limits, *arguments], cwd, stdin)) as output:
            async for record in output:
                parts = _PLAIN_RECORD.fullmatch(record) if record else None
                path = named(plain_name(parts[1])) if parts else None
                if parts is not None and path is not None:
                    text = _cut(line_text(self._files, path, parts[4]), 0)
                    yield Found(path, int(parts[2]), text, parts[3] == b":")

    async def _hits(
        self, arguments: Sequence[str], cwd: Path, named: Callable[[str], str | None], stdin: str | None
    ) -> AsyncGenerator[Found, None]:
        """The lines, each with the part around its first match if it is long."""
        path: str | None = None
        async with aclosing(records(["--json", *arguments], cwd, stdin)) as output:
            async for record in output:
                if record is None:
                    if path is not None:
                        yield Found(path, 0, TOO_LONG, True)
                elif record.startswith(b'{"type":"begin"'):
                    path = named(plain_name(_bytes(json.loads(record)["data"]["path"])))
                elif path is not None and record.startswith((b'{"type":"match"', b'{"type":"context"')):
                    event = json.loads(record)
                    text = _shortened(event["data"], partial(line_text, self._files, path))
                    yield Found(path, event["data"]["line_number"] or 0, text, event["type"] == "match")


async def _collect(hits: AsyncGenerator[Found, None]) -> list[Found]:
    """At most the first `MAX_COLLECTED` hits. Ends the search after them.

    Raises:
        WorkspaceError: as for `records`.
    """
    found: list[Found] = []
    try:
        async with aclosing(hits):
            async for hit in hits:
                found.append(hit)
                if len(found) >= MAX_COLLECTED:
                    break
    except OutOfMemory:
        raise
    except WorkspaceError as error:
        message, _, options = str(error).partition("\n\nConsider enabling")
        advice = [instead for option, instead in INSTEAD_OF_OPTIONS.items() if option in options]
        raise WorkspaceError("\n".join([message, *advice])) from error
    return found


async def _files_with(
    arguments: Sequence[str], cwd: Path, named: Callable[[str], str | None]
) -> AsyncGenerator[str, None]:
    """The names of the files in which `rg` finds a line. It reads each file only up to its first match.

    Args:
        named: as for `Search._hits`.
    """
    async with aclosing(records(["--files-with-matches", "--null", *arguments], cwd, end=b"\0")) as output:
        async for record in output:
            name = named(plain_name(record)) if record else None
            if name is not None:
                yield name


def _bytes(value: dict[str, str]) -> bytes:
    """The bytes of a value that `rg` printed as text, or in base64 if they are not UTF-8."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])


def _shortened(data: dict[str, Any], text_of: Callable[[bytes], str]) -> str:
    """The line, or the part around its first match if it is very long. Its beginning if it has no match.

    Args:
        text_of: decodes a part of the line.
    """
    line = _bytes(data["lines"]).rstrip(b"\r\n")
    text = text_of(line)
    if len(text) <= MAX_LINE:
        return text
    before = text_of(line[: data["submatches"][0]["start"]]) if data["submatches"] else ""
    return _cut(text, max(0, len(before) - LEAD))


def _cut(text: str, start: int) -> str:
    """At most MAX_LINE characters of a line."""
    return f"{'...' if start else ''}{text[start : start + MAX_LINE]}{'...' if start + MAX_LINE < len(text) else ''}"


def _show(found: Sequence[Found]) -> str:
    if not any(hit.match for hit in found):
        return "No matches."
    with_context = not all(hit.match for hit in found)
    shown: list[str] = []
    previous: Found | None = None
    for hit in found[:MAX_LINES]:
        if with_context and previous and (hit.path != previous.path or hit.line > previous.line + 1):
            shown.append("--")
        mark = ":" if hit.match else "-"
        shown.append(f"{hit.path}{mark}{hit.line}{mark}{hit.text}")
        previous = hit
    if len(found) > MAX_LINES:
        at_least = "at least " if len(found) >= MAX_COLLECTED else ""
        shown.append(f"({at_least}{count_of(len(found) - MAX_LINES, 'more line')}; narrow the search.)")
    return "\n".join(shown)
