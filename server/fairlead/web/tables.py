"""Writes simple tables of a page as those of Markdown, which are shorter. It is part of the program in `page.py`."""

from typing import Any

from justhtml import Element, Text

_BLOCKS = "p, div, ul, ol, dl, pre, table, blockquote, section, article, hr, h1, h2, h3, h4, h5, h6"
_CELLS = ("td", "th")


def write_tables(root: Any) -> None:
    """Replaces each table below `root` whose rows Markdown can write. The library leaves the others as HTML."""
    for table in root.query("table"):
        rows = [[cell for cell in row.children if cell.name in _CELLS] for row in table.query("tr")]
        width = max(map(len, rows), default=0)
        if width > 1 and all(_is_simple(cell) for row in rows for cell in row):
            table.parent.insert_before(_lines(table, rows, width), table)
            table.parent.remove_child(table)


def _is_simple(cell: Any) -> bool:
    """Whether a cell is one line. Another `|` in it would begin the next cell."""
    return not cell.attrs and not cell.query(_BLOCKS) and "|" not in cell.to_text()


def _lines(table: Any, rows: list[list[Any]], width: int) -> Any:
    """The rows as lines of one element."""
    whole = Element("div", {}, table.namespace)
    for caption in table.query("caption"):
        _move(caption, whole)
        whole.append_child(Element("br", {}, table.namespace))
    for number, row in enumerate(rows):
        whole.append_child(Text("|"))
        for cell in row:
            whole.append_child(Text(" "))
            _move(cell, whole)
            whole.append_child(Text(" |"))
        whole.append_child(Text(" |" * (width - len(row))))
        whole.append_child(Element("br", {}, table.namespace))
        if number == 0:
            whole.append_child(Text(f"|{' --- |' * width}"))
            whole.append_child(Element("br", {}, table.namespace))
    return whole


def _move(source: Any, target: Any) -> None:
    """Moves what an element contains to the end of another one, with spaces in place of line breaks."""
    for line_break in source.query("br"):
        line_break.parent.replace_child(Text(" "), line_break)
    children, source.children = source.children, []
    for child in children:
        child.parent = None
        target.append_child(child)
