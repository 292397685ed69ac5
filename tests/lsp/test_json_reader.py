"""Untrusted JSON is read as a TypedDict, or refused with the name of the wrong field."""

from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.json_reader import WrongValue, read
from fairlead.wire.messages import CLIENT_REQUESTS
from fairlead.wire.params import (
    ContextItem,
    PlanEditParams,
    PlanOp,
    RunChecksParams,
    RunTaskParams,
    SteerParams,
)

NAMES = st.sampled_from(
    sorted({name for shape in (RunTaskParams, *get_args(ContextItem | PlanOp)) for name in get_type_hints(shape)})
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=20,
)

READ: list[tuple[Any, Any, Any]] = [
    (SteerParams, {"sessionId": "a", "text": "b", "more": [1]}, {"sessionId": "a", "text": "b"}),
    (RunTaskParams, [], {}),
    (RunTaskParams, {"prompt": None, "workDoneToken": 0}, {"workDoneToken": 0}),
    (RunTaskParams, {"editor": {"activeFile": None}}, {"editor": {"activeFile": None}}),
    (
        RunChecksParams,
        {"sessionId": "a", "target": {"uri": "b", "hunk": None}},
        {"sessionId": "a", "target": {"uri": "b"}},
    ),
    (
        RunChecksParams,
        {"sessionId": "a", "target": {"changes": [{"uri": "b"}]}},
        {"sessionId": "a", "target": {"changes": [{"uri": "b", "hunk": None}]}},
    ),
]
WRONG: list[tuple[Any, Any, str]] = [
    (SteerParams, 5, "params must be an object, not 5"),
    (SteerParams, {"sessionId": "a"}, "params.text is missing; it must be a string"),
    (SteerParams, {"sessionId": "a", "text": True}, "params.text must be a string, not true"),
    (RunTaskParams, {"context": {}}, "params.context must be a list, not an object"),
    (RunTaskParams, {"mode": "x"}, 'params.mode must be agent, plan or ask, not "x"'),
    (
        RunTaskParams,
        {"workDoneToken": True},
        "params.workDoneToken must be a string or an integer up to 2^53, not true",
    ),
    (
        RunTaskParams,
        {"context": [{"kind": "x"}]},
        "params.context[0].kind must be file, selection, problems, changes, terminal, image, serverPrompt or resource, "
        'not "x"',
    ),
    (
        RunTaskParams,
        {"context": [{"kind": "selection", "text": ""}]},
        "params.context[0].name is missing; it must be a string",
    ),
    (
        PlanEditParams,
        {"sessionId": "a", "revision": 1, "ops": [{}]},
        "params.ops[0].op is missing; it must be add, update, remove, move or restore",
    ),
    (
        PlanEditParams,
        {"sessionId": "a", "revision": 1.0, "ops": []},
        "params.revision must be an integer up to 2^53, not 1.0",
    ),
    (
        RunChecksParams,
        {"sessionId": "a", "target": {"item": "1", "uri": "b"}},
        "params.target must be one of {all: true}, {uri}, {uri, hunk}, {changes}, {item} and {weakenedTests: true}",
    ),
]


@pytest.mark.parametrize(("shape", "value", "wanted"), READ)
def test_a_value_is_read_without_unknown_fields_and_nulls(shape: Any, value: Any, wanted: Any) -> None:
    """docs/protocol.md: `[]` counts as an empty object, and null as an absent field unless the type includes it."""
    assert read(shape, value, "params") == wanted


@pytest.mark.parametrize(("shape", "value", "message"), WRONG)
def test_the_error_names_the_wrong_field(shape: Any, value: Any, message: str) -> None:
    with pytest.raises(WrongValue) as raised:
        read(shape, value, "params")
    assert str(raised.value) == message


@given(st.sampled_from([shape for shape, _ in CLIENT_REQUESTS.values()]), JSON)
def test_any_json_is_read_or_refused(shape: Any, value: Any) -> None:
    """Nothing else is raised. What is read is read again as the same value."""
    try:
        found = read(shape, value, "params")
    except WrongValue:
        return
    assert read(shape, found, "params") == found
