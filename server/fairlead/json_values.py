"""Type tests and limits for values that were read from JSON, and JSON with comments. Pure, below all other modules."""

import json
import math
import re
from collections.abc import Collection
from typing import Any, TypeGuard

MAX_DEPTH = 100
"""How many levels a value may have: far below Python's recursion limit, because requests add levels around it."""
MAX_VALUES = 20_000
"""The most values that a block or the input of a call consists of, since each is encoded a dozen times."""
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_COMMENTS = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMAS = re.compile(rf"{_STRING}|,(?=\s*[\]}}])")


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object. In JSON, the names of an object's fields are always strings."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def fields_of(value: Any) -> dict[str, Any]:
    """The fields of a JSON value; an empty dict if it is not an object."""
    return value if is_object(value) else {}


def plain_json(text: str) -> str:
    """JSON with blanks in place of comments and last commas, so that the lines of errors stay right."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        return found if found.startswith('"') else re.sub(r"[^\r\n]", " ", found)

    return _LAST_COMMAS.sub(blank, _COMMENTS.sub(blank, text))


def read_message(line: bytes) -> dict[str, Any] | None:
    """The object in a line of JSON that a program has sent; None if it is not one that can be saved and sent on.

    It has at most MAX_DEPTH levels, and its numbers are those of JSON. Halves of surrogate pairs become `?`.
    """
    try:
        message: Any = json.loads(line, parse_constant=_refuse_number, parse_float=_read_number)
        if line.count(b"[") + line.count(b"{") > MAX_DEPTH:
            _check_depth(message)
        if b"\\ud" in line.lower():
            message = json.loads(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return message if is_object(message) else None


def _refuse_number(text: str) -> float:
    raise ValueError(text)


def _read_number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_number(text)


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):  # level by level, so that a deep value takes no time
        level = [inner for each in level for inner in _values_in(each)]
    if level:
        raise RecursionError


class TooManyValues(ValueError):
    """A JSON value that consists of more than MAX_VALUES."""


def check_encodable(value: Any) -> None:
    """Checks that a request can contain the value.

    Raises:
        RecursionError: it has more than MAX_DEPTH levels.
        TooManyValues: it consists of more than MAX_VALUES.
        UnicodeEncodeError: it contains half of a surrogate pair.
        ValueError: it contains a number that JSON does not have.
    """
    count, level = 0, [value]
    for _ in range(MAX_DEPTH):  # level by level, so that a deep or long value takes no time
        count += len(level)
        if count > MAX_VALUES:
            raise TooManyValues
        level = [inner for each in level for inner in _values_in(each)]
    if level:
        raise RecursionError
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def _values_in(value: Any) -> Collection[Any]:
    return value.values() if is_object(value) else value if is_list(value) else ()
