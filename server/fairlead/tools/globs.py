"""Globs over the workspace's files, the same for files on the disk and for proposed ones."""

import re
from collections.abc import Callable, Iterator
from itertools import islice

from fairlead.agent.errors import ToolError

MAX_LENGTH = 500
MAX_ALTERNATIVES = 1000
# matching takes back steps for each star, so the time grows with the name's length to the power of their number
MAX_STARS = 4


def glob_filter(glob: str | None) -> Callable[[str], bool]:
    """Tells whether a path relative to the workspace fits a glob; no glob fits all.

    A glob reads like a line of a .gitignore file (`*.py`, `src/**/test_*`, `docs/`), with `{a,b}` for alternatives; a
    leading `!` turns it round.

    Raises:
        ToolError: it is no glob.
    """
    if not glob:
        return lambda name: True
    import pathspec  # noqa: PLC0415  a good part of the start-up, and seldom needed

    turned = glob.startswith("!")
    try:
        if len(glob) > MAX_LENGTH:
            raise ValueError("it is too long")
        if any(len(re.findall(r"\*+", part)) > MAX_STARS for part in glob.split("/")) or glob.count("**") > MAX_STARS:
            raise ValueError(f"more than {MAX_STARS} stars in one part take too long to match")
        globs = list(islice(_alternatives(glob.removeprefix("!")), MAX_ALTERNATIVES))
        spec = pathspec.GitIgnoreSpec.from_lines(globs)
    except ValueError as error:
        raise ToolError(f"Wrong glob {glob[:100]!r}: {error}.") from error
    return lambda name: spec.match_file(name) != turned


def _alternatives(glob: str) -> Iterator[str]:
    braces = re.search(r"\{([^{}]*)\}", glob)
    if braces is None:
        yield glob
        return
    for part in braces[1].split(","):
        yield from _alternatives(glob[: braces.start()] + part + glob[braces.end() :])
