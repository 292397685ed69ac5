"""Reads JSON whose objects know their lines, so that a warning can name one."""

import json
import re
from collections.abc import Iterator
from typing import Any

from fairlead.json_values import plain_json

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]')


class LocatedObject(dict[str, Any]):
    """A JSON object."""

    def __init__(self, pairs: list[tuple[str, Any]], line: int) -> None:
        super().__init__(pairs)
        self.line = line
        """The line on which it begins, from 1."""


def read_located(text: str) -> Any:
    """The value of a JSON text, which may have comments and last commas. Its objects are `LocatedObject`s.

    Raises:
        ValueError, RecursionError: it cannot be read.
    """
    text = plain_json(text)
    lines = _lines_in_order_of_ends(text)
    return json.loads(text, object_pairs_hook=lambda pairs: LocatedObject(pairs, next(lines, 1)))


def line_of(value: Any, default: int = 1) -> int:
    """The line of an object; `default` for any other value."""
    return value.line if isinstance(value, LocatedObject) else default


def _lines_in_order_of_ends(text: str) -> Iterator[int]:
    """The line on which each object begins. The decoder also reports objects when they end."""
    opened: list[int] = []
    line, counted = 1, 0
    for token in _TOKEN.finditer(text):
        if token[0] == "{":
            line += text.count("\n", counted, token.start())
            counted = token.start()
            opened.append(line)
        elif token[0] == "}" and opened:
            yield opened.pop()
