"""docs/plan.md L2: successive calls that only read run at the same time."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.agent.dispatch import Dispatcher
from fairlead.agent.events import Event, ToolFinished, ToolStarted
from fairlead.agent.model import ToolSpec
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.messages.parts import Call, Result


@dataclass
class Meeting:
    """A tool whose calls each wait until as many run as the test says, so that they end only if they run together."""

    kind: ToolKind = "read"
    read_only: bool = True
    together: int = 1
    running: set[str] = field(default_factory=set[str])
    has_two: asyncio.Event = field(default_factory=asyncio.Event)
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.kind, "", {"type": "object"})

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return self.kind, ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        self.running.add(call.id)
        if len(self.running) == 2:
            self.has_two.set()
        if len(self.running) >= self.together:
            self.complete.set()
        await self.complete.wait()
        self.running.discard(call.id)
        return f"result of {call.id}"


def dispatcher(events: list[Event], *tools: Meeting) -> Dispatcher:
    return Dispatcher(
        tools={tool.kind: tool for tool in tools},
        interceptors=[],
        emit=events.append,
        current_item=lambda: None,
        already_shown=lambda *_: False,
        stopped=StoppedCalls(),
    )


async def test_l2_reads_run_together_and_their_results_keep_the_order_of_the_calls() -> None:
    """The user sees all of them start before the first one ends."""
    events, results, tool = list[Event](), list[Result](), Meeting(together=3)
    await dispatcher(events, tool).run_all([Call(str(n), "read", {"n": n}) for n in range(3)], results)
    assert [result.output for result in results] == ["result of 0", "result of 1", "result of 2"]
    assert [type(event) for event in events] == [ToolStarted] * 3 + [ToolFinished] * 3


async def test_l16_a_stop_gives_each_of_the_calls_that_run_together_its_result() -> None:
    """L16: the calls after them are not reached."""
    events, results, tool = list[Event](), list[Result](), Meeting(together=3)
    calls = [Call("1", "read", {"n": 1}), Call("2", "read", {"n": 2}), Call("3", "edit", {})]
    running = asyncio.ensure_future(dispatcher(events, tool, Meeting("edit", read_only=False)).run_all(calls, results))
    await tool.has_two.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [result.call_id for result in results] == ["1", "2", "3"]
    assert [result.output for result in results[:2]] == ["Cancelled before it did anything."] * 2
    assert results[2].output == "Not run: the run was cancelled before this call."


async def test_l16_a_stop_leaves_those_their_results_that_have_ended() -> None:
    """docs/faults.md 266: although the first call of the answer still runs."""
    events, results, slow = list[Event](), list[Result](), Meeting(together=2)
    calls = [Call("1", "read", {}), Call("2", "search", {}), Call("3", "none", {})]
    running = asyncio.ensure_future(dispatcher(events, slow, Meeting("search")).run_all(calls, results))
    while len(asyncio.all_tasks()) > 3 or not slow.running:  # noqa: ASYNC110  nothing says that the second call ended
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [(result.output, result.is_error) for result in results] == [
        ("Cancelled before it did anything.", True),
        ("result of 2", False),
        ("Not run: the run was cancelled before this call.", True),
    ]


@given(st.lists(st.tuples(st.sampled_from(["read", "search", "edit", "think"]), st.integers(0, 1)), max_size=8))
async def test_l2_no_other_call_runs_beside_one_that_changes_something(made: list[tuple[ToolKind, int]]) -> None:
    """For every answer: the results are in order, and only different reads that follow each other run together."""
    events, results = list[Event](), list[Result]()
    tools = [Meeting("read"), Meeting("search"), Meeting("edit", read_only=False), Meeting("think")]
    calls = [Call(str(index), kind, {"n": number}) for index, (kind, number) in enumerate(made)]
    await dispatcher(events, *tools).run_all(calls, results)
    assert [result.output for result in results] == [f"result of {call.id}" for call in calls]
    open_calls: dict[str, tuple[ToolKind, int]] = {}
    for event in events:
        if isinstance(event, ToolStarted):
            call = made[int(event.call_id)]
            beside = list(open_calls.values())
            assert call not in beside
            assert not beside or {kind for kind, _ in [call, *beside]} <= {"read", "search"}
            open_calls[event.call_id] = call
        elif isinstance(event, ToolFinished):
            del open_calls[event.call_id]
