"""The results of a round: in the journal, and in the conversation of an interrupted run."""

import json
from dataclasses import replace
from typing import Any

import pytest

from fairlead.messages.history import ToolResult, text_block
from fairlead.session.state import CallState, SessionState
from fairlead.session.store.entries import EntryEncoder, read_entries
from fairlead.session.store.repair import repaired


def message(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def use(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "bash", "input": {}}


def test_fault_22_an_interrupted_round_gets_its_results() -> None:
    """docs/faults.md 22: each call of an interrupted round gets exactly one result (its own, its output so far, or
    that it was not reached), and the last message is the assistant's."""
    begun = (message("user", text_block("Do.")), message("assistant", use("a"), use("b"), use("c")))
    calls = {"a": CallState(1.0, result="done"), "b": CallState(3.0, "half")}
    *kept, results, last = repaired(begun, calls, 15.2)
    assert tuple(kept) == begun
    assert [block["tool_use_id"] for block in results["content"]] == ["a", "b", "c"]
    done, half, not_run = (block["content"] for block in results["content"])
    assert done == "done"
    assert "after 12 s or more" in half and half.endswith("half")
    assert not_run.startswith("Not run")
    assert last["role"] == "assistant"
    assert repaired((*kept, results, last), {}, 0.0) == (*kept, results, last)
    assert [one["role"] for one in repaired(begun[:1], {}, 0.0)] == ["user", "assistant"]
    assert repaired((), {}, 0.0) == ()


def test_a_result_is_written_once() -> None:
    """A result is written with its call, so that a kill loses nothing. The entry of its message does not repeat it."""
    big, encoder = "line\n" * 1000, EntryEncoder()
    begun = SessionState(messages=(message("user", text_block("Do.")), message("assistant", use("a"), use("b"))))
    one = replace(begun, calls={"a": CallState(1.5, result=big), "b": CallState(1.5, result="")})
    results = message("user", *(ToolResult(name, call.result or "").block() for name, call in one.calls.items()))
    two = replace(one, messages=(*one.messages, results), calls={})
    entries = [encoder.entry(state) for state in (begun, one, two)]
    assert len(json.dumps(entries[1])) > len(big) and len(json.dumps(entries[2])) < 400
    found = read_entries(json.loads(json.dumps(entries))).state
    assert json.dumps(found.messages) == json.dumps(two.messages)  # the same bytes, for the provider's cache


def test_a_message_with_a_missing_result_is_an_error() -> None:
    """A journal is damaged if a message refers to the result of an unknown call or of a call without a result."""
    block = {**ToolResult("a", "x").block(), "content": None}
    for calls in ({}, {"a": {"started": 1.0, "output": "", "result": None, "is_error": False}}):
        with pytest.raises(ValueError, match=r"result|not an entry"):
            read_entries([{"calls": calls}, {"messages": [0, [message("user", block)]]}])
