"""Core values to the wire and positions to offsets: pure functions, nothing else knows camelCase."""

from pathlib import Path
from typing import Any, cast

from fairlead.agent import events
from fairlead.agent.errors import ModelError
from fairlead.agent.loop import Outcome
from fairlead.agent.model import Usage
from fairlead.edits.changeset import Changeset, Proposal, item_ids
from fairlead.edits.diff import Hunk
from fairlead.edits.text import split_lines
from fairlead.lsp import protocol as wire
from fairlead.plan import PlanItem, PlanningState
from fairlead.session.review import Decided
from fairlead.workspace.editor import ApprovalRequest, FileEdit
from fairlead.workspace.paths import Root


def plan(session_id: str, state: PlanningState) -> wire.PlanWire:
    return {
        "sessionId": session_id,
        "version": state.version,
        "revision": state.revision,
        "items": [plan_item(item) for item in state.items],
        "completed": state.completed,
        "total": len(state.items),
        "roundsSinceUpdate": state.rounds_since_update,
    }


def plan_item(item: PlanItem) -> wire.PlanItemWire:
    return {
        "id": item.id,
        "content": item.content,
        "status": item.status,
        "activeForm": item.active_form,
        "held": False,
        "verification": "none",
        "evidence": {"files": [], "commands": [], "costUsd": None, "seconds": 0},
    }


def edits(session_id: str, version: int, changes: Changeset) -> wire.EditsWire:
    return {"sessionId": session_id, "version": version, "files": [file(proposal) for proposal in changes]}


def file(proposal: Proposal) -> wire.FileWire:
    found = proposal.hunks
    state = "conflict" if proposal.in_conflict else "pending"
    return {
        "uri": Path(proposal.path).as_uri(),
        "kind": proposal.kind,
        "newUri": None,
        "state": state,
        "protected": False,
        "itemIds": list(item_ids(proposal)),
        "additions": sum(len(hunk.new) for hunk in found),
        "deletions": sum(len(hunk.old) for hunk in found),
        "hunks": [_hunk(proposal, hunk, state) for hunk in found],
    }


def _hunk(proposal: Proposal, hunk: Hunk, state: str) -> wire.HunkWire:
    origin = proposal.origin(hunk)
    return {
        "id": hunk.id,
        # a unified diff names the line before where a side is empty
        "oldStart": hunk.old_start + (1 if hunk.old else 0),
        "oldLines": len(hunk.old),
        "newStart": hunk.new_start + (1 if hunk.new else 0),
        "newLines": len(hunk.new),
        "itemId": origin.item_id if origin else None,
        "state": "conflict" if state == "conflict" else "pending",
        "conflict": None
        if state != "conflict"
        else {"base": "".join(hunk.old), "current": proposal.current or "", "proposed": "".join(hunk.new)},
    }


def outcome(decided: Decided) -> wire.OutcomeWire:
    return {
        "uri": decided.path.as_uri(),
        "hunk": decided.hunk_id,
        "outcome": decided.outcome,
        "message": decided.message,
    }


def usage(used: Usage) -> wire.UsageWire:
    return {
        "requests": used.requests,
        "inputTokens": used.input_tokens,
        "cacheReadTokens": used.cache_read_tokens,
        "cacheWriteTokens": used.cache_write_tokens,
        "outputTokens": used.output_tokens,
        "costUsd": None,
    }


def error(problem: ModelError) -> wire.ErrorWire:
    return {"kind": problem.kind, "message": problem.message, "retryable": problem.retryable}


def run_result(session_id: str, ended: Outcome) -> wire.RunResult:
    return {
        "sessionId": session_id,
        "stopReason": ended.stop_reason,
        "message": ended.message,
        "usage": usage(ended.usage),
        "error": error(ended.error) if ended.error else None,
    }


