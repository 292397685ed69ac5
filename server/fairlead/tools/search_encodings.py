"""The texts of closed files in other encodings, which `rg` would search as if they were UTF-8."""

import re
from bisect import bisect_left
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from fairlead.edits.bad_bytes import as_shown
from fairlead.workspace.disk import DiskText
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files

MAX_CHARACTERS = 50_000_000  # of all files together
MAX_JOINED = 200_000  # characters of a text that is searched together with others
MAX_NAMED = 5
NOT_UTF_8 = ("--invert-match", "--regexp", "^.*$", "--")
"""The arguments with which `rg` finds lines that are not UTF-8: in these, `.` does not match every byte."""
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]|\\[xuUpP]")
_WILDCARD = re.compile(r"\.|\[\^|\\[wWDSB]")


def names_beyond_ascii(pattern: str) -> bool:
    """Whether a regular expression names characters beyond ASCII."""
    return _BEYOND_ASCII.search(pattern) is not None


def may_match_beyond_ascii(pattern: str) -> bool:
    """Whether a regular expression may match characters beyond ASCII."""
    return names_beyond_ascii(pattern) or _WILDCARD.search(pattern) is not None


@dataclass
class OtherTexts:
    """Texts of files that are not UTF-8, as `read_file` shows them."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    """By the name of the file (`Roots.relative`)."""
    guessed: list[str] = field(default_factory=list[str])
    """The names of those whose encoding nothing shows."""
    is_complete: bool = True

    @property
    def note(self) -> str:
        """Lines about what a search cannot find, each with a leading newline."""
        found = ""
        if self.guessed:
            named = ", ".join(sorted(self.guessed)[:MAX_NAMED]) + (", ..." if len(self.guessed) > MAX_NAMED else "")
            found = f"\n(Nothing shows the encoding of these files, so they were searched as Windows-1252: {named})"
        if not self.is_complete:
            found += "\n(Not all files that are not UTF-8 were searched; narrow the search with path or glob.)"
        return found


async def other_texts(files: Files, lists: Iterable[AsyncGenerator[str, None]]) -> OtherTexts:
    """Reads files that may be in another encoding. Leaves out those that are UTF-8 after all, or are not text.

    Args:
        lists: the names of the files. A list is closed before the next one begins.
    """
    found, size = OtherTexts(), 0
    for names in lists:
        async with aclosing(names):
            async for name in names:
                disk = await _on_disk(files, files.roots.path_of(name))
                if disk is None or not disk.is_ambiguous:
                    continue
                size += len(disk.text)
                if size > MAX_CHARACTERS:
                    found.is_complete = False
                    return found
                found.texts[name] = as_shown(disk.text)
                if disk.is_guess:
                    found.guessed.append(name)
    return found


def line_text(files: Files, name: str, line: bytes) -> str:
    """A line of a closed file, or a part of one, as `read_file` shows it."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        pass
    try:
        disk = files.user_files.on_disk(files.roots.path_of(name))
    except WorkspaceError:
        disk = None
    encoding = "utf-8" if disk is None or disk.encoding == "binary" else disk.encoding
    return as_shown(line.decode(encoding, "surrogateescape" if encoding == "utf-8" else "replace"))


async def _on_disk(files: Files, path: Path) -> DiskText | None:
    """The content of a text file; None if it is not text or cannot be read."""
    await files.user_files.preload(path)
    try:
        disk = files.user_files.on_disk(path)
    except WorkspaceError:
        return None
    return None if disk is None or disk.encoding == "binary" else disk


@dataclass(frozen=True)
class JoinedTexts:
    """Several texts as one, so that one `rg` searches them all."""

    text: str
    names: Sequence[str]
    starts: Sequence[int]
    """The number of lines before each text."""
    ends: Sequence[int]
    """The number of lines up to the end of each text."""

    def place(self, line: int) -> tuple[str, int] | None:
        """The name of the text that has a line, and the number of the line in it; None for a line between the texts.

        Args:
            line: counted from 1; 0 for an unknown line, which is in the first text.
        """
        if line == 0:
            return self.names[0], 0
        index = bisect_left(self.starts, line) - 1
        return (self.names[index], line - self.starts[index]) if line <= self.ends[index] else None


def joined_texts(texts: Mapping[str, str], gap: int) -> Iterator[JoinedTexts]:
    """Joins texts with `gap` empty lines between them. A long text stays alone, because it may have a long line."""
    small = {name: text for name, text in texts.items() if len(text) <= MAX_JOINED}
    if small:
        yield _join(small, gap)
    for name, text in texts.items():
        if name not in small:
            yield _join({name: text}, gap)


def _join(texts: Mapping[str, str], gap: int) -> JoinedTexts:
    pieces, starts, ends, lines = list[str](), list[int](), list[int](), 0
    for text in texts.values():
        ended = text if text.endswith("\n") or not text else f"{text}\n"
        starts.append(lines)
        ends.append(lines + ended.count("\n"))
        lines = ends[-1] + gap
        pieces += [ended, "\n" * gap]
    return JoinedTexts("".join(pieces), list(texts), starts, ends)
