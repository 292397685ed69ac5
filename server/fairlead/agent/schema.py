"""Reads a call's input as its tool's schema describes it.

Checks required fields, types, the minimum of an integer, `enum`, and the types of an array's items. Checks nothing
inside objects.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from fairlead.errors import ToolError

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def read_input(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Checks an input and returns it. Fields that the schema does not name are not checked. Null counts as missing.

    A string where the schema has another type becomes the value that it contains as JSON, if that has this type: models
    write `"5"`, `"true"` and `"[...]"`. So does a number such as 5.0 where the schema has an integer.

    Raises:
        ToolError: with everything that is wrong.
    """
    properties = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties", {}))
    given = _fields_as_described(properties, given)
    required = cast("Sequence[str]", schema.get("required", ()))
    problems = [f"'{name}' is missing" for name in required if given.get(name) is None]
    for name, value in given.items():
        rule = properties.get(name)
        if rule is None or value is None:
            continue
        expected = str(rule.get("type", ""))
        if expected in _TYPES and not _has_type(expected, value):
            problems.append(f"'{name}' must be {_with_article(expected)}, not {_with_article(_type_name(value))}")
        elif expected == "integer" and "minimum" in rule and value < rule["minimum"]:
            problems.append(f"'{name}' must be at least {rule['minimum']}")
        elif "enum" in rule and value not in rule["enum"]:
            problems.append(f"'{name}' must be one of {', '.join(rule['enum'])}")
        elif expected == "array":
            problems += _wrong_items(name, str(rule.get("items", {}).get("type", "")), value)
    if problems:
        raise ToolError(f"Wrong input: {'; '.join(problems)}.")
    return given


def _fields_as_described(properties: Mapping[str, Mapping[str, Any]], fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _as_described(properties.get(name, {}), value) for name, value in fields.items()}


def _as_described(rule: Mapping[str, Any], value: Any) -> Any:
    """The value in the type that the rule describes, also inside lists and objects; unchanged if that is impossible."""
    expected = rule.get("type", "")
    if isinstance(value, str) and expected in _TYPES and expected != "string":
        value = _value_in(value, expected)
    if expected == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if expected == "array" and isinstance(value, list):
        return [_as_described(rule.get("items", {}), item) for item in cast("list[Any]", value)]
    if expected == "object" and isinstance(value, dict):
        return _fields_as_described(rule.get("properties", {}), cast("dict[str, Any]", value))
    return value


def _value_in(text: str, expected: str) -> Any:
    """The value of the expected type that is written in a string; the string itself if there is none."""
    try:
        value = json.loads(text.lower() if expected == "boolean" else text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text
    is_whole = expected == "integer" and isinstance(value, float) and value.is_integer()
    return value if is_whole or _has_type(expected, value) else text


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _wrong_items(name: str, expected: str, items: Sequence[Any]) -> list[str]:
    if expected not in _TYPES:
        return []
    wrong = [(index, item) for index, item in enumerate(items) if not _has_type(expected, item)]
    return [
        f"'{name}[{index}]' must be {_with_article(expected)}, not {_with_article(_type_name(item))}"
        for index, item in wrong
    ]


def _has_type(expected: str, value: Any) -> bool:
    if isinstance(value, bool):
        return expected == "boolean"
    return isinstance(value, _TYPES[expected])


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return next((name for name, types in _TYPES.items() if isinstance(value, types)), "number")


def _with_article(name: str) -> str:
    if name == "null":
        return name
    return f"an {name}" if name[0] in "aio" else f"a {name}"
