"""Globs that filter the workspace's files, both on disk and proposed."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.workspace.paths import Roots
from fairlead.workspace.pattern_limits import check_pattern

MAX_ALTERNATIVES = 1000


def glob_filter(glob: str | None, roots: Roots, searched: Sequence[Path]) -> Callable[[str], bool]:
    """A predicate on names (`Roots.relative`): whether they match a glob. Without a glob, all match.

    A glob has the format of a line in .gitignore (`*.py`, `src/**/test_*`, `docs/`), with `{a,b}` for alternatives. A
    leading `!` negates it. It is relative to the workspace or to a searched folder, or absolute. If the workspace has
    several folders, it may begin with the name of one; otherwise it is relative to each.

    Args:
        searched: the absolute paths of the searched files and folders.

    Raises:
        ToolError: the glob is invalid, or has more than `MAX_ALTERNATIVES` alternatives.
    """
    if not glob:
        return lambda name: True
    import pathspec  # noqa: PLC0415  slow to import, and rarely needed

    negated = glob.startswith("!")
    try:
        check_pattern(glob)
        globs = list(islice(_alternatives(glob.removeprefix("!")), MAX_ALTERNATIVES + 1))
        if len(globs) > MAX_ALTERNATIVES:
            raise ValueError(f"its braces make more than {MAX_ALTERNATIVES} alternatives")
        spec = pathspec.GitIgnoreSpec.from_lines(_anchored(each, roots) for each in globs)
    except ValueError as error:
        raise ToolError(f"Invalid glob {glob[:100]!r}: {error}.") from error

    prefixes = {f"{roots.relative(path)}/" for path in (*roots.paths, *searched)}

    def is_match(name: str) -> bool:
        names = (name, *(name.removeprefix(prefix) for prefix in prefixes if name.startswith(prefix)))
        return any(map(spec.match_file, names)) != negated

    return is_match


def _anchored(glob: str, roots: Roots) -> str:
    """The glob with a leading `/` instead of `./` or the path of the workspace."""
    if roots.contains(Path(glob)):
        return f"/{roots.relative(Path(glob))}{'/' if glob.endswith('/') else ''}"
    return glob[1:] if glob.startswith("./") else glob


def _alternatives(glob: str) -> Iterator[str]:
    braces = re.search(r"\{([^{}]*)\}", glob)
    if braces is None:
        yield glob
        return
    for part in braces[1].split(","):
        yield from _alternatives(glob[: braces.start()] + part + glob[braces.end() :])
