"""The check of a call's input names everything that is wrong, in words that a model can act on."""

from typing import Any

import pytest

from fairlead.agent.model import ToolSpec
from fairlead.agent.schema import read_input
from fairlead.errors import ToolError
from tools.stand_ins import Desk

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1},
        "all": {"type": "boolean"},
        "items": {"type": "array"},
        "options": {"type": "object"},
        "answers": {"type": "array", "items": {"type": "string"}},
        "action": {"enum": ["hover", "fix"]},
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"content": {"type": "string"}, "done": {"type": "boolean"}},
            },
        },
    },
    "required": ["path"],
}

TOOL = ToolSpec("tool", "", SCHEMA)

WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "'path' is missing"),
    ({"path": None}, "'path' is missing"),
    ({"path": 7}, "'path' must be a string, not an integer"),
    ({"path": 7.5}, "'path' must be a string, not a number"),
    ({"path": True}, "'path' must be a string, not a boolean"),
    ({"path": ["a"]}, "'path' must be a string, not an array"),
    ({"path": {"a": 1}}, "'path' must be a string, not an object"),
    ({"path": "a", "limit": "5 lines"}, "'limit' must be an integer, not a string"),
    ({"path": "a", "limit": "true"}, "'limit' must be an integer, not a string"),
    ({"path": "a", "limit": "0"}, "'limit' must be at least 1"),
    ({"path": "a", "limit": "9" * 5000}, "'limit' must be an integer, not a string"),
    ({"path": "a", "limit": 5.5}, "'limit' must be an integer, not a number"),
    ({"path": "a", "limit": True}, "'limit' must be an integer, not a boolean"),
    ({"path": "a", "limit": 0}, "'limit' must be at least 1"),
    ({"path": "a", "limit": -(10**30)}, "'limit' must be at least 1"),
    ({"path": "a", "all": 1}, "'all' must be a boolean, not an integer"),
    ({"path": "a", "all": "yes"}, "'all' must be a boolean, not a string"),
    ({"path": "a", "items": {}}, "'items' must be an array, not an object"),
    ({"path": "a", "items": '["a"'}, "'items' must be an array, not a string"),
    ({"path": "a", "items": "[" * 100_000}, "'items' must be an array, not a string"),
    ({"path": "a", "items": "[NaN]"}, "'items' must be an array, not a string"),
    ({"path": "a", "items": '{"a": 1}'}, "'items' must be an array, not a string"),
    ({"path": "a", "answers": '["x", 1]'}, "'answers[1]' must be a string, not an integer"),
    ({"path": "a", "options": []}, "'options' must be an object, not an array"),
    ({"path": "a", "answers": ["x", {"label": "y"}]}, "'answers[1]' must be a string, not an object"),
    ({"path": "a", "answers": [None]}, "'answers[0]' must be a string, not null"),
    ({"path": "a", "action": "rename"}, "'action' must be one of hover, fix"),
    ({"path": "a", "action": ["fix"]}, "'action' must be one of hover, fix"),
    (
        {"limit": "x", "all": 1},
        "'path' is missing; 'limit' must be an integer, not a string; 'all' must be a boolean, not an integer",
    ),
]
FINE: list[dict[str, Any]] = [
    {"path": ""},
    {"path": "日本 🚀"},
    {"path": "a", "limit": 1, "all": False, "items": [], "options": {}},
    {"path": "a", "limit": None, "all": None, "items": None},
    {"path": "a", "unknown": 1.5},
    {"path": "a", "limit": 10**30},
    {"path": "a", "answers": ["x"], "action": "fix"},
]


@pytest.mark.parametrize(("given", "said"), WRONG, ids=[said[:50] for _, said in WRONG])
def test_fault_21_everything_that_is_wrong_is_named_at_once(given: dict[str, Any], said: str) -> None:
    """docs/faults.md 21: the error has each wrong field with what is expected, and the given type if that is wrong."""
    with pytest.raises(ToolError) as error:
        read_input(TOOL, given)
    assert str(error.value) == f"Wrong input: {said}."


@pytest.mark.parametrize("given", FINE, ids=str)
def test_valid_input_is_accepted(given: dict[str, Any]) -> None:
    """Unknown fields are accepted, and null for an optional field counts as missing. No other value changes."""
    assert read_input(TOOL, given) == {name: value for name, value in given.items() if value is not None}


