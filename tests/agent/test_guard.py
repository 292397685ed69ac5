"""Which repeated calls run (docs/plan.md L10)."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.agent.guard import RepeatGuard
from fairlead.agent.interceptors import RunEnded
from fairlead.agent.tool import Repeat, RunningCall
from fairlead.messages.parts import Call
from fairlead.plan import TodoManager
from fairlead.tools.todo import Todo
from support.bare_agent import no_checks

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


async def verdict(guard: RepeatGuard, call: Call = CALL, *, has_read_result: bool = True) -> str:
    refusal = await guard.before_call(call, None, has_read_result)
    return "run" if refusal is None else "stop" if refusal.ends_answer else "refuse"


async def note(guard: RepeatGuard, result: str, repeat: Repeat, call: Call = CALL) -> None:
    await guard.after_call(call, RunningCall(call.id, None, print, repeat=repeat), result)


@pytest.mark.parametrize("name", POLLS)
async def test_l10_a_call_that_may_have_another_result_runs_again(name: str) -> None:
    """docs/plan.md L10: until its result is the same again, or always while a command runs in the background."""
    repeat, results, expected = POLLS[name]
    guard, verdicts, remaining = RepeatGuard(lambda: 0, 5, 12), list[str](), list(results)
    while verdicts[-1:] != ["stop"]:
        verdicts.append(await verdict(guard))
        if verdicts[-1] == "run":
            await note(guard, remaining.pop(0), repeat)
    assert verdicts == expected.split()
    with pytest.raises(RunEnded, match=f"same call {len(verdicts)} times in a row"):
        await guard.after_results([], [])


async def test_l10_a_command_is_not_repeated_before_its_result_was_read() -> None:
    """docs/plan.md L10: the same command twice in one answer is a mistake, not a poll."""
    guard = RepeatGuard(lambda: 0, 5, 12)
    assert await verdict(guard) == "run"
    await note(guard, "a", "until_unchanged")
    assert await verdict(guard, has_read_result=False) == "refuse"
    assert await verdict(guard) == "refuse"


async def test_l10_calls_that_ran_at_the_same_time_count_as_made_one_after_the_other() -> None:
    """docs/plan.md L10: the result of the earlier one says nothing about whether the later one may be repeated."""
    earlier, later = CALL, Call("id2", "bash", {"command": "date"})
    guard = RepeatGuard(lambda: 0, 5, 12)
    assert [await verdict(guard, call) for call in (earlier, later)] == ["run", "run"]
    await note(guard, "a", "allowed", earlier)
    await note(guard, "b", "refused", later)
    assert await verdict(guard, later) == "refuse"


ROUNDS = st.tuples(st.sampled_from("ab"), st.sampled_from(["refused", "until_unchanged", "allowed"]), st.booleans())


@given(st.lists(ROUNDS, min_size=12, max_size=12), st.booleans())
async def test_l10_a_model_that_repeats_a_call_for_ever_is_stopped(
    rounds: list[tuple[str, Repeat, bool]], only_reads: bool
) -> None:
    """docs/plan.md L10: whatever the call returns and changes, and whatever runs in the background."""
    changes = 0
    guard = RepeatGuard(lambda: changes, 5, 12)
    tool = Todo(TodoManager(), no_checks) if only_reads else None
    stopped = False
    for result, repeat, has_read_result in rounds:
        refusal = await guard.before_call(CALL, tool, has_read_result)
        stopped = stopped or (refusal is not None and refusal.ends_answer)
        if refusal is None:
            changes += 1
            await note(guard, result, repeat)
    assert stopped
