"""Which repeated calls run (docs/plan.md L10)."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.agent.guard import RepeatGuard, Verdict
from fairlead.agent.tool import Repeat
from fairlead.messages.parts import Call

CALL = Call("id", "bash", {"command": "curl localhost:3000"})
# the results of the same call, made again and again, with whether it may be repeated; then what is decided about each
POLLS: dict[str, tuple[Repeat, list[str], str]] = {
    "a change that was made": ("refused", ["a"], "run refuse refuse refuse stop"),
    "a command that changes nothing": ("until_unchanged", ["a", "a"], "run run refuse refuse stop"),
    "a command whose result changes": ("until_unchanged", ["a", "b", "c", "c"], "run run run run refuse refuse stop"),
    "a result that is the same apart from its duration": (
        "until_unchanged",
        ["1 failed in 0.03s\n(exit code 1, 0.1 s)", "1 failed in 0.04s\n(exit code 1, 12.0 s)"],
        "run run refuse refuse stop",
    ),
    "a result with another time": ("until_unchanged", ["12:00:01.5 no", "12:00:02.7 no"], "run run refuse refuse stop"),
    "a command next to one in the background": ("allowed", ["a"] * 11, "run " * 11 + "stop"),
}


@pytest.mark.parametrize("name", POLLS)
def test_l10_a_call_that_may_have_another_result_runs_again(name: str) -> None:
    """docs/plan.md L10: until its result is the same again, or always while a command runs in the background."""
    repeat, results, expected = POLLS[name]
    guard, verdicts, remaining = RepeatGuard(lambda: 0, 5, 12), list[Verdict](), list(results)
    while verdicts[-1:] != ["stop"]:
        verdicts.append(guard.check(CALL, is_exempt=False))
        if verdicts[-1] == "run":
            guard.note_result(remaining.pop(0), repeat)
    assert verdicts == expected.split()
    assert guard.in_a_row == len(verdicts)


def test_l10_a_command_is_not_repeated_before_its_result_was_read() -> None:
    """docs/plan.md L10: the same command twice in one answer is a mistake, not a poll."""
    guard = RepeatGuard(lambda: 0, 5, 12)
    assert guard.check(CALL, is_exempt=False) == "run"
    guard.note_result("a", "until_unchanged")
    assert guard.check(CALL, is_exempt=False, has_read_result=False) == "refuse"
    assert guard.check(CALL, is_exempt=False) == "refuse"


ROUNDS = st.tuples(st.sampled_from("ab"), st.sampled_from(["refused", "until_unchanged", "allowed"]), st.booleans())


@given(st.lists(ROUNDS, min_size=12, max_size=12), st.booleans())
def test_l10_a_model_that_repeats_a_call_for_ever_is_stopped(
    rounds: list[tuple[str, Repeat, bool]], is_exempt: bool
) -> None:
    """docs/plan.md L10: whatever the call returns and changes, and whatever runs in the background."""
    changes = 0
    guard = RepeatGuard(lambda: changes, 5, 12)
    verdicts: list[Verdict] = []
    for result, repeat, has_read_result in rounds:
        verdicts.append(guard.check(CALL, is_exempt, has_read_result))
        if verdicts[-1] == "run":
            changes += 1
            guard.note_result(result, repeat)
    assert "stop" in verdicts
