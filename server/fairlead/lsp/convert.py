"""Converts core values to wire shapes, and edits to LSP's text edits. Pure functions."""

import contextlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, Literal

from fairlead.agent import events
from fairlead.agent.errors import ModelFailure
from fairlead.agent.model import Usage
from fairlead.agent.outcome import Outcome
from fairlead.agent.tool import Location
from fairlead.app.model_catalog import EndpointModels
from fairlead.code.decode import Problem
from fairlead.display import escape_to_one_line
from fairlead.edits.diff import Hunk, changed_blocks
from fairlead.edits.per_proposal import PerProposal
from fairlead.edits.proposal import Proposal
from fairlead.gate.request import ApprovalRequest, RunCommand, StartProgram
from fairlead.lsp.convert_checks import check_event, check_result, smallest_set
from fairlead.plan import PlanItem
from fairlead.plan.evidence import BEFORE, UNPLANNED, Evidence
from fairlead.plan.render import PlanUpdate, item_text
from fairlead.plan.verification import Support
from fairlead.positions import code_units
from fairlead.sentences import Phrase, Sentence, english, phrases_of
from fairlead.session.conversation import Continued, Ended, Entry, Prompted
from fairlead.session.events import EditsChanged, PlanChanged
from fairlead.session.evidence.spending import total
from fairlead.session.model_selection import ModelSelection
from fairlead.session.report.listing import Row
from fairlead.session.review.target import HunkOutcome
from fairlead.session.store.journal import SavingChanged
from fairlead.text_lines import split_lines
from fairlead.wire import events as wire_events
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.wire.events import AgentEvent, RunMark
from fairlead.workspace.editor import SEVERITIES, FileEdit
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import Roots
from fairlead.workspace.protected import risk

SNIPPET_LENGTH = 80


def sessions(rows: Sequence[Row]) -> states.SessionListWire:
    """The list of sessions."""
    return {"sessions": [session_row(row) for row in rows]}


def saving(changed: SavingChanged) -> wire.SavingParams:
    return {"sessionId": changed.session_id, "saved": changed.saved}


def chosen_model(model: ModelSelection) -> states.ChosenModelWire:
    return {"endpoint": model.endpoint, "model": model.model, "effort": model.effort or ""}


def endpoint_models(group: EndpointModels) -> wire.EndpointWire:
    return {
        "name": group.name,
        "title": group.title,
        "local": group.is_local,
        "needsKey": group.needs_key,
        "keyRefusal": group.key_refusal,
        "problem": group.problem,
        "answers": group.answers,
        "models": [
            {
                "name": model.name,
                "title": model.title,
                "contextTokens": model.facts.context_tokens or None,
                "inputPrice": model.facts.price.input if model.facts.price else None,
                "outputPrice": model.facts.price.output if model.facts.price else None,
                "tools": model.tools,
                "efforts": list(model.facts.efforts),
            }
            for model in group.models
        ],
    }


def session_row(row: Row) -> states.SessionRowWire:
    """A session in the list. Times are in UTC (ISO 8601)."""
    spent = total(row.spent.values())
    return {
        "sessionId": row.id,
        "title": row.title,
        "updatedAt": datetime.fromtimestamp(row.updated, UTC).isoformat(timespec="milliseconds"),
        "phase": row.phase,
        "completed": row.completed,
        "total": row.total,
        "pendingFiles": row.pending_files,
        "model": chosen_model(row.model),
        "ended": row.ended,
        "tokens": spent.tokens,
        "costUsd": spent.known_usd,
        "openElsewhere": row.open_elsewhere,
    }


def transcript(session_id: str, roots: Roots, entries: Iterable[Entry]) -> list[AgentEvent | RunMark]:
    """The conversation of a session, for a client that has not received its events."""
    found: list[AgentEvent | RunMark] = []
    for seq, entry in enumerate(entries, 1):
        head: wire_events.EventHead = {"sessionId": session_id, "seq": seq, "runId": None}
        match entry.shown:
            case Prompted(said, checkpoint):
                found.append({**head, "kind": "prompt", "text": said, "checkpoint": checkpoint})
            case Continued(what):
                found.append({**head, "kind": "continued", "what": what})
            case Ended(stop_reason, message, record, failure):
                ended: wire_events.RunEnded = {
                    **head,
                    "kind": "run_ended",
                    "stopReason": stop_reason,
                    "message": message,
                    "record": english(record),
                    "recordTexts": list(map(_phrase, record)),
                    "error": error(failure) if failure else None,
                }
                found.append(ended)
            case shown:
                found.append(event(roots, {**head, "runId": shown.run_id}, shown, None))
    return found


