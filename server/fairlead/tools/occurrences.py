"""Finds where else a renamed symbol's name occurs: in comments, strings, and code that the language support misses."""

import asyncio
import re
from collections.abc import Collection
from contextlib import aclosing
from pathlib import Path

from fairlead.display import count_of
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.ripgrep import plain_name, records

SECONDS = 5.0
MAX_FILES = 1000
MAX_NAMED = 5


async def other_occurrences(files: Files, name: str, changed: Collection[Path]) -> str:
    """A line about the files that contain a name as a whole word but are not `changed`; empty if there are none.

    Finds at most 1,000 files, `changed` ones included. Leaves out secrets, and ignored files that are not open. Also
    empty if the search fails or takes longer than 5 s.
    """
    try:
        async with asyncio.timeout(SECONDS):
            found = await _files_with(files, name)
    except (TimeoutError, WorkspaceError):
        return ""
    is_secret = files.secret_filter()
    others = sorted(found - {files.roots.relative(path) for path in changed})
    others = [other for other in others if not is_secret(other)]
    if not others:
        return ""
    named = ", ".join(others[:MAX_NAMED]) + (", ..." if len(others) > MAX_NAMED else "")
    count = count_of(len(others), "other file")
    return (
        f"({name} also occurs in {count}, which this does not change: {named}. Check whether the same thing is meant.)"
    )


async def _files_with(files: Files, name: str) -> set[str]:
    """The names of at most `MAX_FILES` files that contain a name, in the texts as the agent sees them."""
    is_word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)").search
    unsaved = {files.roots.relative(path): text for path, text in files.texts_not_on_disk()}
    found = {path for path, text in unsaved.items() if text is not None and is_word(text)}
    options = ["--files-with-matches", "--null", "--fixed-strings", "--word-regexp", "--regexp", name, "--", "."]
    for folder in files.roots.paths:
        async with aclosing(records(options, folder, end=b"\0")) as output:
            async for record in output:
                path = files.roots.relative(folder / plain_name(record or b""))
                if record and path not in unsaved:
                    found.add(path)
                if len(found) >= MAX_FILES:
                    return found
    return found
