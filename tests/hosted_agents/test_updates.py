"""What an agent reports is read without an error, whatever it is (docs/faults.md 276)."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairlead.hosted_agents.updates import (
    MAX_ID,
    MAX_INPUT,
    MAX_OUTPUT,
    CallState,
    Said,
    Update,
    Used,
    plan_of_call,
    read_options,
    read_update,
)
from fairlead.json_values import MAX_DEPTH, fields_of, read_message
from fairlead.session.run.hosted_run import usage_of

KINDS = [
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "usage_update",
]
NAMES = [
    *("content", "text", "type", "diff", "path", "toolCallId", "title", "kind", "status", "locations", "line"),
    *("rawInput", "rawOutput", "command", "cmd", "todos", "plan", "output", "entries", "step", "activeForm"),
    *("availableCommands", "name", "description", "currentModeId", "modeId", "configOptions", "id", "currentValue"),
    *("options", "value", "category", "modes", "models", "availableModes", "currentModelId", "availableModels"),
    *("commands", "terminal_output_delta", "data", "_meta"),
    *("modelId", "used", "size", "cost", "amount", "currency", "usage", "inputTokens", "outputTokens"),
]
WORDS = [
    "completed",
    "in_progress",
    "execute",
    "edit",
    "content",
    "diff",
    "USD",
    "mode",
    "a.txt",
    "\u202e\x1b[2J",
    "x" * 2000,
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -1, 0, 1.5])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=25,
)
CALLS: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "calls.yaml").read_text())
UPDATES = st.builds(
    lambda kind, fields: {**fields, "sessionUpdate": kind},
    st.sampled_from(KINDS) | VALUES,
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=10),
)


@given(st.lists(UPDATES, max_size=4))
def test_no_update_is_an_error(updates: list[dict[str, Any]]) -> None:
    """docs/faults.md 276: wrong types in every field: what is read can be saved, sent on, and is limited."""
    known: dict[str, CallState] = {}
    for update in updates:
        message = read_message(json.dumps(update).encode())
        found = read_update(fields_of(message), known)
        _check(found)
        if isinstance(found, CallState):
            known[found.id] = found
            plan_of_call(found)
            assert isinstance(found.command, str)
        read_options(update)
        usage_of(update)


def _check(found: Update | None) -> None:
    match found:
        case CallState():
            assert 0 < len(found.id) <= MAX_ID
            assert len(found.output) <= MAX_OUTPUT
            assert len(json.dumps(found.input, allow_nan=False)) <= MAX_INPUT
        case Used():
            assert found.tokens >= 0
            assert found.cost is None or (math.isfinite(found.cost) and found.cost >= 0)
        case _:
            pass


def _nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"1",
        b"\xff{}",
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":1e999}',
        b'{"a":' + b"9" * 5000 + b"}",
        _nested(MAX_DEPTH + 1),
        _nested(100_000),
        b'{"a":' + b"[" * 100_000,
    ],
    ids=lambda line: line[:12].decode("latin-1") + str(len(line)),
)
def test_what_cannot_be_sent_on_is_no_message(line: bytes) -> None:
    """docs/faults.md 277: it counts as other output of the agent."""
    assert read_message(line) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"a":1.5}', {"a": 1.5}),
        (b'{"a":"\\ud83d\\ude00"}', {"a": "\N{GRINNING FACE}"}),
        (b'{"a":"x\\ud83d"}', {"a": "x?"}),
        (b'{"a":"\\uDC00"}', {"a": "?"}),
        (b'{"a":[' + b",".join([b"{}"] * 200) + b"]}", {"a": [{}] * 200}),
        (b'{"a":"' + b"[" * 1000 + b'"}', {"a": "[" * 1000}),
    ],
    ids=["number", "pair", "half", "other half", "long", "brackets in a text"],
)
def test_a_message_is_read(line: bytes, message: dict[str, Any]) -> None:
    assert read_message(line) == message


def test_a_usual_update_is_read() -> None:
    """The control of the property."""
    said = read_update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hm."}}, {})
    assert said == Said("Hm.")
    call = read_update(
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "1",
            "kind": "execute",
            "rawInput": {"command": ["bash", "-lc", "ls"]},
        },
        {},
    )
    assert isinstance(call, CallState)
    assert (call.kind, call.command) == ("execute", "ls")
    used = read_update(
        {"sessionUpdate": "usage_update", "used": 5, "size": 10, "cost": {"amount": 1, "currency": "USD"}}, {}
    )
    assert used == Used(5, 10, 1.0)


@pytest.mark.parametrize("case", CALLS.values(), ids=CALLS)
def test_a_call_of_a_real_agent_is_read(case: dict[str, Any]) -> None:
    known: dict[str, CallState] = {}
    for frame in case["frames"]:
        call = read_update(frame, known)
        assert isinstance(call, CallState)
        known[call.id] = call
    call = known["a"]
    assert (call.kind, call.command, call.output) == (case["kind"], case.get("command", ""), case.get("output", ""))
    assert call.says_what == case.get("says_what", bool(call.input))
    plan = plan_of_call(call)
    assert (None if plan is None else [[each["content"], each["status"]] for each in plan.items]) == case.get("plan")


def test_the_pieces_of_an_output_are_limited() -> None:
    """The beginning stays, so that what is shown already does not change."""
    frame: dict[str, Any] = {"sessionUpdate": "tool_call_update", "toolCallId": "a"}
    known: dict[str, CallState] = {}
    for letter in "abcd":
        call = read_update({**frame, "_meta": {"terminal_output_delta": {"data": letter * MAX_OUTPUT}}}, known)
        assert isinstance(call, CallState)
        known["a"] = call
    assert known["a"].output == "a" * MAX_OUTPUT
