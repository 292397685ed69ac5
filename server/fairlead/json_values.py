"""Type tests for values that were read from JSON, and JSON with comments. Pure, below all other modules."""

import re
from typing import Any, TypeGuard

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
