"""Reads the sections, tables and code blocks of a Markdown page such as docs/protocol.md."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "protocol.md"

Row = list[str]


class Page:
    """A Markdown page. Headings are passed and returned without backticks."""

    def __init__(self, path: Path = PAGE) -> None:
        self.text = path.read_text(encoding="utf-8")

    def section(self, heading: str, level: int = 2) -> str:
        """The text below a heading, up to the next heading of its level or above."""
        marks = "#" * level
        start = re.search(rf"^{marks} `?{re.escape(heading)}`?$", self.text, re.M)
        assert start, f"no section {heading!r}"
        end = re.search(rf"^#{{1,{level}}} ", self.text[start.end() :], re.M)
        return self.text[start.end() : start.end() + end.start() if end else None]

    def headings(self, level: int, text: str) -> list[str]:
        return [name.strip("`") for name in re.findall(rf"^{'#' * level} (.+)$", text, re.M)]


def tables(text: str) -> list[list[Row]]:
    """The tables of a text, each as its rows without the two header lines. `\\|` in a cell becomes a bar."""
    found = re.findall(r"^\|.*\|\n\|[-|]+\|\n((?:\|.*\|\n)*)", text, re.M)
    return [[_cells(line) for line in rows.splitlines()] for rows in found]


def column(table: list[Row], index: int = 0) -> list[str]:
    """The names in backticks in a column. A cell may contain several."""
    return [name for row in table for name in names(row[index])]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def plain(cell: str) -> str:
    """The text of a cell, without backticks and links."""
    return re.sub(r"\[([^]]*)\]\(#[^)]*\)", r"\1", cell).replace("`", "").strip()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def params(shape: str) -> dict[str, bool]:
    """The names in an object type such as `{title?: string}`, and whether each is required. Nested ones are omitted."""
    inner = re.sub(r"(?<=.)\{[^{}]*\}", "", shape.strip().strip("`")).strip("{}")
    parts = [re.match(r"\s*(\w+)(\??)", part) for part in inner.split(",") if part.strip()]
    return {found[1]: not found[2] for found in parts if found}


def _cells(line: str) -> Row:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
