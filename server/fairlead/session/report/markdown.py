"""Texts in Markdown pages."""

import re

_SPECIAL = re.compile(r"[\\`*_\[\]#!|~>-]")
"""What Markdown could read as more than a text. `ui/markdown.ts` sees to HTML and links."""


def code_span(text: str) -> str:
    """A text as Markdown code. Its fence is longer than any run of backticks in the text (CommonMark, "Code spans")."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if "`" in (text[:1], text[-1:]) else ""
    return f"{fence}{space}{text}{space}{fence}"


def plain(text: str) -> str:
    """A text as Markdown that shows it as it is. Unlike code, it can contain a `<`."""
    return _SPECIAL.sub(r"\\\g<0>", text)
