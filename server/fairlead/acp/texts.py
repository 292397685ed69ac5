"""Texts for the client, which shows most of them as Markdown."""

import re

from fairlead.display import escape_invisible, strip_sequences

MAX_OUTPUT = 10_000
"""How much of a result or an output is sent, in characters."""
MAX_DIFF = 500_000
"""The longest text of a file in a diff, in characters."""
_SURROGATES = re.compile("[\ud800-\udfff]")


def plain(text: str) -> str:
    """A text that JSON and the SDK's models can contain: U+FFFD stands for bytes that are not UTF-8."""
    return _SURROGATES.sub("\ufffd", text)


def note(text: str) -> str:
    """What Fairlead says in the conversation, apart from the model's text: a quotation."""
    lines = plain(text).strip().split("\n")
    return "\n\n" + "\n".join(f"> {line}" for line in lines) + "\n\n"


def code(text: str) -> str:
    """A text as it is, in a code block that it cannot end."""
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def output(text: str) -> str:
    """The end of an output as a code block, without terminal sequences; empty if there is none.

    Invisible characters are escapes.
    """
    shown = plain(strip_sequences(text)).strip("\n")
    if len(shown) > MAX_OUTPUT:
        shown = f"...{shown[-MAX_OUTPUT:]}"
    return code(escape_invisible(shown)) if shown.strip() else ""


def inline(text: str) -> str:
    """A command or a name within a line of Markdown."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{ticks}{space}{text}{space}{ticks}"
