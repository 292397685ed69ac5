"""Checks a call's input against its tool's schema: the part of JSON Schema that tools use, with errors for models."""

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
    """Raises ToolError with everything that is wrong; fields that the schema does not name are let pass."""
    properties = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties", {}))
    required = cast("Sequence[str]", schema.get("required", ()))
    problems = [f"'{name}' is missing" for name in required if given.get(name) is None]
    for name, value in given.items():
        rule = properties.get(name)
        if rule is None or value is None:
            continue
        wanted = str(rule.get("type", ""))
        if wanted in _TYPES and not _fits(wanted, value):
            problems.append(f"'{name}' must be {_article(wanted)}, not {_article(_name_of(value))}")
        elif wanted == "integer" and "minimum" in rule and value < rule["minimum"]:
            problems.append(f"'{name}' must be at least {rule['minimum']}")
    if problems:
        raise ToolError(f"Wrong input: {'; '.join(problems)}.")


def _fits(wanted: str, value: Any) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    return isinstance(value, _TYPES[wanted])


def _name_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return next((name for name, types in _TYPES.items() if isinstance(value, types)), "number")


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "aio" else f"a {name}"
