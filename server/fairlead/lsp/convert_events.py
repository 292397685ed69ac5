"""Converts events of a run, and saved conversations, to wire shapes. Pure functions."""

import contextlib
from collections.abc import Iterable, Sequence

from fairlead.agent import events
from fairlead.agent.outcome import Outcome
from fairlead.agent.tool import Location
from fairlead.lsp.convert import error, usage, wire_phrase, wire_sentence
from fairlead.lsp.convert_checks import check_event
from fairlead.plan.render import PlanUpdate, item_text
from fairlead.sentences import Phrase, Sentence, english
from fairlead.session.conversation import Continued, Ended, Entry, Prompted
from fairlead.tool_servers.results import without_tags
from fairlead.wire import events as wire_events
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.wire.events import AgentEvent, RunMark
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import Roots


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
                    "recordTexts": list(map(wire_phrase, record)),
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


def run_result(session_id: str, ended: Outcome, record: Sequence[Phrase]) -> wire.RunResult:
    """The answer to `agent/runTask`. `record` is a short summary of the whole session's work."""
    return {
        "sessionId": session_id,
        "stopReason": ended.stop_reason,
        "message": ended.message,
        "usage": usage(ended.usage, ended.cost),
        "error": error(ended.error.failure) if ended.error else None,
        "record": english(record),
        "recordTexts": list(map(wire_phrase, record)),
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
                "titleText": wire_sentence(Sentence(*value.shown) if value.shown else value.title),
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
        case (
            events.CheckFinished()
            | events.CheckSearch()
            | events.SmallestSet()
            | events.NeededProgress()
            | events.NeededChanges()
        ):
            return check_event(head, value)
        case events.ToolFinished(call_id, is_error, text, _, update, shown):
            return {
                **head,
                "kind": "tool_finished",
                "toolCallId": call_id,
                "isError": is_error,
                "text": without_tags(text),
                "planUpdate": plan_update(update),
                "shown": wire_sentence(Sentence(*shown)) if shown else None,
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
