"""Reads a call's input as its tool's schema describes it."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.errors import ToolError
from fairlead.json_values import is_list, is_object

_TYPES = {
    "null": "null",
    "boolean": "a boolean",
    "string": "a string",
    "array": "an array",
    "object": "an object",
    "integer": "an integer",
    "number": "a number",
}
MAX_MESSAGE = 300  # characters about a value that the schema refuses for a rare reason


def read_input(tool: ToolSpec, given: Mapping[str, Any]) -> dict[str, Any]:
    """Checks an input and returns it without the fields that are null, unless the schema allows null.

    A string where the schema has another type becomes the value that it contains as JSON, if that has this type: models
    write `"5"`, `"true"` and `"[...]"`. So does a number such as 5.0 where the schema has an integer.

    Raises:
        ToolError: with everything that is wrong.
    """
    # Slow to import, and not needed before the first call. The package comes first: while another thread imports it, an
    # import that begins with a module inside it would get modules that are not complete.
    from jsonschema import exceptions, validators  # noqa: PLC0415
    from referencing.jsonschema import EMPTY_REGISTRY  # noqa: PLC0415

    best_match: Any = exceptions.best_match  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    kind: Any = validators.validator_for(tool.input_schema, default=validators.Draft202012Validator)
    # the default registry would fetch the schemas that a schema refers to
    validator: Any = kind(tool.input_schema, registry=EMPTY_REGISTRY)
    fields = _as_described(validator, tool.input_schema, dict(given))
    errors = [error for error in validator.iter_errors(fields) if tool.checks_objects or not _is_in_object(error)]
    missing_first = sorted(errors, key=lambda error: error.validator != "required")
    problems = dict.fromkeys(_problem(validator, best_match([error])) for error in missing_first)
    if problems:
        raise ToolError(f"Wrong input: {'; '.join(problems)}.")
    return fields


def _as_described(validator: Any, rule: Any, value: Any) -> Any:
    """The value in the type that the rule describes, also inside lists and objects; unchanged if that is impossible."""
    types: Any = rule.get("type", ()) if is_object(rule) else ()
    types = [types] if isinstance(types, str) else types
    if isinstance(value, str) and types and "string" not in types:
        value = _value_in(validator, value, types)
    if isinstance(value, float) and "integer" in types and value.is_integer():
        return int(value)
    if is_list(value) and "array" in types:
        return [_as_described(validator, rule.get("items", True), item) for item in value]
    if is_object(value) and "object" in types:
        rules: Mapping[str, Any] = rule.get("properties", {})
        return {
            name: _as_described(validator, rules.get(name, True), inner)
            for name, inner in value.items()
            if inner is not None or validator.evolve(schema=rules.get(name, True)).is_valid(None)
        }
    return value


def _value_in(validator: Any, text: str, types: Collection[str]) -> Any:
    """The value of one of these types that is written in a string; the string itself if there is none."""
    try:
        value = json.loads(text.lower() if "boolean" in types else text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text
    return value if any(validator.is_type(value, kind) for kind in types) else text


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _is_in_object(error: Any) -> bool:
    """Whether it is about a value in an object in the input, and not about the input or a list in it."""
    return (error.validator == "required" and bool(error.path)) or sum(isinstance(each, str) for each in error.path) > 1


def _problem(validator: Any, error: Any) -> str:
    path = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in error.absolute_path)[1:]
    match error.validator:
        case "required":
            missing = [name for name in error.validator_value if name not in error.instance]
            return "; ".join(f"'{path}.{name}' is missing" if path else f"'{name}' is missing" for name in missing)
        case "type":
            wanted = error.validator_value
            wanted = " or ".join(_TYPES[kind] for kind in ([wanted] if isinstance(wanted, str) else wanted))
            found = next(text for kind, text in _TYPES.items() if validator.is_type(error.instance, kind))
            return f"'{path}' must be {wanted}, not {found}"
        case "minimum":
            return f"'{path}' must be at least {error.validator_value}"
        case "enum":
            return f"'{path}' must be one of {', '.join(map(str, error.validator_value))}"
        case _:
            message = error.message if len(error.message) <= MAX_MESSAGE else f"{error.message[:MAX_MESSAGE]}..."
            return f"'{path}' is wrong: {message}" if path else message
