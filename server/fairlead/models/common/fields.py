"""Reads JSON values from the model's server. Sets limits to them."""

import json
from typing import Any, TypeVar

from fairlead.agent.errors import ModelError
from fairlead.json_reader import WrongValue, read
from fairlead.json_values import MAX_DEPTH, MAX_VALUES, check_encodable, is_object
from fairlead.messages.history import clean_text

T = TypeVar("T")

MAX_COUNT = 10**12
"""The largest valid number of tokens or blocks."""
MAX_ITEMS = 1000
"""The most items of a list that is read."""

_CHECK_SERVER = "Check that server, and any proxy in front of it."


def nonsense(what: str) -> ModelError:
    """The error for an answer that no server should send. The request is repeated only once.

    Args:
        what: completes “The model's server sent ...”.
    """
    return ModelError("network", f"The model's server sent {what}. {_CHECK_SERVER}", retryable=True, max_attempts=2)


def as_text(value: Any) -> str:
    """Any value from the server, for use in a message: text as it is, everything else as JSON."""
    return clean_text(value) if isinstance(value, str) else as_json(value)


def as_json(value: Any) -> str:
    """Any value from the server as JSON, for use in a message."""
    try:
        return clean_text(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return "a value that is nested too deeply"


class Fields:
    """A JSON object and its path in an event. A field that is `null` counts as missing.

    All methods except `value` and `size` raise a `WrongValue` that names the field, if it has another type, or if it is
    missing and there is no default.
    """

    def __init__(self, value: Any, path: str) -> None:
        self._path, self._values = path, value if is_object(value) else read(dict[str, Any], value, path)

    def text(self, name: str, default: str | None = None, most: int | None = None) -> str:
        """A string, of at most `most` characters. It may contain half of a surrogate pair."""
        text = self._field(str, name, default)
        if most is not None and len(text) > most:
            raise WrongValue(f"{self._path}.{name}", f"must have at most {most:,} characters")
        return text

    def count(self, name: str, default: int | None = None) -> int:
        """A whole number from 0 to MAX_COUNT."""
        value = self._values.get(name)
        if type(value) is int and 0 <= value <= MAX_COUNT:
            return value
        count = self._field(int, name, default)
        if not 0 <= count <= MAX_COUNT:
            raise WrongValue(f"{self._path}.{name}", f"must be from 0 to {MAX_COUNT:,}, not {count}")
        return count

    def fields(self, name: str, *, required: bool = False) -> "Fields":
        """An object; an empty one if it is missing and not required."""
        return Fields(self._field(dict[str, Any], name, None if required else {}), f"{self._path}.{name}")

    def list(self, name: str) -> "list[Fields]":
        """A list of objects; an empty one if it is missing."""
        values = self._field(list[Any], name, [])
        if len(values) > MAX_ITEMS:
            raise WrongValue(f"{self._path}.{name}", f"must have at most {MAX_ITEMS:,} items")
        return [Fields(value, f"{self._path}.{name}[{index}]") for index, value in enumerate(values)]

    def value(self, name: str) -> Any:
        """Any JSON value; None if it is missing."""
        return self._values.get(name)

    def size(self, *without: str) -> int:
        """The number of characters of the object as JSON, without these fields. Small if it is nested too deeply."""
        return len(as_json({name: value for name, value in self._values.items() if name not in without}))

    def without(self, *names: str) -> dict[str, Any]:
        """The object without these fields, if a request can contain it (`check_encodable`)."""
        values = {name: value for name, value in self._values.items() if name not in names}
        try:
            check_encodable(values)
        except (RecursionError, ValueError) as error:
            wanted = f"must be valid JSON of at most {MAX_DEPTH} levels and {MAX_VALUES:,} values"
            raise WrongValue(self._path, wanted) from error
        return values

    def _field(self, kind: type[T], name: str, default: T | None) -> T:
        value = self._values.get(name)
        if kind is str and isinstance(value, kind):  # most fields are texts, and this is much faster than `read`
            return value
        if value is None and default is not None:
            return default
        if value is None:
            raise WrongValue(f"{self._path}.{name}", "is missing")
        return read(kind, value, f"{self._path}.{name}")
