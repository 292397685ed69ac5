"""Converts core values to wire shapes. Pure functions."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Literal

from fairlead.agent.errors import ModelFailure
from fairlead.agent.model import Usage
from fairlead.app.model_catalog import EndpointModels
from fairlead.gate.request import (
    STARTS,
    Action,
    ApprovalRequest,
    CallTool,
    ChangeProtectedFile,
    ConfirmCall,
    FetchPage,
    InstallAgent,
    InstallServer,
    RunCommand,
    RunHook,
    StartAgent,
    StartProgram,
    StartServer,
    UseChangedTools,
    UseSecretFile,
)
from fairlead.plan import PlanItem
from fairlead.plan.evidence import BEFORE, UNPLANNED, Evidence
from fairlead.plan.verification import Support
from fairlead.sentences import Phrase, Sentence, english
from fairlead.session.events import PlanChanged
from fairlead.session.evidence.change_log import Cause
from fairlead.session.evidence.spending import total
from fairlead.session.model_selection import ModelSelection
from fairlead.session.report.listing import Row
from fairlead.session.store.journal import SavingChanged
from fairlead.wire import protocol as wire
from fairlead.wire import states


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
        "items": [
            plan_item(item, record.of(item.id), changed.supports[item.id], changed.causes.get(item.id))
            for item in state.items
        ],
        "outside": outside,
        "inferred": [step.title for step in changed.inferred] if len(changed.inferred) > 1 and not state.items else [],
        "completed": state.completed,
        "total": len(state.items),
        "roundsSinceUpdate": state.rounds_since_update,
        "awaitsApproval": state.awaits_approval,
        "lapsed": list(changed.lapsed),
    }


@lru_cache(maxsize=16384)
def _uri(path: str) -> str:
    """The URI of a path. Cached, because a record repeats the same paths."""
    return Path(path).as_uri()


def plan_item(item: PlanItem, found: Evidence, support: Support, cause: Cause | None = None) -> states.PlanItemWire:
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
        "testsPassWithout": support.tests_pass_without,
        "newErrors": support.new_errors,
        "verification": support.status,
        "decidedBy": support.command,
        "changedSince": list(map(_uri, support.changed)),
        "unread": list(map(_uri, support.unread)),
        "brokenBy": None if cause is None else _broken_by(cause),
        "evidence": evidence(found),
    }


def _broken_by(cause: Cause) -> states.BrokenByWire:
    first, last = cause.lines
    return {
        "maker": cause.maker,
        "itemId": None if cause.step in ("", BEFORE, UNPLANNED) else cause.step,
        "files": list(map(_uri, cause.paths)),
        "firstLine": first,
        "lastLine": last,
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
                "withTests": run.with_tests,
                "reads": len(run.inputs.files) if run.inputs is not None else None,
            }
            for run in found.commands
        ],
        "calls": [
            {
                "server": call.server,
                "tool": call.tool,
                "toolCallId": call.call_id,
                "outcome": call.outcome,
                "seconds": round(call.seconds, 1),
                "effectsOutside": call.has_effects_outside,
                "arguments": call.arguments,
            }
            for call in found.calls
        ],
        "subagents": [
            {
                "toolCallId": work.call_id,
                "title": work.title,
                "agent": work.agent,
                "state": work.state,
                "tokens": work.tokens,
                "costUsd": work.cost if work.tokens else None,
            }
            for work in found.subagents
        ],
        "looks": found.looks,
        "tokens": found.tokens,
        "costUsd": found.cost if found.tokens else None,
        "seconds": round(found.seconds, 1),
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
        "texts": list(map(wire_phrase, failure.phrases)),
        "retryable": failure.retryable,
        "models": list(failure.help.models),
        "keyEndpoint": failure.help.key_endpoint,
        "accountUrl": failure.help.account_url,
    }


_APPROVAL_KINDS: dict[
    type[Action],
    wire.ApprovalKind,
] = {
    RunCommand: "command",
    StartProgram: "command",
    StartServer: "toolServer",
    InstallServer: "installServer",
    StartAgent: "agent",
    InstallAgent: "installAgent",
    UseChangedTools: "changedTools",
    CallTool: "tool",
    FetchPage: "web",
    RunHook: "hook",
    ConfirmCall: "call",
    UseSecretFile: "file",
    ChangeProtectedFile: "file",
}


def approval(request: ApprovalRequest) -> wire.ApproveParams:
    """The params of `agent/approve`."""
    action = request.action
    runs = action if isinstance(action, RunCommand | StartProgram | STARTS | RunHook) else None
    file = action if isinstance(action, UseSecretFile | ChangeProtectedFile) else None
    return {
        "sessionId": request.session_id,
        "toolCallId": request.call_id,
        "kind": _APPROVAL_KINDS[type(action)],
        "mode": runs.where if runs else None,
        "command": None if isinstance(action, UseSecretFile | ChangeProtectedFile) else action.command,
        "cwd": str(runs.cwd) if runs and runs.where else None,
        "uri": file.path.as_uri() if file else None,
        "server": _server_of(action),
        "tool": action.tool if isinstance(action, CallTool) else None,
        "reasons": list(request.reasons),
        "reasonTexts": list(map(wire_sentence, request.reasons)),
        "rules": list(request.rules),
    }


def _server_of(action: Action) -> str | None:
    if isinstance(action, FetchPage):
        return action.host
    return action.server if isinstance(action, STARTS | UseChangedTools | CallTool) else None


def wire_phrase(phrase: Phrase) -> wire.TitleWire:
    before, *sentence = phrase
    template, *arguments = sentence or ("",)
    return {"prefix": before, "template": template, "arguments": arguments}


def wire_sentence(sentence: str) -> wire.TitleWire:
    if isinstance(sentence, Sentence):
        return {"prefix": "", "template": sentence.template, "arguments": list(sentence.arguments)}
    return {"prefix": sentence, "template": "", "arguments": []}
