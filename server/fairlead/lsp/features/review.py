"""The user's decisions on proposals: accept, reject, amend, undo and redo."""

from fairlead.lsp import convert_edits
from fairlead.lsp.changes_in_file import changes_in_file as changes_in_file_of
from fairlead.lsp.changes_in_file import is_compared_with
from fairlead.lsp.features.handlers import answered_edits, named_session, resolved, session_target
from fairlead.lsp.params import read_path
from fairlead.lsp.review_commands import proposal_of
from fairlead.lsp.server import AgentServer
from fairlead.session.review import decisions, undo
from fairlead.session.review.target import HunkOutcome
from fairlead.session.review.undo_item import undo_item
from fairlead.session.session import Session
from fairlead.wire import protocol as wire
from fairlead.wire.params import AcceptParams, AmendParams, FileParams, RejectParams, SessionParams, UndoParams


async def accept(server: AgentServer, params: AcceptParams) -> wire.ReviewResult:
    """`agent/edits/accept`: accepts changes, then starts the checks that the settings require."""
    session = await named_session(server, params)
    target, version = session_target(session, params["target"]), params.get("version")
    overwrite = "resolution" in params
    outcomes = await server.app.accept(session, target, version, overwrite_user_lines=overwrite)
    return _result(server, session, outcomes)


async def reject(server: AgentServer, params: RejectParams) -> wire.ReviewResult:
    """`agent/edits/reject`: rejects changes. The model reads the reason."""
    session = await named_session(server, params)
    reason = params.get("reason", "").strip()
    target, version = session_target(session, params["target"]), params.get("version")
    return _result(server, session, await decisions.reject(session.review, target, version, reason))


async def amend(server: AgentServer, params: AmendParams) -> wire.AmendResult:
    """`agent/edits/amend`: replaces the proposed text of a file with the user's."""
    session = await named_session(server, params)
    path = resolved(session, read_path(params["uri"], "params.uri"))
    await decisions.amend(session.review, path, params["text"], params.get("version"))
    return {"edits": answered_edits(server, session)}


async def changes_in_file(server: AgentServer, params: FileParams) -> wire.ChangesInFileResult:
    """`agent/edits/inFile`: the changes that are proposed for a file, in the user's text."""
    path = read_path(params["uri"], "params.uri")
    sessions = [session for session in server.sessions if proposal_of(session, path) is not None]
    for session in sessions:
        await session.observe([path])
    changes = [change for session in sessions for change in changes_in_file_of(session, path)]
    buffer = server.documents.open_buffer(path)
    compared = buffer is not None and all(is_compared_with(session, path, buffer.text) for session in sessions)
    return {"version": buffer.version if buffer is not None and compared else None, "changes": changes}


async def undo_review(server: AgentServer, params: UndoParams) -> wire.ReviewResult:
    """`agent/edits/undo`: undoes the last decision, or the accepted changes of a plan item."""
    session = await named_session(server, params)
    item_id = params.get("item")
    return _result(
        server, session, await (undo_item(session.review, item_id) if item_id else undo.undo(session.review))
    )


async def redo_review(server: AgentServer, params: SessionParams) -> wire.ReviewResult:
    """`agent/edits/redo`: redoes the decision that was undone last."""
    session = await named_session(server, params)
    return _result(server, session, await undo.redo(session.review))


def _result(server: AgentServer, session: Session, outcomes: list[HunkOutcome]) -> wire.ReviewResult:
    edits = answered_edits(server, session)
    return {"outcomes": [convert_edits.outcome(outcome) for outcome in outcomes], "edits": edits}
