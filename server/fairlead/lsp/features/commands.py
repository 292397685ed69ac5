"""The `fairlead.server.*` commands (`workspace/executeCommand`), for clients that send no custom requests.

A command takes the same params as the corresponding request. Such clients do not show results, so messages report the
end of a run and the notes of a review.
"""

import asyncio
from collections.abc import Awaitable
from functools import wraps
from typing import Any

from lsprotocol import types

from fairlead.lsp import convert
from fairlead.lsp.features.handlers import Handler, current_edits, named_session
from fairlead.lsp.features.review import accept, amend, redo_review, reject, undo_review
from fairlead.lsp.features.runs import cancel, execute_run, session_for_run, steer
from fairlead.lsp.features.sessions import list_sessions, refreshed_session
from fairlead.lsp.run_params import read_run
from fairlead.lsp.server import AgentServer
from fairlead.session.errors import RequestRefused
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.wire.params import RunTaskParams, SessionParams


async def run_in_background(server: AgentServer, params: RunTaskParams) -> wire.CreatedSession:
    """`fairlead.server.runTask`: starts a run and answers at once.

    A message reports the end of the run, or why it did not start.
    """
    run = read_run(params)
    session = await session_for_run(server, run)

    async def work() -> None:
        try:
            result = await execute_run(server, session, run)
        except RequestRefused as error:
            server.connection.show_message(types.MessageType.Error, str(error))
            return
        kind = types.MessageType.Error if result["error"] else types.MessageType.Info
        server.connection.show_message(kind, f"Fairlead ({result['stopReason']}): {result['message']}")

    server.add_background(asyncio.ensure_future(work()))
    return {"sessionId": session.id}


async def show_plan(server: AgentServer, params: SessionParams) -> states.PlanWire:
    """`fairlead.server.plan`: the current plan."""
    session = await named_session(server, params)
    return convert.plan(session.id, session.plan_state())


async def show_edits(server: AgentServer, params: SessionParams) -> states.EditsWire:
    """`fairlead.server.edits`: the current proposals."""
    session = await refreshed_session(server, params)
    return current_edits(server, session)


def _review_command(handler: Handler) -> Handler:
    """A review handler that also shows the messages of the outcomes.

    Some clients (eglot) report a changed document only after their command has been answered. So if the editor has
    applied an edit but not yet reported the document, the answer is `None` at once, and the review continues.
    """

    @wraps(handler)
    async def decide(server: AgentServer, params: Any) -> Any:
        session = await named_session(server, params)
        async with session.review.lock:
            pass  # waits for the previous review, which may have set `awaiting_report`
        review = asyncio.ensure_future(_show_outcomes(server, handler(server, params)))
        unreported = asyncio.ensure_future(session.editor.awaiting_report.wait())
        try:
            await asyncio.wait((review, unreported), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            review.cancel()
            raise
        finally:
            unreported.cancel()
        if review.done():
            return review.result()
        server.add_background(asyncio.ensure_future(_show_refusal(server, review)))
        return None

    return decide


async def _show_outcomes(server: AgentServer, review: Awaitable[wire.ReviewResult]) -> wire.ReviewResult:
    result = await review
    warnings = {o["message"] for o in result["outcomes"] if o["outcome"] in ("failed", "conflict")}
    notes = {o["message"] for o in result["outcomes"] if o["message"]} - warnings
    for kind, messages in ((types.MessageType.Warning, warnings), (types.MessageType.Info, notes)):
        if messages:
            server.connection.show_message(kind, f"Fairlead: {' '.join(sorted(messages))}")
    return result


async def _show_refusal(server: AgentServer, review: Awaitable[object]) -> None:
    try:
        await review
    except RequestRefused as error:
        server.connection.show_message(types.MessageType.Warning, f"Fairlead: {error}")


COMMANDS: dict[str, Handler] = {
    wire.COMMAND_RUN_TASK: run_in_background,
    wire.COMMAND_CANCEL: cancel,
    wire.COMMAND_STEER: steer,
    wire.COMMAND_ACCEPT: _review_command(accept),
    wire.COMMAND_REJECT: _review_command(reject),
    wire.COMMAND_AMEND: amend,
    wire.COMMAND_UNDO: _review_command(undo_review),
    wire.COMMAND_REDO: _review_command(redo_review),
    wire.COMMAND_PLAN: show_plan,
    wire.COMMAND_EDITS: show_edits,
    wire.COMMAND_SESSIONS: list_sessions,
}
