"""Converts what is known about the proposals of all sessions together to wire shapes. Pure functions."""

from collections.abc import Sequence
from pathlib import Path

from fairlead.session.together.standings import Standing, why_first
from fairlead.session.together.states import (
    CheckedSession,
    CheckedTogether,
    SessionChange,
    TogetherProgress,
    TogetherResult,
    TogetherState,
)
from fairlead.wire import protocol as wire
from fairlead.wire import states


def together_state(state: TogetherState) -> states.TogetherWire:
    """The progress and the last result of the check of all sessions together."""
    return {
        "running": None if state.running is None else _progress(state.running),
        "result": None if state.result is None else together_result(state.result),
    }


def together_result(result: TogetherResult) -> states.TogetherResultWire:
    """The result of checking the proposals of all sessions together (docs/plan.md P24)."""
    return {
        "outcome": result.outcome,
        "sessions": [_session(session) for session in result.sessions],
        "leftOut": [_session(session) for session in result.left_out],
        "conflicts": [{"sides": [_change(side) for side in conflict.sides]} for conflict in result.conflicts],
        "checks": [_check(check) for check in result.checks],
        "message": result.message,
    }


def race_result(ranked: Sequence[Standing]) -> wire.RaceResult:
    """The runs of a race, the best one first (docs/plan.md P25)."""
    return {"standings": [_standing(each) for each in ranked], "why": why_first(ranked)}


def _standing(each: Standing) -> wire.StandingWire:
    return {
        "sessionId": each.session_id,
        "title": each.title,
        "proof": each.proof,
        "reason": each.reason,
        "newErrors": each.new_errors,
        "needed": each.needed,
        "changes": each.changes,
        "lines": each.lines,
        "costUsd": each.cost_usd,
        "tokens": each.tokens,
    }


def _progress(running: TogetherProgress) -> states.TogetherProgressWire:
    return {
        "command": running.command,
        "number": running.number,
        "count": running.count,
        "runs": running.runs,
        "mostRuns": running.most_runs,
    }


def _session(session: CheckedSession) -> states.CheckedSessionWire:
    return {"sessionId": session.id, "title": session.title, "changes": session.changes}


def _check(check: CheckedTogether) -> states.CheckedTogetherWire:
    return {
        "command": check.command,
        "outcome": check.outcome,
        "runs": check.runs,
        "failing": list(check.failing),
        "changes": [_change(change) for change in check.changes],
        "message": check.message,
    }


def _change(change: SessionChange) -> states.SessionChangeWire:
    uri = Path(change.path).as_uri()
    return {
        "sessionId": change.session_id,
        "uri": uri,
        "hunk": change.hunk_id,
        "name": change.name,
        "line": change.line,
    }
