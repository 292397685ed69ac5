"""docs/plan.md L16: what a stopped call still has to do keeps neither the stop nor the next task waiting."""

import asyncio
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from fairlead.agent.dispatch import Dispatcher
from fairlead.agent.errors import ToolError
from fairlead.agent.events import Event, ToolFinished, ToolStarted
from fairlead.agent.guard import RepeatGuard
from fairlead.agent.messages import ToolCall, ToolResult
from fairlead.agent.model import ToolSpec
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.tool import Location, RunningCall, ToolKind


@dataclass
class Slow:
    """A tool that does not end when it is cancelled, but once the test says so: as the processes of a command."""

    kind: ToolKind
    fails: bool = False
    read_only = False
    began: asyncio.Event = field(default_factory=asyncio.Event)
    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    ended: int = 0

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.kind, "", {"type": "object"})

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return self.kind, ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        said = "begun"
        call.progress = lambda: f"Cancelled: {said}."
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            said = "ending"
            await self.may_end.wait()
            self.ended += 1
            if self.fails:
                raise ToolError("It could not be killed.") from None
            raise
        return ""


@dataclass
class Quick(Slow):
    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        return "Done."


def dispatcher(stopped: StoppedCalls, events: list[Event], *tools: Slow) -> Dispatcher:
    numbers = count()
    return Dispatcher(
        tools={tool.kind: tool for tool in tools},
        guard=RepeatGuard(lambda: next(numbers), 5),
        max_repeats=5,
        emit=events.append,
        current_item=lambda: None,
        told=lambda *_: False,
        stopped=stopped,
    )


@pytest.mark.parametrize("kind", ["execute", "edit", "search", "read", "other"])
@pytest.mark.parametrize("fails", [False, True])
async def test_l16_a_stop_does_not_wait_for_the_end_of_a_call(kind: ToolKind, fails: bool) -> None:
    """L16: each call has its result, which says how far it came, while the stopped one is still ending; then a call
    that only looks runs at once, and one that may change files when the stopped one has ended."""
    stopped, events, slow = StoppedCalls(), list[Event](), Slow(kind, fails)
    results: list[ToolResult] = []
    calls = [ToolCall("1", kind, {}), ToolCall("2", kind, {})]
    running = asyncio.ensure_future(dispatcher(stopped, events, slow).run_all(calls, results))
    await slow.began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [result.text for result in results] == [
        "Cancelled: begun.",
        "Not run: the run was cancelled before this call.",
    ]
    assert [type(event) for event in events] == [ToolStarted, ToolFinished]
    assert slow.ended == 0

    after = dispatcher(stopped, events, Quick("read"), Quick("move"))
    looked: list[ToolResult] = []
    await after.run_all([ToolCall("3", "read", {})], looked)
    assert [result.text for result in looked] == ["Done."]
    moved: list[ToolResult] = []
    moving = asyncio.ensure_future(after.run_all([ToolCall("4", "move", {})], moved))
    await asyncio.sleep(0)
    assert isinstance(events[-1], ToolStarted)
    assert (slow.ended, moved) == (0, [])
    slow.may_end.set()
    await moving
    assert (slow.ended, [result.text for result in moved]) == (1, ["Done."])


async def test_l16_a_call_that_waits_for_stopped_ones_can_be_stopped_too() -> None:
    """L16: it did nothing, and says so."""
    stopped, slow = StoppedCalls(), Slow("execute")
    first = asyncio.ensure_future(dispatcher(stopped, [], slow).run_all([ToolCall("1", "execute", {})], []))
    await slow.began.wait()
    first.cancel()
    await asyncio.wait({first})
    events, results = list[Event](), list[ToolResult]()
    second = asyncio.ensure_future(
        dispatcher(stopped, events, Quick("edit")).run_all([ToolCall("2", "edit", {})], results)
    )
    await asyncio.sleep(0)
    assert [type(event) for event in events] == [ToolStarted]
    second.cancel()
    await asyncio.wait({second})
    assert [result.text for result in results] == ["Cancelled before it had done anything."]
    slow.may_end.set()
    await stopped.over()
    assert slow.ended == 1
