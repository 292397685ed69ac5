"""The `fairlead.server.*` commands, for clients that send no custom requests (`workspace/executeCommand`).

They take the params of the requests. Because such a client does not read outcomes either, messages report them.
"""

import asyncio
from typing import Any

from lsprotocol import types

from fairlead.lsp import convert
from fairlead.lsp import protocol as wire
from fairlead.lsp.features.handlers import Handler
from fairlead.lsp.features.review import accept, amend, redo_review, reject, undo_review
from fairlead.lsp.features.runs import cancel, execute_run, session_for_run, steer
from fairlead.lsp.features.sessions import list_sessions
from fairlead.lsp.params import Params, read_run
from fairlead.lsp.server import AgentServer
from fairlead.session.host import RequestRefused


async def run_in_background(server: AgentServer, params: Params) -> dict[str, str]:
    """Answers with the session's id at once. A message reports the end of the run."""
    run = read_run(params)
    session = await session_for_run(server, run)

    async def work() -> None:
        try:
            result = await execute_run(server, session, run)
        except RequestRefused as error:
            server.show_message(types.MessageType.Error, str(error))
            return
        kind = types.MessageType.Error if result["error"] else types.MessageType.Info
        server.show_message(kind, f"Fairlead ({result['stopReason']}): {result['message']}")

    server.add_background(asyncio.ensure_future(work()))
    return {"sessionId": session.id}


async def show_plan(server: AgentServer, params: Params) -> wire.PlanWire:
    session = await server.sessions.get(params.text("sessionId"))
    return convert.plan(session.id, session.plan_state())


async def show_edits(server: AgentServer, params: Params) -> wire.EditsWire:
    session = await server.sessions.get(params.text("sessionId"))
    await session.files.observe_all()
    session.publish()
    return convert.edits(session.id, session.root, session.edits())


def _with_messages(handler: Handler) -> Handler:
    """A review handler that also shows the messages of its outcomes."""

    async def decide(server: AgentServer, params: Params) -> Any:
        result = await handler(server, params)
        warnings = {o["message"] for o in result["outcomes"] if o["outcome"] in ("failed", "conflict")}
        notes = {o["message"] for o in result["outcomes"] if o["message"]} - warnings
        for kind, messages in ((types.MessageType.Warning, warnings), (types.MessageType.Info, notes)):
            if messages:
                server.show_message(kind, f"Fairlead: {' '.join(sorted(messages))}")
        return result

    return decide


COMMANDS: dict[str, Handler] = {
    wire.COMMAND_RUN_TASK: run_in_background,
    wire.COMMAND_CANCEL: cancel,
    wire.COMMAND_STEER: steer,
    wire.COMMAND_ACCEPT: _with_messages(accept),
    wire.COMMAND_REJECT: _with_messages(reject),
    wire.COMMAND_AMEND: amend,
    wire.COMMAND_UNDO: _with_messages(undo_review),
    wire.COMMAND_REDO: _with_messages(redo_review),
    wire.COMMAND_PLAN: show_plan,
    wire.COMMAND_EDITS: show_edits,
    wire.COMMAND_SESSIONS: list_sessions,
}
