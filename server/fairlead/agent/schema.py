"""Checks a call's input against its tool's schema.

Covers required fields, types, the minimum of an integer, `enum`, and the types of an array's items. Does not look
inside objects.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from fairlead.agent.errors import ToolError

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def check_input(schema: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Checks an input. Fields that the schema does not name are ignored. A field that is null counts as missing.

    Raises:
        ToolError: with everything that is wrong.
    """
    properties = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties", {}))
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
