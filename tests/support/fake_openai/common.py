"""What both APIs of OpenAI check and count in the same way."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from support.fake_api.ask import IMAGE_CHARS
from support.fake_api.message_rules import SIGNATURES
from support.fake_api.turns import Turn, written
from support.fake_api.window import CHARS_PER_TOKEN

from .schema import Json, refused


def function_problems(functions: list[tuple[str, Json]]) -> Iterator[Json]:
    """What is wrong with the schemas of the tools. Each has its path and its function."""
    for where, function in functions:
        schema = function.get("parameters")
        if schema is None:
            continue
        said = f"Invalid schema for function '{function['name']}'"
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            yield refused(f"{said}: {error.message}.", f"{where}.parameters", "invalid_function_parameters")
            continue
        if schema.get("type") != "object":
            kind = schema.get("type")
            said = f"{said}: schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
            yield refused(said, f"{where}.parameters", "invalid_function_parameters")
            continue
        for path, problem in _incomplete(schema, ()):
            yield refused(
                f"{said}: In context={path}, {problem}.", f"{where}.parameters", "invalid_function_parameters"
            )


def _incomplete(schema: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Objects without properties and arrays without items, which the server refuses."""
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if kind == "object" and "properties" not in schema and "additionalProperties" not in schema:
        yield path, "object schema missing properties"
    if kind == "array" and "items" not in schema:
        yield path, "array schema missing items"
    for name, inner in schema.get("properties", {}).items():
        yield from _incomplete(inner, (*path, "properties", name))
    yield from _incomplete(schema.get("items"), (*path, "items"))


def image_problems(where: str, url: str) -> Iterator[Json]:
    """What is wrong with a picture, which must be a data URL."""
    found = re.fullmatch(r"data:(image/\w+);base64,(.*)", url, re.DOTALL)
    if found is None:
        yield refused(f"Invalid '{where}'. Expected a base64-encoded data URL with an image MIME type.", where)
        return
    kind, data = found[1], found[2]
    try:
        decoded = b64decode(data, validate=True)
    except ValueError:
        decoded = b""
    if kind not in SIGNATURES or not re.match(SIGNATURES[kind], decoded, re.DOTALL):
        said = "You uploaded an unsupported image. Please make sure your image is valid."
        yield refused(said, where, "invalid_image_format")


def input_problem(arguments: str) -> str | None:
    """Why the arguments of a call are no JSON object; None if they are one."""
    try:
        value = json.loads(arguments)
    except ValueError as error:
        return str(error)
    return None if isinstance(value, dict) else "not an object"


def tokens_of(body: Json) -> int:
    """A request's tokens, without those of the answer."""
    parts = [body.get(name) for name in ("instructions", "tools", "messages", "input")]
    text = re.sub(r"data:image/[^\"]*", "." * IMAGE_CHARS, json.dumps(parts, ensure_ascii=False))
    return round(len(text) / CHARS_PER_TOKEN)


def answer_tokens(turn: Turn) -> int:
    """The tokens of an answer."""
    return 1 + sum(len(written(block)) for block in turn.blocks) // 4