def plan_update(update: PlanUpdate | None) -> states.PlanUpdateWire | None:
    """What a call did to the plan; None if it did nothing to it."""
    if update is None:
        return None
    steps: list[states.UpdatedStep] = [{"status": item.status, "text": item_text(item)} for item in update.items]
    return {"steps": steps, "open": [{"id": item_id, "problem": problem} for item_id, problem in update.open]}


def plan(session_id: str, changed: PlanChanged) -> states.PlanWire:
    """A session's plan with its evidence. Includes inferred steps only if there are several and the plan is empty."""
    state, record = changed.state, changed.record
    groups: tuple[Literal["before"], Literal["unplanned"]] = (BEFORE, UNPLANNED)
    outside: list[states.OutsideWire] = [
        {"id": group, "evidence": evidence(record.of(group))} for group in groups if not record.of(group).empty
    ]
    return {
        "sessionId": session_id,
        "version": changed.version,
        "revision": state.revision,
        "items": [plan_item(item, record.of(item.id), changed.supports[item.id]) for item in state.items],
        "outside": outside,
        "inferred": [step.title for step in changed.inferred] if len(changed.inferred) > 1 and not state.items else [],
        "completed": state.completed,
        "total": len(state.items),
        "roundsSinceUpdate": state.rounds_since_update,
        "awaitsApproval": state.awaits_approval,
    }


@lru_cache(maxsize=16384)
def _uri(path: str) -> str:
    """The URI of a path. Cached, because a record repeats the same paths."""
    return Path(path).as_uri()


def plan_item(item: PlanItem, found: Evidence, support: Support) -> states.PlanItemWire:
    """A plan item with its evidence and its verification."""
    return {
        "id": item.id,
        "content": item.content,
        "status": item.status,
        "activeForm": item.active_form,
        "held": item.held,
        "byUser": item.by_user,
        "check": item.check,
        "checkByUser": item.checked_by_user,
        "flaky": support.flaky,
        "leftovers": list(map(_uri, support.leftovers)),
        "newErrors": support.new_errors,
        "verification": support.status,
        "decidedBy": support.command,
        "changedSince": list(map(_uri, support.changed)),
        "evidence": evidence(found),
    }


def evidence(found: Evidence) -> states.EvidenceWire:
    """The recorded work on a step."""
    return {
        "files": list(map(_uri, found.files)),
        "commands": [
            {
                "command": run.command,
                "exitCode": run.exit_code,
                "toolCallId": run.call_id,
                "seconds": round(run.seconds, 1),
                "stopped": run.stopped,
                "verifies": bool(run.verified),
                "withoutChanges": run.without_changes is not None,
            }
            for run in found.commands
        ],
        "looks": found.looks,
        "tokens": found.tokens,
        "costUsd": found.cost if found.tokens else None,
        "seconds": round(found.seconds, 1),
    }


def _place(file: states.FileEditsWire) -> tuple[bool, str]:
    """Where a file is in the list: a key to sort by."""
    is_ordinary = file["risk"] is None and not file["protected"]
    return is_ordinary, file["uri"].rpartition("/")[0] if is_ordinary else ""


def edits(
    session_id: str,
    roots: Roots,
    state: EditsChanged,
    encoding: str = "utf-16",
    cache: PerProposal[states.FileEditsWire] | None = None,
) -> states.EditsWire:
    """The proposals: risky and protected files first, then by folder, and in a folder as the files were first changed.

    Args:
        encoding: the position encoding.
        cache: holds the converted files of the last state, and is updated.
    """
    errors = {str(path): found for path, found in state.errors.items()}

    def converted(proposal: Proposal) -> states.FileEditsWire:
        protected = proposal.path in state.protected
        return proposal.derive(file, roots, protected, errors.get(proposal.target, ()), encoding)

    inputs = roots, state.protected, errors, encoding
    by_path = (cache or PerProposal()).of(state.changes, converted, *inputs)
    files = [by_path[path] for path in state.changes.in_first_order]
    return {
        "sessionId": session_id,
        "version": state.version,
        "files": sorted(files, key=_place),
        "undoLabel": state.undo_label,
        "redoLabel": state.redo_label,
        "checked": check_result(state.checked) if state.checked is not None else None,
        "smallest": smallest_set(state.smallest) if state.smallest is not None else None,
    }