def event(root: Root, value: events.Event) -> dict[str, Any]:
    """The fields of an `agent/event` but for `sessionId` and `seq`."""
    match value:
        case events.RunStarted(model):
            return {"kind": "run_started", "model": model}
        case events.RoundStarted(number):
            return {"kind": "round_started", "round": number}
        case events.Text(text):
            return {"kind": "text", "text": text}
        case events.Thinking(text):
            return {"kind": "thinking", "text": text}
        case events.ToolStarted():
            return {
                "kind": "tool_started",
                "toolCallId": value.call_id,
                "name": value.name,
                "toolKind": value.kind,
                "title": value.title,
                "input": value.input,
                "locations": [_location(root, place.path, place.line) for place in value.locations],
            }
        case events.ToolOutput(call_id, text):
            return {"kind": "tool_output", "toolCallId": call_id, "text": text}
        case events.ToolFinished(call_id, is_error, text):
            return {"kind": "tool_finished", "toolCallId": call_id, "isError": is_error, "text": text}
        case events.ReminderSent(text):
            return {"kind": "reminder", "text": text}
        case events.Retry(attempt, delay, reason):
            return {"kind": "retry", "attempt": attempt, "delayMs": round(delay * 1000), "reason": reason}
        case events.UsageReported(used):
            return {"kind": "usage", **usage(used)}
        case events.RunFinished(stop_reason):
            return {"kind": "run_finished", "stopReason": stop_reason}


def _location(root: Root, path: str, line: int | None) -> wire.LocationWire:
    return {"uri": Path(root.path / path.replace("\0", "")).as_uri(), "line": line}


def approval(request: ApprovalRequest) -> wire.ApproveParams:
    return {
        "sessionId": request.session_id,
        "toolCallId": request.call_id,
        "kind": "command",
        "mode": request.mode,
        "command": request.command,
        "cwd": str(request.cwd),
        "uri": None,
        "reasons": list(request.reasons),
    }


def text_edits(edit: FileEdit, encoding: str) -> list[dict[str, Any]]:
    """An edit's hunks as LSP TextEdits on the old text: whole lines, but at the end of a text without a line end."""
    lines = split_lines(edit.old or "")
    if edit.old is None:
        return [{"range": _range(lines, 0, 0, encoding), "newText": edit.new}] if edit.new else []
    return [
        {
            "range": _range(lines, hunk.old_start, hunk.old_start + len(hunk.old), encoding),
            "newText": "".join(hunk.new),
        }
        for hunk in edit.hunks
    ]


def _range(lines: list[str], start: int, end: int, encoding: str) -> dict[str, Any]:
    return {"start": _line_start(lines, start, encoding), "end": _line_start(lines, end, encoding)}


def _line_start(lines: list[str], index: int, encoding: str) -> dict[str, int]:
    """The start of a line; for one past the last line without an end, the end of the text."""
    if index == len(lines) and lines and not lines[-1].endswith(("\n", "\r")):
        return {"line": index - 1, "character": code_units(lines[-1], encoding)}
    return {"line": index, "character": 0}


def code_units(text: str, encoding: str) -> int:
    """The length of a text in the units of a position encoding (LSP 3.18, `PositionEncodingKind`)."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2 if encoding == "utf-16" else len(text.encode())


def offset_at(lines: list[str], position: dict[str, int], encoding: str) -> int:
    """The offset in the joined lines that a position means; beyond a line's or the text's end it is that end."""
    row, column = position["line"], position["character"]
    if row >= len(lines):
        return sum(map(len, lines))
    before = sum(map(len, lines[:row]))
    line = lines[row].rstrip("\r\n")
    if encoding == "utf-32" or line.isascii():
        return before + min(column, len(line))
    units = 0
    for index, character in enumerate(line):
        if units >= column:
            return before + index
        units += code_units(character, encoding)
    return before + len(line)


def apply_text_edits(text: str, changes: list[dict[str, Any]], encoding: str) -> str:
    """A text with LSP TextEdits applied, as a client does it: positions are all of the old text."""
    lines = split_lines(text)
    spans = [
        (offset_at(lines, change["range"]["start"], encoding), index, change) for index, change in enumerate(changes)
    ]
    for start, _, change in sorted(spans, key=lambda span: span[:2], reverse=True):
        end = offset_at(lines, cast("dict[str, int]", change["range"]["end"]), encoding)
        text = text[:start] + change["newText"] + text[end:]
    return text
