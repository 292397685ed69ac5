"""Type tests for values that were read from JSON. Pure, below all other modules, because many layers read JSON."""

from typing import Any, TypeGuard


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object. In JSON, the names of an object's fields are always strings."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def fields_of(value: Any) -> dict[str, Any]:
    """The fields of a JSON value; an empty dict if it is not an object."""
    return value if is_object(value) else {}