def file(
    proposal: Proposal, roots: Roots, protected: bool, errors: Sequence[Problem] = (), encoding: str = "utf-16"
) -> states.FileEditsWire:
    """The proposal for a file.

    Args:
        protected: whether accepting it needs a separate confirmation.
        errors: the new errors of the proposed text.
        encoding: the position encoding, for the columns of these errors.
    """
    found = proposal.hunks if proposal.raw.data is None else ()
    return {
        "uri": Path(proposal.path).as_uri(),
        "kind": proposal.kind,
        "newUri": Path(proposal.new_path).as_uri() if proposal.new_path is not None else None,
        "state": "conflict" if proposal.in_conflict else "pending",
        "protected": protected,
        "risk": risk(
            proposal.kind, *(PurePath(roots.relative(Path(path))) for path in (proposal.path, proposal.target))
        ),
        "binary": proposal.raw.data is not None,
        "mode": f"{proposal.raw.mode:03o}" if proposal.raw.mode is not None else None,
        "itemIds": list(proposal.item_ids),
        "overtaken": [{"itemId": item_id, "byItemId": by} for item_id, by in proposal.overtaken.items()],
        "additions": sum(len(hunk.new) for hunk in found),
        "deletions": sum(len(hunk.old) for hunk in found),
        "hunks": [_hunk(proposal, hunk) for hunk in found],
        "problems": _problems(errors, proposal.proposed or "", encoding) if errors else [],
    }


def _problems(found: Sequence[Problem], text: str, encoding: str) -> list[states.DiagnosticWire]:
    lines = split_lines(text)

    def position(at: tuple[int, int]) -> states.PositionWire:
        row, column = at
        return {"line": row, "character": code_units(lines[row][:column], encoding) if row < len(lines) else 0}

    return [
        {
            "range": {"start": position(problem.start), "end": position(problem.end)},
            "severity": SEVERITIES.index(problem.severity) + 1,
            "message": problem.message,
            "source": problem.source or None,
        }
        for problem in found
    ]


def _hunk(proposal: Proposal, hunk: Hunk) -> states.HunkWire:
    origin = proposal.origin(hunk)
    conflict, position = proposal.conflicts.get(hunk.id), hunk.position
    return {
        "id": position.id,
        "oldStart": position.old_start,
        "oldLines": position.old_lines,
        "newStart": position.new_start,
        "newLines": position.new_lines,
        "snippet": _snippet(hunk),
        "itemId": origin.item_id if origin else None,
        "toolCallIds": proposal.call_ids(hunk),
        "state": "pending" if conflict is None else "conflict",
        "conflict": None
        if conflict is None
        else {
            "base": conflict.base,
            "current": None if proposal.current is None else conflict.current,
            "proposed": conflict.proposed,
        },
    }


def _snippet(hunk: Hunk) -> str:
    """The first new line that is not blank, else the first such old line, shortened."""
    line = next((line.strip() for line in (*hunk.new, *hunk.old) if line.strip()), "")
    shown = escape_to_one_line(line[: SNIPPET_LENGTH + 1])
    return shown if len(shown) <= SNIPPET_LENGTH else f"{shown[: SNIPPET_LENGTH - 1]}…"


def outcome(outcome: HunkOutcome) -> wire.OutcomeWire:
    """What happened to a hunk, or to a file as a whole."""
    return {
        "uri": outcome.path.as_uri(),
        "hunk": outcome.hunk_id,
        "outcome": outcome.outcome,
        "message": outcome.message,
        "texts": list(map(_phrase, phrases_of(outcome.message))),
    }


