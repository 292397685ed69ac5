"""The user's decisions on proposals: accept, reject, amend, undo and redo."""

from dataclasses import replace
from pathlib import Path

from fairlead.lsp import convert
from fairlead.lsp import protocol as wire
from fairlead.lsp.features.handlers import named_session
from fairlead.lsp.params import Params, read_target
from fairlead.lsp.server import AgentServer
from fairlead.session.errors import WrongRequest
from fairlead.session.review import decisions, undo
from fairlead.session.review.target import HunkOutcome, Target
from fairlead.session.review.undo_item import undo_item
from fairlead.session.session import Session
from fairlead.workspace.errors import WorkspaceError


async def accept(server: AgentServer, params: Params) -> wire.ReviewResult:
    session = await named_session(server, params)
    resolution = params.optional_text("resolution")
    if resolution not in (None, "proposed"):
        raise WrongRequest("params.resolution must be 'proposed' (or left out)")
    target, version = _target(session, params), params.optional_integer("version")
    return _result(session, await decisions.accept(session, target, version, over_mine=resolution is not None))


async def reject(server: AgentServer, params: Params) -> wire.ReviewResult:
    session = await named_session(server, params)
    reason = (params.optional_text("reason") or "").strip()
    target, version = _target(session, params), params.optional_integer("version")
    return _result(session, await decisions.reject(session, target, version, reason))


async def amend(server: AgentServer, params: Params) -> wire.AmendResult:
    session = await named_session(server, params)
    path = _resolved(session, params.path())
    await decisions.amend(session, path, params.text("text"), params.optional_integer("version"))
    return {"edits": convert.edits(session.id, session.root, session.edits())}


async def undo_review(server: AgentServer, params: Params) -> wire.ReviewResult:
    session = await named_session(server, params)
    item_id = params.optional_text("item")
    return _result(session, await (undo_item(session, item_id) if item_id else undo.undo(session)))


async def redo_review(server: AgentServer, params: Params) -> wire.ReviewResult:
    session = await named_session(server, params)
    return _result(session, await undo.redo(session))


def _target(session: Session, params: Params) -> Target:
    """The target with the session's spelling of its paths, because clients spell one file in several ways."""
    target = read_target(params)
    if target.changes is None:
        return target
    changes = [replace(change, path=str(_resolved(session, Path(change.path)))) for change in target.changes]
    return Target(tuple(changes))


def _resolved(session: Session, path: Path) -> Path:
    try:
        return session.root.resolve(str(path))
    except WorkspaceError:
        return path


def _result(session: Session, outcomes: list[HunkOutcome]) -> wire.ReviewResult:
    edits = convert.edits(session.id, session.root, session.edits())
    return {"outcomes": [convert.outcome(outcome) for outcome in outcomes], "edits": edits}
