"""docs/plan.md L16: neither a stop nor the next run waits for a stopped call to end."""

import asyncio
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from fairlead.agent.dispatch import Dispatcher
from fairlead.agent.events import Event, ToolFinished, ToolStarted
from fairlead.agent.guard import RepeatGuard
from fairlead.agent.model import ToolSpec
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.errors import ToolError
from fairlead.messages.parts import Call, Result


@dataclass
class Slow:
    """A tool that, like a command's processes, does not end when it is cancelled but when the test allows it."""

    kind: ToolKind
    fails: bool = False
    read_only = False
    has_begun: asyncio.Event = field(default_factory=asyncio.Event)
    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    ended: int = 0

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.kind, "", {"type": "object"})

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return self.kind, ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        state = "begun"
        call.progress = lambda: f"Cancelled: {state}."
        self.has_begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            state = "ending"
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
        interceptors=[RepeatGuard(lambda: next(numbers), 5, 25)],
        emit=events.append,
        current_item=lambda: None,
        already_shown=lambda *_: False,
        stopped=stopped,
    )


@pytest.mark.parametrize("kind", ["execute", "edit", "search", "read", "other"])
@pytest.mark.parametrize("fails", [False, True])
async def test_l16_a_stop_does_not_wait_for_the_end_of_a_call(kind: ToolKind, fails: bool) -> None:
    """L16: each call has a result that says how far it got, although the stopped call is still ending.

    Then a call that only reads runs at once, and one that may change files waits until the stopped call has ended.
    """
    stopped, events, slow = StoppedCalls(), list[Event](), Slow(kind, fails)
    results: list[Result] = []
    calls = [Call("1", kind, {}), Call("2", kind, {})]
    running = asyncio.ensure_future(dispatcher(stopped, events, slow).run_all(calls, results))
    await slow.has_begun.wait()
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
    reads: list[Result] = []
    await after.run_all([Call("3", "read", {})], reads)
    assert [result.text for result in reads] == ["Done."]
    moves: list[Result] = []
    moving = asyncio.ensure_future(after.run_all([Call("4", "move", {})], moves))
    await asyncio.sleep(0)
    assert isinstance(events[-1], ToolStarted)
    assert (slow.ended, moves) == (0, [])
    slow.may_end.set()
    await moving
    assert (slow.ended, [result.text for result in moves]) == (1, ["Done."])


async def test_l16_a_call_that_waits_for_stopped_ones_can_be_stopped_too() -> None:
    """L16: the result of the waiting call says that it did nothing."""
    stopped, slow = StoppedCalls(), Slow("execute")
    first = asyncio.ensure_future(dispatcher(stopped, [], slow).run_all([Call("1", "execute", {})], []))
    await slow.has_begun.wait()
    first.cancel()
    await asyncio.wait({first})
    events, results = list[Event](), list[Result]()
    second = asyncio.ensure_future(dispatcher(stopped, events, Quick("edit")).run_all([Call("2", "edit", {})], results))
    await asyncio.sleep(0)
    assert [type(event) for event in events] == [ToolStarted]
    second.cancel()
    await asyncio.wait({second})
    assert [result.text for result in results] == ["Cancelled before it did anything."]
    slow.may_end.set()
    await stopped.wait()
    assert slow.ended == 1
