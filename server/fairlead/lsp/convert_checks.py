"""Converts the results of checks to wire shapes. Pure functions."""

from pathlib import Path

from fairlead.agent.events import CheckFinished, CheckSearch, NeededChanges, NeededProgress, SmallestSet
from fairlead.edits.selection import Change
from fairlead.wire import states
from fairlead.wire.events import AgentEvent, EventHead

CheckEvent = CheckFinished | CheckSearch | SmallestSet | NeededProgress | NeededChanges


def check_event(head: EventHead, value: CheckEvent) -> AgentEvent:
    """The params of an `agent/event` about checks."""
    match value:
        case CheckFinished():
            return {**head, "kind": "check_finished", **check_result(value)}
        case CheckSearch():
            return {
                **head,
                "kind": "check_search",
                "handle": value.handle,
                "commands": list(value.commands),
                "runs": value.runs,
                "mostRuns": value.most_runs,
                "changes": value.changes,
                "left": value.left,
            }
        case SmallestSet():
            return {**head, "kind": "smallest_set", **smallest_set(value)}
        case NeededProgress():
            return {
                **head,
                "kind": "needed_progress",
                "handle": value.handle,
                "commands": list(value.commands),
                "runs": value.runs,
                "mostRuns": value.most_runs,
            }
        case NeededChanges():
            return {**head, "kind": "needed_changes", **needed_changes(value)}


def smallest_set(found: SmallestSet) -> states.SmallestSetWire:
    """The result of a search for the smallest set of changes (docs/plan.md P19)."""
    return {
        "commands": list(found.commands),
        "outcome": found.outcome,
        "runs": found.runs,
        "version": found.version,
        "needed": [_change(change) for change in found.needed],
        "notNeeded": [_change(change) for change in found.not_needed],
        "message": found.message,
    }


def needed_changes(found: NeededChanges) -> states.NeededChangesWire:
    """Which changes the checks need (docs/plan.md P23)."""
    return {
        "commands": list(found.commands),
        "outcome": found.outcome,
        "runs": found.runs,
        "version": found.version,
        "needed": [_change(change) for change in found.needed],
        "notNeeded": [_change(change) for change in found.not_needed],
        "unread": [_change(change) for change in found.unread],
        "untried": [_change(change) for change in found.untried],
        "message": found.message,
    }


def _change(change: Change) -> states.ChangeIdWire:
    return {"uri": Path(change.path).as_uri(), "hunk": change.hunk_id}


def check_result(found: CheckFinished) -> states.CheckResultWire:
    """The result of a check that the user ran (docs/plan.md P18)."""
    return {
        "toolCallId": found.call_id,
        "itemId": found.item_id,
        "command": found.command,
        "changes": found.changes,
        "passed": found.passed,
        "exitCode": found.exit_code,
        "seconds": round(found.seconds, 1),
        "accepted": found.accepted,
        "total": found.total,
        "proves": found.proves,
        "outdated": found.outdated,
        "verdict": found.verdict,
        "message": found.message,
    }
