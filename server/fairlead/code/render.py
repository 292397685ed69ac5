"""Renders answers about the code for the model.

A list has one line per item, but at most `MAX_LINES` of them. If items are omitted, a last line counts them.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import groupby
from pathlib import Path

from fairlead.code.decode import Place, Symbol
from fairlead.display import count_of
from fairlead.text_lines import split_lines, without_line_ending
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.long_work import Yielder

MAX_LINES = 100
MAX_LINE = 200
MAX_HOVER = 3000


async def render_places(files: Files, found: Collection[Place]) -> str:
    """A line `path:line: text` per place, those in the workspace first.

    The text is that of the file as the agent sees it, cut after `MAX_LINE` characters. It is left out in secret files,
    files outside of the workspace and files that cannot be read, and if it is blank.
    """
    places = sorted(found, key=lambda place: (not files.roots.contains(place.path), place))
    shown, lines, yielder = places[:MAX_LINES], list[str](), Yielder()
    is_secret = files.secret_filter()
    for path, group in groupby(shown, key=lambda place: place.path):
        await yielder.yield_if_due()
        name = files.roots.relative(path)
        is_readable = files.roots.contains(path) and not is_secret(name)
        text = await _lines_of(files, path) if is_readable else []
        lines += [f"{name}:{place.line}{_line(text, place.line)}" for place in group]
    return "\n".join([*lines, *_more(len(places) - len(shown), _count_files(places[MAX_LINES:]))])


async def _lines_of(files: Files, path: Path) -> list[str]:
    await files.user_files.preload(path)
    try:
        return split_lines(files.read(path) or "")
    except WorkspaceError:
        return []


def _line(lines: Sequence[str], number: int) -> str:
    """A colon and the text of a line, counted from 1; empty if the line is blank or its text is not known."""
    text = without_line_ending(lines[number - 1]).strip() if number <= len(lines) else ""
    return f": {text[:MAX_LINE]}{'...' if len(text) > MAX_LINE else ''}" if text else ""


def render_symbols(name_of: Callable[[Path], str], found: Sequence[Symbol], *, of_file: bool) -> str:
    """A line per symbol.

    Args:
        name_of: returns the name of a file for the model.
        of_file: whether all symbols are in one file. If so, a line is `line: kind name`, with the kind indented by
            depth; otherwise it is `path:line: kind name (in container)`.
    """
    shown = found[:MAX_LINES]
    if of_file:
        lines = [f"{symbol.place.line}: {'  ' * symbol.depth}{symbol.kind} {symbol.name}" for symbol in shown]
    else:
        lines = [
            f"{name_of(symbol.place.path)}:{symbol.place.line}: {symbol.kind} {_full_name(symbol)}" for symbol in shown
        ]
    return "\n".join(
        [*lines, *_more(len(found) - len(shown), _count_files(symbol.place for symbol in found[MAX_LINES:]))]
    )


def _full_name(symbol: Symbol) -> str:
    return f"{symbol.name} (in {symbol.container})" if symbol.container else symbol.name


def render_hover(text: str) -> str:
    """A hover text. A text of more than `MAX_HOVER` characters is cut there, and ends with `...`."""
    return text if len(text) <= MAX_HOVER else f"{text[:MAX_HOVER]}..."


def _count_files(places: Iterable[Place]) -> int:
    return len({place.path for place in places})


def _more(count: int, files: int) -> list[str]:
    if count <= 0:
        return []
    return [f"({count:,} more in {count_of(files, 'file')}. Narrow the question, or use search.)"]
