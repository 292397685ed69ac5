"""Globs that filter the workspace's files, both on disk and proposed."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, product
from pathlib import Path

from fairlead.edits.bad_bytes import as_shown
from fairlead.errors import ToolError
from fairlead.workspace.paths import Roots
from fairlead.workspace.pattern_limits import check_pattern

MAX_ALTERNATIVES = 1000

_BRACES = re.compile(r"(?<!\\)\{([^{}]*)\}")
_CLASS = re.compile(r"(?<!\\)\[.*\]")


def glob_filter(glob: str | None, roots: Roots, searched: Sequence[Path]) -> Callable[[str], bool]:
    """A predicate on names (`Roots.relative`): whether they match a glob. Without a glob, all match.

    A glob has the format of a line in .gitignore (`*.py`, `src/**/test_*`, `docs/`), with `{a,b}` for alternatives. A
    leading `!` negates it. It is relative to the workspace or to a searched folder, or absolute. If the workspace has
    several folders, it may begin with the name of one; otherwise it is relative to each. A part with brackets also
    matches a name with these brackets (`app/[id]/**`).

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
        alternatives = chain.from_iterable(map(_bracket_readings, _alternatives(glob.removeprefix("!"))))
        globs = list(islice(alternatives, MAX_ALTERNATIVES + 1))
        if len(globs) > MAX_ALTERNATIVES:
            raise ValueError(f"its braces and brackets make more than {MAX_ALTERNATIVES} alternatives")
        spec = pathspec.GitIgnoreSpec.from_lines(_anchored(each, roots) for each in globs)
    except ValueError as error:
        raise ToolError(f"Invalid glob {glob[:100]!r}: {error}.") from error

    prefixes = {f"{roots.relative(path)}/" for path in (*roots.paths, *searched)}

    def is_match(name: str) -> bool:
        name = as_shown(name)
        names = (name, *(name.removeprefix(prefix) for prefix in prefixes if name.startswith(prefix)))
        return any(map(spec.match_file, names)) != negated

    return is_match


def _anchored(glob: str, roots: Roots) -> str:
    """The glob with a leading `/` instead of `./` or the path of the workspace."""
    if roots.contains(Path(glob)):
        return f"/{roots.relative(Path(glob))}{'/' if glob.endswith('/') else ''}"
    return glob[1:] if glob.startswith("./") else glob


def _alternatives(glob: str) -> Iterator[str]:
    """The globs that the braces stand for. Braces without a comma may also be part of a name, so both count."""
    braces = _BRACES.search(glob)
    if braces is None:
        yield glob
        return
    before, after = glob[: braces.start()], glob[braces.end() :]
    for part in braces[1].split(","):
        yield from _alternatives(before + part + after)
    if "," not in braces[1]:
        yield from _alternatives(f"{before}\\{{{braces[1]}\\}}{after}")


def _bracket_readings(glob: str) -> Iterator[str]:
    """The glob with each part that has brackets as it is, and with the brackets as part of a name."""
    return map("/".join, product(*map(_readings_of_part, glob.split("/"))))


def _readings_of_part(part: str) -> Sequence[str]:
    literal = re.sub(r"(?<!\\)[\[\]]", r"\\\g<0>", part)
    if "[[" in part:  # matches nothing sensible as a class
        return [literal]
    return [part, literal] if _CLASS.search(part) else [part]