FOREIGN: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "filter": {"$ref": "#/definitions/filter"},
        "limit": {"type": ["integer", "null"]},
        "order": {"anyOf": [{"const": "asc"}, {"type": "object", "required": ["by"]}]},
    },
    "required": ["filter", "limit"],
    "additionalProperties": False,
    "definitions": {
        "filter": {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}},
    },
}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"limit": 1}, "'filter' is missing"),
        ({"filter": {"tags": ["a", 1]}, "limit": None}, "'filter.tags[1]' must be a string, not an integer"),
        ({"filter": {}, "limit": True}, "'limit' must be an integer or null, not a boolean"),
        ({"filter": {}, "limit": 1, "order": {}}, "'order.by' is missing"),
        ({"filter": {}, "limit": 1, "x": 1}, "Additional properties are not allowed ('x' was unexpected)"),
    ],
    ids=str,
)
def test_any_json_schema_is_checked(given: dict[str, Any], said: str) -> None:
    """Tool servers bring their own schemas, of any draft."""
    tool = ToolSpec("tool", "", FOREIGN)
    with pytest.raises(ToolError) as error:
        read_input(tool, given)
    assert str(error.value) == f"Wrong input: {said}."
    valid = {"filter": {"tags": ["a"]}, "limit": None, "order": "asc"}
    assert read_input(tool, valid) == valid
    assert read_input(tool, {**valid, "limit": "5"})["limit"] == 5


# values as models write them, and what is meant
MEANT: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"limit": "5"}, {"limit": 5}),
    ({"limit": " 5.0 "}, {"limit": 5}),
    ({"limit": 5.0}, {"limit": 5}),
    ({"all": "true"}, {"all": True}),
    ({"all": "False"}, {"all": False}),
    ({"items": '["a", {"b": 1}]'}, {"items": ["a", {"b": 1}]}),
    ({"options": '{"a": "5"}'}, {"options": {"a": "5"}}),
    ({"answers": '["5", "true"]'}, {"answers": ["5", "true"]}),
    ({"steps": '[{"content": "5", "done": "true"}]'}, {"steps": [{"content": "5", "done": True}]}),
    ({"steps": ['{"done": "false", "other": "1"}']}, {"steps": [{"done": False, "other": "1"}]}),
    ({"path": '["a"]'}, {"path": '["a"]'}),
]


@pytest.mark.parametrize(("given", "meant"), MEANT, ids=[str(given) for given, _ in MEANT])
def test_fault_21_a_value_in_a_string_is_read_as_what_is_meant(given: dict[str, Any], meant: dict[str, Any]) -> None:
    """docs/faults.md 21: if the schema has another type, also inside lists and objects. Other strings stay strings."""
    assert read_input(TOOL, {"path": "a", **given}) == {"path": "a", **meant}


async def test_fault_21_wrong_input_reaches_no_tool(desk: Desk) -> None:
    """docs/faults.md 21: every tool's own schema refuses a wrong type for each of its fields, and a missing field."""
    for name, tool in desk.tools.items():
        schema = tool.spec.input_schema
        for field, rule in schema["properties"].items():
            wrong = 7 if rule["type"] != "integer" else "x"
            with pytest.raises(ToolError, match=f"'{field}' must be"):
                await desk.call(name, **{field: wrong})
        for field in schema.get("required", ()):
            with pytest.raises(ToolError, match=f"'{field}' is missing"):
                await desk.call(name)


async def test_optional_fields_may_be_null(desk: Desk) -> None:
    """Some models send every field; null means that it is left out."""
    desk.write("a.txt", "one\ntwo\n")
    assert await desk.call("read_file", path="a.txt", limit=None, offset=None) == "one\ntwo\n"
    found = await desk.call("search", pattern="one", path=None, glob=None, context=None, ignoreCase=None)
    assert found == "a.txt:1:one"
    assert await desk.call("list_files", path=None, glob=None) == "a.txt"


def test_the_api_accepts_every_schema(desk: Desk) -> None:
    """Each is an object whose properties have types and whose required properties exist; each tool is described."""
    for name, tool in desk.tools.items():
        schema = tool.spec.input_schema
        assert tool.spec.name == name
        assert tool.spec.description
        assert schema["type"] == "object"
        assert all("type" in rule for rule in schema["properties"].values())
        assert set(schema.get("required", ())) <= set(schema["properties"])
