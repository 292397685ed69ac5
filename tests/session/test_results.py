"""The results of a round: in the journal, and in the conversation of an interrupted run."""

import json
from dataclasses import replace

import pytest

from fairlead.messages.parts import Call, Result
from fairlead.session.state import CallState, SessionState
from fairlead.session.store.entries import EntryEncoder, read_entries
from fairlead.session.store.repair import repaired
from support.messages import assistant, user


def use(call_id: str) -> Call:
    return Call(call_id, "bash", {})


def test_fault_22_an_interrupted_round_gets_its_results() -> None:
    """docs/faults.md 22: each call of an interrupted round gets exactly one result (its own, its output so far, or
    that it was not reached), and the last message is the assistant's."""
    begun = (user("Do."), assistant(use("a"), use("b"), use("c")))
    calls = {"a": CallState(1.0, result="done"), "b": CallState(3.0, "half")}
    *kept, results, last = repaired(begun, calls, 15.2)
    assert tuple(kept) == begun
    assert [part.call_id for part in results.parts if isinstance(part, Result)] == ["a", "b", "c"]
    done, half, not_run = (part.text for part in results.parts if isinstance(part, Result))
    assert done == "done"
    assert "after 12 s or more" in half and half.endswith("half")
    assert not_run.startswith("Not run")
    assert last.role == "assistant"
    assert repaired((*kept, results, last), {}, 0.0) == (*kept, results, last)
    assert [one.role for one in repaired(begun[:1], {}, 0.0)] == ["user", "assistant"]
    assert repaired((), {}, 0.0) == ()


def test_a_result_is_written_once() -> None:
    """A result is written with its call, so that a kill loses nothing. The entry of its message does not repeat it."""
    big, encoder = "line\n" * 1000, EntryEncoder()
    begun = SessionState(messages=(user("Do."), assistant(use("a"), use("b"))))
    one = replace(begun, calls={"a": CallState(1.5, result=big), "b": CallState(1.5, result="")})
    results = user(*(Result(name, call.result or "") for name, call in one.calls.items()))
    two = replace(one, messages=(*one.messages, results), calls={})
    entries = [encoder.entry(state) for state in (begun, one, two)]
    assert len(json.dumps(entries[1])) > len(big) and len(json.dumps(entries[2])) < 400
    found = read_entries(json.loads(json.dumps(entries))).state
    assert found.messages == two.messages


def test_a_message_with_a_missing_result_is_an_error() -> None:
    """A journal is damaged if a message refers to a result that it does not contain."""
    message = ["user", ["Result", "a", 2, False, [], None]]
    with pytest.raises(ValueError, match="not an entry"):
        read_entries([{"at": 1.0, "patch": [["/messages", [1]]], "values": {"1": message}}])