def usage(used: Usage, cost: float | None) -> wire.UsageWire:
    """The tokens of a run, and its cost in US dollars if that is known."""
    return {
        "requests": used.requests,
        "inputTokens": used.input_tokens,
        "cacheReadTokens": used.cache_read_tokens,
        "cacheWriteTokens": used.cache_write_tokens,
        "outputTokens": used.output_tokens,
        "costUsd": cost,
    }


def error(failure: ModelFailure) -> wire.RunErrorWire:
    """Why the model did not answer."""
    return {
        "kind": failure.kind,
        "message": english(failure.phrases),
        "texts": list(map(_phrase, failure.phrases)),
        "retryable": failure.retryable,
        "models": list(failure.help.models),
        "keyEndpoint": failure.help.key_endpoint,
        "accountUrl": failure.help.account_url,
    }


def run_result(session_id: str, ended: Outcome, record: Sequence[Phrase]) -> wire.RunResult:
    """The answer to `agent/runTask`. `record` is a short summary of the whole session's work."""
    return {
        "sessionId": session_id,
        "stopReason": ended.stop_reason,
        "message": ended.message,
        "usage": usage(ended.usage, ended.cost),
        "error": error(ended.error.failure) if ended.error else None,
        "record": english(record),
        "recordTexts": list(map(_phrase, record)),
    }


def event(roots: Roots, head: wire_events.EventHead, value: events.Event, token: int | str | None) -> AgentEvent:
    """The params of an `agent/event`. `token` is the work-done token of the run; None if it has none."""
    match value:
        case events.RunStarted(model, checkpoint, recording):
            return {
                **head,
                "kind": "run_started",
                "model": model,
                "recording": recording,
                "checkpoint": checkpoint,
                "workDoneToken": token,
            }
        case events.RoundStarted(number):
            return {**head, "kind": "round_started", "round": number}
        case events.ToolStarted():
            return {
                **head,
                "kind": "tool_started",
                "toolCallId": value.call_id,
                "name": value.name,
                "toolKind": value.kind,
                "title": value.title,
                "input": value.input,
                "locations": _locations(roots, value.locations),
                "refused": value.refused,
            }
        case events.StepBegan(item_id, content):
            return {**head, "kind": "step_began", "itemId": item_id, "content": content}
        case events.ToolOutput(call_id, text):
            return {**head, "kind": "tool_output", "toolCallId": call_id, "text": text}
        case events.CommandStarted() | events.CommandEnded():
            return _command_event(head, value)
        case events.CheckFinished() | events.CheckSearch() | events.SmallestSet():
            return check_event(head, value)
        case events.ToolFinished(call_id, is_error, text, _, update, shown):
            return {
                **head,
                "kind": "tool_finished",
                "toolCallId": call_id,
                "isError": is_error,
                "text": text,
                "planUpdate": plan_update(update),
                "shown": _text(Sentence(*shown)) if shown else None,
            }
        case events.Retry(attempt, delay, failure):
            waits = round(delay * 1000)
            return {**head, "kind": "retry", "attempt": attempt, "delayMs": waits, "error": error(failure)}
        case events.UsageReported(used, cost, context, limit):
            return {**head, "kind": "usage", **usage(used, cost), "contextTokens": context, "contextLimit": limit}
        case events.RunFinished(stop_reason):
            return {**head, "kind": "run_finished", "stopReason": stop_reason}
        case _:
            return _text_event(head, value)


def _text_event(
    head: wire_events.EventHead,
    value: events.RulesFound
    | events.ContextSent
    | events.Text
    | events.Thinking
    | events.ReminderSent
    | events.Steered
    | events.FeedbackSent
    | events.Compacted,
) -> AgentEvent:
    match value:
        case events.RulesFound(files):
            rules: list[wire_events.RulesFile] = [{"uri": file.path.as_uri(), "cut": file.is_cut} for file in files]
            return {**head, "kind": "rules", "files": rules}
        case events.ContextSent(title, text, pictures):
            return {**head, "kind": "context", "title": title, "text": text, "pictures": list(pictures)}
        case events.Text(text, restarts):
            return {**head, "kind": "text", "text": text, "restarts": restarts}
        case events.Thinking(text, restarts):
            return {**head, "kind": "thinking", "text": text, "restarts": restarts}
        case events.ReminderSent(about, text):
            return {**head, "kind": "reminder", "about": about, "text": text}
        case events.Steered(text):
            return {**head, "kind": "steered", "text": text}
        case events.FeedbackSent(about, text):
            return {**head, "kind": "feedback", "about": about, "text": text}
        case events.Compacted(text):
            return {**head, "kind": "compacted", "text": text}


