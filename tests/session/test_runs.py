"""Several runs in one session: each event is about one of them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.events import (
    RoundStarted,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
    UsageReported,
)
from fairlead.agent.model import Usage
from fairlead.messages.parts import Prompt
from fairlead.plan import TodoManager
from fairlead.session.evidence.recorder import Recorder
from fairlead.session.state import Calls, with_event
from models.tiny_model import TinyModel
from session.harness import SessionHarness
from support.bare_agent import BareAgent


def test_the_cost_of_runs_at_the_same_time_is_counted_once() -> None:
    """Each run reports what it has used so far; the record has the sum."""
    recorder = Recorder(TodoManager().snapshot, lambda: 0.0, str, lambda: 0, lambda: 1_760_000_000.0)
    for event in (
        RunStarted("model", run_id="main"),
        UsageReported(Usage(1, 100), 1.0, 0, None, run_id="main"),
        RunStarted("small", run_id="beside"),
        UsageReported(Usage(1, 10), 0.1, 0, None, run_id="beside"),
        UsageReported(Usage(2, 150), 1.5, 0, None, run_id="main"),
        UsageReported(Usage(2, 30), 0.3, 0, None, run_id="beside"),
        RunFinished("end_turn", run_id="beside"),
        UsageReported(Usage(3, 200), 2.0, 0, None, run_id="main"),
        RunFinished("end_turn", run_id="main"),
    ):
        recorder.on_event(event)
    [work] = recorder.record.by_step.values()
    assert (work.tokens, work.cost) == (230, pytest.approx(2.3))
    [spent] = recorder.spent.values()
    assert (spent.tokens, spent.usd, spent.unpriced) == (230, pytest.approx(2.3), 0)


def test_a_round_of_one_run_keeps_the_calls_of_another() -> None:
    """The journal knows the calls of each run's current round, in case the process ends."""
    calls: Calls = {}
    for event in (
        RunStarted("model", run_id="main"),
        ToolStarted("1", "read_file", "read", "a.txt", {}, (), run_id="main"),
        RunStarted("small", run_id="beside"),
        ToolStarted("2", "read_file", "read", "b.txt", {}, (), run_id="beside"),
        ToolFinished("2", False, "b", run_id="beside"),
        RoundStarted(2, run_id="beside"),
    ):
        calls = with_event(calls, event, 0.0)
    assert list(calls) == ["1"]
    calls = with_event(calls, RunFinished("end_turn", run_id="beside"), 0.0)
    assert list(calls) == ["1"]


async def test_a_run_beside_the_main_one_has_a_phase_a_history_and_a_usage_of_its_own(tmp_path: Path) -> None:
    """The session is running while its main run is, whatever another run of it does."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def wait_and_answer(lines: list[str]) -> dict[str, Any]:
        begun.set()
        await go_on.wait()
        return {
            "thought": "",
            "said": "Found it.",
            "used": {"input_tokens": 100, "output_tokens": 10},
            "calls": [],
            "why": "end",
        }

    server = SessionHarness(tmp_path)
    runs, ids = server.session.runs, [server.session.runs.new_id() for _ in range(2)]
    assert len(set(ids)) == 2
    beside = BareAgent(TinyModel(wait_and_answer), server.session.publish, ids[1]).new_run()
    work = asyncio.ensure_future(runs.execute(beside, [Prompt("Look for it.")]))
    await begun.wait()
    assert runs.going == {ids[1]: beside} and beside.is_running
    assert (runs.phase, server.session.history.messages) == ("idle", [])
    go_on.set()
    outcome = await work
    assert (outcome.message, beside.usage.tokens) == ("Found it.", 110)
    assert (runs.phase, runs.going, beside.is_running, server.session.history.messages) == ("idle", {}, False, [])
