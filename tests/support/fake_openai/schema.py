"""Checks the body of a request against a JSON Schema. A refusal has the words of OpenAI's server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

Json = dict[str, Any]
FIXTURES = Path(__file__).parent / "fixtures"
TYPES = {"null": "null", "array": "an array", "object": "an object", "string": "a string", "integer": "an integer"}


def shape_problems(name: str, body: Json) -> Iterator[Json]:
    """The `error` object for each place where the body does not match the schema `name`."""
    return (_words(error) for error in _validator(name).iter_errors(body))


@cache
def _validator(name: str) -> Any:
    schema = yaml.safe_load((FIXTURES / f"{name}.yaml").read_text(encoding="utf-8"))
    return extend(Draft202012Validator, {"discriminator": _discriminator})(schema)


def _discriminator(validator: Any, rule: Json, value: Any, _: Json) -> Iterator[ValidationError]:
    """OpenAPI's keyword: the field `propertyName` names the schema that applies."""
    if not isinstance(value, dict):
        return
    field, schemas = rule["propertyName"], rule["mapping"]
    kind = value.get(field, rule.get("default"))
    if isinstance(kind, str) and kind in schemas:
        yield from validator.descend(value, {"$ref": schemas[kind]})
    elif kind is None:
        yield ValidationError("", validator="required", validator_value=[field], instance=value)
    else:
        yield ValidationError("", validator="enum", validator_value=list(schemas), instance=kind, path=[field])


def _words(error: ValidationError) -> Json:
    """OpenAI's `error` object for a problem."""
    param = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path).lstrip(".")
    given: Any = error.instance
    wanted: Any = error.validator_value
    match error.validator:
        case "required":
            missing = next(name for name in wanted if name not in given)
            param = f"{param}.{missing}".lstrip(".")
            return refused(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")
        case "additionalProperties":
            known = error.schema["properties"] if isinstance(error.schema, dict) else {}
            param = f"{param}.{next(name for name in given if name not in known)}".lstrip(".")
            return refused(f"Unknown parameter: '{param}'.", param, "unknown_parameter")
        case "enum":
            values = ", ".join(f"'{value}'" for value in wanted if value is not None)
            return refused(f"Invalid value: '{given}'. Supported values are: {values}.", param, "invalid_value")
        case "type":
            types = " or ".join(TYPES.get(kind, kind) for kind in ([wanted] if isinstance(wanted, str) else wanted))
            got = f"expected {types}, but got {type(given).__name__} instead."
            return refused(f"Invalid type for '{param}': {got}", param, "invalid_type")
        case "maxLength":
            got = f"Expected a string with maximum length {wanted}, but got a string with length {len(given)} instead."
            return refused(f"Invalid '{param}': string too long. {got}", param, "string_above_max_length")
        case "pattern":
            said = f"string does not match pattern. Expected a string that matches the pattern '{wanted}'."
            return refused(f"Invalid '{param}': {said}", param, "invalid_value")
        case _:
            return refused(f"Invalid '{param}': {error.message}.", param, "invalid_value")


def refused(message: str, param: str | None = None, code: str | None = None) -> Json:
    """OpenAI's `error` object for a request that it refuses."""
    return {"message": message, "type": "invalid_request_error", "param": param, "code": code}