def _command_event(head: wire_events.EventHead, value: events.CommandStarted | events.CommandEnded) -> AgentEvent:
    match value:
        case events.CommandStarted():
            return {
                **head,
                "kind": "command",
                "toolCallId": value.call_id,
                "itemId": value.item_id,
                "command": value.command,
                "cwd": value.cwd,
                "mode": value.where,
                "network": value.network,
                "services": list(value.services),
                "handle": value.handle,
                "check": value.is_check,
            }
        case events.CommandEnded(handle, run, ended):
            return {
                **head,
                "kind": "command_ended",
                "toolCallId": run.call_id,
                "handle": handle,
                "exitCode": run.exit_code,
                "seconds": round(run.seconds, 1),
                "ended": ended,
            }


def _locations(roots: Roots, locations: Iterable[Location]) -> list[wire.LocationWire]:
    """The files that a call names, without those outside of the workspace."""
    found: list[wire.LocationWire] = []
    for location in locations:
        with contextlib.suppress(WorkspaceError):
            found.append({"uri": roots.path_of(location.path.replace("\0", "")).as_uri(), "line": location.line})
    return found


def approval(request: ApprovalRequest) -> wire.ApproveParams:
    """The params of `agent/approve`."""
    action = request.action
    runs = isinstance(action, RunCommand | StartProgram)
    return {
        "sessionId": request.session_id,
        "toolCallId": request.call_id,
        "kind": "command" if runs else "file",
        "mode": action.where if runs else None,
        "command": action.command if runs else None,
        "cwd": str(action.cwd) if runs else None,
        "uri": None if runs else action.path.as_uri(),
        "reasons": list(request.reasons),
        "reasonTexts": list(map(_text, request.reasons)),
        "rules": list(request.rules),
    }


def _phrase(phrase: Phrase) -> wire.TitleWire:
    before, *sentence = phrase
    template, *arguments = sentence or ("",)
    return {"prefix": before, "template": template, "arguments": arguments}


def _text(sentence: str) -> wire.TitleWire:
    if isinstance(sentence, Sentence):
        return {"prefix": "", "template": sentence.template, "arguments": list(sentence.arguments)}
    return {"prefix": sentence, "template": "", "arguments": []}


def text_edits(edit: FileEdit, encoding: str) -> list[dict[str, Any]]:
    """The changes of an edit to a text as LSP TextEdits on the old text: whole lines, except at the end of the text."""
    lines, new = split_lines(edit.old or ""), split_lines(edit.new or "")
    return [_text_edit(lines, a0, a1, new[b0:b1], encoding) for a0, a1, b0, b1 in changed_blocks(lines, new)]


def _text_edit(lines: list[str], start: int, end: int, new: list[str], encoding: str) -> dict[str, Any]:
    last, text = lines[-1] if lines else "", "".join(new)
    ending = last[len(last.rstrip("\r\n")) :]
    if start == len(lines) and ending and text.endswith(ending):
        # Neovim adds an empty line after an insertion that follows the last line ending (0.11, `apply_text_edits`)
        position = {"line": start - 1, "character": code_units(last.removesuffix(ending), encoding)}
        return {"range": {"start": position, "end": position}, "newText": ending + text.removesuffix(ending)}
    return {"range": _range(lines, start, end, encoding), "newText": text}


def _range(lines: list[str], start: int, end: int, encoding: str) -> dict[str, Any]:
    return {"start": _line_start(lines, start, encoding), "end": _line_start(lines, end, encoding)}


def _line_start(lines: list[str], index: int, encoding: str) -> dict[str, int]:
    """The start of a line. For the index after the last line, this is the end of the text."""
    if index == len(lines) and lines and not lines[-1].endswith(("\n", "\r")):
        return {"line": index - 1, "character": code_units(lines[-1], encoding)}
    return {"line": index, "character": 0}
